"""The stock Python client in a scenario: how a story runs on it and what goes into the transcript."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import Any

import nats
import pytest
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import ConsumerInfo
from nats.js.errors import APIError

from tests.jetstream.support import JetStream

LIMIT = 20.0
LONG = 5.0
Story = Callable[[JetStreamContext], Awaitable[None]]


def plain(value: Any) -> Any:
    """A client's objects as something to compare: without times."""
    if isinstance(value, datetime):
        return "<time>"
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"": type(value).__name__, **plain(fields)}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def delivered(message: Msg) -> dict[str, Any]:
    """A message as it was delivered: what its ack subject tells, without the time."""
    meta = message.metadata
    return {
        "subject": message.subject,
        "data": message.data,
        "headers": message.headers,
        "stream": meta.stream,
        "consumer": meta.consumer,
        "sequence": (meta.sequence.stream, meta.sequence.consumer),
        "deliveries": meta.num_delivered,
        "pending": meta.num_pending,
    }


def sequences(messages: list[Msg]) -> list[int]:
    return [message.metadata.sequence.stream for message in messages]


def run(js: JetStream, story: Story) -> None:
    async def connected() -> None:
        client = await nats.connect(js.server.url)
        try:
            await story(client.jetstream())
        finally:
            await client.close()

    asyncio.run(asyncio.wait_for(connected(), LIMIT))


async def refused(js: JetStream, call: Coroutine[Any, Any, Any], kind: type[Exception]) -> None:
    """The call fails; what its error says goes into the transcript."""
    with pytest.raises(kind) as caught:
        await call
    error = caught.value
    facts = [getattr(error, name, None) for name in ("code", "err_code", "description")]
    js.note((type(error).__name__, facts if isinstance(error, APIError) else []))


async def fill(context: JetStreamContext, count: int, **config: Any) -> None:
    """Stream S with messages 1..count, on s.a and s.b in turn."""
    await context.add_stream(name="S", subjects=["s.*"], **config)
    for number in range(1, count + 1):
        await context.publish("s.a" if number % 2 else "s.b", b"%d" % number)


def note_info(js: JetStream, info: ConsumerInfo) -> None:
    """Also for a consumer whose name was made up by the server."""
    told = str(plain(info))
    js.note(told if info.config.durable_name else told.replace(info.name, "<name>"))


def floor(info: ConsumerInfo) -> int:
    assert info.ack_floor is not None
    return info.ack_floor.stream_seq


async def acked_up_to(context: JetStreamContext, consumer: str, sequence: int) -> ConsumerInfo:
    """The info once everything up to the sequence is acked; asking is how it waits."""
    while True:
        info: ConsumerInfo = await context.consumer_info("S", consumer)
        if floor(info) >= sequence:
            return info
