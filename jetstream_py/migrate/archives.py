"""Streams that come to the target as an archive: the source's own, or one that is packed here.

A chunk is acked to the source when the target has taken it, so neither gets ahead of the other and memory
holds a few chunks. The stream appears when the archive is complete; until then it can be thrown away at
any time.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Final

from nats.aio.msg import Msg

from jetstream_py.backup import archive, s2
from jetstream_py.backup.archive import Entry
from jetstream_py.migrate.connection import Connection, Json
from jetstream_py.migrate.errors import ApiError, DeniedError, MigrateError, UnavailableError
from jetstream_py.migrate.messages import Message, Reader
from jetstream_py.migrate.options import Progress

CHUNK: Final = 128 * 1024
WINDOW: Final = 16  # chunks under way to the target
FRAME: Final = 64 * 1024  # bytes that are compressed together


class Restore:
    """An archive on its way into the target."""

    def __init__(self, link: Connection, stream: str) -> None:
        self._link = link
        self._stream = stream
        self._subject = ""
        self._under_way: deque[asyncio.Task[bytes]] = deque()
        self.sent = 0

    async def begin(self, config: Json, state: Json) -> None:
        """Raises `UnavailableError` where the target does not take archives from us."""
        body = {"config": config, "state": state}
        try:
            answer = await self._link.api(f"STREAM.RESTORE.{self._stream}", body)
        except DeniedError as error:
            raise UnavailableError(str(error)) from None
        self._subject = answer["deliver_subject"]

    async def send(self, data: bytes) -> None:
        while len(self._under_way) >= WINDOW:
            await self._acked()
        self._under_way.append(asyncio.ensure_future(self._link.ask(self._subject, data)))
        self.sent += len(data)

    async def _acked(self) -> None:
        if answer := await self._under_way.popleft():
            self._link.answer("STREAM.RESTORE", answer)

    async def finish(self) -> Json:
        """The stream's info. Raises `UnavailableError` when the archive is not what the target knows."""
        try:
            while self._under_way:
                await self._acked()
            return self._link.answer("STREAM.RESTORE", await self._link.ask(self._subject, b""))
        except ApiError as error:
            raise UnavailableError(str(error)) from None

    def abandon(self) -> None:
        for task in self._under_way:
            task.cancel()


async def pass_on(
    source: Connection,
    stream: str,
    consumers: bool,
    restore: Restore,
    config: Json,
    progress: Progress,
) -> Json:
    """The source's snapshot, as it is, into the target."""
    chunks: asyncio.Queue[Msg] = asyncio.Queue()

    async def arrived(msg: Msg) -> None:
        chunks.put_nowait(msg)

    inbox = f"{source.new_inbox()}.snapshot"
    subscription = await source.listen(inbox, arrived)
    body = {"deliver_subject": inbox, "no_consumers": not consumers, "chunk_size": CHUNK}
    try:
        try:
            answer = await source.api(f"STREAM.SNAPSHOT.{stream}", body)
        except (ApiError, DeniedError) as error:
            raise UnavailableError(str(error)) from None
        await restore.begin(config, answer["state"])
        total = answer["state"]["bytes"]
        while (chunk := await source.until(chunks.get(), "the next chunk")).data:
            await restore.send(chunk.data)
            if chunk.reply:
                await source.publish(chunk.reply)
            progress("backup", stream, restore.sent, total)
        status = (chunk.headers or {}).get("Status", "204")
        if status != "204":
            raise MigrateError(f"{source.where}: the snapshot of {stream} ended with {status}")
        return await restore.finish()
    finally:
        restore.abandon()
        await subscription.unsubscribe()


class Packer:
    """Messages become chunks of an archive."""

    def __init__(self, restore: Restore) -> None:
        self._restore = restore
        self._plain = bytearray(archive.MAGIC)
        self._packed = bytearray(s2.START)

    async def add(self, entry: Entry) -> None:
        self._plain += archive.encode(entry)
        await self._pack(FRAME)

    async def end(self) -> None:
        self._plain += archive.END
        await self._pack(1)
        if self._packed:
            await self._restore.send(bytes(self._packed))

    async def _pack(self, least: int) -> None:
        while len(self._plain) >= least:
            self._packed += s2.frame(bytes(self._plain[:FRAME]))
            del self._plain[:FRAME]
        while len(self._packed) >= CHUNK:
            await self._restore.send(bytes(self._packed[:CHUNK]))
            del self._packed[:CHUNK]


async def rebuild(
    reader: Reader, stream: str, state: Json, restore: Restore, config: Json, progress: Progress
) -> Json:
    """An archive of the messages up to the last one in `state`; without consumers."""
    packer = Packer(restore)
    state = {**state, "consumer_count": 0}
    await restore.begin(config, state)
    done = 0
    try:
        await packer.add(Entry(archive.STATE, 0, data=json.dumps(state).encode()))
        async for batch in reader.read(state["first_seq"], state["last_seq"]):
            for message in batch:
                await packer.add(_entry(message))
            done += len(batch)
            progress("rebuild", stream, done, state["messages"])
        await packer.end()
        return await restore.finish()
    finally:
        restore.abandon()


def _entry(message: Message) -> Entry:
    seq, subject, headers, data, _ = message
    return Entry(subject.encode(), message.nanoseconds, seq, headers, data)
