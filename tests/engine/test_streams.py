"""Streams in the test's own process: see `world`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jetstream_py.store import failpoints
from tests.engine.world import SECOND, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    failpoints.disarm()
    world.close()


def test_an_ack_waits_for_the_commit(world: World) -> None:
    world.create()
    seen: list[bytes] = []
    failpoints.arm("commit.after", lambda: seen.append(world.client.link.take()))
    world.send("s.a", b"x")
    assert world.answers() == []
    world.settle()
    assert seen == [b""]  # synced, and still nothing had left
    assert world.answers() == [{"stream": "S", "seq": 1}]


def test_an_answer_waits_for_what_it_speaks_of(world: World) -> None:
    """Information asked for behind a publish shows it, and leaves with its ack."""
    world.create()
    world.send("s.a", b"x")
    world.send("$JS.API.STREAM.INFO.S")
    assert world.answers() == []
    world.settle()
    ack, info = world.answers()
    assert ack["seq"] == 1
    assert info["state"]["messages"] == 1


def test_answers_keep_the_order_of_their_requests(world: World) -> None:
    """A memory stream waits for no disk, and still nothing overtakes its acks."""
    world.create(storage="memory")
    world.send("s.a", b"x")
    world.send("$JS.API.STREAM.INFO.S")
    world.settle()
    ack, info = world.answers()
    assert (ack["seq"], info["state"]["messages"]) == (1, 1)


def test_publishes_of_one_tick_are_one_group(world: World) -> None:
    world.create()
    commits: list[int] = []
    failpoints.arm("commit.begin", lambda: commits.append(1))
    for _ in range(500):
        world.send("s.a", b"x")
    world.settle()
    assert len(commits) == 1
    assert [ack["seq"] for ack in world.answers()] == list(range(1, 501))


def test_a_failed_commit_stops_streams_and_nothing_else(world: World) -> None:
    world.create()

    def fail() -> None:
        raise OSError(5, "Input/output error")

    failpoints.arm("commit.before", fail)
    world.send("s.a", b"x")
    world.settle()
    assert world.answers() == []  # no ack, ever
    assert "Input/output error" in world.failure
    failpoints.disarm()
    assert world.ask("s.a", b"x")["error"]["code"] == 503
    assert world.ask("$JS.API.STREAM.INFO.S")["error"]["code"] == 503
    assert world.client.ask(b"SUB c 9\r\nPUB c 1\r\nx\r\n") == b"MSG c 9 1\r\nx\r\n"


def test_what_was_acked_is_there_after_a_crash(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.create()
    world.ask("s.a", b"kept")
    world.ask("s.b", b"kept", "Nats-Msg-Id: one")
    world.send("s.c", b"never acked")
    world.crash()
    again = World(tmp_path)
    assert again.state()["last_seq"] == 2
    assert again.ask("s.b", b"again", "Nats-Msg-Id: one") == {
        "stream": "S",
        "seq": 2,
        "duplicate": True,
    }
    again.close()


def test_a_deleted_message_is_nowhere_in_the_file(world: World, tmp_path: Path) -> None:
    """By the time of the answer; what is deleted with `no_erase` is left to be overwritten."""
    world.create()
    for number in range(5):
        world.ask("s.a", b"SECRET-%d " % number * 20, f"Own: HEADER-{number}")
    assert "error" not in world.ask("$JS.API.STREAM.MSG.DELETE.S", b'{"seq":2}')
    content = (tmp_path / "data.mdb").read_bytes()
    assert b"SECRET-1" not in content
    assert b"HEADER-1" not in content
    assert b"SECRET-2" in content


def test_messages_age(world: World) -> None:
    world.create(max_age=10 * SECOND)
    world.ask("s.a", b"x")
    world.pass_time(6)
    world.ask("s.a", b"y")
    assert world.state()["messages"] == 2
    world.pass_time(4.5)
    assert world.state()["messages"] == 1
    world.pass_time(10)
    state = world.state()
    assert (state["messages"], state["first_seq"], state["last_seq"]) == (0, 3, 2)
    world.pass_time(3600)
    assert world.bench.broker.timers.next_due() is None  # an empty stream has no timer


def test_message_ids_are_forgotten_after_the_window(world: World) -> None:
    world.create(duplicate_window=2 * SECOND)
    assert world.ask("s.a", b"x", "Nats-Msg-Id: one")["seq"] == 1
    assert world.ask("s.a", b"x", "Nats-Msg-Id: one")["duplicate"]
    world.pass_time(2.5)
    assert len(world.js.streams["S"].dedupe) == 0
    assert world.ask("s.a", b"x", "Nats-Msg-Id: one")["seq"] == 2
