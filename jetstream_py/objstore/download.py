"""The bytes of an object on their way out.

A reader gets chunks as they come, but never the last one before everything was checked: how many chunks
there are, how many bytes, and their SHA-256. So who has read to the end has the object, and who gets an error
before it knows that there is none.

A range needs only some chunks. Chunks of other clients may be smaller than their size says, so where a byte
lies is learned from the sizes of all of them, which the stream tells without their contents. A part has no
digest; number and sizes of all chunks are checked, and the length of those that are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Final

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.js.interface import JetStream
from jetstream_py.js.types import Message
from jetstream_py.objstore.errors import ObjectDamaged
from jetstream_py.objstore.info import ObjectInfo

MSG_SIZE: Final = hdr.MSG_SIZE.decode()


async def whole(js: JetStream, stream: str, subject: str, info: ObjectInfo) -> AsyncIterator[bytes]:
    """All bytes, chunk by chunk. Raises ObjectDamaged before the last one if anything is wrong."""
    expected = info.sha256()
    found, count, size = hashlib.sha256(), 0, 0
    held = b""
    async with js.read(stream, [subject]) as reader:
        _check_number(info, reader.initial)
        async for message in reader.existing():
            if held:
                yield held
            held = message.data
            found.update(held)
            count += 1
            size += len(held)
            if size > info.size:
                break
    _check_number(info, count)
    if size != info.size:
        raise ObjectDamaged(f"{info.name}: {size} bytes, and it should have {info.size}")
    if found.digest() != expected:
        raise ObjectDamaged(f"{info.name}: its bytes are not those that were stored")
    if held:
        yield held


async def part(
    js: JetStream, stream: str, subject: str, info: ObjectInfo, start: int, end: int
) -> AsyncIterator[bytes]:
    """The bytes from `start` up to, not including, `end`."""
    places = [place async for place in _places(js, stream, subject, info)]
    wanted = [place for place in places if place[1] < end and place[1] + place[2] > start]
    at, limit = 0, max(limits.OBJECT_WINDOW // 2, 1)
    while at < len(wanted):
        seq, _, length = wanted[at]
        batch = max(1, limit // max(length, 1))
        found = await js.batch(stream, subject, seq, batch=min(batch, len(wanted) - at))
        if not found:
            raise ObjectDamaged(f"{info.name}: a chunk is missing")
        for message, place in zip(found, wanted[at:], strict=False):
            yield _cut(info, message, place, start, end)
        at += len(found)


async def _places(
    js: JetStream, stream: str, subject: str, info: ObjectInfo
) -> AsyncIterator[tuple[int, int, int]]:
    """Sequence, offset and length of every chunk."""
    count = offset = 0
    async with js.read(stream, [subject], headers_only=True) as reader:
        _check_number(info, reader.initial)
        async for message in reader.existing():
            length = int(message.headers.get(MSG_SIZE, "0"))
            yield message.seq, offset, length
            count += 1
            offset += length
    _check_number(info, count)
    if offset != info.size:
        raise ObjectDamaged(f"{info.name}: {offset} bytes, and it should have {info.size}")


def _cut(
    info: ObjectInfo, message: Message, place: tuple[int, int, int], start: int, end: int
) -> bytes:
    seq, offset, length = place
    if message.seq != seq or len(message.data) != length:
        raise ObjectDamaged(f"{info.name}: a chunk is missing")
    return message.data[max(start - offset, 0) : end - offset]


def _check_number(info: ObjectInfo, count: int) -> None:
    if count != info.chunks:
        raise ObjectDamaged(f"{info.name}: {count} chunks, and it should have {info.chunks}")
