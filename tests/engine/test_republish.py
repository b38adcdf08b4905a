"""A republished copy is an answer like any other: it waits for the commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jetstream_py.store import failpoints
from tests.engine.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.create(republish={"src": "s.>", "dest": "copy.>"})
    world.client.send(b"SUB copy.> 7\r\n")
    yield world
    failpoints.disarm()
    world.close()


def test_nobody_hears_of_what_a_power_cut_could_take_back(world: World) -> None:
    heard: list[bytes] = []
    failpoints.arm("commit.after", lambda: heard.append(world.client.link.take()))
    world.send("s.a", b"x")
    assert world.client.read() == b""
    world.settle()
    assert heard == [b""]
    text = world.client.read()
    assert text.startswith(b"HMSG copy.a 7 ")
    assert b"Nats-Time-Stamp: 2023-11-14T22:13:20Z\r\nNats-Last-Sequence: 0\r\n\r\nx\r\n" in text
    assert text.index(b"HMSG copy.a") < text.index(b'{"stream":"S","seq":1}')


def test_a_failed_commit_has_no_copy(world: World) -> None:
    def fail() -> None:
        raise OSError(5, "Input/output error")

    failpoints.arm("commit.before", fail)
    world.send("s.a", b"x")
    world.settle()
    assert world.failure
    assert world.client.read() == b""
