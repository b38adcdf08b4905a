"""CRC32C, the checksum of S2 frames: by google-crc32c where that is installed, else by tables.

Without it the work is done for many parts of the data at once. A part is a column in byte strings:
`translate` looks all columns up in a table, and XOR of large integers joins the results. The checksums of
the parts are then joined by twos: appending n bytes to a message is a linear map of its checksum, and so is
a table, too.
That is some eight times faster than a loop over bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

_POLYNOMIAL: Final = 0x82F63B78
_ONES: Final = 0xFFFFFFFF
_PARTS: Final = 1024  # of long data; a power of two
_SHORT: Final = 4096  # below this the loop over bytes is as fast

Columns = list[bytes]  # the four bytes of many checksums, lowest first


def _make_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return tuple(table)


_TABLE: Final = _make_table()
_PLANES: Final = [bytes(value >> shift & 0xFF for value in _TABLE) for shift in (0, 8, 16, 24)]


def _loop(state: int, data: bytes) -> int:
    table = _TABLE
    for byte in data:
        state = table[(state ^ byte) & 0xFF] ^ state >> 8
    return state


def _xor(one: bytes, other: bytes) -> bytes:
    joined = int.from_bytes(one, "little") ^ int.from_bytes(other, "little")
    return joined.to_bytes(len(one), "little")


@lru_cache(64)
def _appending(count: int) -> list[list[bytes]]:
    """What `count` zero bytes make of a checksum: tables by byte of the old one and of the new one."""
    zeros = bytes(count)
    bits = [_loop(1 << bit, zeros) for bit in range(32)]
    tables = []
    for byte in range(4):
        values = [0] * 256
        for value in range(1, 256):
            low = value & -value
            values[value] = values[value ^ low] ^ bits[8 * byte + low.bit_length() - 1]
        tables.append([bytes(v >> shift & 0xFF for v in values) for shift in (0, 8, 16, 24)])
    return tables


def _joined(columns: Columns, size: int) -> Columns:
    """The checksums of neighbours, each of `size` bytes, become one."""
    tables = _appending(size)
    olds = [column[0::2] for column in columns]
    news = [column[1::2] for column in columns]
    for new in range(4):
        for old in range(4):
            news[new] = _xor(news[new], olds[old].translate(tables[old][new]))
    return news


def _parallel(data: bytes) -> int:
    """The checksum without the usual ones before and after; the length is a multiple of `_PARTS`."""
    size = len(data) // _PARTS
    a = b = c = d = bytes(_PARTS)
    for at in range(size):
        index = _xor(a, data[at::size])
        planes = [index.translate(plane) for plane in _PLANES]
        a, b, c, d = _xor(b, planes[0]), _xor(c, planes[1]), _xor(d, planes[2]), planes[3]
    columns = [a, b, c, d]
    while len(columns[0]) > 1:
        columns = _joined(columns, size)
        size *= 2
    return int.from_bytes(b"".join(columns), "little")


def by_tables(data: bytes) -> int:
    """CRC32C in Python alone."""
    state, whole = _ONES, 0
    if len(data) >= _SHORT:
        whole = len(data) // _PARTS * _PARTS
        first = (int.from_bytes(data[:4], "little") ^ _ONES).to_bytes(4, "little")
        state = _parallel(first + data[4:whole])
    return _loop(state, data[whole:]) ^ _ONES


def _best() -> Callable[[bytes], int]:
    try:
        import google_crc32c
    except ImportError:
        return by_tables
    if google_crc32c.implementation != "c":
        return by_tables
    found: Callable[[bytes], int] = google_crc32c.value
    return found


value: Final = _best()
