"""The archive inside the S2 stream: `NATSARC1`, then entries one after the other, one of them the last.

An entry is five numbers, a name, headers and data. The first is `state.json`; then come `consumers/<name>`,
then the messages, named by their subjects, in order of their sequences. What is called like a file is none:
names are looked at, never opened. The last entry has no name.

Numbers: length of the name, time (signed, nanoseconds), sequence, length of the headers, length of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from jetstream_py.backup.errors import ArchiveError
from jetstream_py.backup.varint import read_uvarint, read_varint, uvarint, varint

MAGIC: Final = b"NATSARC1"
STATE: Final = b"state.json"
CONSUMERS: Final = b"consumers/"
END: Final = b"\0\0\0\0\0"
NAME: Final = 64 * 1024  # bytes a name may have
HEADERS: Final = 64 * 1024
DATA: Final = 64 * 1024 * 1024  # a payload can have no more on any server


class Entry(NamedTuple):
    """A file without a sequence, or a message with one."""

    name: bytes
    ts: int
    seq: int = 0
    headers: bytes = b""
    data: bytes = b""


def encode(entry: Entry) -> bytes:
    name, ts, seq, headers, data = entry
    return b"".join(
        (
            uvarint(len(name)),
            varint(ts),
            uvarint(seq),
            uvarint(len(headers)),
            uvarint(len(data)),
            name,
            headers,
            data,
        )
    )


class Unpacker:
    """From the bytes of an archive, in any cut, to its entries."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._wanted = len(MAGIC)  # bytes without which there is nothing to do
        self._started = False
        self.ended = False

    @property
    def between(self) -> bool:
        """Does nothing wait for more?"""
        return not self._rest

    def feed(self, data: bytes) -> Iterator[Entry]:
        """Take some bytes; the entries that are complete now. Raises `ArchiveError`."""
        if self.ended:
            return
        rest = self._rest
        rest += data
        if len(rest) < self._wanted:
            return
        at = 0 if self._started else self._begin(rest)
        while (found := self._next(rest, at)) is not None:
            entry, at = found
            if not entry.name:
                self.ended = True
                rest.clear()  # nats-server does not mind what follows either
                return
            yield entry
        del rest[:at]
        self._wanted = max(0, self._wanted - at)

    def _begin(self, rest: bytearray) -> int:
        if rest[: len(MAGIC)] != MAGIC:
            raise ArchiveError("the archive is not of format NATSARC1")
        self._started = True
        return len(MAGIC)

    def _next(self, rest: bytearray, at: int) -> tuple[Entry, int] | None:
        """The entry at a position; None: it is not complete."""
        start = at
        try:
            name_size, at = read_uvarint(rest, at)
            ts, at = read_varint(rest, at)
            seq, at = read_uvarint(rest, at)
            header_size, at = read_uvarint(rest, at)
            data_size, at = read_uvarint(rest, at)
        except IndexError:
            self._wanted = start + 1
            return None
        if name_size > NAME or header_size > HEADERS or data_size > DATA:
            raise ArchiveError("an entry is too large")
        end = at + name_size + header_size + data_size
        if len(rest) < end:
            self._wanted = end
            return None
        name_end = at + name_size
        data_start = name_end + header_size
        name = bytes(rest[at:name_end])
        headers, data = bytes(rest[name_end:data_start]), bytes(rest[data_start:end])
        return Entry(name, ts, seq, headers, data), end
