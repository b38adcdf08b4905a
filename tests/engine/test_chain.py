"""Immutable streams: nothing goes, and whatever was changed behind the server's back is named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetstream_py import limits
from jetstream_py.cli.verify import main as verify_command
from jetstream_py.engine import chain
from jetstream_py.engine.chain import Inspection, proof
from jetstream_py.store import Message, Store, verify
from tests.engine.world import World

METADATA = {"jetstream-py.immutable": "true"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def slow(rows: list[Message]) -> bytes:
    """The hash as the documentation has it."""
    last = bytes(32)
    for row in rows:
        parts = [row.subject, row.headers, row.data]
        numbers = row.seq.to_bytes(8, "big") + row.ts.to_bytes(8, "big")
        numbers += b"".join(len(part).to_bytes(4, "big") for part in parts)
        last = hashlib.sha256(last + numbers + b"".join(parts)).digest()
    return last


def head(world: World) -> str:
    told: str = world.info("S")["config"]["metadata"]["jetstream-py.immutable.head"]
    return told


def publish(world: World, count: int) -> None:
    """In runs, as clients do."""
    frames = [b"PUB s.%d _INBOX.a 3\r\n%03d\r\n" % (n % 7, n % 1000) for n in range(count)]
    for start in range(0, count, 100):
        world.client.send(b"".join(frames[start : start + 100]))
        world.settle()
    world.client.read()


def test_the_head_is_told(world: World) -> None:
    answer = world.create(metadata=METADATA)
    assert answer["config"]["deny_delete"]
    assert answer["config"]["deny_purge"]
    assert head(world) == f"0:{bytes(32).hex()}"
    publish(world, 300)
    world.send("s.x", b"with a header", "Color: red")
    world.settle()
    world.client.read()
    rows = world.rows("S")
    assert head(world) == f"301:{slow(rows).hex()}"
    for first, last in ((1, 301), (2, 255), (256, 257), (258, 301)):
        shown = proof(world.js.streams["S"], first, last)
        assert shown is not None
        assert shown.before == slow(rows[: first - 1])
        assert shown.after == slow(rows[:last])
        assert str(shown.head) == head(world)
    world.make("T", subjects=["t"])
    assert proof(world.js.streams["T"], 1, 2) is None


def test_nothing_goes(world: World) -> None:
    world.create(metadata=METADATA)
    publish(world, 3)
    assert world.ask("$JS.API.STREAM.MSG.DELETE.S", b'{"seq":1}')["error"]["err_code"] == 10057
    assert world.ask("$JS.API.STREAM.PURGE.S")["error"]["err_code"] == 10110
    config = world.info("S")["config"]
    changes: list[dict[str, Any]] = [{"metadata": {}}, {"max_msgs": 1}, {"max_age": 10**9}]
    for change in [*changes, {"deny_purge": False}]:
        body = json.dumps({**config, **change}).encode()
        answer = world.ask("$JS.API.STREAM.UPDATE.S", body)
        assert ("error" in answer) == ("deny_purge" not in change), answer
        assert answer.get("config", {}).get("deny_purge", True)
    body = json.dumps({**config, "description": "kept"}).encode()  # with the head that was told
    assert world.ask("$JS.API.STREAM.UPDATE.S", body)["config"]["description"] == "kept"
    assert world.state()["messages"] == 3


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"metadata": {"jetstream-py.immutable": "yes"}}, "can only be true"),
        ({"metadata": {"jetstream-py.immutabel": "true"}}, "no extension for streams is called"),
        ({"storage": "memory"}, "has file storage"),
        ({"retention": "workqueue"}, "has limits retention"),
        ({"max_age": 10**9, "duplicate_window": 10**9}, "has no max age"),
        ({"max_msgs": 5}, "has max messages with discard policy new only"),
        ({"max_bytes": 5}, "has max bytes with discard policy new only"),
        ({"max_msgs_per_subject": 5}, "per subject with discard new per subject only"),
        ({"allow_rollup_hdrs": True}, "has no rollups"),
        ({"allow_msg_ttl": True}, "has no message TTLs"),
        ({"pedantic": True}, "deny delete and deny purge must be set"),
    ],
)
def test_what_can_not_be(world: World, config: dict[str, Any], text: str) -> None:
    answer = world.create(**{"metadata": METADATA, **config})
    assert text in answer["error"]["description"]


def test_limits_that_refuse_are_fine(world: World) -> None:
    assert "error" not in world.create(metadata=METADATA, max_msgs=2, discard="new")
    publish(world, 3)
    assert world.state()["messages"] == 2


def _lose(store: Store, sid: int) -> None:
    store.streams()[sid][1].remove(300)


def _lose_last(store: Store, sid: int) -> None:
    store.streams()[sid][1].remove(400)


def _add(store: Store, sid: int) -> None:
    store.streams()[sid][1].append(b"s.1", b"", b"smuggled in", 5)


def _forge(store: Store, sid: int) -> None:
    """The hash of message 300 alone, as if another message had been there."""
    key = chain.prefix(sid) + b"head"
    kept = chain._decode(store.get_meta(key) or b"")
    at = chain.TAG * (300 - chain.MARK - 1)
    tags = kept.tags[:at] + b"\0\0" + kept.tags[at + chain.TAG :]
    store.put_meta(key, chain._encode(chain.Head(kept.seq, kept.hash, tags)))


def _forge_mark(store: Store, sid: int) -> None:
    key = chain.prefix(sid) + b"%016x" % chain.MARK
    store.put_meta(key, bytes(32) + (store.get_meta(key) or b"")[32:])


@pytest.mark.parametrize(
    ("tamper", "text"),
    [
        (_lose, "breaks at message 301"),
        (_lose_last, "breaks after message 399: messages are missing"),
        (_add, "messages after 400 are not part of the chain"),
        (_forge, "breaks at message 300"),
        (_forge_mark, "breaks at or before message 256"),
    ],
)
def test_the_first_break_is_named(
    tmp_path: Path,
    tamper: Callable[[Store, int], None],
    text: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = World(tmp_path)
    world.create(metadata=METADATA)
    publish(world, 400)
    told, sid = head(world), world.js.streams["S"].store.sid
    world.close()
    assert verify_command([str(tmp_path)]) == 0
    assert f"immutable stream S: {told}\n" in capsys.readouterr().out
    store = Store(str(tmp_path), lambda action: action())
    tamper(store, sid)
    store.close()
    assert verify_command([str(tmp_path)]) == 1
    assert text in capsys.readouterr().err


def test_a_copy_has_the_same_head(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mirror that is immutable, too, filled in slices; also one that finds messages at its start."""
    monkeypatch.setattr(limits, "CHAIN_SLICE", 64)
    world.create(metadata=METADATA)
    publish(world, 600)
    world.make("M", mirror={"name": "S"}, metadata=METADATA)
    world.settle()
    key = "jetstream-py.immutable.head"
    assert world.info("M")["config"]["metadata"][key] == head(world)
    stream = world.js.streams["S"]
    assert stream.chain is not None
    stream.chain.close(deleted=True)
    stream.chain = chain.Chain(stream)  # as after a restore: all of them are there
    world.turn()
    assert not head(world).startswith("600:")
    for _ in range(600 // 64):
        world.settle()
    assert world.info("M")["config"]["metadata"][key] == head(world)


def test_a_deleted_stream_leaves_nothing(world: World) -> None:
    world.create(metadata=METADATA)
    publish(world, 300)
    world.ask("$JS.API.STREAM.DELETE.S")
    assert world.store.meta_items(b"h") == []
    assert world.engine.chains == []


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from([1, 3, 120, 300, "turn", "crash"]), min_size=2, max_size=12))
def test_power_cuts(steps: list[Any]) -> None:
    """The chain is never ahead of the messages, nor behind them."""
    with TemporaryDirectory() as path:
        world = World(Path(path))
        world.create(metadata=METADATA)
        for step in [*steps, "crash"]:
            if step == "turn":
                world.turn()
            elif step == "crash":
                world.crash()
                assert verify(path, Inspection()) == []
                world = World(Path(path))
            else:
                lines = b"".join(b"PUB s.%d 2\r\nxx\r\n" % n for n in range(step))
                world.client.send(lines)
        rows = world.rows("S")
        assert head(world) == f"{len(rows)}:{slow(rows).hex()}"
        world.close()
