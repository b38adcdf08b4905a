"""Stored messages, read by their sequences: nothing is consumed, nothing changes at the source.

Direct gets come in batches, where the stream allows them and the server knows them. Elsewhere each
message is a request, many of them on their way at once; a stretch without messages is jumped over.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any, Final, NamedTuple

from nats.aio.msg import Msg

from jetstream_py import headers
from jetstream_py.migrate.connection import Connection, Json, block_of
from jetstream_py.migrate.errors import ApiError, MigrateError

BATCH: Final = 1000  # messages of a direct get ...
BATCH_BYTES: Final = 4 * 1024 * 1024  # ... and their bytes, which wait in memory
REQUESTS: Final = 128  # single requests under way
_NOT_FOUND: Final = 10037
_BATCHES_SINCE: Final = (2, 11)
_ADDED: Final = b"\r\nNats-Stream: "  # where the headers begin that a direct get adds


class Message(NamedTuple):
    seq: int
    subject: str
    headers: bytes  # the whole block, or nothing
    data: bytes
    time: str

    @property
    def nanoseconds(self) -> int:
        """Its time since 1970."""
        return nanoseconds(self.time)


def nanoseconds(time: str) -> int:
    """Since 1970, of a time as servers write it; no float has so many digits."""
    whole, _, fraction = time.removesuffix("Z").partition(".")
    return int(datetime.fromisoformat(whole + "+00:00").timestamp()) * 10**9 + int(
        fraction.ljust(9, "0")
    )


class Reader:
    """One stream's messages."""

    def __init__(
        self,
        link: Connection,
        stream: str,
        config: Json,
        rename: Callable[[str], str] | None = None,
    ) -> None:
        """`rename` gives messages another subject on their way."""
        self._link = link
        self._rename = rename
        self._stream = stream
        self._direct = bool(config.get("allow_direct")) and link.release >= _BATCHES_SINCE

    async def read(self, first: int, last: int) -> AsyncIterator[list[Message]]:
        """Those from `first` to `last`, in lists, in order."""
        ways = self._by_batch if self._direct else self._one_by_one
        batches = ways(max(first, 1), last)  # a stream that never had a message begins at 0
        async for batch in batches:
            if batch:
                yield list(map(self._renamed, batch))

    def _renamed(self, message: Message) -> Message:
        if self._rename is None:
            return message
        return message._replace(subject=self._rename(message.subject))

    async def get(self, seq: int, *, following: bool = False) -> Message | None:
        """One message, or the next one there is."""
        body: Json = {"seq": seq}
        if following:
            body["next_by_subj"] = ">"
        try:
            answer = await self._link.api(f"STREAM.MSG.GET.{self._stream}", body)
        except ApiError as error:
            if error.err_code == _NOT_FOUND:
                return None
            raise
        return self._renamed(_from_answer(answer["message"]))

    # -- one by one --------------------------------------------------------------------------------

    async def _one_by_one(self, first: int, last: int) -> AsyncIterator[list[Message]]:
        at = first
        while at <= last:
            end = min(at + REQUESTS, last + 1)
            found = await self._get_all(range(at, end))
            yield found
            at = end
            if not found and at <= last:
                following = await self.get(at, following=True)
                if following is None:
                    return
                at = following.seq

    async def _get_all(self, sequences: range) -> list[Message]:
        link, verb = self._link, f"STREAM.MSG.GET.{self._stream}"

        async def ask() -> list[Msg]:
            requests = [
                link.request(link.prefix + verb, b'{"seq":%d}' % seq, timeout=60.0)
                for seq in sequences
            ]
            return await asyncio.gather(*requests)

        found = []
        for answer in await link.until(ask(), verb):
            try:
                found.append(_from_answer(link.answer(verb, answer.data)["message"]))
            except ApiError as error:
                if error.err_code != _NOT_FOUND:
                    raise
        return found

    # -- by batches --------------------------------------------------------------------------------

    async def _by_batch(self, first: int, last: int) -> AsyncIterator[list[Message]]:
        link = self._link
        inbox = link.new_inbox()
        answers: asyncio.Queue[Msg] = asyncio.Queue()

        async def arrived(msg: Msg) -> None:
            answers.put_nowait(msg)

        subscription = await link.listen(f"{inbox}.*", arrived)
        try:
            at, turn = first, 1
            while at <= last:
                body = {"seq": at, "batch": min(BATCH, last + 1 - at), "max_bytes": BATCH_BYTES}
                subject = f"{link.prefix}DIRECT.GET.{self._stream}"
                await link.publish(subject, json.dumps(body).encode(), f"{inbox}.{turn}")
                batch, ended = await self._batch(answers)
                yield [message for message in batch if message.seq <= last]
                if ended or not batch:
                    return
                at = batch[-1].seq + 1
                turn += 1
        finally:
            await subscription.unsubscribe()

    async def _batch(self, answers: asyncio.Queue[Msg]) -> tuple[list[Message], bool]:
        """The messages, and whether there are no more."""
        batch: list[Message] = []
        while True:
            if answers.empty():
                answer = await self._link.until(answers.get(), "a direct get")
            else:
                answer = answers.get_nowait()
            block = block_of(answer)
            status = block.get("Status")
            if status is None:
                batch.append(_from_direct(block.raw, answer.data))
            elif status == "204":
                return batch, headers.get(block.raw, b"Nats-Num-Pending") == b"0"
            elif status == "404":
                return batch, True
            else:
                text = f"direct get: {status} {block['Description']}"
                raise MigrateError(f"{self._link.where}: {text}")


def _from_answer(message: dict[str, Any]) -> Message:
    block = base64.b64decode(message.get("hdrs") or "")
    data = base64.b64decode(message.get("data") or "")
    return Message(message["seq"], message["subject"], _normal(block), data, message["time"])


def _from_direct(block: bytes, data: bytes) -> Message:
    cut = block.rindex(_ADDED)
    added = [line.partition(b": ")[2].decode() for line in block[cut:].split(b"\r\n")[2:5]]
    subject, seq, time = added
    return Message(int(seq), subject, _normal(block[:cut] + b"\r\n\r\n"), data, time)


def _normal(block: bytes) -> bytes:
    """A block without headers says no more than none, and a direct get cannot tell the two apart."""
    return b"" if block == headers.EMPTY else block
