"""Mirrors and sources on a clock moved by hand: what nats-server takes long for, and what it does not do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jetstream_py import limits
from jetstream_py.engine.intake import Intake
from jetstream_py.engine.origin import without_demands
from jetstream_py.engine.remote import Delivery, parse_reply
from jetstream_py.engine.stream import Stream
from jetstream_py.store import Columns
from tests.engine.world import SECOND, World

MIRROR = {"name": "O"}
STORAGES = pytest.mark.parametrize("storage", ["file", "memory"])


def publish(world: World, subject: str, *datas: bytes) -> None:
    for data in datas:
        world.send(subject, data)
    world.settle()
    world.answers()


def datas(world: World, name: str) -> list[bytes]:
    return [message.data for message in world.rows(name)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@STORAGES
def test_an_origin_that_appears_later(world: World, storage: str) -> None:
    world.make("M", mirror=MIRROR, storage=storage)
    world.make("S", sources=[MIRROR], storage=storage)
    error = {"code": 404, "err_code": 10059, "description": "stream not found"}
    assert world.info("M")["mirror"] == {"name": "O", "lag": 0, "active": -1, "error": error}
    world.make("O", subjects=["o"], storage=storage)
    publish(world, "o", b"1", b"2")
    assert datas(world, "M") == datas(world, "S") == [b"1", b"2"]
    assert "error" not in world.info("M")["mirror"]


@STORAGES
def test_an_origin_that_is_made_again(world: World, storage: str) -> None:
    """A source takes it from its beginning, a mirror goes on."""
    world.make("M", mirror=MIRROR, storage=storage)
    world.make("S", sources=[MIRROR], storage=storage)
    for kind in (b"a", b"b"):
        world.make("O", subjects=["o"], storage=storage)
        publish(world, "o", *(kind + b"%d" % i for i in range(3)))
        world.bench.clock.advance(1)
        world.ask("$JS.API.STREAM.DELETE.O")
        assert world.info("S")["sources"][0]["error"]["err_code"] == 10059
    assert datas(world, "S") == [b"a0", b"a1", b"a2", b"b0", b"b1", b"b2"]
    assert datas(world, "M") == [b"a0", b"a1", b"a2"]


@pytest.mark.parametrize("kind", ["mirror", "sources"])
def test_a_full_copy_goes_on_when_there_is_room(world: World, kind: str) -> None:
    world.make("O", subjects=["o"])
    config = {"mirror": MIRROR} if kind == "mirror" else {"sources": [MIRROR]}
    world.make("C", **config, max_msgs=2, discard="new")
    publish(world, "o", *(b"%d" % i for i in range(5)))
    assert datas(world, "C") == [b"0", b"1"]
    link = world.info("C")[kind]
    assert (link if kind == "mirror" else link[0])["lag"] == 1
    world.ask("$JS.API.STREAM.PURGE.C")
    world.pass_time(limits.FEED_RETRY)
    assert datas(world, "C") == [b"2", b"3"]


def test_an_origin_longer_than_a_slice(world: World) -> None:
    world.make("O", subjects=["o"])
    count = 2 * limits.FEED_RUN + 10
    publish(world, "o", *(b"%d" % i for i in range(count)))
    world.make("M", mirror=MIRROR)
    world.make("S", sources=[MIRROR])
    world.settle()
    assert world.rows("M") == world.rows("O")
    assert datas(world, "S") == datas(world, "O")


def test_a_slice_of_large_messages_is_short(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FEED_BYTES", 5_000)
    world.make("O", subjects=["o"])
    publish(world, "o", *(b"x" * 1_000 for _ in range(30)))
    runs: list[int] = []
    take = Intake.take

    def noted(own: Intake, run: Columns) -> int:
        runs.append(len(run))
        return take(own, run)

    monkeypatch.setattr(Intake, "take", noted)
    world.make("M", mirror=MIRROR)
    world.settle()
    assert world.rows("M") == world.rows("O")
    assert len(runs) > 5
    assert max(runs) <= 5


HEADERS = ["", "A: b", "Nats-Msg-Id: 1", "Nats-Msg-Id: 2", "Nats-Expected-Stream: O", "%: %d"]


@STORAGES
@pytest.mark.parametrize(
    "config", [{}, {"max_msgs": 3}, {"max_msgs_per_subject": 2}, {"max_age": 60 * SECOND}]
)
def test_runs_are_nothing_special(
    world: World, storage: str, config: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies are the same, whether plain messages come as runs or one by one."""
    rename = {"subject_transforms": [{"src": "o.>", "dest": "new.>"}]}
    world.make("O", subjects=["o.>"], storage=storage)
    for i, headers in enumerate(["", "", *HEADERS, "", ""]):
        world.send(f"o.{i % 3}", b"%d" % i, headers)
    world.settle()
    world.answers()
    world.ask("$JS.API.STREAM.MSG.DELETE.O", b'{"seq":2}')
    kinds: dict[str, dict[str, object]] = {
        "M": {"mirror": MIRROR},
        "S": {"sources": [MIRROR | rename]},
    }
    for name, kind in kinds.items():
        world.make(name, storage=storage, **kind, **config)
    monkeypatch.setattr(Stream, "take_copies", lambda own, run: False)
    for name, kind in kinds.items():
        world.make(f"{name}2", storage=storage, **kind, **config)
    world.settle()
    for name in kinds:
        assert world.rows(name) == world.rows(f"{name}2") != []
        assert world.info(name)["state"] == world.info(f"{name}2")["state"]


def test_activity_is_heard_of_every_second(world: World) -> None:
    world.make("O", subjects=["o"])
    world.make("M", mirror=MIRROR)
    world.bench.clock.advance(2.25)
    assert world.info("M")["mirror"]["active"] == SECOND // 4
    world.ask("$JS.API.STREAM.DELETE.O")
    world.bench.clock.advance(5)
    assert world.info("M")["mirror"]["active"] == SECOND // 4 + 5 * SECOND


def test_retention_may_change_under_a_source(world: World) -> None:
    world.make("O", subjects=["o"])
    world.make("S", sources=[MIRROR])
    publish(world, "o", b"1")
    body = b'{"name":"O","subjects":["o"],"retention":"interest"}'
    world.ask("$JS.API.STREAM.UPDATE.O", body)
    world.settle()
    assert world.info("O")["state"]["consumer_count"] == 1  # now there is one that holds messages
    publish(world, "o", b"2")
    assert datas(world, "S") == [b"1", b"2"]
    world.pass_time(3)
    assert datas(world, "O") == []
    world.ask("$JS.API.STREAM.UPDATE.O", body.replace(b"interest", b"limits"))
    world.settle()
    publish(world, "o", b"3")
    assert datas(world, "S") == [b"1", b"2", b"3"]


def test_a_queue_and_its_copy_after_a_crash(tmp_path: Path) -> None:
    """Copied, but not acked when the server died: it comes again and is known."""
    world = World(tmp_path)
    world.make("O", subjects=["o"], retention="workqueue")
    world.make("S", sources=[MIRROR])
    publish(world, "o", b"1", b"2")
    assert datas(world, "S") == [b"1", b"2"]
    assert len(world.rows("O")) == 2
    world.crash()
    world = World(tmp_path, age=10)
    publish(world, "o", b"3")
    world.pass_time(4)
    assert datas(world, "S") == [b"1", b"2", b"3"]
    assert world.rows("O") == []
    world.ask("$JS.API.STREAM.DELETE.S")
    world.settle()
    assert world.info("O")["state"]["consumer_count"] == 0
    world.close()


def test_what_a_queue_has_delivered_comes_again_once(tmp_path: Path) -> None:
    """Delivered and journalled, not acked when the server died. Its acks have no time to come in, so
    nothing is late: it goes out once to the new listener, not again and again."""
    world = World(tmp_path)
    world.make("O", subjects=["o"], retention="workqueue")
    world.make("S", sources=[MIRROR])
    publish(world, "o", *(b"%d" % i for i in range(20)))
    world.pass_time(limits.JOURNAL_DELAY)
    assert len(world.rows("O")) == 20
    world.crash()
    world = World(tmp_path, age=10)
    for _ in range(5):
        world.settle()
    [consumer] = world.js.streams["O"].consumers.values()
    assert (consumer.delivered_seq, len(consumer.unacked)) == (40, 20)
    world.pass_time(0.5)
    assert consumer.delivered_seq == 40
    publish(world, "o", b"20")
    world.pass_time(4)
    assert datas(world, "S") == [b"%d" % i for i in range(21)]
    assert world.rows("O") == []
    assert consumer.delivered_seq == 41
    world.close()


def test_positions_of_removed_sources_are_few(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REMOVED_SOURCES", 3)
    world.make("O", subjects=["o.>"])
    world.make("S", sources=[MIRROR])
    publish(world, "o.1", b"1")
    for i in range(10):
        body = b'{"name":"S","sources":[{"name":"O","filter_subject":"o.%d"}]}' % i
        world.ask("$JS.API.STREAM.UPDATE.S", body)
        world.settle()
        publish(world, f"o.{i}", b"%d" % i)
    prefix = b"o%08x" % world.js.streams["S"].store.sid
    assert 0 < len(world.store.meta_items(prefix)) <= 4
    world.ask("$JS.API.STREAM.DELETE.S")
    assert world.store.meta_items(prefix) == []


def test_headers_that_demand_something() -> None:
    block = b"NATS/1.0\r\nA: b\r\nNats-Expected-Stream: O\r\nNats-Batch-Id: 1\r\nC: d\r\n\r\n"
    assert without_demands(block) == b"NATS/1.0\r\nA: b\r\nC: d\r\n\r\n"
    assert without_demands(b"NATS/1.0\r\nNats-Expected-Stream: O\r\n\r\n") == b""
    assert without_demands(b"NATS/1.0\r\nA: Nats-Expected-\r\n\r\n") == (
        b"NATS/1.0\r\nA: Nats-Expected-\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (b"$JS.ACK.S.C.1.7.3.99.4", Delivery(7, 3, 99, 4)),
        (b"$JS.ACK.hub.Acc.S.C.1.7.3.99.4", Delivery(7, 3, 99, 4)),
        (b"$JS.ACK.hub.Acc.S.C.1.7.3.99.4.x", Delivery(7, 3, 99, 4)),
        (b"$JS.ACK.S.C.1.a.3.99.4", None),
        (b"$JS.ACK.S.C.1.7", None),
        (b"", None),
    ],
)
def test_replies(reply: bytes, found: Delivery | None) -> None:
    assert parse_reply(reply) == found


def test_a_consumer_made_beforehand(tmp_path: Path) -> None:
    """Every message of a work queue is copied once, whenever the server dies."""
    flow = {"ack_policy": "flow_control", "flow_control": True, "idle_heartbeat": SECOND}
    given = {"name": "C", "deliver_subject": "to"}
    config = {"name": "C", "durable_name": "C", "deliver_subject": "to", **flow}
    world = World(tmp_path)
    world.make("S", sources=[{"name": "O", "consumer": given}])
    world.make("O", subjects=["o"], retention="workqueue")
    body = json.dumps({"stream_name": "O", "config": config}).encode()
    assert "error" not in world.ask("$JS.API.CONSUMER.CREATE.O.C", body)
    world.pass_time(limits.FEED_SILENCE)  # it asks again
    expected = []
    for age in range(1, 5):
        datas_ = [b"%d.%d" % (age, i) for i in range(20)]
        publish(world, "o", *datas_)
        expected += datas_
        if age % 2:
            world.pass_time(2)  # heartbeats, flow control, acks
            assert datas(world, "S") == expected
        world.crash()
        world = World(tmp_path, age=100 * age)
    for _ in range(3):
        world.pass_time(1)
    assert datas(world, "S") == expected
    assert world.info("O")["state"]["messages"] == 0
    world.close()
