"""Large purges take turns with everybody else, and are answered when the last slice is on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py import limits
from jetstream_py.store import failpoints, verify
from tests.engine.world import World

COUNT = 3_000
STORAGES = pytest.mark.parametrize("storage", ["file", "memory"])
PURGES: list[tuple[dict[str, object], int]] = [
    ({}, COUNT),
    ({"filter": "s.1"}, COUNT // 3),
    ({"filter": "s.*", "keep": 10}, COUNT - 10),
    ({"keep": 10}, COUNT - 10),
    ({"seq": 2_001}, 2_000),
    ({"filter": "s.>", "seq": 2_001}, 2_000),
]


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(limits, "PURGE_RECORDS", 100)
    monkeypatch.setattr(limits, "PURGE_BLOCKS", 2)
    monkeypatch.setattr(limits, "BLOCK_RECORDS", 50)
    yield
    failpoints.disarm()


def filled(path: Path, storage: str = "file") -> World:
    world = World(path)
    world.create(storage=storage)
    for start in range(0, COUNT, 500):
        for i in range(start, start + 500):
            world.send(f"s.{i % 3}", b"%d" % i)
        world.settle()
    world.put_away()
    world.client.read()
    return world


def purge(world: World, body: dict[str, object]) -> None:
    world.send("$JS.API.STREAM.PURGE.S", json.dumps(body).encode())


def tick(world: World) -> None:
    """One turn of the loop; when a thread writes, until it is done."""
    world.turn(0.001 if world.store.busy else 0.0)


def answer(world: World) -> Any:
    """The next answer, as soon as it comes."""
    while not (answers := world.answers()):
        tick(world)
    [first] = answers
    return first


@STORAGES
@pytest.mark.parametrize(("body", "count"), PURGES)
def test_purge(tmp_path: Path, storage: str, body: dict[str, object], count: int) -> None:
    world = filled(tmp_path, storage)
    purge(world, body)
    answers: list[Any] = []
    turns = 0
    while not answers:
        tick(world)
        answers = world.answers()
        turns += 1
        assert turns < 2_000
    assert answers[0]["purged"] == count
    assert turns >= 5
    assert world.state()["messages"] == COUNT - count
    world.close()


@STORAGES
def test_others_have_their_turn(tmp_path: Path, storage: str) -> None:
    """Publishes are acked while it runs, and what they store is not purged."""
    world = filled(tmp_path, storage)
    purge(world, {"filter": "s.1"})
    world.send("s.1", b"new")
    assert answer(world)["seq"] == COUNT + 1
    store = world.js.streams["S"].store
    assert COUNT * 2 // 3 + 1 < store.messages < COUNT + 1
    assert answer(world)["purged"] == COUNT // 3
    assert world.state()["messages"] == COUNT * 2 // 3 + 1
    world.close()


def test_the_answer_waits_for_the_disk(tmp_path: Path) -> None:
    world = filled(tmp_path)
    purge(world, {})
    while world.js.streams["S"].store.messages:
        assert world.answers() == []
        tick(world)
    world.settle()
    world.crash()
    again = World(tmp_path)
    assert again.state()["messages"] == 0
    assert again.state()["last_seq"] == COUNT
    again.close()


@pytest.mark.parametrize("body", [{}, {"filter": "s.1"}])
def test_a_crash_in_the_middle_leaves_a_consistent_stream(
    tmp_path: Path, body: dict[str, object]
) -> None:
    world = filled(tmp_path)
    purge(world, body)
    world.turn()
    store = world.js.streams["S"].store
    world.store.commit(lambda error: None)  # what was dropped so far
    while world.store.busy:
        tick(world)
    left = COUNT if not body else COUNT // 3
    assert COUNT - left < store.messages < COUNT
    assert world.answers() == []
    world.crash()
    assert verify(str(tmp_path)) == []
    again = World(tmp_path)
    assert COUNT - left < again.state()["messages"] < COUNT
    purge(again, body)
    answer(again)
    assert again.state()["messages"] == COUNT - left
    again.close()


def test_the_stream_may_be_deleted_meanwhile(tmp_path: Path) -> None:
    world = filled(tmp_path)
    purge(world, {})
    world.send("$JS.API.STREAM.DELETE.S")
    answers: list[Any] = []
    while len(answers) < 2:
        tick(world)
        answers += world.answers()
    deleted, purged = sorted(answers, key=lambda each: "error" in each)
    assert deleted["success"]
    assert purged["error"]["err_code"] == 10059
    world.close()


def test_one_after_the_other(tmp_path: Path) -> None:
    """The second waits for the first, and knows no message that came after it was asked for."""
    world = filled(tmp_path)
    purge(world, {"filter": "s.1"})
    purge(world, {"filter": "s.*", "keep": 100})
    world.send("s.2", b"later")
    answers: list[Any] = []
    while len(answers) < 3:
        tick(world)
        answers += world.answers()
    assert [each["purged"] for each in answers if "purged" in each] == [
        COUNT // 3,
        COUNT * 2 // 3 - 100,
    ]
    assert world.state()["messages"] == 101
    world.close()


def test_those_that_wait_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PURGE_QUEUE", 3)
    world = filled(tmp_path)
    for _ in range(5):
        purge(world, {"filter": "s.1"})
    answers: list[Any] = []
    while len(answers) < 5:
        tick(world)
        answers += world.answers()
    codes = [each["error"]["err_code"] for each in answers if "error" in each]
    assert codes == [10023, 10023]
    assert [each["purged"] for each in answers if "error" not in each] == [COUNT // 3, 0, 0]
    world.close()
