"""A connection that takes many messages at once.

nats-py makes an object and a task switch of each message, and that is most of what a bulk read costs.
Here its parser is given only what it must see: the frames of one subscription are cut out before it, and
come as columns, a read of the socket at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from nats.protocol.parser import Parser

from jetstream_py.migrate.connection import Connection, connect
from jetstream_py.migrate.options import Endpoint

_ENDS: Final = b"\r\n"


class Frames:
    """Messages as they came, as columns."""

    __slots__ = ("datas", "headers", "replies", "subjects")

    def __init__(self) -> None:
        self.subjects: list[bytes] = []
        self.replies: list[bytes] = []
        self.headers: list[bytes] = []
        self.datas: list[bytes] = []

    def __len__(self) -> int:
        return len(self.subjects)

    def add(self, buffer: bytes, words: Sequence[bytes], start: int, finish: int) -> None:
        """A frame: the words of its line, and where in the buffer the rest is."""
        cut = start
        if words[0] == b"HMSG":
            cut += int(words[-2])
            self.replies.append(words[3] if len(words) == 6 else b"")
        else:
            self.replies.append(words[3] if len(words) == 5 else b"")
        self.subjects.append(words[1])
        self.headers.append(buffer[start:cut])
        self.datas.append(buffer[cut:finish])

    def join(self, other: Frames) -> None:
        self.subjects += other.subjects
        self.replies += other.replies
        self.headers += other.headers
        self.datas += other.datas


Take = Callable[[Frames], None]


class Splitter(Parser):
    """nats-py's parser behind one that knows where frames end."""

    def __init__(self, link: Connection) -> None:
        super().__init__(link)
        self._rest: list[bytes] = []  # of a frame that is not complete ...
        self._missing = 0  # ... and how much of it is known to be missing
        self.takers: dict[bytes, Take] = {}  # by subscription

    async def parse(self, data: bytes = b"") -> None:
        if not self.takers and not self._rest:
            await super().parse(data)
            return
        self._rest.append(data)
        self._missing -= len(data)
        if self._missing > 0:  # a large message: joined once, when it is here
            return
        buffer = b"".join(self._rest)
        at, size = 0, len(buffer)
        self._missing = 0
        taken: dict[bytes, Frames] = {sid: Frames() for sid in self.takers}
        while (end := buffer.find(_ENDS, at)) >= 0:
            words = buffer[at:end].split(b" ")
            start = finish = end + 2
            if words[0] in (b"MSG", b"HMSG"):
                finish += int(words[-1])
                if finish + 2 > size:
                    self._missing = finish + 2 - size
                    break
                frames = taken.get(words[2])
                if frames is not None:
                    frames.add(buffer, words, start, finish)
                    at = finish + 2
                    continue
                finish += 2
            await super().parse(buffer[at:finish])
            at = finish
        self._rest = [buffer[at:]] if at < size else []
        for sid, frames in taken.items():
            if len(frames) and sid in self.takers:
                self.takers[sid](frames)


class Link(Connection):
    """A server, for bulk reads and writes."""

    def __init__(self, where: str, domain: str) -> None:
        super().__init__(where, domain)
        self._ps = self._splitter = Splitter(self)

    async def take(self, subject: str, taker: Take) -> bytes:
        """Subscribe; frames go to the taker. Returns the subscription's id, for `leave`."""
        subscription = await self.listen(subject, _too_late)
        sid = b"%d" % subscription._id
        self._splitter.takers[sid] = taker
        return sid

    async def leave(self, sid: bytes) -> None:
        self._splitter.takers.pop(sid, None)
        await self.send(b"UNSUB %b\r\n" % sid)

    async def send(self, commands: bytes) -> None:
        """Write commands as they are, and wait while the server is behind."""
        await self._send_command(commands)
        await self._flush_pending(force_flush=True)


async def _too_late(message: object) -> None:
    """Came after `leave`."""


async def open_link(endpoint: Endpoint) -> Link:
    """Raises `ConnectError`."""
    link = Link(endpoint.url.rpartition("@")[2], endpoint.domain)
    await connect(link.where, endpoint, link, "jetstream-py")
    return link


class Inbox:
    """Frames that wait to be read, bounded by whoever asks for them."""

    def __init__(self) -> None:
        self._frames = Frames()
        self._news = asyncio.Event()

    def __call__(self, frames: Frames) -> None:
        self._frames.join(frames)
        self._news.set()

    async def next(self) -> Frames:
        """All that came, at least one."""
        await self._news.wait()
        self._news.clear()
        frames, self._frames = self._frames, Frames()
        return frames
