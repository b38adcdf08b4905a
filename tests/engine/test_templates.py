"""Templates: a subject space whose streams are made by their first message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py.engine.template import Template
from tests.engine.test_backups import STATE, restore
from tests.engine.world import World
from tests.jetstream.backups import pack

METADATA = {
    "jetstream-py.template.name": "DEVICE_{2}",
    "jetstream-py.template.max-streams": "3",
    "owner": "us",
}
OF = "jetstream-py.template.of"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def template(world: World, **config: Any) -> Any:
    given = {"subjects": ["devices.*.>"], "metadata": METADATA, "max_msgs": 100, **config}
    return world.make("DEVICES", **given)


def names(world: World, subject: str = "") -> Any:
    body = json.dumps({"subject": subject}).encode()
    return world.ask("$JS.API.STREAM.NAMES", body)["streams"]


def test_the_first_message_makes_a_stream(world: World) -> None:
    assert "error" not in template(world)
    assert world.ask("devices.a.temp", b"1") == {"stream": "DEVICE_a", "seq": 1}
    assert world.ask("devices.b.temp", b"2") == {"stream": "DEVICE_b", "seq": 1}
    assert world.ask("devices.a.door.front", b"3") == {"stream": "DEVICE_a", "seq": 2}
    assert [row.data for row in world.rows("DEVICE_a")] == [b"1", b"3"]
    config = world.info("DEVICE_a")["config"]
    assert config["subjects"] == ["devices.a.>"]
    assert config["max_msgs"] == 100
    told = {key: value for key, value in config["metadata"].items() if key[0] != "_"}
    assert told == {"owner": "us", OF: "DEVICES"}
    assert world.info("DEVICES")["state"]["messages"] == 0
    assert names(world) == ["DEVICES", "DEVICE_a", "DEVICE_b"]
    assert names(world, "devices.a.temp") == ["DEVICE_a"]


def test_runs_and_headers(world: World) -> None:
    """What comes in one read is sorted by stream, in order."""
    template(world)
    frames = [
        b"PUB devices.%b.x _INBOX.a 2\r\n%02d\r\n" % (b"abc"[n % 3 :][:1], n) for n in range(30)
    ]
    world.client.send(b"".join(frames))
    world.settle()
    assert sorted(answer["seq"] for answer in world.answers()) == sorted([*range(1, 11)] * 3)
    for n, name in enumerate("abc"):
        stored = [row.data for row in world.rows(f"DEVICE_{name}")]
        assert stored == [b"%02d" % each for each in range(n, 30, 3)]
    assert world.ask("devices.a.x", b"", "Nats-Msg-Id: 1")["seq"] == 11
    assert world.ask("devices.a.x", b"", "Nats-Msg-Id: 1")["duplicate"]


def test_no_more_than_allowed(world: World) -> None:
    template(world)
    for name in "abc":
        world.ask(f"devices.{name}.x")
    answer = world.ask("devices.d.x")
    assert (answer["stream"], answer["error"]["err_code"]) == ("DEVICES", 10027)
    world.ask("$JS.API.STREAM.DELETE.DEVICE_a")
    assert world.ask("devices.d.x") == {"stream": "DEVICE_d", "seq": 1}
    assert world.ask("devices.a.x")["error"]["err_code"] == 10027
    more = {
        "subjects": ["devices.*.>"],
        "metadata": {**METADATA, "jetstream-py.template.max-streams": "4"},
    }
    body = json.dumps({"name": "DEVICES", **more}).encode()
    assert "error" not in world.ask("$JS.API.STREAM.UPDATE.DEVICES", body)
    assert world.ask("devices.a.x") == {"stream": "DEVICE_a", "seq": 1}


def test_names_that_can_not_be(world: World) -> None:
    template(world)
    world.make("DEVICE_mine", subjects=["mine"])
    assert "not one of template" in world.ask("devices.mine.x")["error"]["description"]
    assert world.ask("devices.a/b.x")["error"]["err_code"] == 10128
    assert names(world) == ["DEVICES", "DEVICE_mine"]


def test_after_a_crash(tmp_path: Path) -> None:
    world = World(tmp_path)
    template(world)
    world.ask("devices.a.x", b"1")
    world.client.send(b"PUB devices.b.x 0\r\n\r\n")  # made, and on no disk
    world.crash()
    world = World(tmp_path)
    assert names(world) == ["DEVICES", "DEVICE_a"]
    assert world.ask("devices.a.x", b"2") == {"stream": "DEVICE_a", "seq": 2}
    assert world.ask("devices.b.x") == {"stream": "DEVICE_b", "seq": 1}
    assert world.ask("devices.c.x") == {"stream": "DEVICE_c", "seq": 1}
    assert world.ask("devices.d.x")["error"]["err_code"] == 10027
    world.close()


def test_without_the_template(tmp_path: Path) -> None:
    """Its streams go on, also after a restart."""
    world = World(tmp_path)
    template(world)
    world.ask("devices.a.x", b"1")
    assert world.ask("$JS.API.STREAM.DELETE.DEVICES")["success"]
    assert OF not in world.info("DEVICE_a")["config"]["metadata"]
    assert world.ask("devices.a.x", b"2") == {"stream": "DEVICE_a", "seq": 2}
    world.close()
    world = World(tmp_path)
    assert world.ask("devices.a.x", b"3") == {"stream": "DEVICE_a", "seq": 3}
    assert template(world)["error"]["err_code"] == 10065  # a stream is there already
    world.close()


def test_updates(world: World) -> None:
    template(world)
    world.ask("devices.a.x", b"1")
    config = world.info("DEVICE_a")["config"]
    body = json.dumps({**config, "max_msgs": 7}).encode()
    assert world.ask("$JS.API.STREAM.UPDATE.DEVICE_a", body)["config"]["max_msgs"] == 7
    changes: list[dict[str, Any]] = [{"subjects": ["devices.b.>"]}, {"metadata": {}}]
    for change in changes:
        body = json.dumps({**config, **change}).encode()
        text = world.ask("$JS.API.STREAM.UPDATE.DEVICE_a", body)["error"]["description"]
        assert "change subjects or name of a template's streams" in text
    assert world.ask("devices.a.x", b"2") == {"stream": "DEVICE_a", "seq": 2}


@pytest.mark.parametrize(
    ("metadata", "config", "text"),
    [
        ({"jetstream-py.template.name": "X"}, {}, "must name wildcard tokens"),
        ({"jetstream-py.template.name": "X{1}"}, {}, "must name wildcard tokens"),
        ({"jetstream-py.template.name": "X{9}"}, {}, "must name wildcard tokens"),
        ({"jetstream-py.template.max-streams": "0"}, {}, "must be a number from 1"),
        ({"jetstream-py.template.max-streams": "99999999999"}, {}, "must be a number from 1"),
        ({"jetstream-py.template.max-streams": "5"}, {}, "needs 'jetstream-py.template.name'"),
        ({"jetstream-py.template.name": "X{2}"}, {"subjects": ["a.*", "b.*"]}, "has one subject"),
        ({OF: "DEVICES"}, {}, "is told, not asked for"),
    ],
)
def test_what_can_not_be(
    world: World, metadata: dict[str, str], config: dict[str, Any], text: str
) -> None:
    answer = template(world, metadata=metadata, **config)
    assert text in answer["error"]["description"]


def test_traces(world: World) -> None:
    """What is only traced makes nothing."""
    template(world)
    taker = Template(world.js, world.js.streams["DEVICES"])
    item = (b"devices.a.x", b"", b"NATS/1.0\r\nNats-Trace-Dest: t\r\n\r\n", b"1")
    assert taker.publish_traced(item, True) is None
    assert names(world) == ["DEVICES"]
    assert taker.publish_traced(item, False) == ("DEVICE_a", b"devices.a.x", False, "")
    world.settle()
    assert world.info("DEVICE_a")["state"]["messages"] == 1


def test_a_restored_stream_without_its_template(world: World) -> None:
    """It listens for itself; with the template it belongs to it."""
    for made in (False, True):
        if made:
            world.ask("$JS.API.STREAM.DELETE.S")
            template(world, metadata={"jetstream-py.template.name": "{2}"})
        config = {"subjects": ["devices.S.>"], "metadata": {OF: "DEVICES"}}
        restored = restore(world, pack([STATE]), **config)
        assert (restored["config"]["metadata"].get(OF) == "DEVICES") == made
        assert world.ask("devices.S.x") == {"stream": "S", "seq": 1}


def test_dead_letters_need_a_stream(world: World) -> None:
    template(world)
    world.create()
    for where in ({"stream": "DEVICES"}, {"subject": "devices.a.x"}):
        [(key, value)] = where.items()
        metadata = {f"jetstream-py.dead-letter.{key}": value}
        config = {"durable_name": "C", "ack_policy": "explicit", "metadata": metadata}
        body = json.dumps({"stream_name": "S", "config": config}).encode()
        assert "error" in world.ask("$JS.API.CONSUMER.CREATE.S.C", body)
