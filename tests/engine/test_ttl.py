"""Messages with a TTL and delete markers, on a clock that is moved by hand."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py import limits
from jetstream_py.store import failpoints, verify
from tests.engine.world import SECOND, World

STORAGES = pytest.mark.parametrize("storage", ["file", "memory"])
HOUR = 3600


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    failpoints.disarm()
    world.close()


def publish(world: World, *ttls: str, subject: str = "s.a", more: str = "") -> None:
    for ttl in ttls:
        answer = world.ask(subject, b"x", f"Nats-TTL: {ttl}{more}")
        assert "error" not in answer, answer


def publish_many(world: World, count: int, ttl: str, subject: str = "s.{}") -> None:
    headers = f"NATS/1.0\r\nNats-TTL: {ttl}\r\n\r\n".encode()
    for start in range(0, count, 5_000):
        names = [subject.format(i).encode() for i in range(start, start + 5_000)]
        world.js.streams["S"].publish([(name, b"", headers, b"x") for name in names])
        world.settle()


def assert_idle(world: World) -> None:
    """No timer is left when the store has been tidied up."""
    world.pass_time(2 * limits.CHECKPOINT_IDLE)
    world.pass_time(2 * limits.CHECKPOINT_IDLE)
    assert world.bench.broker.timers.next_due() is None


def messages(world: World) -> list[tuple[int, str, str]]:
    """Sequence, subject, and the reason if it is a marker."""
    state, found = world.state(), []
    for seq in range(state["first_seq"], state["last_seq"] + 1):
        answer = world.ask("$JS.API.STREAM.MSG.GET.S", json.dumps({"seq": seq}).encode())
        if "error" not in answer:
            message = answer["message"]
            block = base64.b64decode(message.get("hdrs", "")).decode()
            reason = block.partition("Nats-Marker-Reason: ")[2].partition("\r\n")[0]
            found.append((seq, message["subject"], reason))
    return found


def sequences(world: World) -> list[int]:
    return [seq for seq, _, _ in messages(world)]


def bounds(world: World) -> dict[int, int]:
    return world.js.streams["S"].expiry._table.bounds


@STORAGES
def test_each_goes_in_its_time_and_then_there_is_silence(world: World, storage: str) -> None:
    world.create(storage=storage, allow_msg_ttl=True)
    publish(world, "3", "1s", "never", "400s", "2", "00")
    left = [[1, 2, 3, 4, 5, 6], [1, 3, 4, 5, 6], [1, 3, 4, 6], [3, 4, 6], [3, 4, 6]]
    for expected in left:
        assert sequences(world) == expected
        world.pass_time(1)
    world.pass_time(400)
    assert sequences(world) == [3, 6]
    assert_idle(world)
    assert bounds(world) == {}
    assert world.store.meta_items(b"t") == [(b"t%08xnever" % 1, b"\1")] * (storage == "file")


def test_a_stream_without_ttls_has_no_timer_and_no_record(world: World) -> None:
    world.create(allow_msg_ttl=True)
    world.ask("s.a", b"x", "Nats-Msg-Id: 1")
    world.ask("s.a", b"x")
    world.pass_time(120)  # the id is forgotten
    assert_idle(world)
    assert world.store.meta_items(b"t") == []


def test_an_earlier_deadline_moves_the_timer(world: World) -> None:
    world.create(allow_msg_ttl=True)
    publish(world, "1h", "10s", "1s")
    world.pass_time(1)
    assert sequences(world) == [1, 2]
    world.pass_time(9)
    assert sequences(world) == [1]


@STORAGES
def test_never_and_age(world: World, storage: str) -> None:
    world.create(storage=storage, allow_msg_ttl=True, max_age=10 * SECOND)
    publish(world, "never", "1h", "never")
    world.ask("s.a", b"x")
    world.pass_time(5)
    world.ask("s.a", b"x")
    publish(world, "never", "2")
    world.pass_time(3)
    assert sequences(world) == [1, 2, 3, 4, 5, 6]
    world.pass_time(3)
    assert sequences(world) == [1, 3, 5, 6]
    world.pass_time(5)
    assert sequences(world) == [1, 3, 6]
    world.pass_time(HOUR)
    assert_idle(world)


@STORAGES
def test_markers_in_the_order_of_what_they_replace(world: World, storage: str) -> None:
    world.create(
        storage=storage, subject_delete_marker_ttl=5 * SECOND, max_msgs_per_subject=2, max_age=60 * SECOND
    )  # fmt: skip
    for subject in ("s.b", "s.a", "s.b", "s.c"):
        publish(world, "7", subject=subject)
    publish(world, "7", subject="s.p", more="\r\nKV-Operation: PURGE")
    world.ask("s.old", b"x")
    world.pass_time(7)
    assert messages(world) == [
        (6, "s.old", ""),
        (7, "s.a", "MaxAge"),
        (8, "s.b", "MaxAge"),
        (9, "s.c", "MaxAge"),
    ]
    publish(world, "never", subject="s.b")
    world.pass_time(5.25)
    assert messages(world) == [(6, "s.old", ""), (10, "s.b", "")]
    world.pass_time(48)
    assert messages(world) == [(10, "s.b", ""), (11, "s.old", "MaxAge")]
    world.pass_time(6)
    assert sequences(world) == [10]


def test_a_marker_that_finds_no_room_tries_again(world: World) -> None:
    world.create(subject_delete_marker_ttl=60 * SECOND, max_msgs=2, discard="new")
    publish(world, "60")
    world.ask("s.b", b"x")
    world.pass_time(100)
    assert sequences(world) == [1, 2]
    world.ask("$JS.API.STREAM.MSG.DELETE.S", b'{"seq":2}')
    world.pass_time(limits.TTL_RETRY)
    assert messages(world) == [(3, "s.a", "MaxAge")]


@pytest.mark.parametrize("markers", [False, True])
def test_what_is_due_is_gone_when_the_server_is_back(tmp_path: Path, markers: bool) -> None:
    world = World(tmp_path)
    world.create(
        allow_msg_ttl=True, max_age=HOUR * SECOND, subject_delete_marker_ttl=600 * SECOND * markers,
        max_msgs_per_subject=1,
    )  # fmt: skip
    for subject, ttl in (("s.1", "1"), ("s.2", "never"), ("s.3", "400"), ("s.4", "2h")):
        publish(world, ttl, subject=subject)
    world.ask("s.5", b"x")
    marks = [(6, "s.1", "MaxAge")] if markers else []
    for later, expected in (
        (2, [(2, "s.2", ""), (3, "s.3", ""), (4, "s.4", ""), (5, "s.5", ""), *marks]),
        (500, [(2, "s.2", ""), (4, "s.4", ""), (5, "s.5", ""), *marks]),
        (HOUR, [(2, "s.2", "")]),
    ):
        world.crash()
        world = World(tmp_path, age=later)
        state = messages(world)
        assert [row for row in state if row[2] != "MaxAge" or row in marks] == expected
        if markers and later > 2:
            assert [subject for _, subject, reason in state if reason][-1] in ("s.3", "s.5")
    world.crash()
    assert verify(str(tmp_path)) == []


def test_a_crash_in_the_commit_of_a_removal(tmp_path: Path) -> None:
    """Neither the messages nor what is known of their time is lost."""
    world = World(tmp_path)
    world.create(allow_msg_ttl=True)
    publish(world, "1", "1", "1h")

    def fail() -> None:
        raise OSError(5, "Input/output error")

    failpoints.arm("commit.before", fail)
    world.pass_time(2)
    assert world.failure
    failpoints.disarm()
    world.crash()
    world = World(tmp_path)
    assert sequences(world) == [1, 2, 3]
    world.pass_time(2)
    assert sequences(world) == [3]
    world.close()


def test_a_hundred_thousand(tmp_path: Path) -> None:
    """They cost a hundred numbers, go in turns, and are gone after a restart, too."""
    count = 100_000
    world = World(tmp_path)
    world.create(allow_msg_ttl=True)
    world.ask("s.kept", b"x")
    publish_many(world, count, "1h")
    expiry = world.js.streams["S"].expiry
    assert len(expiry._table) == 0
    assert len(bounds(world)) == 98
    assert sum(len(value) for _, value in world.store.meta_items(b"t")) < 2_000
    world.crash()

    world = World(tmp_path)
    store = world.js.streams["S"].store
    world.bench.clock.advance(HOUR)
    slices = []
    while world.bench.broker.timers.next_due() is not None and store.messages > 1:
        before = store.messages
        more = world.js.streams["S"].expiry._drop_due()
        slices.append(before - store.messages)
        world.js.outbox.commit_soon()
        world.settle()
        assert more or store.messages == 1
    assert sum(slices) == count
    assert max(slices) <= limits.EXPIRE_SLICE + (1 << limits.TTL_CHUNK)
    assert bounds(world) == {}
    world.crash()
    assert verify(str(tmp_path)) == []

    world = World(tmp_path, age=HOUR)
    state: Any = world.state()
    assert (state["messages"], state["last_seq"]) == (1, count + 1)
    world.close()


def test_a_key_that_is_written_again_and_again_takes_no_memory(world: World) -> None:
    world.create(allow_msg_ttl=True, max_msgs_per_subject=1)
    world.ask("s.kept", b"x")
    publish_many(world, 5_000, "60s", subject="s.a")
    assert len(world.js.streams["S"].expiry._table) < 2_000
    assert len(bounds(world)) < 10
    world.pass_time(61)
    assert sequences(world) == [1]


def test_the_records_of_a_deleted_stream_go_with_it(world: World) -> None:
    world.create(allow_msg_ttl=True)
    publish(world, "1h", "never")
    assert len(world.store.meta_items(b"t")) == 2
    world.ask("$JS.API.STREAM.DELETE.S")
    assert world.store.meta_items(b"t") == []
    world.pass_time(2 * HOUR)


def test_large_messages_are_not_read_for_their_headers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(limits, "FAT_PAYLOAD", 1000)
    monkeypatch.setattr(limits, "FAT_PART", 500)
    world.create(allow_msg_ttl=True)
    for _ in range(3):
        world.ask("s.a", b"x" * 5_000, "Nats-TTL: 1h")
    world.put_away()
    store = world.js.streams["S"].store
    found = list(store.headed(2, 3))
    assert [(message.seq, message.subject, message.data) for message in found] == [
        (2, b"s.a", b""),
        (3, b"s.a", b""),
    ]
    assert found[0].headers == b"NATS/1.0\r\nNats-TTL: 1h\r\n\r\n"
    world.pass_time(HOUR)
    assert store.messages == 0
