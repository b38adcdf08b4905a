"""The small files of nats-server's file store: what is left of a stream's blocks, and where a consumer is.

`msgs/index.db` (2.10 to 2.14, versions 1 to 4) covers all blocks, `msgs/<number>.idx` (before 2.10) one.
Both say which sequences there are: from a first to a last one without those that were removed. Messages
that a limit took away are still in their block, and nothing there tells.

Numbers are of variable length unless said otherwise. `index.db`: 11, version, messages, bytes, first
sequence and time, last sequence and time, number of subjects; for each of them its length, itself, how many
messages, first block, and last block (before version 4 only if there is more than one message); number of
blocks; for each of them its number, bytes, first sequence, first time, last sequence, last time, how many
are removed, with version 2 how many have a TTL, with version 3 how many are schedules, and a set of
sequences if any are removed; then the last block and two checksums.

A set: 22, 2, number of nodes and of sequences (u32); a node is its first sequence (u64), 2,048 bits, its
height (u16).

`o.dat`: 22, 2, ack floor and delivered (consumer's and stream's sequence each), number of pending
deliveries; if there are, the newest time in seconds and for each of them its sequences, less those of the
ack floor, and how much older it is; number of redeliveries; for each of them the sequence, less the ack
floor's, and how often.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator
from typing import Any, Final, NamedTuple

from jetstream_py.backup import highway
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.backup.varint import read_uvarint, read_varint

_INDEX: Final = 11
_INDEX_VERSIONS: Final = range(1, 5)
_BOTH_BLOCKS: Final = 4  # from this version on a subject always has its last block, too
_FILE: Final = 22  # of all the others
_SUM: Final = 8
_NODE_BITS: Final = 2048
_NODE: Final = 8 + _NODE_BITS // 8 + 2
_STEP: Final = 2048  # subjects in one go
_SECOND: Final = 10**9


class Extent(NamedTuple):
    """The sequences of a block that there are."""

    first: int
    last: int
    removed: dict[int, int]  # by the first of 2,048: a bit for each

    def has(self, seq: int) -> bool:
        """False: it was removed. What came after the index was written is there."""
        base = seq & -_NODE_BITS
        return seq >= self.first and not self.removed.get(base, 0) >> (seq - base) & 1

    def gone(self, first: int, last: int) -> Iterator[int]:
        """Those that are not there, in order."""
        yield from range(first, min(last + 1, self.first))
        at = max(first, self.first)
        while at <= last:
            base = at & -_NODE_BITS
            end = min(last + 1, base + _NODE_BITS)
            bits = self.removed.get(base, 0) >> (at - base) & (1 << end - at) - 1
            while bits:
                low = bits & -bits
                yield at + low.bit_length() - 1
                bits ^= low
            at = end


class Index(NamedTuple):
    """`index.db`."""

    first: int
    last: int
    blocks: dict[int, Extent]


class _Numbers:
    """A place in a file."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def next(self) -> int:
        value, self.at = read_uvarint(self.data, self.at)
        return value

    def signed(self) -> int:
        value, self.at = read_varint(self.data, self.at)
        return value

    def take(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise IndexError
        self.at += size
        return found


def checksum(key: str, data: bytes) -> bytes:
    """That of a file; the key is the stream's name, or `<stream>/<consumer>`."""
    return highway.digest(_start(key), data)


def _start(key: str) -> highway.State:
    return highway.start(hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest())


def read_index(data: bytes, stream: str) -> Generator[None, None, Index]:
    """`index.db`, with pauses: it may be large. Raises `ArchiveError`."""
    if len(data) < 2 or data[0] != _INDEX or data[1] not in _INDEX_VERSIONS:
        raise ArchiveError("msgs/index.db is of a version that is not known")
    if (yield from highway.in_steps(_start(stream), data[:-_SUM])) != data[-_SUM:]:
        raise ArchiveError("msgs/index.db is damaged")
    try:
        return (yield from _index(_Numbers(data, 2), version=data[1]))
    except IndexError:
        raise ArchiveError("msgs/index.db is damaged") from None


def _index(numbers: _Numbers, version: int) -> Generator[None, None, Index]:
    numbers.next(), numbers.next()  # messages, bytes
    first = numbers.next()
    numbers.signed()
    last = numbers.next()
    numbers.signed()
    for count in range(numbers.next()):
        if count % _STEP == _STEP - 1:
            yield
        numbers.take(numbers.next())
        messages = numbers.next()
        numbers.next()
        if messages > 1 or version >= _BOTH_BLOCKS:
            numbers.next()
    blocks = {}
    for _ in range(numbers.next()):
        number = numbers.next()
        blocks[number] = _extent(numbers, version)
    return Index(first, last, blocks)


def _extent(numbers: _Numbers, version: int) -> Extent:
    numbers.next()  # bytes
    first = numbers.next()
    numbers.signed()
    last = numbers.next()
    numbers.signed()
    removed = numbers.next()
    for _ in range(min(version - 1, 2)):
        numbers.next()
    return Extent(first, last, _set(numbers) if removed else {})


def _set(numbers: _Numbers) -> dict[int, int]:
    if numbers.take(2) != bytes((_FILE, 2)):
        raise ArchiveError("a set of sequences is of a version that is not known")
    count = int.from_bytes(numbers.take(4), "little")
    numbers.take(4)
    found = {}
    for _ in range(count):
        node = numbers.take(_NODE)
        found[int.from_bytes(node[:8], "little")] = int.from_bytes(node[8:-2], "little")
    return found


def read_block_index(data: bytes, name: str) -> Extent:
    """`<number>.idx`, of servers before 2.10. Raises `ArchiveError`."""
    if data[:2] != bytes((_FILE, 1)):
        raise ArchiveError(f"{name} is of a version that is not known")
    numbers = _Numbers(data, 2)
    try:
        numbers.next(), numbers.next()  # messages, bytes
        first = numbers.next()
        numbers.signed()
        last = numbers.next()
        numbers.signed()
        count = numbers.next()
        numbers.take(_SUM)
        removed: dict[int, int] = {}
        for _ in range(count):
            seq = numbers.next() + first
            base = seq & -_NODE_BITS
            removed[base] = removed.get(base, 0) | 1 << seq - base
        return Extent(first, last, removed)
    except IndexError:
        raise ArchiveError(f"{name} is damaged") from None


def read_consumer_state(data: bytes, name: str) -> dict[str, Any]:
    """`o.dat`, in the form in which an archive of 2.15 has it. Raises `ArchiveError`."""
    if data[:2] != bytes((_FILE, 2)):
        raise ArchiveError(f"the state of consumer {name!r} is of a version that is not known")
    try:
        return _consumer_state(_Numbers(data, 2))
    except IndexError:
        raise ArchiveError(f"the state of consumer {name!r} is damaged") from None


def _consumer_state(numbers: _Numbers) -> dict[str, Any]:
    floor = {"consumer_seq": numbers.next(), "stream_seq": numbers.next()}
    delivered = {"consumer_seq": numbers.next(), "stream_seq": numbers.next()}
    pending, redelivered = {}, {}
    if count := numbers.next():
        newest = numbers.signed()
        for _ in range(count):
            seq = numbers.next() + floor["stream_seq"]
            own = numbers.next() + floor["consumer_seq"]
            pending[seq] = {"Sequence": own, "Timestamp": (newest - numbers.signed()) * _SECOND}
    for _ in range(numbers.next()):
        seq = numbers.next() + floor["stream_seq"]
        redelivered[seq] = numbers.next()
    return {
        "delivered": delivered,
        "ack_floor": floor,
        "pending": pending,
        "redelivered": redelivered,
    }
