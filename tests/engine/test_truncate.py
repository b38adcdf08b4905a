"""A purge to a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py.api.times import time_text
from tests.engine.world import World

PURGE = "$JS.API.STREAM.PURGE.S"


@pytest.fixture(params=["file", "memory"])
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    """Six messages, ten seconds apart, on two subjects."""
    world = World(tmp_path)
    world.create(storage=request.param)
    for n in range(6):
        world.ask(f"s.{n % 2}", b"%d" % n)
        world.bench.clock.advance(10)
    yield world
    world.close()


def purge(world: World, **body: Any) -> Any:
    return world.ask(PURGE, json.dumps({"seq": 1, **body}).encode())


def before(world: World, seq: int, later: int = 0) -> dict[str, str]:
    return {"jetstream-py.before": time_text(world.rows("S")[seq - 1].ts + later)}


def seqs(world: World) -> list[int]:
    return [row.seq for row in world.rows("S")]


def test_older_ones_go(world: World) -> None:
    assert purge(world, **before(world, 3))["purged"] == 2
    assert seqs(world) == [3, 4, 5, 6]
    assert purge(world, **before(world, 2, later=1))["purged"] == 2
    assert seqs(world) == [5, 6]


def test_of_some_subjects(world: World) -> None:
    assert purge(world, filter="s.1", **before(world, 5))["purged"] == 2
    assert seqs(world) == [1, 3, 5, 6]


def test_all_or_nothing(world: World) -> None:
    assert purge(world, **before(world, 1))["purged"] == 0
    assert seqs(world) == [1, 2, 3, 4, 5, 6]
    assert purge(world, **before(world, 6, later=1))["purged"] == 6
    assert world.state()["first_seq"] == 7
    assert purge(world, **{"jetstream-py.before": "2100-01-01T00:00:00Z"})["purged"] == 0
    assert world.ask("s.1")["seq"] == 7


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"seq": 0, "jetstream-py.before": "2020-01-01T00:00:00Z"}, 10003),
        ({"seq": 5, "jetstream-py.before": "2020-01-01T00:00:00Z"}, 10003),
        ({"keep": 1, "jetstream-py.before": "2020-01-01T00:00:00Z"}, 10003),
        ({"jetstream-py.before": "yesterday"}, 10025),
        ({"jetstream-py.after": "2020-01-01T00:00:00Z"}, 10025),
    ],
)
def test_refusals(world: World, body: dict[str, Any], code: int) -> None:
    assert purge(world, **body)["error"]["err_code"] == code
    assert len(seqs(world)) == 6
