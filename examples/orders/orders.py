"""Orders are published, shipped by workers, and given up after three tries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nats.aio.client import Client
from nats.errors import TimeoutError as NothingThere
from nats.js.api import ConsumerConfig, RetentionPolicy, StreamConfig

STREAM = "ORDERS"
WORKERS = "shipping"
ACK_WAIT = 30  # seconds that a worker may take
RETRY_AFTER = 60  # seconds after a carrier said no
TRIES = 3
RESERVED = 15 * 60  # seconds that goods are kept for somebody

Carrier = Callable[[str, bytes], Awaitable[None]]


class Refused(Exception):
    """The carrier does not take it."""


class Orders:
    """The service over a connection of nats.py."""

    def __init__(self, nc: Client) -> None:
        self._js = nc.jetstream()
        self._nc = nc

    async def setup(self) -> Orders:
        """Make what is not there."""
        config = StreamConfig(
            name=STREAM, subjects=["orders.new.*"], retention=RetentionPolicy.WORK_QUEUE
        )
        await self._js.add_stream(config)
        self._settings: Any = await self._js.create_key_value(bucket="settings")
        self._reserved: Any = await self._js.create_key_value(bucket="reserved", ttl=RESERVED)
        consumer = ConsumerConfig(ack_wait=ACK_WAIT, max_deliver=TRIES)
        self._work = await self._js.pull_subscribe("orders.new.*", WORKERS, config=consumer)
        return self

    # -- orders -----------------------------------------------------------------------------------

    async def place(self, number: str, item: bytes, timeout: float = 5) -> bool:
        """False: the order was there already. May be called again whenever it failed."""
        ack = await self._js.publish(
            f"orders.new.{number}", item, timeout=timeout, headers={"Nats-Msg-Id": number}
        )
        return not ack.duplicate

    async def waiting(self) -> int:
        """Orders that nobody has shipped yet."""
        return int((await self._js.stream_info(STREAM)).state.messages)

    async def ship(self, carrier: Carrier, wait: float = 1) -> str | None:
        """Ship the next order. Returns its number, or None if there is none."""
        try:
            [order] = await self._work.fetch(1, timeout=wait)
        except NothingThere:
            return None
        number = order.subject.rpartition(".")[2]
        try:
            await carrier(number, order.data)
        except Refused:
            if order.metadata.num_delivered < TRIES:
                await order.nak(delay=RETRY_AFTER)
            else:
                await order.term()
                await self._nc.publish(f"orders.failed.{number}", order.data)
        else:
            await order.ack_sync()
            await self._nc.publish(f"orders.shipped.{number}", order.data)
        await self._nc.flush()
        return number

    # -- settings and reservations ----------------------------------------------------------------

    async def setting(self, name: str, default: str) -> str:
        from nats.js.errors import KeyNotFoundError

        try:
            found = await self._settings.get(name)
        except KeyNotFoundError:
            return default
        return str(found.value.decode())

    async def reserve(self, item: str, customer: str) -> bool:
        """False: somebody else has it."""
        from nats.js.errors import KeyWrongLastSequenceError

        try:
            await self._reserved.create(item, customer.encode())
        except KeyWrongLastSequenceError:
            return False
        return True
