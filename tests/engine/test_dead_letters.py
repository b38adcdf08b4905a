"""Dead letters: what a consumer gives up is in another stream, once, whatever fails meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetstream_py import headers as hdr
from jetstream_py import limits
from tests.engine.world import SECOND, World

BY_STREAM = {"jetstream-py.dead-letter.stream": "DEAD"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def consumer(world: World, metadata: dict[str, str], **config: Any) -> Any:
    body = {
        "durable_name": "C",
        "ack_policy": "explicit",
        "ack_wait": SECOND,
        "max_deliver": 2,
        "metadata": metadata,
        **config,
    }
    body = {"stream_name": "S", "config": body}
    return world.ask("$JS.API.CONSUMER.CREATE.S.C", json.dumps(body).encode())


def prepare(world: World, metadata: dict[str, str] = BY_STREAM, **config: Any) -> None:
    world.create()
    world.make("DEAD", subjects=["dead.>"])
    answer = consumer(world, metadata, **config)
    assert "error" not in answer, answer


def fetch(world: World, count: int) -> list[bytes]:
    """Ack subjects of the next messages."""
    world.send("$JS.API.CONSUMER.MSG.NEXT.S.C", b'{"batch":%d,"no_wait":true}' % count)
    world.settle()
    lines = world.client.read().split(b"\r\n")
    return [line.split()[3] for line in lines if b"$JS.ACK." in line]


def letters(world: World) -> list[tuple[int, dict[str, str]]]:
    rows = world.rows("DEAD")
    fields = [hdr.fields(row.headers) for row in rows]
    told = [{key.decode(): value.decode() for key, value in each.items()} for each in fields]
    return [(int(each["Dead-Letter-Sequence"]), each) for each in told]


def info(world: World) -> Any:
    return world.ask("$JS.API.CONSUMER.INFO.S.C")


def test_too_often(world: World) -> None:
    prepare(world)
    world.send("s.a", b"hello", "Color: red\r\nNats-Msg-Id: mine\r\nNats-Expected-Stream: S")
    world.settle()
    assert len(fetch(world, 1)) == 1
    world.pass_time(1.25)
    assert len(fetch(world, 1)) == 1
    assert letters(world) == []
    world.pass_time(1.25)
    [row] = world.rows("DEAD")
    assert (row.subject, row.data) == (b"s.a", b"hello")
    [(seq, told)] = letters(world)
    time, msg_id = told.pop("Dead-Letter-Time"), told.pop("Nats-Msg-Id")
    assert time.endswith("Z")
    assert msg_id.startswith("S.1.C.")
    assert seq == 1
    assert told == {
        "Color": "red",
        "Dead-Letter-Reason": "max_deliver",
        "Dead-Letter-Stream": "S",
        "Dead-Letter-Sequence": "1",
        "Dead-Letter-Subject": "s.a",
        "Dead-Letter-Consumer": "C",
        "Dead-Letter-Deliveries": "2",
    }
    world.pass_time(5)
    assert fetch(world, 1) == []
    assert len(letters(world)) == 1
    assert info(world)["num_ack_pending"] == 0


def test_terminated_to_a_subject(world: World) -> None:
    prepare(world, {"jetstream-py.dead-letter.subject": "dead.box"})
    world.ask("s.a", b"hello")
    [ack] = fetch(world, 1)
    world.client.send(b"PUB %b _INBOX.t 24\r\n+TERM bad\r\nNats-TTL: 1s \r\n" % ack)
    world.settle()
    assert b"MSG _INBOX.t 1 0" in world.client.read()  # confirmed: it is on disk
    [row] = world.rows("DEAD")
    assert row.subject == b"dead.box"
    [(_, told)] = letters(world)
    assert told["Dead-Letter-Reason"] == "term"
    assert told["Dead-Letter-Text"] == "bad Nats-TTL: 1s"  # one line, whatever the client says
    assert told["Dead-Letter-Subject"] == "s.a"
    assert info(world)["ack_floor"]["stream_seq"] == 1


def test_acks_make_no_letters(world: World) -> None:
    prepare(world)
    for n in range(6):
        world.ask("s.a", b"%d" % n)
    for ack in fetch(world, 6):
        world.client.send(b"PUB %b 4\r\n+ACK\r\n" % ack)
        world.client.send(b"PUB %b 5\r\n+TERM\r\n" % ack)  # too late
    world.settle()
    world.pass_time(3)
    assert letters(world) == []


def test_refused_copies_wait(world: World) -> None:
    """There is no room for the second one until somebody makes it."""
    prepare(world)
    full = {"name": "DEAD", "subjects": ["dead.>"], "max_msgs": 1, "discard": "new"}
    world.ask("$JS.API.STREAM.UPDATE.DEAD", json.dumps(full).encode())
    for n in range(3):
        world.ask("s.a", b"%d" % n)
    acks = fetch(world, 3)
    world.client.send(b"PUB %b _INBOX.t 5\r\n+TERM\r\n" % acks[0])
    world.client.send(b"PUB %b _INBOX.u 5\r\n+TERM\r\n" % acks[1])
    world.settle()
    confirmed = world.client.read()
    assert b"_INBOX.t" in confirmed
    assert b"_INBOX.u" not in confirmed
    world.pass_time(1.25)
    assert len(fetch(world, 9)) == 2  # the refused one as well
    world.pass_time(4)
    assert [seq for seq, _ in letters(world)] == [1]
    assert info(world)["num_ack_pending"] == 2
    world.ask("$JS.API.STREAM.UPDATE.DEAD", json.dumps({**full, "max_msgs": 9}).encode())
    world.pass_time(2)
    assert sorted(seq for seq, _ in letters(world)) == [1, 2, 3]
    assert info(world)["num_ack_pending"] == 0


def test_many_go_in_slices(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DEAD_LETTERS", 3)
    prepare(world, max_deliver=1)
    for n in range(10):
        world.ask("s.a", b"%d" % n)
    assert len(fetch(world, 10)) == 10
    world.bench.clock.advance(1.25)
    world.bench.broker.timers.run_due()
    world.turn()
    assert len(world.rows("DEAD")) == 3
    world.settle()
    world.settle()
    assert [row.data for row in world.rows("DEAD")] == [b"%d" % n for n in range(10)]


def test_no_address_any_more(world: World) -> None:
    prepare(world, max_deliver=1)
    world.ask("s.a", b"1")
    assert len(fetch(world, 1)) == 1
    world.bench.clock.advance(1.25)
    world.bench.broker.timers.run_due()  # it waits for the end of the tick
    assert "error" not in consumer(world, {}, max_deliver=1)
    assert letters(world) == []
    assert info(world)["num_ack_pending"] == 0


@pytest.mark.parametrize(
    ("metadata", "config", "text"),
    [
        ({"jetstream-py.dead-letters": "DEAD"}, {}, "no extension for consumers is called"),
        ({"jetstream-py.immutable": "true"}, {}, "no extension for consumers is called"),
        ({"jetstream-py.dead-letter.stream": ""}, {}, "needs a value"),
        ({"jetstream-py.dead-letter.stream": "X"}, {}, "there is no stream 'X'"),
        ({"jetstream-py.dead-letter.stream": "S"}, {}, "dead letters go to another stream"),
        ({"jetstream-py.dead-letter.stream": "M"}, {}, "to a stream on disk"),
        ({"jetstream-py.dead-letter.stream": "COPY"}, {}, "can not go to a mirror"),
        ({"jetstream-py.dead-letter.subject": "dead.*"}, {}, "without wildcards"),
        ({"jetstream-py.dead-letter.subject": "x.y"}, {}, "no stream listens to 'x.y'"),
        ({**BY_STREAM, "jetstream-py.dead-letter.subject": "dead.x"}, {}, "not to both"),
        (BY_STREAM, {"ack_policy": "none", "ack_wait": 0}, "need ack policy explicit or all"),
    ],
)
def test_what_can_not_be(
    world: World, metadata: dict[str, str], config: dict[str, Any], text: str
) -> None:
    world.create()
    world.make("DEAD", subjects=["dead.>"])
    world.make("M", subjects=["m"], storage="memory")
    world.make("COPY", mirror={"name": "S"})
    answer = consumer(world, metadata, **config)
    assert answer["error"]["err_code"] == 10012
    assert text in answer["error"]["description"]


STEPS = st.lists(
    st.sampled_from(["publish", "fetch", "term", "ack", "time", "settle", "crash"]),
    min_size=4,
    max_size=30,
)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS, st.randoms(use_true_random=False))
def test_once_whatever_fails(steps: list[str], chance: Any) -> None:
    """Power cuts between any two turns of the loop: every message that nobody acked has one letter in the
    end, those that were acked and confirmed have none."""
    with TemporaryDirectory() as path:
        world = World(Path(path))
        age = 0.0
        prepare(world)
        open_acks: list[bytes] = []
        confirmed: set[int] = set()
        for step in steps:
            if step == "publish":
                world.ask("s.a", b"x")
            elif step == "fetch":
                open_acks += fetch(world, 3)
            elif step in ("term", "ack") and open_acks:
                ack = open_acks.pop(chance.randrange(len(open_acks)))
                if step == "term":
                    world.client.send(b"PUB %b 5\r\n+TERM\r\n" % ack)
                    world.turn()
                else:
                    world.client.send(b"PUB %b _INBOX.k 4\r\n+ACK\r\n" % ack)
                    world.settle()
                    assert b"_INBOX.k" in world.client.read()
                    confirmed.add(int(ack.split(b".")[5]))
            elif step == "time":
                world.bench.clock.advance(1.25)
                world.bench.broker.timers.run_due()
                age += 1.25
                world.turn()
            elif step == "settle":
                world.settle()
                world.client.read()
            else:
                world.crash()
                open_acks.clear()
                world = World(Path(path), age=age)
        world.settle()
        world.client.read()
        for _ in range(4):
            fetch(world, 100)
            world.pass_time(1.5)
        found = [seq for seq, _ in letters(world)]
        assert len(found) == len(set(found))
        last = world.state()["last_seq"]
        assert set(found) | confirmed == set(range(1, last + 1))
        world.close()
