"""Streams as older servers keep them: what `make_archives` fills them with before it takes a backup."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

SECOND = 10**9
HOUR = 3600 * SECOND
TIMEOUT = 10

Scenario = Callable[["Giver"], Awaitable[None]]


class Refused(Exception):
    """The server does not know of this."""


class Giver:
    """A client of the server that gives the backup; everything is about one stream, `S`."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def api(self, verb: str, **body: object) -> Any:
        data = json.dumps(body).encode() if body else b""
        answer = await self.client.request(f"$JS.API.{verb}", data, timeout=TIMEOUT)
        found = json.loads(answer.data)
        if "error" in found:
            raise Refused(f"{verb}: {found['error']}")
        return found

    async def create(self, **config: object) -> None:
        usual = {"name": "S", "subjects": ["s.>"], "storage": "file", "retention": "limits"}
        await self.api("STREAM.CREATE.S", **{**usual, **config})

    async def update(self, **config: object) -> None:
        usual = {"name": "S", "subjects": ["s.>"], "storage": "file", "retention": "limits"}
        await self.api("STREAM.UPDATE.S", **{**usual, **config})

    async def publish(
        self, subject: str, data: bytes = b"", headers: dict[str, str] | None = None
    ) -> None:
        answer = await self.client.request(subject, data, timeout=TIMEOUT, headers=headers)
        found = json.loads(answer.data)
        if "error" in found:
            raise Refused(f"publish: {found['error']}")

    async def fill(self, count: int) -> None:
        for i in range(count):
            await self.publish(f"s.{i % 5}", b"message %d" % i)

    async def remove(self, *seqs: int, erase: bool = True) -> None:
        for seq in seqs:
            await self.api("STREAM.MSG.DELETE.S", seq=seq, no_erase=not erase)

    async def consumer(self, name: str, **config: object) -> None:
        config = {"durable_name": name, "ack_policy": "explicit", **config}
        await self.api(f"CONSUMER.DURABLE.CREATE.S.{name}", stream_name="S", config=config)

    async def fetch(self, name: str, count: int) -> list[Msg]:
        inbox = self.client.new_inbox()
        sub = await self.client.subscribe(inbox)
        body = json.dumps({"batch": count, "no_wait": True}).encode()
        await self.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.S.{name}", body, reply=inbox)
        return [await sub.next_msg(timeout=TIMEOUT) for _ in range(count)]

    async def ack(self, *messages: Msg, word: bytes = b"+ACK") -> None:
        for message in messages:
            await self.client.request(message.reply, word, timeout=TIMEOUT)


async def plain(giver: Giver) -> None:
    """Headers; removed in front, between and behind, erased and not."""
    await giver.create()
    for i in range(40):
        headers = {"Number": str(i)} if i % 2 else None
        await giver.publish(f"s.{i % 5}", b"payload %d " % i * (i % 7), headers)
    await giver.remove(10, 11, 40)
    await giver.remove(20, 22, erase=False)
    await giver.remove(1)


async def consumers(giver: Giver) -> None:
    await giver.create()
    await giver.fill(60)
    await giver.consumer("C", max_deliver=9)
    messages = await giver.fetch("C", 20)
    await giver.ack(*messages[::2])
    await giver.client.publish(messages[1].reply, b"-NAK")
    await giver.fetch("C", 2)
    await giver.consumer("F", filter_subject="s.1")
    await giver.ack(*(await giver.fetch("F", 4)))
    await giver.consumer("A", ack_policy="all", deliver_policy="by_start_sequence", opt_start_seq=5)
    messages = await giver.fetch("A", 9)
    await giver.ack(messages[4])
    await giver.consumer("N" + "x" * 150)
    await giver.consumer("P", deliver_subject="push.here")


async def work_queue(giver: Giver) -> None:
    await giver.create(retention="workqueue")
    await giver.fill(50)
    await giver.consumer("W")
    await giver.ack(*(await giver.fetch("W", 20))[::3])


async def interest(giver: Giver) -> None:
    await giver.create(retention="interest")
    await giver.consumer("A")
    await giver.consumer("B")
    await giver.fill(30)
    await giver.ack(*(await giver.fetch("A", 20))[::2])
    await giver.ack(*(await giver.fetch("B", 12))[::2])


async def bucket(giver: Giver) -> None:
    """One value for each key: what was replaced is still in the block."""
    await giver.create(max_msgs_per_subject=1, allow_rollup_hdrs=True, discard="new")
    for turn in range(4):
        for key in range(20):
            if (key + turn) % 3:
                await giver.publish(f"s.k{key}", b"value %d of %d" % (turn, key))
    await giver.publish("s.k3", b"", {"KV-Operation": "DEL"})
    await giver.publish("s.k4", b"", {"KV-Operation": "PURGE", "Nats-Rollup": "sub"})


async def limits(giver: Giver) -> None:
    """What limits removed is still in the block, too, and nothing there says so."""
    await giver.create(max_msgs_per_subject=3, max_msgs=50)
    for i in range(90):
        await giver.publish(f"s.{i * 7 % 23}", b"%d" % i)
    await giver.update(max_msgs_per_subject=-1, max_msgs=-1)


async def blocks(giver: Giver) -> None:
    """More than one, with messages removed in each of them."""
    await giver.create(max_bytes=120_000)
    for i in range(100):
        await giver.publish(f"s.{i % 5}", b"%04d" % i * 400)
    state = (await giver.api("STREAM.INFO.S"))["state"]
    for seq in range(state["first_seq"] + 3, state["last_seq"] - 3, 4):
        await giver.remove(seq, erase=False)


async def compressed(giver: Giver) -> None:
    await giver.create(max_bytes=100_000, compression="s2")
    for i in range(60):
        await giver.publish(f"s.{i % 5}", b"%04d" % i * 400, {"Number": str(i)})
    await asyncio.sleep(2.5)  # a block is compressed a while after the next one has begun


async def many_removed(giver: Giver) -> None:
    """More sequences than a node of the set of removed ones has."""
    await giver.create()
    for i in range(2500):
        await giver.client.publish(f"s.{i % 2}")
    await giver.client.flush()
    while (await giver.api("STREAM.INFO.S"))["state"]["last_seq"] < 2500:
        await asyncio.sleep(0.05)
    await giver.api("STREAM.PURGE.S", filter="s.0", keep=100)


async def purged(giver: Giver) -> None:
    await giver.create()
    await giver.fill(30)
    await giver.api("STREAM.PURGE.S")


async def purged_and_more(giver: Giver) -> None:
    await purged(giver)
    await giver.fill(3)


async def purged_by_filter(giver: Giver) -> None:
    await giver.create()
    await giver.fill(30)
    await giver.api("STREAM.PURGE.S", filter="s.2")
    await giver.api("STREAM.PURGE.S", keep=15)
    await giver.api("STREAM.PURGE.S", filter="s.3", keep=1)


async def empty(giver: Giver) -> None:
    await giver.create()


async def first_seq(giver: Giver) -> None:
    await giver.create(first_seq=1000)


async def first_seq_and_more(giver: Giver) -> None:
    await giver.create(first_seq=1000)
    await giver.fill(3)


async def too_old(giver: Giver) -> None:
    await giver.create(max_age=2 * SECOND)
    await giver.fill(10)
    await asyncio.sleep(1.2)
    await giver.fill(10)
    await asyncio.sleep(1.1)
    await giver.update(max_age=0)


async def all_too_old(giver: Giver) -> None:
    await giver.create(max_age=SECOND)
    await giver.fill(10)
    await asyncio.sleep(2.5)
    await giver.update(max_age=0)


async def large(giver: Giver) -> None:
    """As large as a payload may be."""
    await giver.create()
    await giver.publish("s.large", b"x" * (1024 * 1024 - 100), {"Key": "value" * 9})


async def lifetimes(giver: Giver) -> None:
    await giver.create(allow_msg_ttl=True)
    for i in range(9):
        await giver.publish(f"s.{i}", b"%d" % i, {"Nats-TTL": ("1000h", "never", "1s")[i % 3]})
    await asyncio.sleep(2.5)


async def counter(giver: Giver) -> None:
    await giver.create(allow_msg_counter=True)
    for i in range(5):
        await giver.publish("s.c", b"", {"Nats-Incr": f"+{i}"})


async def schedule(giver: Giver) -> None:
    await giver.create(allow_msg_schedules=True, allow_rollup_hdrs=True)
    headers = {"Nats-Schedule": "@at 2099-01-01T00:00:00Z", "Nats-Schedule-Target": "s.out"}
    await giver.publish("s.plan", b"later", headers)


SCENARIOS: dict[str, Scenario] = {
    made.__name__: made
    for made in (
        plain,
        consumers,
        work_queue,
        interest,
        bucket,
        limits,
        blocks,
        compressed,
        many_removed,
        purged,
        purged_and_more,
        purged_by_filter,
        empty,
        first_seq,
        first_seq_and_more,
        too_old,
        all_too_old,
        large,
        lifetimes,
        counter,
        schedule,
    )
}
NEEDS = {"compressed": "compression", "lifetimes": "allow_msg_ttl", "counter": "allow_msg_counter"}
NEEDS |= {"schedule": "allow_msg_schedules", "first_seq": "first_seq"}
NEEDS |= {"first_seq_and_more": "first_seq"}  # what must be in the answer, or it was passed over
