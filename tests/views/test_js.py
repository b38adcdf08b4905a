"""Streams without a connection: publishes, reads, and a reader that nothing upsets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from jetstream_py.app import inprocess
from jetstream_py.js import (
    ApiError,
    Disconnected,
    InvalidName,
    JetStream,
    JetStreamError,
    MessageNotFound,
    NoResponders,
    Received,
    RequestTimeout,
    Start,
    StreamNotFound,
    Watcher,
    WireJetStream,
    WrongLastSequence,
)
from jetstream_py.js.times import parse_ns, to_datetime, to_ns
from jetstream_py.server.internal import Internal
from tests.views.place import Place, broken, inside

Receive = Callable[[], Coroutine[Any, Any, Received | None]]
STREAM = {"name": "S", "subjects": ["s.>"], "storage": "memory", "allow_direct": True}


async def fill(js: JetStream, count: int = 6) -> None:
    await js.create_stream(STREAM)
    for i in range(1, count + 1):
        await js.publish(f"s.{i % 3}", b"%d" % i, headers={"N": str(i)})


@inside
async def test_publish_and_its_expectations(place: Place) -> None:
    js = place.js
    await js.create_stream(STREAM)
    ack = await js.publish("s.a", b"1", msg_id="x", expected_stream="S", expected_last_seq=0)
    assert (ack.stream, ack.seq, ack.duplicate) == ("S", 1, False)
    assert (await js.publish("s.a", b"1", msg_id="x")).duplicate
    with pytest.raises(WrongLastSequence, match="wrong last sequence: 1"):
        await js.publish("s.a", b"2", expected_last_seq=0)
    with pytest.raises(WrongLastSequence):
        await js.publish("s.b", b"2", expected_last_subject_seq=1)
    with pytest.raises(ApiError) as refused:
        await js.publish("s.a", b"2", expected_stream="T")
    assert (refused.value.code, refused.value.err_code) == (400, 10060)
    with pytest.raises(NoResponders):
        await js.publish("nobody", b"")
    for headers in ({"A\r\nB": "c"}, {"A": "b\nC: d"}, {"": "x"}, {"A:": "x"}):
        with pytest.raises(InvalidName):
            await js.publish("s.a", b"", headers=headers)
    for subject in ("", "s.", "s.a b", "s.*", "s.>", "s\r\nPUB x 0"):
        with pytest.raises(InvalidName):
            await js.publish(subject, b"")
        with pytest.raises(InvalidName):
            await js.bus.publish(subject)
    assert (await js.stream_info("S")).state.messages == 1


@inside
async def test_an_answer_that_is_no_ack(place: Place) -> None:
    broker = place.world.bench.broker
    service = Internal(broker, broker.default_account)

    def answer(subject: bytes, reply: bytes, headers: bytes, data: bytes, client: object) -> None:
        service.publish(reply, data)

    service.subscribe(b"service", answer)
    for text in (b"", b"{}", b"thanks", b"[]"):
        with pytest.raises(ApiError, match="no PubAck"):
            await place.js.publish("service", text)


@inside
async def test_reads(place: Place) -> None:
    js = place.js
    await fill(js)
    for direct in (True, False):
        found = await js.get("S", 2, direct=direct)
        assert (found.subject, found.seq, found.data) == ("s.2", 2, b"2")
        assert (dict(found.headers), found.time_ns) == ({"N": "2"}, place.js.now_ns())
        assert (await js.last("S", "s.1", direct=direct)).seq == 4
        assert (await js.next("S", "s.*", 3, direct=direct)).seq == 3
        for missing in (js.get("S", 9, direct=direct), js.last("S", "s.9", direct=direct)):
            with pytest.raises(MessageNotFound):
                await missing
    assert [each.seq for each in await js.batch("S", "s.1")] == [1, 4]
    assert [each.seq for each in await js.batch("S", "s.>", 3, batch=2)] == [3, 4]
    assert await js.batch("S", "s.9") == []
    assert [each.seq for each in await js.last_for("S", ["s.0", "s.1"])] == [4, 6]
    assert [each.seq for each in await js.last_for("S", ["s.>"], up_to_seq=4)] == [2, 3, 4]
    with pytest.raises(NoResponders):
        await js.batch("T", "s.>")
    assert await js.subjects("S") == {"s.0": 2, "s.1": 2, "s.2": 2}
    assert await js.subjects("S", "s.9") == {}
    await js.delete_message("S", 2)
    with pytest.raises(MessageNotFound):
        await js.get("S", 2)
    assert await js.purge("S", "s.1", keep=1) == 1
    assert await js.purge("S", seq=6) == 3
    assert (await js.update_stream({**STREAM, "max_msgs": 5})).config["max_msgs"] == 5
    assert [info.name for info in await js.streams("s.x")] == ["S"]
    assert await js.streams("other") == []
    await js.delete_stream("S")
    with pytest.raises(StreamNotFound):
        await js.stream_info("S")


@inside
async def test_reading_in_order(place: Place) -> None:
    js = place.js
    await fill(js)
    async with js.read("S", ["s.1", "s.2"]) as reader:
        assert reader.initial == 4
        assert [(m.seq, m.pending) async for m in reader.existing()] == [
            (1, 3),
            (2, 2),
            (4, 1),
            (5, 0),
        ]
        await js.publish("s.1", b"live")
        assert (await anext(reader)).data == b"live"
    with pytest.raises(StopAsyncIteration):
        await anext(reader)
    with pytest.raises(Disconnected):
        await anext(js.read("S"))
    async with js.read("S", start=Start.at_seq(6), headers_only=True) as reader:
        [first, second] = [m async for m in reader.existing()]
        assert (first.data, first.headers["Nats-Msg-Size"], second.seq) == (b"", "1", 7)
    with pytest.raises(StreamNotFound):
        await js.read("T").__aenter__()


@inside
async def test_closing_ends_who_iterates(place: Place) -> None:
    await fill(place.js, 1)
    seen: list[int] = []
    async with place.js.read("S") as reader:

        async def iterate() -> None:
            seen.extend([message.seq async for message in reader])

        task = asyncio.create_task(iterate())
        await place.turns()
        await reader.close()
        await task
    assert seen == [1]
    watcher = Watcher(place.js.read("S"), lambda message: message.seq)
    async with watcher:
        watching = asyncio.create_task(collect(watcher))
        await place.turns()
        await watcher.close()
        assert await watching == [1, None]


async def collect(watcher: Watcher[int]) -> list[int | None]:
    return [each async for each in watcher]


@inside
async def test_a_lost_message_is_read_again(place: Place) -> None:
    bus, js = broken(place)
    await fill(place.js)
    lost: list[str] = []

    def lose(received: object) -> bool:
        reply = getattr(received, "reply", "")
        if reply.startswith("$JS.ACK.S.") and reply.split(".")[5] == "3" and not lost:
            lost.append(reply)
            return True
        return False

    bus.lose = lose
    async with js.read("S") as reader:
        assert [m.seq async for m in reader.existing()] == [1, 2, 3, 4, 5, 6]
        assert (reader.resumed, reader.initial) == (1, 6)
    assert lost


@inside
async def test_a_silence_and_a_heartbeat_that_knows_more(place: Place) -> None:
    bus, js = broken(place)
    await fill(place.js, 2)
    async with js.read("S", start=Start.new()) as reader:
        bus.lose = lambda received: received.status == 0
        await place.js.publish("s.1", b"3")
        await place.turns()
        bus.lose = lambda received: False
        place.pass_time(6)  # the heartbeat tells of a delivery that never came
        assert (await anext(reader)).seq == 3
        assert reader.resumed == 1
        reader._receive = silence(reader._receive)  # type: ignore[method-assign]
        await place.js.publish("s.1", b"4")
        assert (await anext(reader)).seq == 4
        assert reader.resumed == 2


def silence(receive: Receive) -> Receive:
    """The first time nothing comes for three heartbeats."""
    silences = [None]

    async def quiet() -> Received | None:
        return silences.pop() if silences else await receive()

    return quiet


@inside
async def test_what_was_counted_and_removed_is_not_waited_for(place: Place) -> None:
    bus, js = broken(place)
    await fill(place.js, 2)
    bus.lose = lambda received: not received.status
    async with js.read("S") as reader:
        assert reader.left == 2
        await place.turns()
        reader._expected = 3  # as if both had come before they were counted
        place.pass_time(6)
        assert [m async for m in reader.existing()] == []


@inside
async def test_a_server_that_is_away_is_waited_for(place: Place) -> None:
    bus, js = broken(place)
    await fill(place.js, 3)
    failures = iter([NoResponders("gone"), RequestTimeout("slow"), ApiError(503, 10008, "busy")])
    async with js.read("S") as reader:
        assert (await anext(reader)).seq == 1
        naps: list[float] = []

        async def nap(seconds: float) -> None:
            naps.append(seconds)

        bus.fail = lambda subject: next(failures, None) if "CONSUMER.CREATE" in subject else None
        reader._expected = 99
        reader._sleep = nap
        assert [m.seq async for m in reader.existing()] == [2, 3]
        assert naps == [1.0, 1.0, 1.0]
    async with js.read("S") as reader:
        assert (await anext(reader)).seq == 1
        reader._expected = 99
        await place.js.delete_stream("S")
        with pytest.raises(StreamNotFound):
            await anext(reader)


@inside
async def test_a_slow_reader_holds_the_server_back(place: Place) -> None:
    """Flow control: what is not read stays where it is, within the server's window."""
    js = place.js
    await js.create_stream(STREAM)
    for _ in range(100):
        await js.publish("s.a", bytes(100_000))
    async with js.read("S") as reader:
        await place.turns()
        assert reader._queue.qsize() < 40
        assert len([m async for m in reader.existing()]) == 100


@inside
async def test_large_messages_are_not_read_to_be_thrown_away(place: Place) -> None:
    """A run that is larger than what a consumer may send would be read again and again."""
    js = place.js
    await js.create_stream(STREAM)
    for _ in range(100):
        await js.publish("s.a", bytes(100_000))
    store = place.world.js.streams["S"].store
    run, read = store.run, 0

    def counted(*arguments: Any) -> Any:
        nonlocal read
        found = run(*arguments)
        read += len(found)
        return found

    store.run = counted  # type: ignore[assignment, method-assign]
    async with js.read("S") as reader:
        assert len([m async for m in reader.existing()]) == 100
    assert read < 200


@inside
async def test_a_loop_of_reads_lets_others_run(place: Place) -> None:
    js = place.js
    await fill(js, 1)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    for _ in range(10 * inprocess.TURN):
        await js.get("S", 1)
    task.cancel()
    assert turns >= 9


@inside
async def test_a_bus_has_its_account_and_an_end(place: Place) -> None:
    with pytest.raises(JetStreamError, match="no account"):
        inprocess.jetstream(place.world.bench.broker, "NOBODY")
    js = inprocess.jetstream(place.world.bench.broker, "$G")
    await fill(js, 1)
    place.world.bench.client().send(b"SUB quiet 1\r\n")
    asked = asyncio.create_task(js.bus.request("quiet", b"", {}, 5.0))
    await asyncio.sleep(0)
    assert isinstance(js.bus, inprocess.AccountBus)
    js.bus.close()
    with pytest.raises(Disconnected):
        await asked
    for late in (js.get("S", 1), js.bus.publish("s.1"), js.read("S").__aenter__()):
        with pytest.raises(Disconnected):
            await late
    silent = inprocess.jetstream(place.world.bench.broker, "$G", timeout=0.001)
    with pytest.raises(RequestTimeout):
        await silent.publish("quiet", b"")


def test_a_domain_and_a_prefix_name_other_apis() -> None:
    class NoBus:
        pass

    bus = NoBus()
    assert WireJetStream(bus, domain="hub").prefix == "$JS.hub.API"  # type: ignore[arg-type]
    assert WireJetStream(bus, prefix="from.hub.").prefix == "from.hub"  # type: ignore[arg-type]
    with pytest.raises(InvalidName):
        WireJetStream(bus, domain="a", prefix="b")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000_000),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T01:00:00.5+01:00", 500_000_000),
        ("2023-11-14T22:13:20.123456789Z", 1_700_000_000_123_456_789),
    ],
)
def test_times(text: str, ns: int) -> None:
    assert parse_ns(text) == ns
    assert to_ns(to_datetime(ns)) == ns // 1000 * 1000


def test_nothing_is_imported_that_a_plain_install_lacks() -> None:
    import subprocess
    import sys

    code = (
        "import json, sys; import jetstream_py.js.remote, jetstream_py.kv, jetstream_py.objstore; "
    )
    code += "print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"nats", "lmdb", "uvloop", "jetstream_py.server", "jetstream_py.engine"}
