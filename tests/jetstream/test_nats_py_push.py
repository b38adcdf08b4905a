"""The stock Python client consumes: push, queue groups, ordered consumers, where delivery begins."""

from __future__ import annotations

from typing import Any

import pytest
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.errors import Error as JetStreamError

from tests.jetstream.nats_py import LONG, acked_up_to, delivered, fill, note_info, run, sequences
from tests.jetstream.support import JetStream, scenario


@scenario("DLV-001", "DLV-007", "DLV-026")
def test_push(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await fill(context, 10)
        seen: list[Msg] = []

        async def callback(message: Msg) -> None:
            seen.append(message)

        subscription = await context.subscribe("s.a", durable="c", cb=callback)
        info = await acked_up_to(context, "c", 9)
        assert sequences(seen) == [1, 3, 5, 7, 9]
        assert info.push_bound
        js.note([delivered(message) for message in seen])
        note_info(js, info)
        with pytest.raises(JetStreamError, match="already bound"):
            await context.subscribe("s.a", durable="c")
        await subscription.unsubscribe()
        config = ConsumerConfig(deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=8)
        late = await context.subscribe("s.*", config=config, manual_ack=True)
        assert sequences([await late.next_msg(LONG) for _ in range(3)]) == [8, 9, 10]
        note_info(js, await late.consumer_info())
        await late.unsubscribe()
        headless = await context.subscribe("s.b", headers_only=True, durable="h", manual_ack=True)
        js.note([delivered(await headless.next_msg(LONG)) for _ in range(5)])

    run(js, story)


@scenario("DLV-031")
def test_queue_group(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await fill(context, 0)
        counts = [0, 0, 0]

        def member(number: int) -> Any:
            async def callback(message: Msg) -> None:
                counts[number] += 1

            return callback

        for number in range(3):
            await context.subscribe("s.*", queue="workers", durable="workers", cb=member(number))
        for _ in range(90):
            await context.publish("s.a", b"x")
        info = await acked_up_to(context, "workers", 90)
        assert sum(counts) == 90
        assert min(counts) > 0
        assert (info.config.deliver_group, info.push_bound) == ("workers", True)
        with pytest.raises(JetStreamError, match="deliver group"):
            await context.subscribe("s.*", durable="workers")

    run(js, story)


@scenario("DLV-033", "DLV-003")
def test_ordered_consumer_and_flow_control(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await context.add_stream(name="S", subjects=["s.*"])
        for number in range(600):
            await context.publish_async("s.a", b"%4d" % number + bytes(1000))
        await context.publish_async_completed()
        ordered = await context.subscribe("s.*", ordered_consumer=True, idle_heartbeat=0.5)
        messages = [await ordered.next_msg(LONG) for _ in range(600)]
        assert sequences(messages) == list(range(1, 601))
        info = await ordered.consumer_info()
        assert info.config.flow_control
        note_info(js, info)
        controlled = await context.subscribe("s.*", flow_control=True, idle_heartbeat=0.5)
        messages = [await controlled.next_msg(LONG) for _ in range(600)]
        assert sequences(messages) == list(range(1, 601))
        for message in messages[-1:]:
            js.note({**delivered(message), "consumer": "<name>"})

    run(js, story)


@scenario("DLV-034", "DLV-009", "DLV-028")
def test_where_delivery_begins(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await fill(context, 9)
        await context.publish("s.c", b"c")

        async def pulled(name: str, count: int, **config: Any) -> list[int]:
            subscription = await context.pull_subscribe(
                "s.*", durable=name, stream="S", config=ConsumerConfig(**config)
            )
            messages = await subscription.fetch(count, timeout=LONG)
            js.note([delivered(message) for message in messages])
            return sequences(messages)

        assert await pulled("filters", 6, filter_subjects=["s.a", "s.c"]) == [1, 3, 5, 7, 9, 10]
        latest = DeliverPolicy.LAST_PER_SUBJECT
        assert await pulled("latest", 3, deliver_policy=latest) == [8, 9, 10]
        assert await pulled("last", 1, deliver_policy=DeliverPolicy.LAST) == [10]
        await context.add_consumer("S", durable_name="new", deliver_policy=DeliverPolicy.NEW)
        await context.publish("s.a", b"new")
        bound = await context.pull_subscribe_bind(durable="new", stream="S")
        assert sequences(await bound.fetch(1, timeout=LONG)) == [11]

    run(js, story)
