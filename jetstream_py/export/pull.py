"""Messages through a pull consumer without acks.

Two requests are under way, so the server always has one to fill while we take what came. Requests are
filled one after the other: a message counts against the oldest, and a status names the request that it
ends, and with it those before. What may come is bounded by the messages and bytes that were asked for.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import AsyncGenerator
from typing import Final

from jetstream_py import limits
from jetstream_py.export.errors import ExportError
from jetstream_py.export.link import Frames, Inbox, Link
from jetstream_py.migrate.errors import ApiError, DeniedError, MigrateError
from jetstream_py.nuid import Nuid
from jetstream_py.store.columns import Columns

EXPIRES: Final = 5  # seconds that a request waits for messages
TICK: Final = 0.5  # seconds without a message after which `follow` lets its caller look at the time
IDLE: Final = 60  # seconds without us after which the server removes the consumer


class Refused(Exception):
    """The server does not let us have a consumer."""


class Puller:
    """One consumer, from `open` to the end of `read` or `follow`."""

    def __init__(self, link: Link, stream: str, subject: str) -> None:
        self._link, self._stream, self._subject = link, stream, subject
        self._name = f"export-{Nuid(os.urandom).next()}"
        self._reply = link.new_inbox()
        self._inbox = Inbox()
        self._sid = b""
        self._asked: deque[tuple[int, int]] = deque()  # number and open messages of each request
        self._number = 0
        self._bytes = max(limits.EXPORT_PULL_BYTES, link.max_payload)
        self._expected = 1  # delivery
        self._pending = 0  # what the server has for us beyond the last message

    async def open(self, seq: int) -> None:
        """Make the consumer. Raises `Refused`."""
        config = {
            "name": self._name,
            "ack_policy": "none",
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": seq,
            "mem_storage": True,
            "inactive_threshold": IDLE * 10**9,
        }
        verb = f"CONSUMER.CREATE.{self._stream}.{self._name}"
        if self._subject:
            config["filter_subject"] = self._subject
            verb += f".{self._subject}"
        try:
            body = {"stream_name": self._stream, "config": config}
            made = await self._link.api(verb, body)
        except (ApiError, DeniedError) as error:
            raise Refused(str(error)) from None
        self._pending = made["num_pending"]
        self._sid = await self._link.take(f"{self._reply}.*", self._inbox)

    async def _close(self) -> None:
        await self._link.leave(self._sid)
        try:
            await self._link.api(f"CONSUMER.DELETE.{self._stream}.{self._name}")
        except MigrateError:
            pass  # it is gone, or goes by itself

    async def read(self, last: int) -> AsyncGenerator[Columns, None]:
        """Up to a sequence, or to the end."""
        try:
            while self._pending:
                rows = await self._next(None)
                if len(rows) and rows.seqs[-1] >= last:
                    yield rows.part(0, rows.position(last + 1))
                    return
                if len(rows):
                    yield rows
                else:  # perhaps what was pending was removed
                    verb = f"CONSUMER.INFO.{self._stream}.{self._name}"
                    self._pending = (await self._link.api(verb))["num_pending"]
        finally:
            await self._close()

    async def follow(self) -> AsyncGenerator[Columns, None]:
        try:
            while True:
                yield await self._next(TICK)
        finally:
            await self._close()

    async def _next(self, seconds: float | None) -> Columns:
        """What comes next; nothing after so many seconds, or when a request ends without messages."""
        while len(self._asked) < 2:
            await self._ask()
        try:
            wait = self._link.until(self._inbox.next(), "a pull")
            frames = await asyncio.wait_for(wait, seconds)
        except TimeoutError:
            return Columns()
        rows, done = Columns(), 0
        for i, reply in enumerate(frames.replies) if b"" in frames.replies else ():
            if not reply:  # a status
                self._add(rows, frames, done, i)
                self._ended(frames.subjects[i], frames.headers[i])
                done = i + 1
        self._add(rows, frames, done, len(frames))
        return rows

    async def _ask(self) -> None:
        self._number += 1
        body = {
            "batch": limits.EXPORT_PULL,
            "max_bytes": self._bytes,
            "expires": EXPIRES * 10**9,
        }
        subject = f"{self._link.prefix}CONSUMER.MSG.NEXT.{self._stream}.{self._name}"
        data = json.dumps(body).encode()
        reply = f"{self._reply}.{self._number}"
        await self._link.send(
            b"PUB %b %d\r\n%b\r\n" % (f"{subject} {reply}".encode(), len(data), data)
        )
        self._asked.append((self._number, limits.EXPORT_PULL))

    def _add(self, rows: Columns, frames: Frames, start: int, end: int) -> None:
        """Messages. What their reply subjects say is read as columns, too."""
        n = end - start
        if not n:
            return
        words = b".".join(frames.replies[start:end]).split(b".")
        step, rest = divmod(len(words), n)
        # $JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.<delivery>.<time>.<pending>, or more words,
        # of which two stand before the stream
        at = 5 if step == 9 else 7
        if rest or step < 9 or words[0::step].count(b"$JS") != n:
            raise ExportError(f"{self._link.where}: unknown reply {frames.replies[start]!r}")
        deliveries = list(map(int, words[at + 1 :: step]))
        if deliveries != list(range(self._expected, self._expected + n)):
            raise ExportError(f"deliveries of {self._stream} are missing after {self._expected}")
        self._expected += n
        self._pending = int(words[at + 3 - step])
        rows.fill(
            map(int, words[at::step]),
            map(int, words[at + 2 :: step]),
            frames.subjects[start:end],
            frames.headers[start:end],
            frames.datas[start:end],
        )
        self._settle(n)

    def _settle(self, count: int) -> None:
        """So many messages came: the oldest requests are filled."""
        while count and self._asked:
            number, left = self._asked.popleft()
            if left > count:
                self._asked.appendleft((number, left - count))
                return
            count -= left

    def _ended(self, subject: bytes, block: bytes) -> None:
        """A status: the request is over, and those before it."""
        number = int(subject.rpartition(b".")[2])
        status = block.partition(b"\r\n")[0].removeprefix(b"NATS/1.0 ")
        if status.startswith(b"409") and b"MaxBytes" in status:
            if any(n == number and left == limits.EXPORT_PULL for n, left in self._asked):
                self._bytes *= 2  # not even one message fits
        elif not status.startswith((b"404", b"408")) and b"Batch Completed" not in status:
            text = status.decode(errors="replace")
            raise ExportError(f"{self._link.where}: pulling from {self._stream}: {text}")
        while self._asked and self._asked[0][0] <= number:
            self._asked.popleft()
