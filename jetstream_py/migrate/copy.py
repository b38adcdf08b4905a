"""Messages published again, each under the sequence it had.

The target's last sequence is the progress: what is published is stored in order, so everything before it
is there. A sequence that the source has no message for gets one that is removed at the end. The server is
asked to do nothing but store, so headers that order something else (expectations, batches, traces) stay
behind.

Two messages with one id cannot follow each other within the target's window for duplicates. The second
waits until everything before it is stored and is then repeated until the target has forgotten the first.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Final

from nats.aio.msg import Msg

from jetstream_py import headers
from jetstream_py.migrate.connection import Connection, Json
from jetstream_py.migrate.errors import MigrateError
from jetstream_py.migrate.messages import Message, Reader
from jetstream_py.migrate.options import Progress
from jetstream_py.migrate.stage import GAP, INTAKE

WINDOW: Final = 2000  # messages without an ack ...
WINDOW_BYTES: Final = 4 * 1024 * 1024  # ... and their bytes
IDS: Final = 100_000  # ids that are remembered: more than come in the window for duplicates
RECENT: Final = 2000  # messages before a resumed copy whose ids may still be in that window
PATIENCE: Final = 100  # times that a message is repeated, a tenth of a second apart

_ORDERS: Final = (b"Nats-Expected-", b"Nats-Batch-", b"Nats-Fast-", b"Nats-Trace-")


def carried(block: bytes) -> bytes:
    """The headers without those that are orders to the server."""
    if not any(b"\r\n" + order in block for order in _ORDERS):
        return block
    lines = [line for line in block.split(b"\r\n") if not line.startswith(_ORDERS)]
    return b"" if len(lines) == 3 else b"\r\n".join(lines)


def refusal(config: Json) -> str:
    """Why such a stream cannot be published again; empty when it can."""
    for field, what in (
        ("sources", "has sources: its messages name where they came from"),
        ("allow_msg_counter", "has counters: publishing would add to them"),
        ("allow_msg_schedules", "has schedules: publishing would start them"),
    ):
        if config.get(field):
            return f"it {what}, so only a target of version 2.15 or later can take it"
    return ""


class Publisher:
    """Publishes in order, a window ahead of the acks."""

    def __init__(self, link: Connection, run: str, last_seq: int) -> None:
        self._link = link
        self._intake = f"{INTAKE}.{run}."
        self._inbox = link.new_inbox()
        self._sent = self.stored = last_seq
        self._sizes: deque[int] = deque()
        self._weight = 0
        self._news = asyncio.Event()
        self._fault: MigrateError | None = None
        self._alone: asyncio.Future[Json] | None = None  # the ack of a message that is repeated
        self._ids: dict[bytes, None] = {}

    async def open(self, recent: list[Message]) -> None:
        await self._link.listen(f"{self._inbox}.*", self._acked)
        for message in recent:
            self._remember(headers.get(message.headers, headers.MSG_ID))

    async def put(self, message: Message) -> None:
        """The next message; sequences between are filled."""
        while self._sent + 1 < message.seq:
            await self._publish(GAP, b"", b"")
        block = carried(message.headers)
        size = len(block) + len(message.data)
        if size > self._link.max_payload:
            text = f"message {message.seq} has {size} bytes, more than it takes"
            raise MigrateError(f"{self._link.where}: {text} ({self._link.max_payload})")
        name = headers.get(block, headers.MSG_ID)
        if name is not None and name in self._ids:
            await self._repeat(message.subject, block, message.data)
        else:
            await self._publish(message.subject, block, message.data)
        self._remember(name)

    async def skip_to(self, seq: int) -> None:
        """The source has no message up to this sequence."""
        while self._sent < seq:
            await self._publish(GAP, b"", b"")

    async def drain(self) -> None:
        """Wait until all is stored."""
        while self.stored < self._sent or self._fault:
            await self._wait()

    def _remember(self, name: bytes | None) -> None:
        if name is not None:
            self._ids.pop(name, None)
            self._ids[name] = None
            if len(self._ids) > IDS:
                del self._ids[next(iter(self._ids))]

    async def _publish(self, subject: str, block: bytes, data: bytes) -> None:
        size = len(block) + len(data)
        while self._fault or len(self._sizes) >= WINDOW or self._weight > WINDOW_BYTES:
            await self._wait()
        self._sent += 1
        self._sizes.append(size)
        self._weight += size
        reply = f"{self._inbox}.{self._sent}"
        await self._link.publish_raw(self._intake + subject, reply, block, data)

    async def _repeat(self, subject: str, block: bytes, data: bytes) -> None:
        await self.drain()
        seq = self._sent + 1
        for _ in range(PATIENCE):
            self._alone = asyncio.get_running_loop().create_future()
            reply = f"{self._inbox}.{seq}"
            await self._link.publish_raw(self._intake + subject, reply, block, data)
            answer = await self._link.until(self._alone, "a publish")
            self._alone = None
            if not answer.get("duplicate"):
                self._take(seq, answer)
                self._sent = seq
                return
            await asyncio.sleep(0.1)
        raise MigrateError(f"{self._link.where}: message {seq} is taken for a duplicate")

    async def _wait(self) -> None:
        if self._fault is not None:
            raise self._fault
        self._news.clear()
        await self._link.until(self._news.wait(), "publishes")

    async def _acked(self, msg: Msg) -> None:
        answer = json.loads(msg.data) if msg.data else {"error": {"description": "nobody listens"}}
        if self._alone is not None:
            self._alone.set_result(answer)
            return
        self._news.set()
        self._weight -= self._sizes.popleft()
        self._take(int(msg.subject.rpartition(".")[2]), answer)

    def _take(self, seq: int, answer: Json) -> None:
        if self._fault is None and answer.get("seq") != seq:
            error = (answer.get("error") or {}).get("description", f"it became {answer.get('seq')}")
            self._fault = MigrateError(f"{self._link.where}: message {seq} is not stored: {error}")
        elif self._fault is None:
            self.stored = seq


async def copy(
    source: Reader, publisher: Publisher, stream: str, last: int, progress: Progress
) -> None:
    """Everything behind what is stored, up to a sequence of the source."""
    async for batch in source.read(publisher.stored + 1, last):
        for message in batch:
            await publisher.put(message)
        progress("copy", stream, publisher.stored, last)
    await publisher.skip_to(last)
    await publisher.drain()
    progress("copy", stream, publisher.stored, last)


async def recent(
    source: Reader, target: Reader, first: int, last: int, where: str
) -> list[Message]:
    """The last messages of a copy that is to be resumed. They have to be those of the source: a publish that
    was refused in the middle of others has moved everything behind it.
    """
    first = max(first, last + 1 - RECENT)
    theirs = {message.seq: message async for batch in target.read(first, last) for message in batch}
    async for batch in source.read(first, last):
        for message in batch:
            if not _same(message, theirs.get(message.seq)):
                text = f"what is there is not a copy of the source at sequence {message.seq}"
                raise MigrateError(f"{where}: {text}; delete the stream there and run again")
    return list(theirs.values())


def _same(message: Message, copied: Message | None) -> bool:
    return copied is not None and (
        (message.subject, carried(message.headers), message.data)
        == (copied.subject, copied.headers, copied.data)
    )
