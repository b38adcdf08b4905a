"""The API of the preview: the requests that documents of that time show, with the bytes they show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.world import World

LOGS = """{
    "name": "LOGS",
    "subjects": [
      "logs.>"
    ],
    "retention": "limits",
    "max_consumers": -1,
    "max_msgs": -1,
    "max_bytes": -1,
    "max_age": 86400000000000,
    "max_msg_size": -1,
    "storage": "file",
    "num_replicas": 1
}"""
INFO = """{
  "config": {
    "name": "LOGS",
    "subjects": [
      "logs.>"
    ],
    "retention": "limits",
    "max_consumers": -1,
    "max_msgs": -1,
    "max_bytes": -1,
    "max_age": 86400000000000,
    "max_msg_size": -1,
    "storage": "file",
    "num_replicas": 1
  },
  "state": {
    "messages": 0,
    "bytes": 0,
    "first_seq": 0,
    "last_seq": 0,
    "consumer_count": 0
  }
}"""
TAIL = {
    "stream_name": "LOGS",
    "config": {
        "delivery_subject": "out.tail",
        "durable_name": "TAIL",
        "start_time": "0001-01-01T00:00:00Z",
        "deliver_all": True,
        "ack_policy": "none",
        "max_deliver": -1,
        "replay_policy": "instant",
    },
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, preview_api=True)
    yield world
    world.close()


def ask(world: World, subject: str, body: str | bytes = b"") -> str:
    """The one answer, as it is."""
    data = body.encode() if isinstance(body, str) else body
    world.client.send(b"PUB %b _INBOX.p %d\r\n%b\r\n" % (subject.encode(), len(data), data))
    world.settle()
    head, _, rest = world.client.read().partition(b"\r\n")
    *_, size = head.split()
    assert len(rest) == int(size) + 2, "one answer"
    return rest[:-2].decode()


def with_logs(world: World) -> None:
    assert ask(world, "$JS.STREAM.LOGS.CREATE", LOGS) == "+OK"


def test_account(world: World) -> None:
    assert ask(world, "$JS.ENABLED", ".") == "+OK"
    with_logs(world)
    assert (
        ask(world, "$JS.INFO", ".")
        == """{
  "memory": 0,
  "storage": 0,
  "streams": 1,
  "limits": {
    "max_memory": -1,
    "max_storage": -1,
    "max_streams": -1,
    "max_consumers": -1
  }
}"""
    )
    world.js.disable()
    assert ask(world, "$JS.ENABLED", ".") == "-ERR JetStream not enabled for account"


def test_streams(world: World) -> None:
    assert ask(world, "$JS.STREAM.LIST") == "[]"
    with_logs(world)
    assert ask(world, "$JS.STREAM.LIST") == '[\n  "LOGS"\n]'
    assert ask(world, "$JS.STREAM.LOGS.INFO") == INFO
    larger = LOGS.replace('"max_bytes": -1', '"max_bytes": 10737418240')
    assert ask(world, "$JS.STREAM.LOGS.UPDATE", larger) == "+OK"
    assert '"max_bytes": 10737418240' in ask(world, "$JS.STREAM.LOGS.INFO")
    for n in range(3):
        world.ask("logs.a", b"%d" % n)
    assert ask(world, "$JS.STREAM.LOGS.MSG.DELETE", "2") == "+OK"
    assert ask(world, "$JS.STREAM.LOGS.MSG.DELETE", "2") == "-ERR sequence 2 not found"
    assert world.info("LOGS")["state"]["messages"] == 2
    assert ask(world, "$JS.STREAM.LOGS.PURGE") == "+OK"
    assert world.info("LOGS")["state"]["messages"] == 0
    assert ask(world, "$JS.STREAM.LOGS.DELETE") == "+OK"
    assert ask(world, "$JS.STREAM.LOGS.INFO") == "-ERR stream not found"
    assert ask(world, "$JS.STREAM.LOGS.PURGE") == "-ERR stream not found"


def test_push(world: World) -> None:
    with_logs(world)
    world.ask("logs.a", b"old")
    assert ask(world, "$JS.STREAM.LOGS.CONSUMER.TAIL.CREATE", json.dumps(TAIL)) == "+OK"
    assert ask(world, "$JS.STREAM.LOGS.CONSUMERS") == '[\n  "TAIL"\n]'
    told = json.loads(ask(world, "$JS.STREAM.LOGS.CONSUMER.TAIL.INFO"))
    assert {key: told[key] for key in ("stream_name", "config")} == TAIL
    world.client.send(b"SUB out.tail 7\r\n")
    world.settle()
    assert world.client.read().startswith(b"MSG logs.a 7 $JS.ACK.LOGS.TAIL.1.1.1.")
    assert ask(world, "$JS.STREAM.LOGS.CONSUMER.TAIL.DELETE") == "+OK"
    assert ask(world, "$JS.STREAM.LOGS.CONSUMER.TAIL.INFO") == "-ERR consumer not found"
    assert ask(world, "$JS.STREAM.LOGS.CONSUMERS") == "[]"


def test_pull(world: World) -> None:
    """`delivered` is what comes next; what is owed is listed with its time."""
    with_logs(world)
    for n in range(5):
        world.ask("logs.a", b"%d" % n)
    body = {"stream_name": "LOGS", "config": {"durable_name": "p1", "deliver_all": True}}
    assert ask(world, "$JS.STREAM.LOGS.CONSUMER.p1.CREATE", json.dumps(body)) == "+OK"
    state = json.loads(ask(world, "$JS.STREAM.LOGS.CONSUMER.p1.INFO"))["state"]
    nothing = {"consumer_seq": 0, "stream_seq": 0}
    assert state == {
        "delivered": {"consumer_seq": 1, "stream_seq": 1},
        "ack_floor": nothing,
        "pending": None,
        "redelivery": None,
    }
    assert ask(world, "$JS.RN.LOGS.p1", "1") == "0"
    world.client.send(b"PUB $JS.RN.LOGS.p1 _INBOX.n 1\r\n2\r\n")
    world.settle()
    assert world.client.read().count(b"MSG logs.a") == 2
    told = json.loads(ask(world, "$JS.STREAM.LOGS.CONSUMER.p1.INFO"))
    assert told["config"]["ack_policy"] == "explicit"
    assert told["state"]["delivered"] == {"consumer_seq": 4, "stream_seq": 4}
    assert sorted(told["state"]["pending"]) == ["1", "2", "3"]
    assert told["state"]["pending"]["1"] == world.bench.clock.now_ns()
    world.pass_time(31)
    assert ask(world, "$JS.RN.LOGS.p1") == "0"
    assert json.loads(ask(world, "$JS.STREAM.LOGS.CONSUMER.p1.INFO"))["state"]["redelivery"] == {
        "1": 1
    }


def test_ephemeral(world: World) -> None:
    with_logs(world)
    subject = "$JS.STREAM.LOGS.EPHEMERAL.CONSUMER.CREATE"
    body = {"stream_name": "LOGS", "config": {"delivery_subject": "out.e", "deliver_last": True}}
    text = "-ERR consumer requires interest for delivery subject when ephemeral"
    assert ask(world, subject, json.dumps(body)) == text
    world.client.send(b"SUB out.e 7\r\n")
    ok, name = ask(world, subject, json.dumps(body)).split()
    assert ok == "+OK"
    assert world.js.streams["LOGS"].consumers[name].config.deliver_policy == "last"


@pytest.mark.parametrize(
    ("start", "policy"),
    [
        ({}, "new"),
        ({"stream_seq": 2}, "by_start_sequence"),
        ({"start_time": "2020-03-31T08:00:00Z"}, "by_start_time"),
        ({"deliver_policy": "last"}, "last"),
    ],
)
def test_where_a_consumer_starts(world: World, start: dict[str, object], policy: str) -> None:
    with_logs(world)
    body = {"stream_name": "LOGS", "config": {"durable_name": "c", **start}}
    assert ask(world, "$JS.STREAM.LOGS.CONSUMER.c.CREATE", json.dumps(body)) == "+OK"
    assert world.js.streams["LOGS"].consumers["c"].config.deliver_policy == policy
    told = json.loads(ask(world, "$JS.STREAM.LOGS.CONSUMER.c.INFO"))["config"]
    assert all(told[key] == value for key, value in start.items() if key != "deliver_policy")


@pytest.mark.parametrize(
    ("subject", "body", "text"),
    [
        ("STREAM.LOGS.CREATE", "{", "-ERR invalid JSON"),
        ("STREAM.OTHER.CREATE", LOGS, "-ERR stream name in subject does not match request"),
        ("STREAM.LOGS.MSG.DELETE", "x", "-ERR invalid JSON"),
        ("STREAM.LOGS.MSG.DELETE", "", "-ERR bad request"),
        ("STREAM.LOGS.CONSUMER.c.CREATE", "[]", "-ERR invalid JSON"),
        ("STREAM.LOGS.CONSUMER.c.CREATE", "{}", "-ERR bad request"),
        ("STREAM.LOGS.CONSUMER.c.CREATE", '{"config":{"no":1}}', "-ERR "),
        ("STREAM.LOGS.CONSUMER.c.DELETE", "", "-ERR consumer not found"),
    ],
)
def test_refusals(world: World, subject: str, body: str, text: str) -> None:
    with_logs(world)
    assert ask(world, "$JS." + subject, body).startswith(text)


def test_off_by_default(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.client.send(b"PUB $JS.ENABLED _INBOX.p 0\r\n\r\n")
    world.settle()
    assert b"NATS/1.0 503" in world.client.read()  # nobody listens
    world.close()
