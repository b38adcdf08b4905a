"""`sync_interval`: what leaves before the sync, when the sync comes, and what a crash then costs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetstream_py import limits
from jetstream_py.store import failpoints, verify
from tests.engine.world import World

MINUTES = 120.0


@pytest.fixture
def commits() -> Iterator[list[int]]:
    """One entry for each commit from here on."""
    seen: list[int] = []
    failpoints.arm("commit.begin", lambda: seen.append(1))
    yield seen
    failpoints.disarm()


def at_rest(path: Path, interval: float) -> World:
    """With a stream, and nothing left to do."""
    world = World(path, interval)
    world.create()
    while world.bench.broker.timers.next_due() is not None:
        world.pass_time(20)  # an idle store writes its checkpoint
    return world


def messages_after_crash(world: World, path: Path) -> int:
    world.crash()
    assert verify(str(path)) == []
    again = World(path)
    count: int = again.state()["messages"]
    again.close()
    return count


def test_an_ack_leaves_before_the_sync(tmp_path: Path, commits: list[int]) -> None:
    world = at_rest(tmp_path, MINUTES)
    commits.clear()
    assert world.ask("s.a", b"x") == {"stream": "S", "seq": 1}
    assert world.state()["messages"] == 1
    assert commits == []
    world.pass_time(MINUTES - 1)
    assert commits == []
    world.pass_time(1)
    assert commits == [1]
    world.close()


def test_a_crash_costs_the_last_interval_and_no_more(tmp_path: Path) -> None:
    world = World(tmp_path, MINUTES)
    world.create()
    for _ in range(10):
        world.ask("s.a", b"kept")
    world.pass_time(MINUTES)
    for _ in range(5):
        world.ask("s.a", b"lost")
    assert messages_after_crash(world, tmp_path) == 10


def test_a_stop_loses_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, MINUTES)
    world.create()
    world.ask("s.a", b"kept")
    world.close()
    again = World(tmp_path)
    assert again.state()["messages"] == 1
    again.close()


def test_the_interval_counts_from_the_first_change(tmp_path: Path, commits: list[int]) -> None:
    """Messages that keep coming do not put the sync off."""
    world = at_rest(tmp_path, 10.0)
    commits.clear()
    for _ in range(9):
        world.ask("s.a", b"x")
        world.pass_time(1)
    assert commits == []
    world.pass_time(1)
    assert commits == [1]
    world.close()


def test_publishes_that_arrive_together(tmp_path: Path, commits: list[int]) -> None:
    """They take a way of their own through the server, and wait for the interval all the same."""
    world = at_rest(tmp_path, 10.0)
    commits.clear()
    world.client.send(b"".join(b"PUB s.a _INBOX.%d 1\r\nx\r\n" % i for i in range(500)))
    world.settle()
    assert len(world.answers()) == 500
    assert commits == []
    world.pass_time(10)
    assert commits == [1]
    assert messages_after_crash(world, tmp_path) == 500


def test_publishes_without_reply_are_synced_too(tmp_path: Path) -> None:
    world = World(tmp_path, 10.0)
    world.create()
    world.client.send(b"PUB s.a 1\r\nx\r\n")
    world.settle()
    world.pass_time(10)
    assert messages_after_crash(world, tmp_path) == 1


def test_what_is_staged_is_bounded(
    tmp_path: Path, commits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INTERVAL_BYTES", 10_000)
    world = World(tmp_path, MINUTES)
    world.create()
    commits.clear()
    for _ in range(100):
        assert "seq" in world.ask("s.a", bytes(1_000))
        assert world.store.staged_bytes < 12_500
    assert 8 <= len(commits) <= 10
    world.close()


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("STREAM.CREATE.T", {"name": "T"}),
        ("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], "max_msgs": 9}),
        ("STREAM.PURGE.S", {"filter": "s.b"}),
        ("STREAM.MSG.DELETE.S", {"seq": 1}),
        ("STREAM.DELETE.S", None),
    ],
)
def test_administration_is_synced_before_it_is_answered(
    tmp_path: Path, commits: list[int], verb: str, body: object
) -> None:
    world = World(tmp_path, MINUTES)
    world.create()
    world.ask("s.a", b"x")
    world.ask("s.b", b"x")
    commits.clear()
    left: list[bytes] = []

    def look() -> None:
        if not left:
            left.append(world.client.link.take())

    failpoints.arm("commit.after", look)
    answer = world.ask("$JS.API." + verb, json.dumps(body).encode() if body else b"")
    assert "error" not in answer
    assert len(commits) >= 1
    assert left[0] == b""
    world.close()


def test_an_idle_server_has_no_timer(tmp_path: Path) -> None:
    world = at_rest(tmp_path, 10.0)
    world.ask("s.a", b"x")
    for _ in range(5):
        world.pass_time(20)
    assert world.bench.broker.timers.next_due() is None
    world.close()
