"""What the directory knows of a block: its range, how much of it lives, and which subjects it may hold.

A one-subject block carries the name; others carry a Bloom filter with one hash, eight bits per distinct
name. The filter may lie towards yes, never towards no.

On disk (`dir`): u8 version, u8 flags, u16 records, u32 size, u64 last, i64 ts_first, i64 ts_last, u32 live,
u32 live bytes, u32 all bytes, u16 length of the summary | summary | dead bitmap | u32 crc. The bitmap is
refreshed at checkpoints only; until then the log says who died.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterable, Sequence

from jetstream_py import limits

from . import block
from .block import View
from .checksum import Extend
from .columns import Columns

VERSION = 1
_HEAD = struct.Struct("<BBHIQqqIIIH")
_U32 = struct.Struct("<I")
_DEAD, _GAPS, _NAME, _HEADERS, _FAT = 1, 2, 4, 8, 16

name_hash = zlib.crc32


class Block:
    """A block in the directory. Hashed by identity: a rewritten block is another one."""

    __slots__ = (
        "all_bytes",
        "bad",
        "bloom",
        "dead",
        "dirty",
        "fat",
        "first",
        "gaps",
        "headers",
        "last",
        "live",
        "live_bytes",
        "mask",
        "n",
        "name",
        "page",
        "seqs",
        "size",
        "ts_first",
        "ts_last",
        "view",
    )

    def __init__(self, first: int, last: int, n: int, size: int) -> None:
        self.first, self.last, self.n, self.size = first, last, n, size
        self.live = n
        self.live_bytes = self.all_bytes = 0
        self.ts_first = self.ts_last = 0
        self.name: bytes | None = None
        self.bloom = self.mask = 0
        self.gaps = last - first + 1 != n
        self.headers = self.fat = False
        self.seqs: array[int] | None = None  # of a block with gaps, loaded on first use
        self.dead: bytearray | None = None  # a byte per record, so that find and count run in C
        self.dirty = False  # the bitmap on disk is older than `dead`
        self.bad = False  # damaged: kept for a doctor, never rewritten
        self.view: View | None = None
        self.page: Columns | None = None

    @property
    def key(self) -> int:
        return self.first

    def may_hold(self, hashes: Iterable[int]) -> bool:
        bloom, mask = self.bloom, self.mask
        return any(bloom >> (number & mask) & 1 for number in hashes)

    def kill(self, i: int, size: int) -> bool:
        """Record `i` is gone; False when it was already."""
        if self.dead is None:
            self.dead = bytearray(self.n)
        elif self.dead[i]:
            return False
        self.dead[i] = 1
        self.dirty = True
        self.live -= 1
        self.live_bytes -= size
        return True


def bloom_of(names: Sequence[bytes]) -> tuple[int, int]:
    """The filter and the mask of its size."""
    bits = min(max(1 << (8 * len(names) - 1).bit_length(), limits.BLOOM_MIN), limits.BLOOM_MAX)
    mask = bits - 1
    field = bytearray(bits // 8)
    for name in names:
        at = name_hash(name) & mask
        field[at >> 3] |= 1 << (at & 7)
    return int.from_bytes(field, "little"), mask


def summarize(size: int, view: View, fat_bytes: int = 0) -> Block:
    """The directory's entry for a block of that size; `fat_bytes`: what its one, fat message counts."""
    n = view.n
    made = Block(view.first, view.seq(n - 1), n, size)
    made.ts_first, made.ts_last = view.ts(0), view.ts(n - 1)
    made.fat = bool(view.flags & block.FAT)
    made.headers = bool(view.flags & block.HEADERS)
    if len(view.names) == 1:
        made.name = view.names[0]
    else:
        made.bloom, made.mask = bloom_of(view.names)
    made.live_bytes = made.all_bytes = fat_bytes if made.fat else view.total()
    made.view = view
    return made


def pack(entry: Block, extend: Extend) -> bytes:
    flags = (
        (_GAPS if entry.gaps else 0)
        | (_NAME if entry.name is not None else 0)
        | (_HEADERS if entry.headers else 0)
        | (_FAT if entry.fat else 0)
    )
    summary = entry.name
    if summary is None:
        summary = entry.bloom.to_bytes((entry.mask + 1) // 8, "little")
    dead = b""
    if entry.dead is not None:
        flags |= _DEAD
        dead = _pack_bits(entry.dead)
    body = (
        _HEAD.pack(
            VERSION,
            flags,
            entry.n,
            entry.size,
            entry.last,
            entry.ts_first,
            entry.ts_last,
            entry.live,
            entry.live_bytes,
            entry.all_bytes,
            len(summary),
        )
        + summary
        + dead
    )
    return body + _U32.pack(extend(0, body))


def unpack(first: int, data: bytes, extend: Extend) -> Block | None:
    """The entry, or None when it is damaged or of a version this program does not know."""
    if len(data) < _HEAD.size + 4 or _U32.unpack_from(data, len(data) - 4)[0] != extend(
        0, data[:-4]
    ):
        return None
    version, flags, n, size, last, ts_first, ts_last, live, live_bytes, total, length = (
        _HEAD.unpack_from(data)
    )
    if version != VERSION:
        return None
    made = Block(first, last, n, size)
    made.ts_first, made.ts_last, made.live, made.live_bytes, made.all_bytes = (
        ts_first,
        ts_last,
        live,
        live_bytes,
        total,
    )
    made.headers, made.fat = bool(flags & _HEADERS), bool(flags & _FAT)
    at = _HEAD.size + length
    summary = data[_HEAD.size : at]
    if flags & _NAME:
        made.name = summary
    else:
        made.bloom, made.mask = int.from_bytes(summary, "little"), len(summary) * 8 - 1
    if flags & _DEAD:
        made.dead = _unpack_bits(data[at:-4], n)
    return made


# Eight 0/1 bytes <-> one byte of a bitmap, by way of the decimal spelling: int() and % run in C.
_ONES = bytes([48, 49]) + bytes(254)
_ZEROS = bytes(48) + bytes([0, 1]) + bytes(206)


def _pack_bits(dead: bytearray) -> bytes:
    return int(bytes(dead).translate(_ONES), 2).to_bytes((len(dead) + 7) // 8, "big")


def _unpack_bits(data: bytes, n: int) -> bytearray:
    return bytearray(format(int.from_bytes(data, "big"), f"0{n}b").encode().translate(_ZEROS))
