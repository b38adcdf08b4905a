"""Time moved by hand, with nats.py as the client: whatever the server does by itself happens in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

import nats
import pytest
from nats.js.api import ConsumerConfig, StreamConfig

from jetstream_py import ManualClock, Server

START = datetime(2030, 1, 1, tzinfo=UTC)


def timeless(test: Callable[[Server, Any], Awaitable[None]]) -> Callable[[], None]:
    """A server in the loop whose clock stands still, and a client."""

    @wraps(test)
    def play() -> None:
        async def main() -> None:
            async with Server(clock=ManualClock(START)) as server:
                nc = await nats.connect(server.url)
                await test(server, nc)
                await nc.close()

        asyncio.run(asyncio.wait_for(main(), 30))

    del play.__wrapped__  # pytest would look for its arguments
    return play


async def orders(nc: Any, **consumer: Any) -> Any:
    js = nc.jetstream()
    await js.add_stream(name="ORDERS", subjects=["orders.>"])
    await js.publish("orders.1", b"piano")
    return await js.pull_subscribe("orders.>", "shipping", config=ConsumerConfig(**consumer))


@timeless
async def test_ack_wait(server: Server, nc: Any) -> None:
    shipping = await orders(nc, ack_wait=30)
    [first] = await shipping.fetch(1)
    await server.clock.advance(29.999)
    with pytest.raises(nats.errors.TimeoutError):
        await shipping.fetch(1, timeout=0.01)
    await server.clock.advance(0.001)
    [again] = await shipping.fetch(1)
    assert (first.metadata.num_delivered, again.metadata.num_delivered) == (1, 2)
    assert again.metadata.timestamp == START
    await again.ack_sync()
    await server.clock.advance(1000)
    assert (await shipping.consumer_info()).num_ack_pending == 0


@timeless
async def test_one_step_may_cause_many(server: Server, nc: Any) -> None:
    """A push consumer delivers at 0, 10, 20, ... although the clock is moved once."""
    js = nc.jetstream()
    await js.add_stream(name="S", subjects=["s"])
    got: list[tuple[int, int]] = []

    async def take(msg: Any) -> None:
        got.append((msg.metadata.num_delivered, msg.metadata.sequence.stream))

    config = ConsumerConfig(ack_wait=10, max_deliver=4)
    await js.subscribe("s", cb=take, manual_ack=True, config=config)
    await js.publish("s", b"x")
    await server.clock.advance(1000)
    await nc.flush()
    assert got == [(1, 1), (2, 1), (3, 1), (4, 1)]


@timeless
async def test_max_age_and_ttl(server: Server, nc: Any) -> None:
    js = nc.jetstream()
    config = StreamConfig(name="S", subjects=["s.*"], max_age=3600, allow_msg_ttl=True)
    await js.add_stream(config)
    await js.publish("s.old")
    await js.publish("s.short", headers={"Nats-TTL": "10s"})
    left = []
    for seconds in (9.5, 1, 3588, 2):
        await server.clock.advance(seconds)
        left.append((await js.stream_info("S")).state.messages)
    assert left == [2, 1, 1, 0]


@timeless
async def test_values_expire(server: Server, nc: Any) -> None:
    bucket = await server.kv("b", key_ttl=True)
    await bucket.put("session", b"x", ttl=60)
    await server.clock.advance(59)
    assert (await bucket.get("session")).value == b"x"
    await server.clock.advance(2)
    assert await bucket.keys() == []


@timeless
async def test_heartbeats_come_at_their_times(server: Server, nc: Any) -> None:
    js = nc.jetstream()
    await js.add_stream(name="S", subjects=["s"])
    beats = await nc.subscribe("deliver")
    await nc.flush()
    config = ConsumerConfig(deliver_subject="deliver", idle_heartbeat=5, durable_name="c")
    await js.add_consumer("S", config)
    await server.clock.advance(17)
    await nc.flush()
    assert beats.pending_msgs == 3


@timeless
async def test_a_schedule_and_what_follows_from_it(server: Server, nc: Any) -> None:
    """Published at second 5, delivered then, and again 10 seconds later, all by one move."""
    js = nc.jetstream()
    create = {"name": "S", "subjects": ["s.>"], "allow_msg_schedules": True}
    await server.jetstream.create_stream(create)
    got: list[tuple[int, datetime]] = []

    async def take(msg: Any) -> None:
        got.append((msg.metadata.num_delivered, msg.metadata.timestamp))

    config = ConsumerConfig(ack_wait=10, filter_subject="s.out")
    await js.subscribe("s.out", cb=take, manual_ack=True, config=config)
    at = START + timedelta(seconds=5)
    headers = {
        "Nats-Schedule": f"@at {at.isoformat().replace('+00:00', 'Z')}",
        "Nats-Schedule-Target": "s.out",
    }
    await js.publish("s.plan", b"x", headers=headers)
    await server.clock.advance(16)
    await nc.flush()
    assert got == [(1, at), (2, at)]


@timeless
async def test_clients_survive_a_day(server: Server, nc: Any) -> None:
    await server.clock.advance(86_400)
    await nc.flush()
    assert server.clock.now() == START + timedelta(days=1)


@timeless
async def test_time_does_not_run_backwards(server: Server, nc: Any) -> None:
    for seconds in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="time does not move"):
            server.clock.advance(seconds)


def test_a_clock_for_two_servers_in_threads() -> None:
    """Their deadlines come in order, whichever server they belong to."""
    clock = ManualClock(START)
    clock.advance(5)  # nobody is there yet
    assert clock.now() == START + timedelta(seconds=5)
    with Server(clock=clock) as one, Server(clock=clock) as two:
        for server in (one, two):
            js: Any = server.jetstream
            js.create_stream({"name": "S", "subjects": ["s"], "max_age": 10 * 10**9})
            js.publish("s")
        clock.advance(11)
        for server in (one, two):
            js = server.jetstream
            assert js.stream_info("S").state.messages == 0


def test_a_coroutine_beside_a_server_in_a_thread() -> None:
    async def main() -> None:
        with Server(manual_clock=True) as server:
            nc = await nats.connect(server.url)
            shipping = await orders(nc, ack_wait=30)
            await shipping.fetch(1)
            await server.clock.advance(30)
            [again] = await shipping.fetch(1)
            assert again.metadata.num_delivered == 2
            await nc.close()

    asyncio.run(asyncio.wait_for(main(), 30))
