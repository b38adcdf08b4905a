"""What comes while the disk stands still: it waits, up to a bound, and nothing of it is lost silently."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jetstream_py import limits
from jetstream_py.engine.request_queue import RequestQueue
from jetstream_py.engine.settings import Settings
from jetstream_py.store import failpoints
from tests.engine.world import TIMEOUT, World

TOO_MANY = {"code": 429, "err_code": 10167, "description": "too many requests"}


@contextmanager
def standing_disk(world: World) -> Iterator[None]:
    """A commit is under way, and does not end before the block does."""
    go_on = threading.Event()

    def wait() -> None:
        assert go_on.wait(TIMEOUT)

    failpoints.arm("commit.begin", wait)
    try:
        large = 2 * max(limits.STORE_INLINE, limits.WAL_RECORD)  # for the writer's thread
        world.send("s.large", bytes(large))
        while not world.store.busy:
            world.turn()
        yield
    finally:
        failpoints.disarm()
        go_on.set()
        world.settle()


def refusals(world: World) -> list[Any]:
    """What has left already."""
    world.turn()
    return world.answers()


def test_messages_wait_up_to_a_number(tmp_path: Path) -> None:
    world = World(tmp_path, max_buffered_msgs=3)
    world.create()
    with standing_disk(world):
        for number in range(5):
            world.send("s.a", b"%d" % number)
        assert refusals(world) == [{"error": TOO_MANY, "stream": "S", "seq": 0}] * 2
    assert [ack["seq"] for ack in world.answers()] == [1, 2, 3, 4]
    assert [message.data for message in world.rows("S")[1:]] == [b"0", b"1", b"2"]
    assert world.ask("s.a")["seq"] == 5  # there is room again
    assert world.engine.dropped == 2
    world.close()


def test_messages_wait_up_to_a_size(tmp_path: Path) -> None:
    """Subject, reply, headers and payload count. A small message may fit where a large one did not."""
    world = World(tmp_path, max_buffered_size=1 << 20)
    world.create()
    with standing_disk(world):
        overhead = len("s.a" + "_INBOX.a")
        world.send("s.a", bytes((1 << 20) - 100 - overhead))
        world.send("s.a", bytes(101 - overhead))
        world.send("s.a", bytes(100 - overhead))
        world.send("s.a", b"")
        assert [answer["error"] for answer in refusals(world)] == [TOO_MANY] * 2
    assert [ack["seq"] for ack in world.answers()] == [1, 2, 3]
    world.close()


def test_bytes_in_the_store_count(tmp_path: Path) -> None:
    """Where no message is larger than the bound: it is passed by the last one that is taken."""
    world = World(tmp_path, max_buffered_size=2 << 20)
    world.create()
    with standing_disk(world):
        for _ in range(5):
            world.send("s.a", bytes(1_000_000))
        assert [answer["error"] for answer in refusals(world)] == [TOO_MANY] * 2
    assert [ack["seq"] for ack in world.answers()] == [1, 2, 3, 4]
    world.close()


def test_every_kind_of_publish_is_counted(tmp_path: Path) -> None:
    """With headers, in batches, without a reply, to a stream that gives no acks or is in memory."""
    world = World(tmp_path, max_buffered_msgs=1)
    world.create(allow_atomic=True)
    world.make("N", subjects=["n"], no_ack=True, storage="memory")
    with standing_disk(world):
        world.send("n")
        world.send("n")
        assert [answer["stream"] for answer in refusals(world)] == ["N"]
        world.send("s.a", b"x", "Nats-Msg-Id: 1")
        world.send("s.a", b"x", "Nats-Msg-Id: 2")
        world.send("s.a", b"x", "Nats-Batch-Id: b\r\nNats-Batch-Sequence: 1")
        world.client.send(b"PUB s.a 1\r\nx\r\n")
        assert [answer["stream"] for answer in refusals(world)] == ["S", "S"]
    assert [ack["seq"] for ack in world.answers()] == [1, 2]
    assert world.state()["messages"] == 2
    assert world.info("N")["state"]["messages"] == 1
    assert world.engine.dropped == 4
    world.close()


def test_streams_have_their_own_bounds(tmp_path: Path) -> None:
    world = World(tmp_path, max_buffered_msgs=1)
    world.create()
    world.make("T", subjects=["t"])
    with standing_disk(world):
        world.send("s.a")
        world.send("t")
        assert refusals(world) == []
    assert [ack["stream"] for ack in world.answers()] == ["S", "S", "T"]
    world.close()


def test_answers_wait_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind them requests wait, up to a number; then they are dropped, and the others go on."""
    world = World(tmp_path, request_queue_limit=3, info_queue_limit=4)
    world.create(description="x" * 4000)
    dropped: list[int] = []
    world.engine.requests.overflow = dropped.append
    monkeypatch.setattr(limits, "API_ANSWERS", 8000)
    with standing_disk(world):
        for _ in range(2):
            world.send("$JS.API.STREAM.INFO.S")
        for _ in range(4):
            world.send("$JS.API.STREAM.NAMES")
        assert dropped == [4]
        world.send("$JS.API.STREAM.DELETE.T")
        world.send("$JS.API.STREAM.NAMES")
        assert refusals(world) == []
    world.settle()
    assert [answer.get("type", "PubAck").split(".")[-1] for answer in world.answers()] == [
        "PubAck",
        "stream_info_response",
        "stream_info_response",
        "stream_delete_response",
        "stream_names_response",
    ]
    assert world.engine.requests.dropped == 4
    world.close()


class Work:
    """Requests of 2 ms each, on a loop and a clock of their own."""

    failed = ""
    busy = False

    def __init__(self) -> None:
        self.now = 0.0
        self.done: list[str] = []
        self.later: list[Any] = []
        settings = Settings(request_queue_limit=10, info_queue_limit=10)
        self.queue = RequestQueue(self, self, self.later.append, self.done.append, settings)  # type: ignore[arg-type]

    def monotonic(self) -> float:
        return self.now

    def ask(self, name: str, question: bool = True, size: int = 0) -> None:
        def run() -> None:
            self.now += 0.002
            self.done.append(name)

        self.queue.put(run, size, question)

    def turn(self) -> list[str]:
        """One turn of the loop, and what was done in it."""
        self.done.clear()
        later, self.later[:] = list(self.later), []
        for action in later:
            action()
        return list(self.done)


def test_requests_have_their_turn() -> None:
    """As many as take 5 ms at once; the rest in later turns, those that change something first."""
    work = Work()
    for number in range(8):
        work.ask(f"q{number}")
    work.ask("change", question=False)
    assert work.done == ["q0", "q1", "q2"]
    assert work.turn() == ["change", "q3", "q4", "q5"]
    work.ask("q8")
    assert work.turn() == ["q6", "q7", "q8"]
    assert work.turn() == []
    assert work.later == []  # at rest there is nothing to do


def test_a_lane_is_emptied_when_it_is_full() -> None:
    work = Work()
    for number in range(13):
        work.ask(f"q{number}")
    assert work.done[3:] == ["JetStream API info queue limit reached, dropping 10 requests"]
    assert work.queue.dropped == 10
    assert work.turn() == []
    for number in range(4):
        work.ask(f"c{number}", question=False, size=limits.API_QUEUE_BYTES)
    work.ask("c4", question=False, size=1)
    assert work.done[3:] == ["JetStream API queue limit reached, dropping 2 requests"]
