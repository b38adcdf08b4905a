"""Numbers of variable length: seven bits a byte, low ones first; signed ones alternate around zero."""

from __future__ import annotations

from jetstream_py.backup.errors import ArchiveError


def uvarint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def varint(value: int) -> bytes:
    return uvarint(value << 1 if value >= 0 else ~(value << 1))


def read_uvarint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """The number at a position, and the position after it. `IndexError`: there must be more."""
    value = data[at]
    if value < 0x80:  # most of them
        return value, at + 1
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, at
        shift += 7
        if shift > 63:
            break
    raise ArchiveError("a number is too large")


def read_varint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    value, at = read_uvarint(data, at)
    return (~(value >> 1) if value & 1 else value >> 1), at
