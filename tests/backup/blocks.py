"""Compressed S2 blocks by the rules of the format, and what they expand to: for the decoder's tests."""

from __future__ import annotations

from hypothesis import strategies as st

from jetstream_py.backup.varint import uvarint

Made = tuple[bytes, bytes]  # the block, and what it is


def literal(data: bytes) -> bytes:
    n = len(data) - 1
    if n < 60:
        return bytes([n << 2]) + data
    size = (n.bit_length() + 7) // 8
    return bytes([(59 + size) << 2]) + n.to_bytes(size, "little") + data


def copy1(offset: int, count: int) -> bytes:
    """4 to 11 bytes from less than 2,048 before."""
    return bytes([offset >> 8 << 5 | (count - 4) << 2 | 1, offset & 0xFF])


def copy2(offset: int, count: int) -> bytes:
    """1 to 64 bytes."""
    return bytes([(count - 1) << 2 | 2]) + offset.to_bytes(2, "little")


def copy4(offset: int, count: int) -> bytes:
    return bytes([(count - 1) << 2 | 3]) + offset.to_bytes(4, "little")


def repeat(count: int) -> bytes:
    """The last offset again, for any number of bytes from 4 on."""
    if count <= 8:
        return bytes([(count - 4) << 2 | 1, 0])
    if count < 8 + 256:
        return bytes([5 << 2 | 1, 0, count - 8])
    if count < 260 + 65536:
        return bytes([6 << 2 | 1, 0]) + (count - 260).to_bytes(2, "little")
    return bytes([7 << 2 | 1, 0]) + (count - 65540).to_bytes(3, "little")


def copied(out: bytes, offset: int, count: int) -> bytes:
    made = bytearray(out)
    for _ in range(count):
        made.append(made[-offset])
    return bytes(made)


@st.composite
def blocks(draw: st.DrawFn) -> Made:
    first = draw(st.binary(min_size=1, max_size=100))
    out, codes, offset = first, [literal(first)], 0
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["literal", "copy1", "copy2", "copy4", "repeat"]))
        if kind == "literal":
            data = draw(st.binary(min_size=1, max_size=70))
            codes.append(literal(data))
            out += data
            continue
        if kind == "repeat" and offset:
            count = draw(st.sampled_from([4, 8, 9, 263, 264, 300, 70_000]))
            codes.append(repeat(count))
        else:
            offset = draw(st.integers(1, min(len(out), 2047)))
            count = draw(st.integers(4, 11))
            codes.append({"copy1": copy1, "copy4": copy4}.get(kind, copy2)(offset, count))
        out = copied(out, offset, count)
    return uvarint(len(out)) + b"".join(codes), out
