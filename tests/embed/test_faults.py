"""What a test may break, and what it may say about clients."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import nats
import pytest
from nats.js.api import ConsumerConfig

from jetstream_py import Server
from jetstream_py.embed import FaultError


def broken(
    **options: Any,
) -> Callable[[Callable[[Server, Any], Awaitable[None]]], Callable[[], None]]:
    """A server in the loop whose clock stands still, with a stream and a client."""

    def made(test: Callable[[Server, Any], Awaitable[None]]) -> Callable[[], None]:
        @wraps(test)
        def play() -> None:
            async def main() -> None:
                async with Server(manual_clock=True, record=True, **options) as server:
                    nc = await nats.connect(
                        server.url, name="worker", reconnect_time_wait=0.01, error_cb=_silent
                    )
                    await nc.jetstream().add_stream(name="S", subjects=["s.*"])
                    await test(server, nc)
                    await nc.close()

            asyncio.run(asyncio.wait_for(main(), 30))

        del play.__wrapped__  # pytest would look for its arguments
        return play

    return made


async def _silent(error: Exception) -> None:
    """Clients complain of what was done to them."""


async def worker(nc: Any, acks: bool = True) -> list[tuple[str, int]]:
    """A push consumer with the name `w`: what it gets, and how often."""
    got: list[tuple[str, int]] = []

    async def take(msg: Any) -> None:
        got.append((msg.subject, msg.metadata.num_delivered))
        if acks:
            await msg.ack()

    config = ConsumerConfig(ack_wait=10)
    await nc.jetstream().subscribe("s.*", durable="w", cb=take, manual_ack=True, config=config)
    return got


async def publish(nc: Any, *subjects: str) -> None:
    for subject in subjects:
        await nc.jetstream().publish(subject, subject.encode())
    await nc.flush()


@broken()
async def test_a_lost_delivery_comes_again(server: Server, nc: Any) -> None:
    got = await worker(nc)
    rule = server.faults.drop("deliveries", stream="S", consumer="w", subject="s.b", count=1)
    await publish(nc, "s.a", "s.b", "s.c")
    assert got == [("s.a", 1), ("s.c", 1)]
    assert rule.hits == 1
    await server.clock.advance(10)
    await nc.flush()
    assert got[2:] == [("s.b", 2)]
    await nc.flush()
    server.assert_acked("S", "w", count=3)


@broken()
async def test_late_and_twice(server: Server, nc: Any) -> None:
    got = await worker(nc, acks=False)
    server.faults.delay("deliveries", 5, subject="s.late")
    server.faults.duplicate("deliveries", subject="s.twice")
    await publish(nc, "s.late", "s.twice", "s.a")
    assert [subject for subject, _ in got] == ["s.twice", "s.twice", "s.a"]
    await server.clock.advance(5)
    await nc.flush()
    assert got[3:] == [("s.late", 1)]


@broken()
async def test_pull_requests_lose_messages_too(server: Server, nc: Any) -> None:
    await publish(nc, "s.a", "s.b")
    sub = await nc.jetstream().pull_subscribe("s.*", "p", config=ConsumerConfig(ack_wait=10))
    server.faults.drop("deliveries", count=1)
    with pytest.raises(nats.errors.TimeoutError):
        await sub.fetch(1, timeout=0.05)
    server.faults.drop("deliveries", count=1)
    await server.clock.advance(10)
    [only] = await sub.fetch(2, timeout=0.1)
    await server.clock.advance(10)
    assert {msg.subject for msg in await sub.fetch(2, timeout=1)} == {"s.a", "s.b"}
    assert only.subject == "s.b"


@broken()
async def test_a_lost_ack_brings_the_message_again(server: Server, nc: Any) -> None:
    got = await worker(nc)
    server.faults.drop("acks", stream="S", consumer="w", count=1)
    await publish(nc, "s.a")
    await nc.flush()
    await server.clock.advance(10)
    await nc.flush()
    assert got == [("s.a", 1), ("s.a", 2)]
    await server.wait_acked("S", "w")
    assert [ack.deliveries for ack in server.assert_acked("S", "w", count=1)] == [1, 2]


@broken()
async def test_an_ack_that_is_late(server: Server, nc: Any) -> None:
    got = await worker(nc)
    server.faults.delay("acks", 5)
    await publish(nc, "s.a")
    await nc.flush()
    info = await nc.jetstream().consumer_info("S", "w")
    assert info.num_ack_pending == 1
    await server.clock.advance(5)
    info = await nc.jetstream().consumer_info("S", "w")
    assert (info.num_ack_pending, got) == (0, [("s.a", 1)])


@broken()
async def test_a_lost_answer_to_a_publish(server: Server, nc: Any) -> None:
    """The publisher cannot know; a message id makes the second try harmless."""
    js = nc.jetstream()
    rule = server.faults.drop("pub_acks", stream="S", count=1)
    with pytest.raises(nats.errors.TimeoutError):
        await js.publish("s.a", b"x", timeout=0.05, headers={"Nats-Msg-Id": "1"})
    ack = await js.publish("s.a", b"x", headers={"Nats-Msg-Id": "1"})
    assert (ack.seq, ack.duplicate, rule.hits) == (1, True, 1)
    server.faults.drop("pub_acks", stream="OTHER")
    assert (await js.publish("s.a", b"y")).seq == 2


@broken()
async def test_rules_can_be_taken_back(server: Server, nc: Any) -> None:
    got = await worker(nc)
    rule = server.faults.drop("deliveries")
    server.faults.duplicate("deliveries")
    server.faults.remove(rule)
    await publish(nc, "s.a")
    assert len(got) == 2
    server.faults.clear()
    await publish(nc, "s.b")
    assert len(got) == 3


@broken()
async def test_connections_are_cut(server: Server, nc: Any) -> None:
    other = await nats.connect(server.url, name="other")
    back = asyncio.Event()

    async def reconnected() -> None:
        back.set()

    nc._reconnected_cb = reconnected
    assert server.faults.disconnect(name="nobody") == 0
    assert server.faults.disconnect(cid=nc.client_id, name="worker") == 1
    await back.wait()
    await other.flush()
    assert other.stats["reconnects"] == 0
    await other.close()


@broken(store="tmp")
async def test_a_disk_that_fails(server: Server, nc: Any) -> None:
    await publish(nc, "s.a")
    server.faults.fail_disk("no such disk")
    with pytest.raises(nats.errors.TimeoutError):
        await nc.jetstream().publish("s.b", b"x", timeout=0.05)
    with pytest.raises(nats.js.errors.APIError):
        await nc.jetstream().publish("s.b", b"x")
    await nc.close()
    await server.kill()
    await server.restart()
    info = await server.jetstream.stream_info("S")
    assert info.state.messages == 1


def test_a_disk_that_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    with Server(store="tmp") as server:
        bucket = server.kv("b")
        server.faults.slow_disk(0.5)
        bucket.put("k", b"v")
        assert slept
        assert set(slept) == {0.5}
        server.faults.clear()
        slept.clear()
        bucket.put("k", b"v")
        assert slept == []


@broken()
async def test_faults_that_cannot_be(server: Server, nc: Any) -> None:
    with pytest.raises(FaultError, match="there is no disk"):
        server.faults.fail_disk()
    with pytest.raises(FaultError, match="not of letters"):
        server.faults.drop("letters")  # type: ignore[arg-type]
    with pytest.raises(FaultError, match="known by their subjects"):
        server.faults.drop("acks", subject="s.a")
    with pytest.raises(FaultError, match="has no consumer"):
        server.faults.drop("pub_acks", consumer="w")


# -- assertions ------------------------------------------------------------------------------------


@broken()
async def test_assertions(server: Server, nc: Any) -> None:
    await nc.publish("core.a", b"1", headers={"Kind": "x", "Other": "y"})
    await nc.publish("core.b", b"2")
    await nc.flush()
    [first] = server.assert_published("core.a", b"1", headers={"Kind": "x"})
    assert (first.client, first.reply, dict(first.headers)) == (
        "worker",
        "",
        {"Kind": "x", "Other": "y"},
    )
    assert len(server.assert_published("core.*", count=2)) == 2
    server.assert_not_published("core.c")
    with pytest.raises(
        AssertionError, match=r"core\.\*: expected 3 times, published 2 times"
    ) as wrong:
        server.assert_published("core.*", count=3)
    assert "  core.a b'1' {'Kind': 'x', 'Other': 'y'}\n  core.b b'2'" in str(wrong.value)
    with pytest.raises(AssertionError, match="at least once, published 0 times"):
        server.assert_published("core.a", b"2")
    with pytest.raises(AssertionError, match="expected acks of at least one message, acked are 0"):
        server.assert_acked("S", "w")
    with pytest.raises(nats.errors.NoRespondersError):  # a record is no interest
        await nc.request("core.a", b"?")
    server.records.clear()
    server.assert_not_published(">")


@broken()
async def test_waits(server: Server, nc: Any) -> None:
    async def later() -> None:
        await server.wait_published("first")
        await nc.publish("second", b"2")

    task = asyncio.create_task(later())
    await nc.publish("first", b"1")
    [second] = await server.wait_published("second", b"2")
    assert second.data == b"2"
    await task
    assert await server.wait_for(lambda: len(server.records.own()) == 2)
    with pytest.raises(AssertionError, match="third: expected 1 times, published 0 times"):
        await server.wait_published("third", timeout=0.01)
    with pytest.raises(AssertionError, match="acked are 0"):
        await server.wait_acked("S", "w", timeout=0.01)
    with pytest.raises(AssertionError, match=r"is not true after 0\.01 seconds"):
        await server.wait_for(lambda: False, timeout=0.01)


def test_a_server_that_does_not_record_says_so() -> None:
    with Server() as server, pytest.raises(RuntimeError, match="record=True"):
        server.assert_published("a")


@broken()
async def test_what_a_person_sees(server: Server, nc: Any) -> None:
    await publish(nc, "s.a", "s.b")
    sub = await nc.jetstream().pull_subscribe("s.*", "p")
    await sub.fetch(1)
    text = await server.describe()
    assert text.splitlines() == [
        "stream S (s.*): 2 messages, 1 to 2",
        "  consumer p: 1 to come, delivered to 1, acked to 0, 1 unacked, 0 redelivered",
        "the last 2 of 2 publishes:",
        "  s.a b's.a'",
        "  s.b b's.b'",
    ]
