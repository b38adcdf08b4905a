"""The stock Python client consumes: management, pull, acks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import nats
import pytest
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, RetentionPolicy
from nats.js.errors import (
    APIError,
    BadRequestError,
    ConsumerInvalidResetError,
    NotFoundError,
    ServerError,
)

from tests.jetstream.nats_py import (
    LONG,
    delivered,
    fill,
    floor,
    note_info,
    plain,
    refused,
    run,
    sequences,
)
from tests.jetstream.support import JetStream, scenario

SHORT = 0.3


async def nothing_comes(fetching: Coroutine[Any, Any, list[Msg]]) -> None:
    """A fetch that ends empty. The client gives the server 0.1 ms less than itself: whether it hears
    the server's 408 first, and so how it says that there is nothing, is chance.
    """
    try:
        assert await fetching == []
    except TimeoutError:
        pass


@scenario("CON-001", "CON-002", "CON-058", "CON-067", "CON-069", "PULL-046", "PULL-048")
def test_management(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await fill(context, 6)
        info = await context.add_consumer("S", durable_name="c", ack_policy=AckPolicy.EXPLICIT)
        assert (info.name, info.num_pending) == ("c", 6)
        note_info(js, info)
        note_info(js, await context.add_consumer("S", info.config, max_deliver=5))
        full = ConsumerConfig(
            name="full",
            durable_name="full",
            description="all of it",
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=2,
            ack_wait=5,
            max_deliver=4,
            backoff=[0.1, 0.2],
            filter_subject="s.a",
            max_waiting=7,
            max_ack_pending=8,
            headers_only=True,
            inactive_threshold=3600,
            num_replicas=1,
            mem_storage=True,
            metadata={"owner": "tests"},
        )
        note_info(js, await context.add_consumer("S", full))
        note_info(js, await context.add_consumer("S", inactive_threshold=60))
        assert len(await context.consumers_info("S")) == 3
        assert len(await context.consumers_info("S", offset=2)) == 1
        until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        assert (await context.pause_consumer("S", "c", until)).paused
        assert (await context.consumer_info("S", "c")).paused
        assert not (await context.resume_consumer("S", "c")).paused
        assert await context.delete_consumer("S", "c") is True
        await refused(js, context.consumer_info("S", "c"), NotFoundError)
        await refused(js, context.delete_consumer("S", "c"), NotFoundError)
        await refused(js, context.pause_consumer("S", "c", until), NotFoundError)
        await refused(js, context.add_consumer("T", durable_name="c"), NotFoundError)
        await refused(js, context.add_consumer("S", full, ack_policy=AckPolicy.NONE), ServerError)
        await refused(js, context.add_consumer("S", deliver_subject="s.loop"), APIError)
        await refused(
            js, context.add_consumer("S", filter_subjects=["s.a", "s.*"]), BadRequestError
        )

    run(js, story)


@scenario("PULL-050", "PULL-051", "PULL-052")
def test_reset(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await fill(context, 6)
        subscription = await context.pull_subscribe("s.*", durable="c")
        messages = await subscription.fetch(4, timeout=LONG)
        for message in messages[:2]:
            await message.ack_sync()
        js.note(plain((await context.reset_consumer("S", "c")).reset_seq))
        assert sequences(await subscription.fetch(2, timeout=LONG)) == [3, 4]
        js.note(plain((await context.reset_consumer("S", "c", seq=2)).reset_seq))
        again = await subscription.fetch(2, timeout=LONG)
        js.note([delivered(message) for message in again])
        assert sequences(again) == [2, 3]
        await context.add_consumer("S", durable_name="new", deliver_policy=DeliverPolicy.NEW)
        await refused(js, context.reset_consumer("S", "new", seq=1), ConsumerInvalidResetError)

    run(js, story)


@scenario("PULL-001", "PULL-002", "PULL-003", "PULL-004", "PULL-006", "PULL-067")
def test_fetch(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await fill(context, 10)
        subscription = await context.pull_subscribe("s.*", durable="c")
        (one,) = await subscription.fetch(timeout=LONG)
        js.note(delivered(one))
        await one.ack_sync()
        some = await subscription.fetch(4, timeout=LONG)
        js.note([delivered(message) for message in some])
        assert sequences(some) == [2, 3, 4, 5]
        rest = await subscription.fetch(20, timeout=SHORT)
        assert sequences(rest) == [6, 7, 8, 9, 10]
        for message in some + rest:
            await message.ack_sync()
        await nothing_comes(subscription.fetch(5, timeout=SHORT))
        await nothing_comes(subscription.fetch(1, timeout=SHORT))
        info = await subscription.consumer_info()
        assert (info.num_pending, info.num_ack_pending, floor(info)) == (0, 0, 10)
        fetching = asyncio.create_task(subscription.fetch(2, timeout=LONG))
        await context.publish("s.c", b"late", headers={"Kind": "late"})
        js.note([delivered(message) for message in await fetching])
        await subscription.unsubscribe()

    run(js, story)


@scenario("PULL-007")
def test_fetch_with_heartbeats(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await fill(context, 0)
        subscription = await context.pull_subscribe("s.*", durable="c")
        assert await beats(context) == ["100 Idle Heartbeat"] * 2
        fetching = asyncio.create_task(subscription.fetch(1, timeout=LONG, heartbeat=0.1))
        await context.publish("s.a", b"1")
        js.note([delivered(message) for message in await fetching])
        await nothing_comes(subscription.fetch(1, timeout=SHORT, heartbeat=0.1))

    async def beats(context: JetStreamContext) -> list[str]:
        """What a pull that nothing comes for hears before it expires."""
        inbox = context._nc.new_inbox()
        listening = await context._nc.subscribe(inbox)
        request = b'{"batch":1,"expires":280000000,"idle_heartbeat":100000000}'
        await context._nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", request, reply=inbox)
        heard: list[str] = []
        while not heard or not heard[-1].startswith("408"):
            headers = (await listening.next_msg(LONG)).headers or {}
            heard.append(f"{headers['Status']} {headers['Description']}")
        return heard[:-1]

    run(js, story)


@scenario("PULL-023", "PULL-024", "PULL-026", "PULL-027", "PULL-028", "PULL-056")
def test_acks(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await fill(context, 1)
        config = ConsumerConfig(ack_wait=0.4, max_deliver=3)
        subscription = await context.pull_subscribe("s.*", durable="c", config=config)

        async def next_message() -> Msg:
            (message,) = await subscription.fetch(timeout=LONG)
            js.note(delivered(message))
            return message

        # One message at a time: acks and pulls may overtake one another in nats-server.
        await (await next_message()).nak()
        again = await next_message()
        assert again.metadata.num_delivered == 2
        await again.nak(delay=0.2)
        third = await next_message()
        assert third.metadata.num_delivered == 3
        await third.in_progress()
        js.note((await third.ack_sync()).data)
        await context.publish("s.a", b"2")
        await (await next_message()).term()
        await context.publish("s.a", b"3")
        for count in (1, 2, 3):
            assert (await next_message()).metadata.num_delivered == count
        await nothing_comes(subscription.fetch(1, timeout=0.6))
        info = await context.consumer_info("S", "c")
        js.note((plain(info.delivered), plain(info.ack_floor), info.num_redelivered))
        double = again.ack()
        with pytest.raises(nats.errors.MsgAlreadyAckdError):
            await double

    run(js, story)


@scenario("PULL-058")
def test_ack_all(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await fill(context, 10)
        config = ConsumerConfig(ack_policy=AckPolicy.ALL)
        subscription = await context.pull_subscribe("s.*", durable="c", config=config)
        messages = await subscription.fetch(10, timeout=LONG)
        await messages[6].ack_sync()
        info = await subscription.consumer_info()
        assert (floor(info), info.num_ack_pending) == (7, 3)
        note_info(js, info)

    run(js, story)


@scenario("DLV-036", "CON-053")
def test_work_queue(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await fill(context, 4, retention=RetentionPolicy.WORK_QUEUE)
        subscription = await context.pull_subscribe("s.*", durable="c")
        for message in await subscription.fetch(3, timeout=LONG):
            await message.ack_sync()
        state = (await context.stream_info("S")).state
        assert (state.messages, state.first_seq) == (1, 4)
        await refused(js, context.pull_subscribe("s.*", durable="d"), BadRequestError)

    run(js, story)
