"""S2 streams: framing in any cut, blocks by all codes, damage."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jetstream_py.backup import crc32c, s2
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.backup.varint import uvarint
from tests.backup.blocks import Made, blocks, literal, repeat

COMPRESSED = 0


def chunk(kind: int, body: bytes) -> bytes:
    return (len(body) << 8 | kind).to_bytes(4, "little") + body


def compressed(made: Made) -> bytes:
    block, data = made
    return chunk(COMPRESSED, s2.checksum(data).to_bytes(4, "little") + block)


def unframed(data: bytes, cuts: list[int] | None = None) -> bytes:
    unframer, at, out = s2.Unframer(), 0, b""
    for cut in sorted(cuts or []):
        out += b"".join(unframer.feed(data[at:cut]))
        at = max(at, cut)
    out += b"".join(unframer.feed(data[at:]))
    assert unframer.between
    return out


def test_checksum() -> None:
    assert crc32c.by_tables(b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert crc32c.by_tables(b"") == 0


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 9000), st.randoms(use_true_random=False))
@example(4096, random.Random(1))
@example(20_001, random.Random(2))
def test_checksum_in_parts(size: int, source: random.Random) -> None:
    """Long data goes another way than short data."""
    data = source.randbytes(size)
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    assert crc32c.by_tables(data) == state ^ 0xFFFFFFFF == crc32c.value(data)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300)))
def test_frames_in_any_cut(data: bytes, cuts: list[int]) -> None:
    assert unframed(s2.START + s2.frame(data), cuts) == data


def test_large_frames() -> None:
    data = random.Random(3).randbytes(200_000)
    framed = s2.START + s2.frame(data)
    assert len(framed) == len(data) + 10 + 4 * 8
    assert unframed(framed) == data


@given(st.lists(blocks(), max_size=3), st.lists(st.integers(0, 2000)))
def test_compressed_blocks(made: list[Made], cuts: list[int]) -> None:
    stream = s2.START + b"".join(map(compressed, made))
    assert unframed(stream, cuts) == b"".join(data for _, data in made)


def test_what_is_passed_over() -> None:
    """Padding, an index, a second start."""
    noise = chunk(0xFE, b"\0" * 100) + chunk(0x99, b"index") + s2.START
    assert unframed(s2.START + noise + s2.frame(b"x") + noise) == b"x"


def test_bombs() -> None:
    """A few bytes that claim to be very many."""
    for claim in (s2.LARGEST + 1, 1 << 40):
        body = b"\0" * 4 + uvarint(claim) + literal(b"a") + repeat(70_000) * 1000
        with pytest.raises(ArchiveError):
            unframed(s2.START + chunk(COMPRESSED, body))
    body = b"\0" * 4 + uvarint(100) + literal(b"a") + bytes([1, 1]) + repeat(1 << 24)
    with pytest.raises(ArchiveError, match="corrupt"):
        unframed(s2.START + chunk(COMPRESSED, body))


@pytest.mark.parametrize(
    "data",
    [
        b"hello",
        s2.frame(b"no start"),
        b"\xff\x06\x00\x00S3sTwO",
        s2.START + chunk(2, b"reserved"),
        s2.START + chunk(0, b"abc"),
        s2.START + (0xFFFFFF << 8 | 1).to_bytes(4, "little"),
        s2.START + chunk(0, b"\0" * 4 + b"\x05" + literal(b"abcd")),
        s2.START + chunk(0, b"\0" * 4 + b"\x05" + literal(b"abcdef")),
        s2.START + chunk(0, b"\0" * 4 + b"\x05\x01\x05"),
        s2.START + chunk(0, b"\0" * 4 + b"\xff" * 11),
    ],
)
def test_refused_at_once(data: bytes) -> None:
    with pytest.raises(ArchiveError, match=r"s2: corrupt input|a number is too large"):
        list(s2.Unframer().feed(data))


def test_wrong_checksum() -> None:
    framed = bytearray(s2.START + s2.frame(b"hello"))
    framed[-1] ^= 1
    with pytest.raises(ArchiveError, match="crc mismatch"):
        list(s2.Unframer().feed(bytes(framed)))


@given(st.lists(blocks(), min_size=1, max_size=2), st.data())
def test_damage_is_noticed(made: list[Made], data: st.DataObject) -> None:
    """A flipped bit makes an error, or stays without effect (in what is passed over); never other data."""
    good = s2.START + b"".join(map(compressed, made))
    position = data.draw(st.integers(0, len(good) * 8 - 1))
    bad = bytearray(good)
    bad[position // 8] ^= 1 << position % 8
    unframer = s2.Unframer()
    out = b""
    try:
        for block in unframer.feed(bytes(bad)):
            out += block
    except ArchiveError:
        pass
    whole = [b"".join(it[1] for it in made[i:j]) for i in range(3) for j in range(i, 3)]
    assert out in whole
