"""S2 streams (Snappy's framing with larger blocks and a few more codes).

`frame` writes: blocks that are not compressed, which every reader takes. `Unframer` reads whatever
nats-server writes. A block may be 4 MiB; the memory of a reader is a block and what it becomes.

In a block literals and copies alternate. A copy with offset 0 repeats the last offset: that is S2's own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from jetstream_py.backup import crc32c
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.backup.varint import read_uvarint

BLOCK: Final = 64 * 1024  # bytes of a block that we write; Snappy's readers take no larger one
LARGEST: Final = 4 * 1024 * 1024  # of a block that we read
START: Final = b"\xff\x06\x00\x00S2sTwO"
CORRUPT: Final = "s2: corrupt input"  # nats-server's words
_NAMES: Final = (b"S2sTwO", b"sNaPpY")
_COMPRESSED, _PLAIN, _FIRST_SKIPPABLE, _START = 0x00, 0x01, 0x80, 0xFF
_OVERHEAD: Final = 64 * 1024  # what a block that does not compress may gain
_STEP: Final = 16 * 1024  # compressed bytes in one go: some 5 ms
_U32: Final = struct.Struct("<I")


def checksum(data: bytes) -> int:
    """Masked, as the framing wants it: checksums of data with checksums in it are poor."""
    crc = crc32c.value(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame(data: bytes) -> bytes:
    """Data as blocks; `START` comes before the first of a stream."""
    made = []
    for at in range(0, len(data), BLOCK):
        block = data[at : at + BLOCK]
        made.append(_U32.pack((len(block) + 4) << 8 | _PLAIN))
        made.append(_U32.pack(checksum(block)))
        made.append(block)
    return b"".join(made)


class Unframer:
    """From the bytes of a stream, in any cut, to its blocks."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._started = False

    @property
    def between(self) -> bool:
        """Is nothing left that waits for more?"""
        return not self._rest

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take some bytes; the blocks that are complete now. Raises `ArchiveError`. To expand a block may
        take a while: in between come empty blocks, for those who have something else to do."""
        rest = self._rest
        rest += data
        at = 0
        while len(rest) - at >= 4:
            head = _U32.unpack_from(rest, at)[0]
            kind, size = head & 0xFF, head >> 8
            self._check(kind, size)
            if len(rest) - at - 4 < size:
                break
            body = bytes(rest[at + 4 : at + 4 + size])
            at += 4 + size
            yield from self._chunk(kind, body)
        del rest[:at]

    def _check(self, kind: int, size: int) -> None:
        """Is there any sense in waiting for a chunk?"""
        if not self._started and kind != _START:
            raise ArchiveError(CORRUPT)
        if _PLAIN < kind < _FIRST_SKIPPABLE:
            raise ArchiveError(CORRUPT)
        if kind <= _PLAIN and not 4 <= size <= LARGEST + _OVERHEAD:
            raise ArchiveError(CORRUPT)

    def _chunk(self, kind: int, body: bytes) -> Iterator[bytes]:
        if kind == _START:
            if body not in _NAMES:
                raise ArchiveError(CORRUPT)
            self._started = True
        if kind >= _FIRST_SKIPPABLE:
            return
        block = body[4:]
        if kind == _COMPRESSED:
            out = bytearray()
            for _ in expand(block, out):
                yield b""
            block = bytes(out)
        if len(block) > LARGEST:
            raise ArchiveError(CORRUPT)
        if checksum(block) != _U32.unpack_from(body)[0]:
            raise ArchiveError(f"{CORRUPT}, crc mismatch")
        if block:
            yield block


def expand(block: bytes, out: bytearray) -> Iterator[None]:
    """Expand a compressed block into `out`, in steps. Raises `ArchiveError`."""
    try:
        length, at = read_uvarint(block, 0)
        if length > LARGEST:
            raise ArchiveError(CORRUPT)
        yield from _expand(block, at, length, out)
    except IndexError:
        raise ArchiveError(CORRUPT) from None
    if len(out) != length:
        raise ArchiveError(CORRUPT)


def _expand(block: bytes, at: int, length: int, out: bytearray) -> Iterator[None]:
    offset = 0
    end = len(block)
    breath = at + _STEP
    while at < end:
        if at > breath:
            breath = at + _STEP
            yield
        tag = block[at]
        at += 1
        kind, code = tag & 3, tag >> 2
        if kind == 0:  # a literal
            if code >= 60:
                extra = code - 59
                code, at = _number(block, at, extra)
            count = code + 1
            if at + count > end:
                raise IndexError
            out += block[at : at + count]
            at += count
        else:
            if kind == 1:
                low = block[at]
                at += 1
                near = (code >> 3) << 8 | low
                count = (code & 7) + 4
                if near:
                    offset = near
                elif count >= 9:
                    count, at = _repeat(block, at, count - 8)
            else:
                offset, at = _number(block, at, 2 if kind == 2 else 4)
                count = code + 1
            if not 0 < offset <= len(out):
                raise ArchiveError(CORRUPT)
            if len(out) + count > length:
                raise ArchiveError(CORRUPT)
            _copy(out, offset, count)
        if len(out) > length:
            raise ArchiveError(CORRUPT)


def _number(block: bytes, at: int, size: int) -> tuple[int, int]:
    if at + size > len(block):
        raise IndexError
    return int.from_bytes(block[at : at + size], "little"), at + size


def _repeat(block: bytes, at: int, size: int) -> tuple[int, int]:
    """The length of a long repetition."""
    count, at = _number(block, at, size)
    return count + (8, 260, 65_540)[size - 1], at


def _copy(out: bytearray, offset: int, count: int) -> None:
    start = len(out) - offset
    if offset >= count:
        out += out[start : start + count]
    else:  # it repeats what it writes
        unit = bytes(out[start:])
        out += (unit * (count // offset + 1))[:count]
