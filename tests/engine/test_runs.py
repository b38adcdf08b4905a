"""Publishes that arrive together are stored together: with the result of one after the other."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetstream_py.engine.outbox import SKIP
from jetstream_py.store import failpoints
from tests.engine.world import SECOND, World


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """One store for all examples; each makes and deletes its stream."""
    with tempfile.TemporaryDirectory() as path:
        world = World(Path(path))
        yield world
        world.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    failpoints.disarm()
    world.close()


Publish = tuple[bytes, bytes, bytes, bytes]  # subject, reply, headers, data


def frame(publish: Publish) -> bytes:
    subject, reply, headers, data = publish
    start = b"PUB" if not headers else b"HPUB"
    sizes = b"%d" % len(data) if not headers else b"%d %d" % (len(headers), len(headers + data))
    return b" ".join([start, subject, *([reply] if reply else []), sizes]) + (
        b"\r\n" + headers + data + b"\r\n"
    )


def ids(number: int) -> bytes:
    return b"NATS/1.0\r\nNats-Msg-Id: %d\r\n\r\n" % number


BLOCKS = st.sampled_from(
    [
        b"NATS/1.0\r\n\r\n",
        b"NATS/1.0\r\nX: 1\r\n\r\n",
        b"NATS/1.0\r\nX: 2\r\ntraceparent: 00-1-1-01\r\n\r\n",
        b"NATS/1.0\r\nNats-Msg-Id:  7\r\nX: 1\r\n\r\n",
        b"NATS/1.0\r\nNats-Msg-Id: 8\r\nNats-Msg-Id: 9\r\n\r\n",
        b"NATS/1.0\r\nNats-Msg-Id:\r\n\r\n",
        b"NATS/1.0 404 No\r\nX: 1\r\n\r\n",
        b"NATS/1.0\r\nNats-TTL: 10s\r\n\r\n",
        b"NATS/1.0\r\nNats-TTL: never\r\n\r\n",
        b"NATS/1.0\r\nNats-TTL: 3\r\nX: 1\r\n\r\n",
        b"NATS/1.0\r\nNats-TTL: x\r\n\r\n",
        b"NATS/1.0\r\nNats-Expected-Last-Sequence: 3\r\n\r\n",
        b"no block at all",
    ]
)


CONFIGS = st.fixed_dictionaries(
    {
        "storage": st.sampled_from(["file", "memory"]),
        "discard": st.sampled_from(["old", "new"]),
        "retention": st.sampled_from(["limits", "limits", "workqueue", "interest"]),
    },
    optional={
        "max_msgs": st.one_of(st.integers(1, 12), st.just(1_000)),
        "max_bytes": st.one_of(st.integers(60, 900), st.just(100_000)),
        "max_msgs_per_subject": st.one_of(st.just(1), st.integers(1, 4)),
        "max_msg_size": st.integers(0, 250),
        "max_age": st.just(60 * SECOND),
        "no_ack": st.booleans(),
        "allow_msg_ttl": st.just(True),
    },
)
SUBJECTS = st.sampled_from([b"s.a", b"s.b", b"s.c.d"])
REPLIES = st.sampled_from([b"_INBOX.a", b"_INBOX.b", b"_INBOX.a", b""])
DATAS = st.one_of(st.binary(max_size=20), st.integers(0, 300).map(lambda n: b"x" * n))


def publishes_with(headers: st.SearchStrategy[bytes]) -> st.SearchStrategy[list[Publish]]:
    each = st.tuples(SUBJECTS, REPLIES, headers, DATAS)
    return st.lists(each, min_size=1, max_size=30)


PUBLISHES = st.one_of(
    publishes_with(st.one_of(st.just(b""), st.just(b""), st.integers(1, 3).map(ids))),
    publishes_with(st.one_of(st.just(b""), BLOCKS)),
    publishes_with(st.integers(1, 200).map(ids)),
    # As a client sends them: all of a kind.
    BLOCKS.flatmap(lambda block: publishes_with(st.just(block))),
)


def outcome(world: World, config: dict[str, Any], reads: list[bytes]) -> tuple[Any, ...]:
    """What a client can learn after sending these reads to a new stream."""
    assert "error" not in world.create(**config)
    try:
        for read in reads:
            world.client.send(read)
        world.settle()
        acks = world.client.read()
        info = world.ask("$JS.API.STREAM.INFO.S", b'{"deleted_details":true,"subjects_filter":">"}')
        found = []
        for seq in range(1, info["state"]["last_seq"] + 1):
            found.append(world.ask("$JS.API.STREAM.MSG.GET.S", json.dumps({"seq": seq}).encode()))
    finally:
        assert world.ask("$JS.API.STREAM.DELETE.S")["success"]
    return acks, info["state"], found


@settings(max_examples=150, deadline=None)
@given(config=CONFIGS, before=PUBLISHES, publishes=PUBLISHES)
def test_a_run_has_the_result_of_its_messages_one_by_one(
    shared: World, config: dict[str, Any], before: list[Publish], publishes: list[Publish]
) -> None:
    limits = {"max_msgs", "max_bytes", "max_msgs_per_subject"}
    if config["discard"] == "new" and not limits & set(config):
        config = {**config, "max_msgs": 5}
    singles = [frame(publish) for publish in before + publishes]
    together = [b"".join(map(frame, before)), b"".join(map(frame, publishes))]
    assert outcome(shared, config, together) == outcome(shared, config, singles)


class Batched(NamedTuple):
    """A message of an atomic batch; `skip` is a number that is lost before it."""

    batch: bytes
    skip: bool
    reply: bytes
    more: bytes
    commit: bytes


BATCHED = st.builds(
    Batched,
    st.sampled_from([b"a", b"a", b"a", b"a", b"b"]),
    st.sampled_from([False] * 30 + [True]),
    st.sampled_from([b""] * 6 + [b"_INBOX.a"]),
    st.sampled_from([b""] * 8 + [b"X: 1\r\n", b"Nats-Msg-Id: 1\r\n", b"Nats-TTL: 9\r\n"]),
    st.sampled_from([b""] * 9 + [b"1", b"eob", b"?"]),
)


def batch_frames(messages: list[Batched]) -> list[bytes]:
    frames, numbers = [], Counter[bytes]()
    for at, (batch, skip, reply, more, commit) in enumerate(messages):
        numbers[batch] += 2 if skip else 1
        lines = b"Nats-Batch-Id: %b\r\nNats-Batch-Sequence: %d\r\n" % (batch, numbers[batch])
        if commit:
            lines += b"Nats-Batch-Commit: %b\r\n" % commit
            numbers[batch] = 0
        block = b"NATS/1.0\r\n" + lines + more + b"\r\n"
        frames.append(frame((b"s.%d" % (at % 3), reply or b"", block, b"x" * (at % 40))))
    return frames


@settings(max_examples=100, deadline=None)
@given(config=CONFIGS, messages=st.lists(BATCHED, min_size=1, max_size=60))
def test_batches_have_the_result_of_their_messages_one_by_one(
    shared: World, config: dict[str, Any], messages: list[Batched]
) -> None:
    if config["discard"] == "new":
        config = {**config, "max_msgs": 5}
    config = {**config, "allow_atomic": True}
    frames = batch_frames([*messages, Batched(b"a", False, b"_INBOX.a", b"", b"1")])
    middle = len(frames) // 2
    together = [b"".join(frames[:middle]), b"".join(frames[middle:])]
    assert outcome(shared, config, together) == outcome(shared, config, frames)


def test_the_acks_of_a_run_count_up_through_every_length(world: World) -> None:
    world.create()
    world.client.send(b"SUB _INBOX.r.* 2\r\n")
    for start, count in ((0, 1), (1, 7), (8, 100), (108, 1500), (1608, 9000)):
        numbers = range(start, start + count)
        world.client.send(b"".join(b"PUB s.a _INBOX.r.%d 1\r\nx\r\n" % i for i in numbers))
        world.settle()
        expected = b""
        for i in numbers:
            ack = b'{"stream":"S","seq":%d}' % (i + 1)
            expected += b"MSG _INBOX.r.%d 2 %d\r\n%b\r\n" % (i, len(ack), ack)
        before = world.client.session.out_msgs, world.client.session.out_bytes
        assert world.client.read() == expected
        assert before[1] == world.client.session.out_bytes
    assert world.client.session.out_msgs >= 10_608


def test_acks_reach_every_kind_of_subscriber(world: World) -> None:
    """Two inboxes in one run, one watched twice, one by a subscription with a limit and a group."""
    world.create()
    other = world.bench.client()
    other.send(b"SUB one.* 7\r\n")
    world.client.send(b"SUB one.* 2\r\nSUB two.> 3\r\nUNSUB 3 2\r\nSUB six.* q 6\r\n")
    replies = [b"one.1", b"one.2", b"two.1", b"two.2", b"two.3", b"six.1", b"nobody"]
    run = b"".join(b"PUB s.a %b 0\r\n\r\n" % reply for reply in replies)
    world.client.send(run)
    world.settle()

    def got(data: bytes) -> list[tuple[bytes, bytes]]:
        lines = data.split(b"\r\n")
        return [(a.split()[1], b) for a, b in zip(lines[::2], lines[1::2], strict=False)]

    acks = [(reply, b'{"stream":"S","seq":%d}' % seq) for seq, reply in enumerate(replies, 1)]
    assert got(world.client.read()) == [*acks[:4], acks[5]]
    assert got(other.read()) == acks[:2]
    world.client.send(b"".join(b"PUB s.a one.%d 0\r\n\r\n" % i for i in range(3)))
    world.settle()
    assert other.read() == world.client.read().replace(b" 2 2", b" 7 2")


def test_a_failed_commit_takes_the_whole_run_with_it(world: World) -> None:
    world.create()

    def fail() -> None:
        raise OSError(5, "Input/output error")

    failpoints.arm("commit.before", fail)
    world.client.send(b"PUB s.a _INBOX.a 1\r\nx\r\n" * 100)
    world.settle()
    assert world.client.read() == b""
    failpoints.disarm()
    # A run that comes later is refused message by message.
    world.client.send(b"PUB s.a _INBOX.a 1\r\nx\r\n" * 3)
    world.settle()
    assert [answer["error"]["code"] for answer in world.answers()] == [503] * 3


def test_nothing_overtakes_the_acks_of_a_run(world: World) -> None:
    world.create()
    body = json.dumps({"name": "M", "subjects": ["m.>"], "storage": "memory"}).encode()
    world.ask("$JS.API.STREAM.CREATE.M", body)
    publishes = b"PUB s.a _INBOX.a 1\r\nx\r\n" * 50 + b"PUB m.a _INBOX.a 1\r\nx\r\n" * 50
    info = b"PUB $JS.API.STREAM.INFO.M _INBOX.a 0\r\n\r\n"
    world.client.send(publishes + info)
    assert world.client.read() == b""
    world.settle()
    *acks, last = world.answers()
    assert [(ack["stream"], ack["seq"]) for ack in acks] == [
        (name, seq) for name in "SM" for seq in range(1, 51)
    ]
    assert last["state"]["messages"] == 50


def test_a_commit_waits_while_more_comes_and_not_when_nothing_does(world: World) -> None:
    world.create()
    loop, outbox = world.bench.loop, world.js.outbox
    commits: list[int] = []
    failpoints.arm("commit.begin", lambda: commits.append(1))
    outbox._skip = 0
    world.send("s.a")
    loop.call_soon(world.send, "s.b")  # arrives a turn of the loop later
    world.settle()
    assert len(commits) == 1
    world.send("s.a")  # alone: this one waits a turn, the next ones do not
    world.turn()
    assert len(commits) == 1
    world.settle()
    assert len(commits) == 2
    for count in range(3, 3 + SKIP):
        world.send("s.a")
        world.turn()
        assert len(commits) == count
    assert [answer["seq"] for answer in world.answers()] == list(range(1, 4 + SKIP))


def test_a_full_disk_refuses_from_the_message_that_does_not_fit(world: World) -> None:
    world.create()
    world.store._allowance = 250
    world.client.send(b"PUB s.a _INBOX.a 60\r\n%b\r\n" % (b"x" * 60) * 5)
    world.settle()
    answers = world.answers()
    assert [answer.get("seq") for answer in answers[:3]] == [1, 2, 3]
    assert [answer["error"]["err_code"] for answer in answers[3:]] == [10023] * 2
