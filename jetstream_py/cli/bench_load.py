"""The loads of benchmarks: what clients send, what they wait for, what is counted.

All clients are connected before the clock starts; it stops when the last of them has what it waits for.
A publisher waits for a PONG behind each block, so that what it counts has been taken by the server. A
requester has a window of requests without an answer; every answer is timed by the token in its subject.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jetstream_py.cli import show
from jetstream_py.cli.bench_report import Result
from jetstream_py.cli.bench_wire import PING, Frames, Link
from jetstream_py.cli.frame import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BLOCK: Final = 128 * 1024  # bytes that go out at once
BLOCKS: Final = 8  # without a PONG
ERROR: Final = b'"error":{'


@dataclass
class Load:
    """What was asked for on the line."""

    settings: Settings
    clients: int
    msgs: int
    size: int
    progress: bool

    @property
    def payload(self) -> bytes:
        return b"x" * self.size

    def shares(self) -> list[int]:
        """Messages of each client; together they are all."""
        each, more = divmod(self.msgs, self.clients)
        return [each + (number < more) for number in range(self.clients)]


class Tally:
    """Counts for the bar, and the latencies of all clients."""

    def __init__(self, advance: show.Advance) -> None:
        self._advance = advance
        self._shown = 0.0
        self.messages = 0
        self.bytes = 0
        self.latencies: array[float] = array("d")
        self.errors = 0
        self.first_error = ""
        self.begin = 0.0

    def add(self, messages: int, size: int) -> None:
        self.messages += messages
        self.bytes += size
        now = time.perf_counter()
        if now - self._shown > 0.1:
            self._shown = now
            self._advance(self.messages)

    def failed(self, text: bytes) -> None:
        self.errors += 1
        words = " ".join(text.decode(errors="replace").split())
        self.first_error = self.first_error or show.safe(words)

    def result(self, title: str, clients: int, latency_of: str) -> Result:
        seconds = time.perf_counter() - self.begin
        return Result(
            title,
            clients,
            self.messages,
            self.bytes,
            seconds,
            self.latencies,
            latency_of,
            self.errors,
            self.first_error,
        )


Play = Callable[[Link, int, Tally], Coroutine[object, object, None]]


@asynccontextmanager
async def links(load: Load, count: int) -> AsyncIterator[list[Link]]:
    opened: list[Link] = []
    try:
        for _ in range(count):
            opened.append(await Link.open(load.settings))
        yield opened
    finally:
        for link in opened:
            await link.close()


async def run(
    load: Load,
    title: str,
    latency_of: str,
    play: Play,
    shares: Sequence[int] = (),
) -> Result:
    """Let every client play its share, or as many as `shares` says."""
    shares = shares or load.shares()
    async with links(load, load.clients) as clients:
        with show.progress(title, sum(shares), wanted=load.progress) as advance:
            tally = Tally(advance)
            tally.begin = time.perf_counter()
            pairs = zip(clients, shares, strict=True)
            await together([play(link, share, tally) for link, share in pairs])
            return tally.result(title, load.clients, latency_of)


async def together(plays: Sequence[Coroutine[object, object, None]]) -> None:
    """All of them, or the first error."""
    tasks = [asyncio.create_task(play) for play in plays]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def publish(link: Link, share: int, tally: Tally, subject: str, payload: bytes) -> None:
    """Blocks of messages, a PING behind each."""
    frame = b"PUB %b %d\r\n%b\r\n" % (subject.encode(), len(payload), payload)
    per_block = max(1, BLOCK // len(frame))
    sizes = [per_block] * (share // per_block) + [share % per_block] * (share % per_block > 0)
    block = frame * per_block + PING
    sent: deque[tuple[float, int]] = deque()  # blocks without a PONG
    for size in sizes:
        sent.append((time.perf_counter(), size))
        await link.send(block if size == per_block else frame * size + PING)
        if len(sent) == BLOCKS:
            await _taken(link, sent, tally, len(payload))
    while sent:
        await _taken(link, sent, tally, len(payload))


async def _taken(link: Link, sent: deque[tuple[float, int]], tally: Tally, size: int) -> None:
    """Wait until the server has taken a block or more."""
    before = link.pongs
    while link.pongs == before:
        await link.receive()
    now = time.perf_counter()
    for _ in range(link.pongs - before):
        begin, messages = sent.popleft()
        tally.latencies.append(now - begin)
        tally.add(messages, messages * size)


async def subscribe(link: Link, wanted: int, tally: Tally, subject: str) -> None:
    """So many messages. The clock starts with the first one."""
    await link.listen(subject)
    got = 0
    while got < wanted:
        for frames in await link.receive():
            if not tally.messages:
                tally.begin = time.perf_counter()
            got += frames.times
            tally.add(frames.times, frames.times * frames.size)


class Requester:
    """Requests with a window, timed one by one."""

    def __init__(self, link: Link, tally: Tally, inbox: str, window: int) -> None:
        self._link = link
        self._tally = tally
        self._inbox = inbox.encode()
        self._window = window
        self._sent: dict[bytes, float] = {}

    async def play(self, requests: Iterator[tuple[bytes, bytes]], counted: int | None) -> None:
        """Subjects and payloads. `counted` bytes are counted for each, or those of the answer."""
        await self._link.subscribe(f"{self._inbox.decode()}.*")
        number, more = 0, True
        while more or self._sent:
            block: list[bytes] = []
            now = time.perf_counter()
            while more and len(self._sent) < self._window:
                try:
                    subject, payload = next(requests)
                except StopIteration:
                    more = False
                    break
                number += 1
                token = b"%d" % number
                self._sent[token] = now
                head = b"PUB %b %b.%b %d\r\n" % (subject, self._inbox, token, len(payload))
                block.append(head + payload)
            if block:
                await self._link.send(b"\r\n".join([*block, b""]))
            if self._sent:
                self._answered(await self._link.receive(), counted)

    def _answered(self, arrived: Sequence[Frames], counted: int | None) -> None:
        now = time.perf_counter()
        messages = size = 0
        for frames in arrived:
            begin = self._sent.pop(frames.subject.rpartition(b".")[2], None)
            if begin is None:
                continue  # a second answer
            self._tally.latencies.append(now - begin)
            if ERROR in frames.payload or frames.payload.startswith((b"NATS/1.0 5", b"NATS/1.0 4")):
                self._tally.failed(frames.payload)
                continue
            messages += 1
            size += frames.size if counted is None else counted
        self._tally.add(messages, size)


async def answer(link: Link, subject: str, ready: asyncio.Event) -> None:
    """Echo requests until cancelled."""
    await link.subscribe(subject, "bench")
    ready.set()
    while True:
        block = [
            b"PUB %b %d\r\n%b\r\n" % (frames.reply, frames.size, frames.payload)
            for frames in await link.receive()
            for _ in range(frames.times)
            if frames.reply
        ]
        if block:
            await link.send(b"".join(block))
