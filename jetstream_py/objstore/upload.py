"""The bytes of an object on their way into chunks.

Chunks are published one behind the other without waiting for each ack; a window of bytes bounds what is under
way. They arrive in order because everything a bus sends does. An object is there when its information is
stored, which is after the last ack, so a reader sees the old object or the new one, whole. What breaks on the
way takes its chunks with it; after a crash `sweep` does that.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Any, BinaryIO

from jetstream_py import limits
from jetstream_py.js.interface import JetStream
from jetstream_py.objstore.errors import InvalidObject

Source = bytes | bytearray | memoryview | BinaryIO | Iterable[bytes] | AsyncIterable[bytes]


async def pieces(source: Source, size: int) -> AsyncIterator[bytes]:
    """The bytes of any source in chunks of exactly this size; the last one may be smaller."""
    if isinstance(source, bytes | bytearray | memoryview):
        view = memoryview(source).cast("B")
        for at in range(0, len(view), size):
            yield bytes(view[at : at + size])
        return
    rest = bytearray()
    async for piece in _blocks(source, size):
        rest += piece
        while len(rest) >= size:
            yield bytes(rest[:size])
            del rest[:size]
    if rest:
        yield bytes(rest)


async def _blocks(source: Any, size: int) -> AsyncIterator[bytes]:
    if hasattr(source, "read"):
        while True:
            found = source.read
            # A file may be slow, and the loop serves others.
            block = await asyncio.to_thread(found, size)
            if not isinstance(block, bytes):
                raise InvalidObject("a file must be open in binary mode")
            if not block:
                return
            yield block
    elif hasattr(source, "__aiter__"):
        async for piece in source:
            yield piece
    elif isinstance(source, Iterable) and not isinstance(source, str):
        for piece in source:
            yield piece
    else:
        raise InvalidObject(f"no bytes, file or iterable of bytes: {type(source).__name__}")


class Upload:
    """The chunks of one object."""

    def __init__(self, js: JetStream, subject: str) -> None:
        self._js = js
        self._subject = subject
        self._hash = hashlib.sha256()
        self._flying: deque[tuple[asyncio.Task[Any], int]] = deque()
        self._window = 0
        self.size = 0
        self.chunks = 0

    async def send(self, source: Source, chunk_size: int) -> bytes:
        """Returns the digest when all chunks are stored."""
        try:
            async for chunk in pieces(source, chunk_size):
                await self._send(chunk)
            while self._flying:
                await self._land()
        finally:
            for task, _ in self._flying:
                task.cancel()
            await asyncio.gather(*(task for task, _ in self._flying), return_exceptions=True)
        return self._hash.digest()

    async def _send(self, chunk: bytes) -> None:
        while self._flying and (
            self._window + len(chunk) > limits.OBJECT_WINDOW
            or len(self._flying) >= limits.OBJECT_CHUNKS
        ):
            await self._land()
        self._hash.update(chunk)
        self.size += len(chunk)
        self.chunks += 1
        task = asyncio.create_task(self._js.publish(self._subject, chunk))
        self._flying.append((task, len(chunk)))
        self._window += len(chunk)
        await asyncio.sleep(0)  # the task starts in this turn: chunks leave in order

    async def _land(self) -> None:
        task, size = self._flying.popleft()
        self._window -= size
        await task
