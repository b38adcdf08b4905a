"""The block: up to 1,024 messages of one stream in one LMDB value, as columns and a heap.

    0  u8 0xB1, u8 version, u8 flags, u8 width of a subject index (0 one subject, 1, 2)
    4  u16 records, u16 names, u32 names' length, u32 heap offset, u32 heap length, u32 CRC of the columns
    24 u64 first sequence (a block in the wrong place is noticed), i64 base of the times
    40 name_end u32[]      where each name ends; only with more than one
       names               joined by LF, which no subject contains
       idx u8|u16[n]       which name; absent when there is one
       seq u32[n]          offset from the first; only when sequences are missing
       ts u32|u64[n]       ns after the base; absent when all are equal
       hdr_len u32[n]      absent without headers; a record is headers + payload
       rec_end u32[n]      where each record ends in the heap; absent when all have one length
    heap                   msgpack array of bin, one per record
       crc u32[]           of each 4 KiB unit of the heap

Everything before the heap is "the columns". They are small, checked as a whole and kept decoded
(`View`); a record is then read straight from the heap, and only the units it lies in are checked. So
a damaged unit costs the records in it, damaged columns cost the block. An unknown version or flag is
damage, too: never skipped, never guessed at.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Container, Iterable, Sequence
from itertools import accumulate, chain, repeat
from operator import add, sub
from typing import Final

import msgspec

from jetstream_py import limits

from .checksum import Extend
from .columns import Columns
from .types import Message

MAGIC: Final = 0xB1
VERSION: Final = 1
GAPS, TIMES, WIDE, HEADERS, LENGTHS, FAT = 1, 2, 4, 8, 16, 32
KNOWN: Final = GAPS | TIMES | WIDE | HEADERS | LENGTHS | FAT
HEAD: Final = struct.Struct("<BBBBHHIIIIQq")
OVERHEAD: Final = 30  # of a message in the stream's `bytes`, as nats-server counts it

_UNIT: Final = limits.CRC_UNIT
_STUB: Final = struct.Struct("<QI")  # a fat record: its length, the number of its parts
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_SIZES: Final = {"H": 2, "I": 4, "Q": 8}
_BIG_ENDIAN: Final = sys.byteorder == "big"
_encode = msgspec.msgpack.encode
_decode = msgspec.msgpack.Decoder(list[bytes]).decode


class Damaged(Exception):
    """A block or a record that its checksum does not fit."""


def column(code: str, values: Sequence[int]) -> bytes:
    """Little-endian bytes of a list of numbers."""
    made = array(code, values)
    if _BIG_ENDIAN:
        made.byteswap()
    return made.tobytes()


def uncolumn(code: str, data: bytes) -> array[int]:
    made = array(code, data)
    if _BIG_ENDIAN:
        made.byteswap()
    return made


def _u32(data: bytes, at: int) -> int:
    number: int = _U32.unpack_from(data, at)[0]
    return number


def _u64(data: bytes, at: int) -> int:
    number: int = _U64.unpack_from(data, at)[0]
    return number


def _array_head(n: int) -> int:
    """Where the first record begins in a heap of so many."""
    return 1 if n < 16 else 3


def _bin_head(span: int) -> int:
    """How much of a record's place in the heap is msgpack's head."""
    return 2 if span < 258 else 3 if span < 65539 else 5


def message_size(subject: bytes, headers: bytes, data: bytes) -> int:
    size = OVERHEAD + len(subject) + len(data)
    return size + 4 + len(headers) if headers else size


def run_size(
    subjects: Sequence[bytes], datas: Sequence[bytes], headers: Sequence[bytes] = ()
) -> int:
    """`message_size` of all of them."""
    size = OVERHEAD * len(datas) + sum(map(len, subjects)) + sum(map(len, datas))
    if headers:
        size += sum(map(len, headers)) + 4 * (len(headers) - headers.count(b""))
    return size


def encode(messages: Columns, extend: Extend, fat: bool = False) -> tuple[bytes, int]:
    """The block of these messages and the length of its columns; fat: one message, stored elsewhere."""
    seqs, times, subjects = messages.seqs, messages.times, messages.subjects
    headers, datas = messages.headers, messages.datas
    n = len(seqs)
    flags = FAT if fat else 0
    numbers = {name: i for i, name in enumerate(dict.fromkeys(subjects))}
    names = b"\n".join(numbers)
    parts: list[bytes] = [names]
    width = 0
    if len(numbers) > 1:
        ends = accumulate(map(len, numbers), lambda end, size: end + 1 + size)
        parts.insert(0, column("I", list(ends)))
        indexes = map(numbers.__getitem__, subjects)
        width = 1 if len(numbers) <= 256 else 2
        parts.append(bytes(indexes) if width == 1 else column("H", list(indexes)))
    first = seqs[0]
    if seqs[-1] - first + 1 != n:
        flags |= GAPS
        parts.append(column("I", [seq - first for seq in seqs]))
    base = min(times)
    spread = max(times) - base
    if spread:
        flags |= TIMES if spread < 1 << 32 else TIMES | WIDE
        parts.append(column("I" if spread < 1 << 32 else "Q", [ts - base for ts in times]))
    records: Sequence[bytes] = datas
    if any(headers):
        flags |= HEADERS
        parts.append(column("I", list(map(len, headers))))
        records = list(map(add, headers, datas))
    if fat:
        size = len(records[0])
        records = [_STUB.pack(size, -(-size // limits.FAT_PART))]
    lengths = list(map(len, records))
    if lengths.count(lengths[0]) != n:
        flags |= LENGTHS
        steps = [size + (2 if size < 256 else 3 if size < 65536 else 5) for size in lengths]
        steps[0] += _array_head(n)
        parts.append(column("I", list(accumulate(steps))))
    heap = _encode(records)
    body = b"".join(parts)
    start = HEAD.size + len(body)
    head = HEAD.pack(
        MAGIC, VERSION, flags, width, n, len(numbers), len(names), start, len(heap), 0, first, base
    )
    crc = extend(extend(extend(0, head[:20]), head[24:]), body)
    units = [extend(0, heap[at : at + _UNIT]) for at in range(0, len(heap), _UNIT)]
    return b"".join((head[:20], _U32.pack(crc), head[24:], body, heap, column("I", units))), start


class View:
    """The columns of a block. Holds no reference to the map: may outlive a transaction.

    Made for each cold read, so making it only finds the columns; single values are read in place.
    """

    __slots__ = (
        "_at_end",
        "_at_hdr",
        "_at_idx",
        "_at_seq",
        "_at_ts",
        "_cols",
        "_masks",
        "_names",
        "_names_at",
        "_step",
        "base",
        "extend",
        "first",
        "flags",
        "heap_len",
        "heap_off",
        "n",
        "width",
    )

    def __init__(self, cols: bytes, extend: Extend, checked: bool = False) -> None:
        """Raises `Damaged`."""
        head: tuple[int, ...] = HEAD.unpack_from(cols)
        magic, version, flags, width, n, count, length, off, heap_len, crc, first, base = head
        if not checked and extend(extend(0, cols[:20]), cols[24:]) != crc:
            raise Damaged("the checksum of the columns is wrong")
        if magic != MAGIC or version != VERSION or flags & ~KNOWN:
            raise Damaged(f"unknown block format {magic:#x}.{version}, flags {flags:#x}")
        self._cols, self.extend = cols, extend
        self.flags, self.width, self.n, self.first, self.base = flags, width, n, first, base
        self.heap_off, self.heap_len = off, heap_len
        self._names: list[bytes] | None = None
        self._names_at = HEAD.size
        if count > 1:
            self._names_at += 4 * count
        self._at_idx = at = self._names_at + length
        self._at_seq = at = at + n * width
        self._at_ts = at = at + 4 * n if flags & GAPS else at
        if flags & TIMES:
            at += (8 if flags & WIDE else 4) * n
        self._at_hdr = at
        self._at_end = at + 4 * n if flags & HEADERS else at
        self._step = 0 if flags & LENGTHS else (heap_len - _array_head(n)) // n
        self._masks: dict[bytes, bytes] = {}

    # -- columns -----------------------------------------------------------------------------------
    @property
    def names(self) -> list[bytes]:
        names = self._names
        if names is None:
            names = self._names = self._cols[self._names_at : self._at_idx].split(b"\n")
        return names

    def _column(self, code: str, at: int) -> array[int]:
        return uncolumn(code, self._cols[at : at + _SIZES[code] * self.n])

    def _indexes(self) -> bytes | array[int]:
        if self.width == 1:
            return self._cols[self._at_idx : self._at_seq]
        return self._column("H", self._at_idx)

    def seqs(self) -> list[int]:
        first = self.first
        if not self.flags & GAPS:
            return list(range(first, first + self.n))
        return [first + offset for offset in self._column("I", self._at_seq)]

    def seq(self, i: int) -> int:
        return self.first + (_u32(self._cols, self._at_seq + 4 * i) if self.flags & GAPS else i)

    def ts(self, i: int) -> int:
        if not self.flags & TIMES:
            return self.base
        if self.flags & WIDE:
            return self.base + _u64(self._cols, self._at_ts + 8 * i)
        return self.base + _u32(self._cols, self._at_ts + 4 * i)

    def subject(self, i: int) -> bytes:
        if not self.width:
            return self._cols[self._names_at : self._at_idx]
        cols, at = self._cols, self._at_idx
        number = cols[at + i] if self.width == 1 else cols[at + 2 * i] | cols[at + 2 * i + 1] << 8
        if self._names is not None:
            return self._names[number]
        start = _u32(cols, HEAD.size + 4 * number - 4) + 1 if number else 0
        end = _u32(cols, HEAD.size + 4 * number)
        return cols[self._names_at + start : self._names_at + end]

    def subjects(self) -> list[bytes]:
        """The subject of each record."""
        if not self.width:
            return self.names * self.n
        return list(map(self.names.__getitem__, self._indexes()))

    def subjects_at(self, positions: Sequence[int]) -> list[bytes]:
        """The subjects of some records."""
        if len(positions) < 8:
            return [self.subject(i) for i in positions]
        if not self.width:
            return self.names * len(positions)
        names, indexes = self.names, self._indexes()
        return [names[indexes[i]] for i in positions]

    def header_len(self, i: int) -> int:
        return _u32(self._cols, self._at_hdr + 4 * i) if self.flags & HEADERS else 0

    def size(self, i: int) -> int:
        """What record `i` adds to the stream's `bytes` (not for fat ones)."""
        start, end = self._span(i)
        size = end - start
        size += OVERHEAD + len(self.subject(i)) - _bin_head(size)
        return size + 4 if self.header_len(i) else size

    def sizes_at(self, positions: Sequence[int], names: Sequence[bytes]) -> list[int]:
        """The sizes of some records, whose subjects are known."""
        step = self._step
        if step and not self.flags & HEADERS:
            size = step - _bin_head(step) + OVERHEAD
            return [size + len(name) for name in names]
        return [self.size(i) for i in positions]

    def total(self) -> int:
        """The sum of all sizes."""
        n = self.n
        if self._step:
            sizes = n * self._step
            heads = n * _bin_head(self._step)
        else:
            ends = self._column("I", self._at_end)
            spans = list(map(sub, ends, chain((_array_head(n),), ends)))
            sizes = sum(spans)
            heads = 2 * n if max(spans) < 258 else sum(map(_bin_head, spans))
        lengths = [len(name) for name in self.names]
        total = sum(map(lengths.__getitem__, self._indexes())) if self.width else n * lengths[0]
        if self.flags & HEADERS:
            total += 4 * (n - self._column("I", self._at_hdr).count(0))
        return total + sizes - heads + n * OVERHEAD

    def mask(self, key: bytes, wanted: Container[bytes]) -> bytes:
        """A byte per record: 1 when its subject is wanted. Kept under `key`; empty when none is."""
        made = self._masks.get(key)
        if made is not None:
            return made
        table = bytes([name in wanted for name in self.names])
        if 1 not in table:
            made = b""
        elif not self.width:
            made = b"\1" * self.n
        else:
            indexes = self._indexes()
            if isinstance(indexes, bytes):
                made = indexes.translate(table.ljust(256, b"\0"))
            else:
                made = bytes(map(table.__getitem__, indexes))
        if len(self._masks) >= limits.MASK_CACHE:
            self._masks.clear()
        self._masks[key] = made
        return made

    # -- heap --------------------------------------------------------------------------------------
    def _span(self, i: int) -> tuple[int, int]:
        step = self._step
        if step:
            at = _array_head(self.n) + i * step
            return at, at + step
        cols, at = self._cols, self._at_end + 4 * i
        return _u32(cols, at - 4) if i else _array_head(self.n), _u32(cols, at)

    def _check(self, value: memoryview | bytes, start: int, end: int) -> None:
        off, table = self.heap_off, self.heap_off + self.heap_len
        for unit in range(start // _UNIT, (end - 1) // _UNIT + 1):
            at = off + unit * _UNIT
            crc = self.extend(0, bytes(value[at : min(at + _UNIT, table)]))
            if (
                len(value) < table + 4 * unit + 4
                or _U32.unpack_from(value, table + 4 * unit)[0] != crc
            ):
                raise Damaged("the checksum of a record is wrong")

    def record(self, value: memoryview | bytes, i: int) -> bytes:
        """Headers and payload of record `i` from the block's value; raises `Damaged`."""
        start, end = self._span(i)
        self._check(value, start, end)
        start += self.heap_off
        kind = value[start]
        start += 2 if kind == 0xC4 else 3 if kind == 0xC5 else 5
        return bytes(value[start : self.heap_off + end])

    def records(self, value: memoryview | bytes) -> list[bytes]:
        """All records; raises `Damaged` if any is."""
        self._check(value, 0, self.heap_len)
        return _decode(value[self.heap_off : self.heap_off + self.heap_len])

    def message(self, i: int, record: bytes) -> Message:
        cut = self.header_len(i)
        if cut:
            return Message(self.seq(i), self.ts(i), self.subject(i), record[:cut], record[cut:])
        return Message(self.seq(i), self.ts(i), self.subject(i), b"", record)

    def columns(self, value: memoryview | bytes) -> Columns:
        """The whole block; raises `Damaged` if any record is."""
        base, n = self.base, self.n
        records = self.records(value)
        times: Iterable[int] = repeat(base, n)
        if self.flags & TIMES:
            times = [
                base + ts for ts in self._column("Q" if self.flags & WIDE else "I", self._at_ts)
            ]
        headers: Iterable[bytes] = repeat(b"", n)
        if self.flags & HEADERS:
            cuts = self._column("I", self._at_hdr)
            headers = [record[:cut] for record, cut in zip(records, cuts, strict=True)]
            records = [record[cut:] for record, cut in zip(records, cuts, strict=True)]
        return Columns().fill(self.seqs(), times, self.subjects(), headers, records)


def fat_length(stub: bytes) -> tuple[int, int]:
    """Length and number of parts of a fat record."""
    length, parts = _STUB.unpack(stub)
    return length, parts
