"""A store at rest is tidied up once, and then costs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetstream_py import limits
from jetstream_py.store import failpoints, verify
from jetstream_py.store.file_stream import FileStream
from tests.engine.world import World

A_WHILE = 4 * limits.CHECKPOINT_IDLE


@pytest.fixture
def commits() -> Iterator[list[int]]:
    seen: list[int] = []
    failpoints.arm("commit.begin", lambda: seen.append(1))
    yield seen
    failpoints.disarm()


def to_replay(world: World) -> int:
    """Records that the start found beyond the checkpoint."""
    store = world.js.streams["S"].store
    assert isinstance(store, FileStream)
    return store.checkpointer.changes


def start_after_crash(world: World, path: Path) -> World:
    world.crash()
    assert verify(str(path)) == []
    return World(path)


def test_after_a_pause_there_is_nothing_to_replay(tmp_path: Path, commits: list[int]) -> None:
    world = World(tmp_path)
    world.create()
    for i in range(50):
        world.ask(f"s.{i}", b"x")
    world = start_after_crash(world, tmp_path)
    assert to_replay(world) == 50
    world.pass_time(A_WHILE)
    world = start_after_crash(world, tmp_path)
    assert to_replay(world) == 0
    assert world.state()["num_subjects"] == 50
    world.pass_time(A_WHILE)
    commits.clear()
    world.pass_time(3600)
    assert commits == []
    world.close()


def test_it_waits_for_a_pause(tmp_path: Path, commits: list[int]) -> None:
    world = World(tmp_path)
    world.create()
    commits.clear()
    for _ in range(20):
        world.ask("s.a", b"x")
        world.pass_time(limits.CHECKPOINT_IDLE - 1)
    assert len(commits) == 20  # those of the publishes
    world.pass_time(A_WHILE)
    assert len(commits) == 21
    world.close()


def test_many_subjects_are_written_in_slices(
    tmp_path: Path, commits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CHECKPOINT_SLICE", 50)
    world = World(tmp_path)
    world.create()
    for i in range(500):
        world.send(f"s.{i}", b"x")
    world.settle()
    commits.clear()
    world.pass_time(A_WHILE)
    assert len(commits) >= 10
    world = start_after_crash(world, tmp_path)
    assert to_replay(world) == 0
    assert world.state()["num_subjects"] == 500
    world.close()


def test_a_thousand_streams_at_rest_have_no_timer(tmp_path: Path, commits: list[int]) -> None:
    world = World(tmp_path)
    for i in range(1_000):
        body = json.dumps({"name": f"N{i}", "max_age": 3_600_000_000_000}).encode()
        world.send(f"$JS.API.STREAM.CREATE.N{i}", body)
    world.settle()
    world.pass_time(A_WHILE)
    world.pass_time(A_WHILE)
    assert world.bench.broker.timers.next_due() is None
    commits.clear()
    world.bench.clock.advance(86_400)
    assert world.bench.broker.timers.run_due() == 0
    world.settle()
    assert commits == []
    world.close()


def test_a_store_that_failed_is_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.create()

    def fail() -> None:
        raise OSError(5, "Input/output error")

    failpoints.arm("commit.before", fail)
    world.send("s.a", b"x")
    world.settle()
    failpoints.disarm()
    world.pass_time(A_WHILE)
    assert world.bench.broker.timers.next_due() is None
    world.close()
