"""A stream of any NATS server as a source.

The quick way is a consumer without acks, made for this run and gone with it (`pull`): messages come with
sequence, time and their own header block. Only a stream that keeps its messages by limits is read that
way; in a work queue or under interest a consumer would change what is kept. There, and where no consumer
may be made, messages are asked for: by batches of direct gets (`direct`), or one by one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from jetstream_py.api.times import time_text
from jetstream_py.export.direct import direct_gets
from jetstream_py.export.errors import ExportError
from jetstream_py.export.link import Link
from jetstream_py.export.pull import Puller, Refused
from jetstream_py.export.source import Facts
from jetstream_py.migrate.connection import Json
from jetstream_py.migrate.errors import ApiError
from jetstream_py.migrate.messages import Reader, nanoseconds
from jetstream_py.store.columns import Columns
from jetstream_py.subject import matches

POLL: Final = 0.5  # seconds between two looks for new messages, where no consumer tells of them
_NO_STREAM: Final = 10059
_NO_MESSAGE: Final = 10037
_BATCHES_SINCE: Final = (2, 11)  # so is the way to find a message by its time


class ServerSource:
    """One stream of a server."""

    def __init__(self, link: Link, name: str) -> None:
        self._link, self._name = link, name
        self._config: Json = {}
        self.warnings: list[str] = []

    async def facts(self) -> Facts:
        try:
            info = await self._link.api(f"STREAM.INFO.{self._name}")
        except ApiError as error:
            if error.err_code == _NO_STREAM:
                raise ExportError(
                    f"there is no stream {self._name} at {self._link.where}"
                ) from None
            raise
        self._config, state = info["config"], info["state"]
        created = nanoseconds(info["created"])
        return Facts(self._name, created, self._config, state["messages"], state["last_seq"])

    async def seq_at(self, time_ns: int) -> int:
        link = self._link
        if link.release < _BATCHES_SINCE:
            raise ExportError(f"{link.where} does not find messages by time; give a sequence")
        try:
            body = {"start_time": time_text(time_ns), "next_by_subj": ">"}
            answer = await link.api(f"STREAM.MSG.GET.{self._name}", body)
        except ApiError as error:
            if error.err_code != _NO_MESSAGE:
                raise
            return (await self.facts()).last_seq + 1
        found: int = answer["message"]["seq"]
        return found

    async def read(self, seq: int, last: int, subject: str) -> AsyncGenerator[Columns, None]:
        if seq > last:
            return
        puller = await self._puller(seq, subject)
        async with aclosing(puller.read(last) if puller else self._asked(seq, last)) as parts:
            async for rows in parts:
                found = rows if puller or not subject else _matching(rows, subject.encode())
                if len(found):
                    yield found

    async def _puller(self, seq: int, subject: str) -> Puller | None:
        """A consumer, where there may be one."""
        if self._config.get("retention", "limits") != "limits":
            return None
        puller = Puller(self._link, self._name, subject)
        try:
            await puller.open(seq)
        except Refused as error:
            self.warnings.append(f"no consumer, messages are asked for instead: {error}")
            return None
        return puller

    def _asked(self, seq: int, last: int) -> AsyncGenerator[Columns, None]:
        if self._config.get("allow_direct") and self._link.release >= _BATCHES_SINCE:
            return direct_gets(self._link, self._name, seq, last)
        return self._one_by_one(seq, last)

    async def _one_by_one(self, seq: int, last: int) -> AsyncGenerator[Columns, None]:
        reader = Reader(self._link, self._name, {})
        async for batch in reader.read(seq, last):
            rows = Columns()
            for message in batch:
                subject = message.subject.encode()
                rows.append(
                    message.seq, message.nanoseconds, subject, message.headers, message.data
                )
            yield rows

    async def follow(self, seq: int, subject: str) -> AsyncGenerator[Columns, None]:
        if puller := await self._puller(seq, subject):
            async with aclosing(puller.follow()) as parts:
                async for rows in parts:
                    yield rows
        while True:
            last = (await self.facts()).last_seq
            async for rows in self.read(seq, last, subject):
                yield rows
            seq = max(seq, last + 1)
            await asyncio.sleep(POLL)
            yield Columns()


def _matching(rows: Columns, pattern: bytes) -> Columns:
    return rows.chosen([matches(name, pattern) for name in rows.subjects])
