"""What arrives, on each of the ways: messages, gaps, headers, buckets, consumers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import nats
import pytest
from nats.js import JetStreamContext

from jetstream_py.migrate import METHODS
from jetstream_py.migrate.report import DONE
from tests.jetstream.consumers import info
from tests.jetstream.pulling import consumer
from tests.jetstream.support import JetStream
from tests.migrate.support import Pair, numbered, place

WAYS = pytest.mark.parametrize("method", METHODS[1:])
TWICE = b"NATS/1.0\r\nA: 1\r\nA: 2\r\nb:  x \r\nNats-Stream: other\r\n\r\n"


def with_client(js: JetStream, story: Callable[[JetStreamContext], Awaitable[None]]) -> None:
    async def connected() -> None:
        client = await nats.connect(js.server.url)
        try:
            await story(client.jetstream())
        finally:
            await client.close()

    asyncio.run(asyncio.wait_for(connected(), 30))


@WAYS
def test_messages(pair: Pair, method: str) -> None:
    """First sequence, gaps, a gap at the end, headers to the byte, limits, metadata."""
    messages = [
        *numbered("s.a", 40, 41, 45),
        (46, "s.b", TWICE, b""),
        (47, "s.c", b"NATS/1.0\r\nNats-Rollup: sub\r\nNats-Msg-Id: 1\r\n\r\n", b"\r\n\0"),
        *numbered("s.a", 60),
    ]
    place(
        pair.source,
        "S",
        messages,
        last_seq=63,
        subjects=["s.>"],
        max_msgs_per_subject=4,
        max_age=10**18,
        allow_direct=method == "rebuild",
        allow_rollup_hdrs=True,
        deny_delete=True,
        metadata={"team": "blue"},
        republish={"src": "s.a", "dest": "again.a"},
    )
    outcome = pair.one(method=method)
    assert (outcome.status, outcome.error, outcome.verified) == (DONE, "", True)
    assert (outcome.messages, outcome.first_seq, outcome.last_seq) == (6, 40, 63)
    pair.assert_same("S")
    times = [js.message("S", seq=40)["time"] for js in (pair.source, pair.target)]
    assert (times[0] == times[1]) == (method != "copy")
    assert pair.target.publish("s.d", b"next")["seq"] == 64


@WAYS
def test_streams_that_are_empty(pair: Pair, method: str) -> None:
    pair.source.create("NEVER", subjects=["never"])
    pair.source.create("PURGED", subjects=["purged"])
    pair.source.publish_all("purged", "purged")
    pair.source.ok("STREAM.PURGE.PURGED")
    outcomes = pair.migrate(method=method)
    assert [it.error for it in outcomes.values()] == ["", ""]
    for stream, following in (("never", 1), ("purged", 3)):
        assert pair.target.publish(stream)["seq"] == following


@WAYS
def test_buckets(pair: Pair, method: str) -> None:
    """A history, a time to live for some keys, deleted and purged keys, an object of some chunks."""
    data = bytes(range(256)) * 1200

    async def fill(js: JetStreamContext) -> None:
        settings = await js.create_key_value(bucket="settings", history=3, ttl=3600)
        for value in (b"1", b"2", b"3", b"4"):
            await settings.put("colour", value)
        await settings.put("old", b"x")
        await settings.delete("old")
        await settings.put("older", b"x")
        await settings.purge("older")
        await settings.create("short", b"lived", msg_ttl=1800)
        files = await js.create_object_store("files")
        await files.put("blob", data)

    async def look(js: JetStreamContext) -> None:
        settings = await js.key_value("settings")
        history = await settings.history("colour")
        assert [(it.value, it.revision) for it in history] == [(b"2", 2), (b"3", 3), (b"4", 4)]
        assert sorted(await settings.keys()) == ["colour", "short"]
        assert (await settings.status()).ttl == 3600
        files = await js.object_store("files")
        assert (await files.get("blob")).data == data

    with_client(pair.source, fill)
    outcomes = pair.migrate("KV_settings", "OBJ_*", method=method)
    assert {it.stream: it.error for it in outcomes.values()} == {"KV_settings": "", "OBJ_files": ""}
    with_client(pair.target, look)
    if method != "copy":  # a key that was created has an expectation among its headers
        pair.assert_same("KV_settings")
    pair.assert_same("OBJ_files")


@WAYS
def test_consumers(pair: Pair, method: str) -> None:
    """They go on where they were. Single acks above the floor are only kept by a backup."""
    pair.source.create("S", subjects=["s.>"])
    pair.source.publish_all(*[f"s.{i % 2}" for i in range(10)])
    pulled = consumer(pair.source, "C", ack_policy="explicit", filter_subject="s.1")
    deliveries = pulled.fetch(4)  # 2 4 6 8
    for done in (0, 1, 3):
        pulled.ack(deliveries[done])
    consumer(pair.source, "NEW", ack_policy="explicit", deliver_policy="new")
    consumer(pair.source, "IDLE", ack_policy="explicit")
    pair.source.ok("CONSUMER.CREATE.S", {"stream_name": "S", "config": {"ack_policy": "none"}})
    outcome = pair.one(method=method)
    assert outcome.error == ""
    assert outcome.consumers == ["C", "IDLE", "NEW"]
    assert outcome.notes == (
        [] if method == "backup" else ["consumers that are not durable stayed behind: 1"]
    )
    kept = info(pair.target, "S", "C")
    if method == "backup":
        assert (kept["num_ack_pending"], kept["num_pending"]) == (1, 1)
    else:
        assert (kept["num_ack_pending"], kept["num_pending"]) == (0, 3)  # 6 8 10
    assert info(pair.target, "S", "NEW")["num_pending"] == 0
    assert info(pair.target, "S", "IDLE")["num_pending"] == 10


@WAYS
def test_work_queue(pair: Pair, method: str) -> None:
    """What is done is gone, the rest goes on; the source keeps it all."""
    pair.source.create("S", subjects=["s"], retention="workqueue")
    pair.source.publish_all(*["s"] * 6)
    pulled = consumer(pair.source, "C", ack_policy="explicit")
    for delivery in pulled.fetch(2):
        pulled.ack(delivery)
    pair.source.settled("S", messages=4)
    assert pair.one(method=method).error == ""
    pair.assert_same("S")
    assert pair.source.state("S")["messages"] == 4
    assert info(pair.target, "S", "C")["num_pending"] == 4


@WAYS
def test_interest(pair: Pair, method: str) -> None:
    pair.source.create("S", subjects=["s"], retention="interest")
    for name in ("A", "B"):
        pulled = consumer(pair.source, name, ack_policy="explicit")
    pair.source.publish_all(*["s"] * 5)
    pulled.ack(pulled.fetch(1)[0])
    pair.source.fence()
    assert pair.one(method=method).error == ""
    pair.assert_same("S")
    assert [info(pair.target, "S", name)["num_pending"] for name in ("A", "B")] == [5, 4]


def test_mirrors_and_sources(pair: Pair) -> None:
    """Origins go first, whatever the order; one may be missing, another have a new name."""
    for stream in ("Y", "Z"):
        pair.source.create(stream, subjects=[stream])
        pair.source.publish_all(stream, stream)
    pair.source.create("M", mirror={"name": "Y"})
    pair.source.create("A", sources=[{"name": "NOWHERE"}, {"name": "Z"}])
    for stream in ("M", "A"):
        pair.source.settled(stream, messages=2)
    assert "its messages name Z" in pair.migrate(renames={"Z": "X"}, dry_run=True)["A"].error
    outcomes = pair.migrate(renames={"Y": "X"})
    assert {it.stream: it.error for it in outcomes.values()} == dict.fromkeys("YZAM", "")
    pair.target.publish_all("Y", "Z")
    for stream in ("M", "A"):
        pair.target.settled(stream, messages=3)
    assert pair.target.info("M")["config"]["mirror"]["name"] == "X"


def test_mirror_by_copy(inwards: Pair) -> None:
    inwards.source.create("Z", subjects=["z"])
    inwards.source.publish_all("z", "z")
    inwards.source.create("M", mirror={"name": "Z"})
    outcomes = inwards.migrate(method="copy")
    assert outcomes["M"].notes == ["a mirror: it fills itself from its origin"]
    inwards.target.settled("M", messages=2)


@pytest.mark.parametrize("method", ["auto", "copy"])
def test_names(pair: Pair, method: str) -> None:
    """A stream keeps its subjects; a bucket's keys get its name."""
    place(pair.source, "S", numbered("s", 1, 3), subjects=["s"])
    place(pair.source, "KV_b", numbered("$KV.b.key", 1, 2), subjects=["$KV.b.>"])
    outcomes = pair.migrate(renames={"S": "T", "KV_b": "KV_c"}, method=method)
    assert [it.error for it in outcomes.values()] == ["", ""]
    assert outcomes["S"].method == ("backup" if method == "auto" else "copy")
    pair.assert_same("S", "T")
    assert pair.target.info("KV_c")["config"]["subjects"] == ["$KV.c.>"]
    assert pair.target.subjects("KV_c") == {"$KV.c.key": 2}


def test_counters_and_schedules_need_an_archive(pair: Pair) -> None:
    pair.source.create("C", subjects=["c"], allow_msg_counter=True, allow_direct=True)
    for _ in range(2):
        pair.source.publish("c", headers={"Nats-Incr": "2"})
    assert "counters" in pair.one(method="copy").error
    assert pair.one(method="rebuild").error == ""
    assert pair.target.publish("c", headers={"Nats-Incr": "1"})["val"] == "5"


def test_orders_to_the_server_stay_behind(inwards: Pair) -> None:
    """A copy asks the target to store, no more. Ids that come twice are no duplicates."""
    block = b"NATS/1.0\r\nNats-Expected-Last-Sequence: 99\r\n%bNats-Batch-Id: x\r\n\r\n"
    twice = b"NATS/1.0\r\nNats-Msg-Id: same\r\n\r\n"
    messages = [
        (1, "s", block % b"", b"a"),
        (2, "s", block % b"K: v\r\n", b"b"),
        (3, "s", twice, b"c"),
        (4, "s", twice, b"d"),
    ]
    place(inwards.source, "S", messages, subjects=["s"])
    assert inwards.one(method="copy").error == ""
    found = [inwards.target.message("S", seq=seq).get("hdrs") for seq in (1, 2)]
    assert found == [None, "TkFUUy8xLjANCks6IHYNCg0K"]
    assert inwards.target.state("S")["messages"] == 4
