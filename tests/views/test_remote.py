"""Over a connection: other names of the API, and errors of nats-py as ours. On ours and on nats-server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import nats
import pytest

from jetstream_py import kv, objstore
from jetstream_py.js import (
    Disconnected,
    InvalidName,
    NoResponders,
    PayloadTooLarge,
    RequestTimeout,
    Start,
    remote,
)
from tests.support.server import KINDS, Kind
from tests.views.meeting import Meeting


@pytest.fixture(params=KINDS, scope="module")
def meeting(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Meeting]:
    kind: Kind = request.param
    made = Meeting(kind, tmp_path_factory.mktemp("remote"), {})
    yield made
    made.close()


def test_a_domain(meeting: Meeting) -> None:
    """Requests, writes, reads and watches by another name of the API."""

    async def play() -> None:
        js = remote.jetstream(meeting.connection, domain="hub")
        bucket = await kv.create_bucket(js, "by-domain")
        assert await bucket.put("a", b"1") == 1
        assert (await bucket.get("a")).value == b"1"
        async with bucket.watch() as watcher:
            assert [each and each.key for each in [await anext(watcher), await anext(watcher)]] == [
                "a",
                None,
            ]
            origin = kv.Origin("by-domain", domain="hub")
            mirror = await kv.create_bucket(js, "by-domain-mirror", mirror=origin)
            assert await mirror.put("b", b"2") == 2  # goes to its origin, wherever that is
            assert (await anext(watcher)).value == b"2"  # type: ignore[union-attr]
        store = await objstore.create_store(js, "by-domain")
        await store.put("x", b"12345")
        assert await store.get_bytes("x", start=1, end=3) == b"23"
        usual = await kv.open_bucket(remote.jetstream(meeting.connection), "by-domain")
        assert sorted(await usual.keys()) == ["a", "b"]

    meeting.run(play())


def test_errors(meeting: Meeting) -> None:
    async def play() -> None:
        async with remote.connect(meeting.server.url, name="errors") as js:
            bucket = await kv.create_bucket(js, "errors")
            with pytest.raises(PayloadTooLarge):
                await bucket.put("a", bytes(js.max_payload + 1))
            with pytest.raises(PayloadTooLarge):
                await js.bus.publish("x", bytes(js.max_payload + 1))
            with pytest.raises(InvalidName):
                await js.publish("a b", b"")
            with pytest.raises(NoResponders):
                await js.publish("nobody", b"")
            with pytest.raises(NoResponders):
                await js.batch("NONE", ">")
            await meeting.connection.subscribe("quiet")
            await meeting.connection.flush()
            with pytest.raises(RequestTimeout):
                await js.bus.request("quiet", b"", {}, 0.001)
            reader = js.read("KV_errors", start=Start.new())
            await reader.__aenter__()
        for late in (bucket.put("a", b""), js.bus.publish("x"), js.bus.inbox(print)):
            with pytest.raises(Disconnected):
                await late
        await reader.close()

    meeting.run(play())


def test_a_watch_survives_its_connection(meeting: Meeting) -> None:
    """The server drops the client; nats-py comes back, and the reader goes on where it was."""

    async def play() -> None:
        connection = await nats.connect(meeting.server.url, reconnect_time_wait=0.01)
        try:
            bucket = await kv.create_bucket(remote.jetstream(connection), "survives", history=5)
            other = await kv.open_bucket(remote.jetstream(meeting.connection), "survives")
            async with bucket.watch() as watcher:
                assert await anext(watcher) is None
                await other.put("a", b"1")
                assert (await anext(watcher)).revision == 1  # type: ignore[union-attr]
                assert connection._transport is not None
                connection._transport.close()  # type: ignore[no-untyped-call]
                for i in range(3):
                    await other.put("a", b"%d" % i)
                seen = [await anext(watcher) for _ in range(3)]
                assert [each and each.revision for each in seen] == [2, 3, 4]
        finally:
            await connection.close()

    meeting.run(asyncio.wait_for(play(), 30))
