"""A connection for benchmarks: nats-py logs in, then the bytes are ours.

What is measured should be the server, so nothing here looks at a message longer than it must. Requests to
publish are rendered in blocks, frames that come are cut by their lengths, and of equal frames in a row only
the first is parsed. Logins, TLS and WebSocket are the library's: its tasks are ended once it is connected,
and its transport is used for bytes alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, Self

from jetstream_py.cli.connect import Session, connect
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import Settings

READ: Final = 256 * 1024
PING: Final = b"PING\r\n"
PONG: Final = b"PONG\r\n"


class Frames(NamedTuple):
    """Messages that came: `times` equal ones in a row, of which `payload` is the first's."""

    subject: bytes
    reply: bytes
    payload: bytes  # with its header block, if there is one
    times: int
    size: int  # of one payload


class Link:
    """One client."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._transport: Any = session._transport
        self._rest = b""
        self.pongs = 0

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Raises `Failure`."""
        session = await connect(settings)
        await session.flush()  # whatever the server says after a login has been said
        for task in (session._reading_task, session._ping_interval_task, session._flusher_task):
            if task is not None:
                task.cancel()
        await asyncio.sleep(0)
        return cls(session)

    async def close(self) -> None:
        self._transport.close()
        await self._session.close()

    async def send(self, data: bytes) -> None:
        """Returns when the socket takes more."""
        try:
            self._transport.write(data)
            await self._transport.drain()
        except OSError as error:
            raise Failure(f"the connection is lost: {error}") from None

    async def listen(self, subject: str, queue: str = "") -> None:
        await self.send(f"SUB {subject} {queue + ' ' if queue else ''}1\r\n".encode())

    async def subscribe(self, subject: str, queue: str = "") -> None:
        """Wait until the server knows of it. Nobody may have sent anything there before."""
        await self.listen(subject, queue)
        await self.send(PING)
        before = self.pongs
        while self.pongs == before:
            await self.receive()

    async def receive(self) -> list[Frames]:
        """What has come: nothing, if it was only a PONG or half a message."""
        try:
            data = await self._transport.read(READ)
        except OSError as error:
            raise Failure(f"the connection is lost: {error}") from None
        if not data:
            raise Failure("the server closed the connection")
        return list(self._frames(self._rest + data))

    def _frames(self, data: bytes) -> Iterator[Frames]:
        at, end = 0, len(data)
        while (stop := data.find(b"\r\n", at)) >= 0:
            body = stop + 2
            words = data[at:stop].split()
            if not words or words[0] not in (b"MSG", b"HMSG"):
                self._said(words[:1], data[at:stop])
                at = body
                continue
            size = int(words[-1])
            if body + size + 2 > end:
                break
            count, length = 1, body + size + 2 - at
            if words[0] == b"MSG" and data.startswith(data[at:body], at + length):
                count = _equal(data, at, body, length)
            reply = words[3] if len(words) == (5 if words[0] == b"MSG" else 6) else b""
            yield Frames(words[1], reply, data[body : body + size], count, size)
            at += count * length
        self._rest = data[at:]

    def _said(self, verb: list[bytes], line: bytes) -> None:
        if verb == [b"PING"]:
            self._transport.write(PONG)
        elif verb == [b"PONG"]:
            self.pongs += 1
        elif verb == [b"-ERR"]:
            raise Failure(f"the server says {line[5:].decode(errors='replace')}")


def _equal(data: bytes, at: int, body: int, length: int) -> int:
    """How many whole frames in a row have the same first line."""
    line = data[at:body]
    most = (len(data) - at) // length
    if data.count(line, at, at + most * length) == most:
        return most
    count = 1
    while count < most and data.startswith(line, at + count * length):
        count += 1
    return count
