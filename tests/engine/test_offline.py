"""Streams of a later version: they are kept and not served. The texts are nats-server's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jetstream_py.engine import offline
from tests.engine.world import SECOND, World

REASON = "unsupported - required API level: 1, current API level: 0"
STOPPED = 'stopped - unsupported consumer "D"'


def ask(world: World, verb: str, **body: object) -> Any:
    return world.ask(f"$JS.API.{verb}", json.dumps(body).encode() if body else b"")


def consumer(world: World, stream: str, name: str, **more: object) -> Any:
    config = {"name": name, "durable_name": name, "ack_policy": "explicit", **more}
    return ask(world, f"CONSUMER.CREATE.{stream}.{name}", stream_name=stream, config=config)


@pytest.mark.behaviour("STR-118")
def test_what_an_older_version_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    world.make("S", subjects=["s"], allow_msg_ttl=True)
    world.make("T", subjects=["t"])
    world.make("U", subjects=["u"])
    consumer(world, "T", "C")
    group = {"priority_policy": "pinned_client", "priority_groups": ["g"]}
    consumer(world, "T", "D", **group, priority_timeout=SECOND)
    for subject in ("s", "t", "u"):
        assert world.ask(subject, b"kept")["seq"] == 1
    world.close()

    monkeypatch.setattr(offline, "API_LEVEL", 0)
    world = World(tmp_path)
    listed = ask(world, "STREAM.LIST")
    assert [each["config"]["name"] for each in listed["streams"]] == ["U"]
    assert listed["missing"] == ["S", "T"]
    assert listed["offline"] == {"S": REASON, "T": STOPPED}
    assert listed["total"] == 3
    assert ask(world, "STREAM.NAMES")["streams"] == ["S", "T", "U"]
    assert ask(world, "STREAM.NAMES", subject="t")["streams"] == ["T"]
    for name, reason in (("S", REASON), ("T", STOPPED)):
        error = {"code": 500, "err_code": 10194, "description": f"stream is offline: {reason}"}
        for verb in ("INFO", "PURGE"):
            assert ask(world, f"STREAM.{verb}.{name}")["error"] == error
        for verb in ("CREATE", "UPDATE"):
            assert ask(world, f"STREAM.{verb}.{name}", name=name, subjects=["x"])["error"] == error
        assert consumer(world, name, "X")["error"] == error
    overlapping = ask(world, "STREAM.CREATE.V", name="V", subjects=["s"])
    assert overlapping["error"]["err_code"] == 10065
    world.client.send(b"PUB s 1\r\nx\r\n")
    assert world.ask("u")["seq"] == 2
    world.close()

    monkeypatch.undo()
    world = World(tmp_path)
    assert [world.info(name)["state"]["messages"] for name in ("S", "T")] == [1, 1]
    assert world.ask("s")["seq"] == 2
    world.close()


def test_a_stream_that_is_offline_can_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    world.make("S", subjects=["s"], allow_msg_ttl=True)
    world.close()
    monkeypatch.setattr(offline, "API_LEVEL", 0)
    world = World(tmp_path)
    assert ask(world, "STREAM.DELETE.S")["success"]
    assert ask(world, "STREAM.NAMES")["streams"] is None
    world.close()
    monkeypatch.undo()
    world = World(tmp_path)
    assert ask(world, "STREAM.INFO.S")["error"]["err_code"] == 10059
    world.close()
