"""Batches inside the engine: time, memory, commits, and that a run of a fast batch is nothing special."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetstream_py import limits
from jetstream_py.api.types import AccountLimits
from jetstream_py.engine.fast_reply import Op, Reply, parse_reply, parse_run
from jetstream_py.engine.quota import Allowance
from jetstream_py.store import failpoints
from tests.engine.world import World

ABANDONED = b"SUB $JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.S 2\r\n"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    failpoints.disarm()
    world.close()


def add(world: World, seq: int, batch: str = "b", commit: str = "", data: bytes = b"x") -> Any:
    """A message of an atomic batch; what is answered, advisories included."""
    headers = f"Nats-Batch-Id: {batch}\r\nNats-Batch-Sequence: {seq}"
    if commit:
        headers += f"\r\nNats-Batch-Commit: {commit}"
    world.send("s.a", data, headers)
    world.settle()
    return world.answers()


def codes(answers: list[Any]) -> list[object]:
    """Err codes of refusals, reasons of advisories."""
    return [
        answer["error"]["err_code"] if "error" in answer else answer["reason"] for answer in answers
    ]


@pytest.mark.behaviour("PUB-065")
def test_it_may_rest_for_ten_seconds(world: World) -> None:
    world.create(allow_atomic=True)
    world.client.send(ABANDONED)
    assert add(world, 1) == []
    world.pass_time(9.75)
    assert add(world, 2) == []
    add(world, 1, "other")
    world.pass_time(9.75)
    assert world.answers() == []
    assert add(world, 2, "other") == []
    world.pass_time(0.25)
    [advisory] = world.answers()
    assert (advisory["batch"], advisory["reason"]) == ("b", "timeout")
    assert codes(add(world, 3, commit="1")) == [10176]
    assert add(world, 3, "other", "1")[0]["count"] == 3
    assert world.engine.atomic.count == world.engine.atomic.bytes == 0


def test_what_they_hold_is_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BATCH_BYTES", 4_000)
    world.create(allow_atomic=True)
    world.client.send(ABANDONED)
    add(world, 1, "a", data=b"x" * 1_500)
    add(world, 1, "b", data=b"x" * 1_000)
    assert sorted(map(str, codes(add(world, 2, "b", data=b"x" * 1_000)))) == ["10023", "large"]
    assert codes(add(world, 2, "b", "1")) == [10176]
    assert add(world, 2, "a", "1", data=b"x" * 1_500)[0]["count"] == 2
    assert world.engine.atomic.bytes == 0
    assert world.state()["messages"] == 2


def test_no_room_for_all_of_it(world: World) -> None:
    """The account's limit is held against the whole batch."""
    world.js.disable()
    world.js.enable(Allowance(AccountLimits(max_storage=500)))
    world.create(allow_atomic=True)
    for seq in (1, 2):
        add(world, seq, data=b"x" * 150)
    assert codes(add(world, 3, commit="1", data=b"x" * 150)) == [10002]
    assert world.state()["messages"] == 0
    add(world, 1)
    assert add(world, 2, commit="1")[0]["count"] == 2


@pytest.mark.behaviour("PUB-068")
@pytest.mark.parametrize("storage", ["file", "memory"])
def test_one_group(world: World, storage: str) -> None:
    """However long it is, a batch is one commit."""
    world.create(allow_atomic=True, storage=storage)
    for seq in range(1, 300):
        add(world, seq, data=b"x" * 1_000)
    before = world.store.commits
    [answer] = add(world, 300, commit="1", data=b"x" * 1_000)
    assert answer["count"] == 300
    assert world.store.commits - before == (1 if storage == "file" else 0)


def test_it_ends_with_its_stream(world: World) -> None:
    world.create(allow_atomic=True, allow_batched=True)
    add(world, 1)
    world.client.send(b"PUB s.a _F.b.3.ok.1.0.$FI 0\r\n\r\n")
    world.settle()
    assert (world.engine.atomic.count, world.engine.fast.count) == (1, 1)
    world.ask("$JS.API.STREAM.DELETE.S")
    assert (world.engine.atomic.count, world.engine.fast.count) == (0, 0)
    assert world.engine.atomic.bytes == 0


# -- fast ones ---------------------------------------------------------------------------------------


def test_an_ack_waits_for_the_commit(world: World) -> None:
    world.create(allow_batched=True)
    world.client.send(b"SUB _F.> 2\r\nPUB s.a _F.p.b.2.ok.1.0.$FI 0\r\n\r\n")
    world.settle()
    world.client.read()

    def die() -> None:
        raise OSError(5, "Input/output error")

    failpoints.arm("commit.before", die)
    world.client.send(b"PUB s.a _F.p.b.2.ok.2.1.$FI 0\r\n\r\n")
    world.settle()
    assert world.failure
    assert world.answers() == []


def test_a_fast_one_rests_ten_seconds_at_most(world: World) -> None:
    world.create(allow_batched=True)
    world.client.send(b"SUB _F.> 2\r\n" + ABANDONED)
    world.client.send(b"PUB s.a _F.p.b.2.ok.1.0.$FI 0\r\n\r\n")
    world.pass_time(9.75)
    world.client.send(b"PUB s.a _F.p.b.2.ok.1.4.$FI 0\r\n\r\n")
    world.pass_time(9.75)
    assert world.engine.fast.count == 1
    world.pass_time(0.25)
    assert world.engine.fast.count == 0
    assert [answer["type"] for answer in world.answers()] == ["ack", "ack"]
    assert world.state()["messages"] == 1


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """One store for all examples; each makes and deletes its stream."""
    with tempfile.TemporaryDirectory() as path:
        world = World(Path(path))
        world.client.send(b"SUB _F.> 2\r\n")
        yield world
        world.close()


def heard(world: World, config: dict[str, Any], reads: list[bytes]) -> tuple[Any, ...]:
    """What a publisher hears, and what is there afterwards."""
    world.create(**config)
    for read in reads:
        world.client.send(read)
        world.settle()
    answers = world.answers()
    state = world.state()
    world.ask("$JS.API.STREAM.DELETE.S")
    told = ("messages", "bytes", "first_seq", "last_seq", "num_subjects")
    return answers, {name: state.get(name) for name in told}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["a", "a", "a", "a", "b"]),  # which batch
        st.sampled_from([1, 1, 1, 1, 1, 1, 1, 1, 2, 0]),  # how far its number goes on
        st.sampled_from(["", "", "", "", "", "", "", "PUB s.b 1\r\nx\r\n"]),  # what comes between
    ),
    min_size=5,
    max_size=60,
)


@given(
    steps=STEPS,
    flow=st.sampled_from([1, 2, 3, 10]),
    gap=st.sampled_from(["ok", "fail"]),
    config=st.sampled_from(
        [{}, {"storage": "memory"}, {"max_msgs": 7, "discard": "new"}, {"max_msgs_per_subject": 1}]
    ),
    size=st.integers(2, 12),
)
@settings(max_examples=60, deadline=None)
def test_runs_are_nothing_special(
    shared: World,
    steps: list[tuple[str, int, str]],
    flow: int,
    gap: str,
    config: dict[str, Any],
    size: int,
) -> None:
    """Messages that come together have the result of one after the other."""
    at = {"a": 1, "b": 1}
    frames = [f"PUB s.a _F.p.{name}.{flow}.{gap}.1.0.$FI 0\r\n\r\n".encode() for name in sorted(at)]
    for name, far, between in steps:
        at[name] += far
        op = 1 if at[name] > 1 else 0
        reply = f"_F.p.{name}.{flow}.{gap}.{at[name]}.{op}.$FI"
        frames.append(f"PUB s.a {reply} 3\r\nxyz\r\n{between}".encode())
    reads = [b"".join(frames[start : start + size]) for start in range(0, len(frames), size)]
    config = {"allow_batched": True, **config}
    assert heard(shared, config, reads) == heard(shared, config, frames)


def test_a_run_is_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that carry on are not looked at one by one."""
    world.create(allow_batched=True)
    world.client.send(b"SUB _F.> 2\r\nPUB s.a _F.p.b.4.ok.1.0.$FI 0\r\n\r\n")
    world.settle()
    stream = world.js.streams["S"]
    monkeypatch.setattr(stream, "store_message", None)
    replies = [f"_F.p.b.4.ok.{seq}.1.$FI" for seq in range(2, 10)]
    world.client.send("".join(f"PUB s.a {it} 1\r\nx\r\n" for it in replies).encode())
    world.settle()
    acks = [(it["seq"], it["msgs"]) for it in world.answers()]
    assert acks == [(0, 4), (4, 4), (8, 4)]
    assert stream.store.messages == 9


def test_replies() -> None:
    assert parse_reply(b"p.q.b.7.ok.3.1.$FI") == Reply(b"b", 7, True, 3, Op.APPEND)
    for bad in (b"b.7.ok.3.1.$FI", b"p.b.7.no.3.1.$FI", b"p.b.7.ok.3.5.$FI", b"p.b.7.ok.1.1.$FI"):
        assert parse_reply(bad) is None
    run = [b"p.b.7.ok.%d.1.$FI" % seq for seq in range(9, 12)]
    assert parse_run(run) == Reply(b"b", 7, True, 9, Op.APPEND)
    assert parse_run([*run, b"p.b.7.ok.13.1.$FI"]) is None
    assert parse_run([*run, b"p.c.7.ok.12.1.$FI"]) is None
    assert parse_run([*run, b"p.b.7.ok.12.2.$FI"]) is None
    assert parse_run([b"p.b.7.ok.1.0.$FI"]) is None
