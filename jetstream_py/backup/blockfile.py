"""A block of messages as nats-server's file store keeps it: `msgs/<number>.blk`.

Records follow each other. Numbers are little endian:

    length u32, with the highest bit: there are headers    the whole record, this number and the checksum too
    sequence u64, with flags in its highest bits
    time i64, nanoseconds
    length of the subject u16, subject
    length of the headers u32, headers                     only if there are any
    data
    checksum, 8 bytes

The checksum is HighwayHash-64 of sequence, time, subject, headers and data, with the SHA-256 of
`<stream>-<number>` as its key.

A sequence with the flag `ERASED` is a message that was overwritten in its place. One with `TOMBSTONE` says
that a message was removed which is here or in an earlier block, or that the stream has reached this
sequence.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

from jetstream_py.backup import highway
from jetstream_py.backup.archive import DATA, HEADERS, Entry
from jetstream_py.backup.errors import ArchiveError

_HEAD: Final = struct.Struct("<IQqH")
_SIZE: Final = struct.Struct("<I")
_SUM: Final = 8
_WITH_HEADERS: Final = 1 << 31
_ERASED: Final = 1 << 63
_TOMBSTONE: Final = 1 << 62
_FLAGS: Final = _ERASED | _TOMBSTONE
_COMPRESSED: Final = b"cmp"
_STEP: Final = 16 * 1024  # bytes hashed in one go: some 2 ms ...
_EFFORT: Final = 256  # ... when the end of a hash counts as so many
_LARGEST: Final = _HEAD.size + 0xFFFF + 4 + HEADERS + DATA + _SUM


class Gone(NamedTuple):
    """There is no message with this sequence (any more)."""

    seq: int


class BlockReader:
    """From the bytes of one block, in any cut, to what is in it. Raises `ArchiveError`."""

    def __init__(self, stream: str, number: int) -> None:
        key = hashlib.sha256(f"{stream}-{number}".encode("utf-8", "surrogateescape")).digest()
        self._start = highway.start(key)
        self._rest = bytearray()
        self._effort = 0  # bytes hashed since the last pause
        self.name = f"msgs/{number}.blk"

    @property
    def between(self) -> bool:
        return not self._rest

    def feed(self, data: bytes) -> Iterator[Entry | Gone | None]:
        """`None` is a pause: checksums take their time."""
        rest = self._rest
        rest += data
        at = 0
        while len(rest) - at >= _HEAD.size:
            size = self._size(rest, at)
            if len(rest) - at < size:
                break
            yield (yield from self._record(bytes(rest[at : at + size])))
            at += size
            self._effort += size + _EFFORT
            if self._effort > _STEP:
                self._effort = 0
                yield None
        del rest[:at]

    def _size(self, rest: bytearray, at: int) -> int:
        if rest[at : at + 3] == _COMPRESSED:  # as a length it would be beyond any bound
            raise ArchiveError(f"{self.name} is compressed, which no backup of nats-server is")
        size = _SIZE.unpack_from(rest, at)[0] & ~_WITH_HEADERS
        if not _HEAD.size + _SUM <= size <= _LARGEST:
            raise self._damaged()
        return int(size)

    def _record(self, record: bytes) -> Generator[None, None, Entry | Gone]:
        size, marked, ts, subject_size = _HEAD.unpack_from(record)
        body, end = _HEAD.size, len(record) - _SUM
        hashed = record[4:20]
        headers_at = body + subject_size
        seq = marked & ~_FLAGS
        if size & _WITH_HEADERS and not marked & _FLAGS:
            data_at = headers_at + 4
            if data_at > end:
                raise self._damaged()
            headers_end = data_at + _SIZE.unpack_from(record, headers_at)[0]
            hashed += record[body:headers_at] + record[data_at:end]
        else:
            data_at = headers_end = headers_at
            hashed += record[body:end]
        if headers_end > end:
            raise self._damaged()
        if (yield from highway.in_steps(self._start, hashed)) != record[end:]:
            raise self._damaged()
        if marked & _FLAGS:
            return Gone(seq)
        if headers_end - data_at > HEADERS or len(record) - headers_end > DATA + _SUM:
            raise ArchiveError("an entry is too large")
        subject, headers = record[body:headers_at], record[data_at:headers_end]
        return Entry(subject, ts, seq, headers, record[headers_end:end])

    def _damaged(self) -> ArchiveError:
        return ArchiveError(f"{self.name} is damaged")
