"""Frames without sockets: in any cut, within bounds, and what is wrong with the wrong ones."""

from __future__ import annotations

import os
import random
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetstream_py.server.ws_frames import TOO_LARGE, FrameReader, FrameWriter
from tests.wire import websocket as ws

LINES = b"CONNECT {}\r\nPUB a 5\r\nhello\r\nPING\r\n"
MIB = 1 << 20


def reader(compress: bool = True, masked: bool = True, most: int = MIB) -> FrameReader:
    return FrameReader(masked, compress, most)


def read_in_cuts(each: FrameReader, wire: bytes, cuts: list[int]) -> bytes:
    said = b""
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        if wire[start:end]:
            said += b"".join(each.read(wire[start:end]))
    return said


messages = st.lists(
    st.tuples(
        st.binary(max_size=300),
        st.sampled_from(["plain", "text", "deflated", "fragments", "deflated fragments", "ping"]),
    ),
    max_size=8,
)


def wire_of(parts: list[tuple[bytes, str]]) -> tuple[bytes, bytes, bytes]:
    """What goes over the wire for these messages; what is said; which pongs come."""
    wire = said = pongs = b""
    for payload, how in parts:
        if how == "ping":
            wire += ws.frame(payload[:125], ws.PING)
            pongs += ws.frame(payload[:125], ws.PONG, masked=False)
            continue
        said += payload
        if how in ("plain", "text"):
            wire += ws.frame(payload, ws.TEXT if how == "text" else ws.BINARY)
            continue
        if how == "deflated":
            wire += ws.deflated(payload)
            continue
        packed = how == "deflated fragments"
        body = ws.deflate(payload) if packed else payload
        third = len(body) // 3
        wire += ws.frame(body[:third], final=False, flags=0x40 if packed else 0)
        wire += ws.frame(b"between", ws.PING) + ws.frame(body[third : 2 * third], 0, final=False)
        wire += ws.frame(body[2 * third :], 0)
        pongs += ws.frame(b"between", ws.PONG, masked=False)
    return wire, said, pongs


@given(messages, st.data())
def test_any_cut_gives_the_same_bytes(parts: list[tuple[bytes, str]], data: st.DataObject) -> None:
    wire, said, pongs = wire_of(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=10)))
    for chosen in ([], list(range(1, len(wire))), cuts):
        each = reader()
        assert read_in_cuts(each, wire, chosen) == said
        assert b"".join(each.answers) == pongs
        assert (each.failure, each.closing) == ("", None)


def test_pings_behind_a_compressed_message() -> None:
    each = reader()
    wire = (ws.deflated(b"") + ws.frame(b"", ws.PING)) * 3 + ws.deflated(LINES)
    assert b"".join(each.read(wire)) == LINES
    assert each.answers == [ws.frame(b"", ws.PONG, masked=False)] * 3


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 3 * MIB])
def test_every_size_of_frame(size: int) -> None:
    payload = os.urandom(size)
    each = reader()
    chance = random.Random(size)
    wire = ws.frame(payload) + ws.frame(b"end")
    cuts = sorted(chance.randrange(len(wire)) for _ in range(20))
    assert read_in_cuts(each, wire, cuts) == payload + b"end"


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        (ws.frame(b"x", flags=0x20), "RSV2 and RSV3 must be clear"),
        (ws.frame(b"x", flags=0x10), "RSV2 and RSV3 must be clear"),
        (ws.frame(b"x", masked=False), "mask bit missing"),
        (ws.frame(b"x", 3), "unknown opcode 3"),
        (ws.frame(b"x", 11), "unknown opcode 11"),
        (ws.frame(b"x", 0), "invalid continuation frame"),
        (ws.frame(b"x" * 126, ws.PING), "control frame length bigger than maximum allowed of 125 bytes"),
        (ws.frame(b"x", ws.PING, final=False), "control frame does not have final bit set"),
        (ws.frame(b"x", ws.PING, flags=0x40), "control frame must not be compressed"),
        (ws.frame(b"", final=False) + ws.frame(b"x"),
         "new message started before final frame for previous message was received"),
        (ws.frame(b"", final=False) + ws.frame(b"x", 0, flags=0x40), "invalid continuation frame"),
        (b"\x82\xff\x80" + b"\0" * 11, "invalid 64-bit payload length"),
        (ws.frame(b"x", ws.CLOSE), "close frame payload cannot be 1 byte"),
        (ws.close(999), "invalid close status code 999"),
        (ws.close(1005), "invalid close status code 1005"),
        (ws.close(2999), "invalid close status code 2999"),
    ],
)  # fmt: skip
def test_what_is_wrong(wire: bytes, text: str) -> None:
    """The bytes before are still taken; those behind are not."""
    for cuts in ([], list(range(1, len(wire)))):
        each = reader()
        assert b"".join(each.read(ws.frame(b"before"))) == b"before"
        assert read_in_cuts(each, wire, cuts) == b""
        assert each.failure == text
        assert list(each.read(ws.frame(b"behind"))) == []


def test_compression_has_to_be_agreed_on() -> None:
    each = reader(compress=False)
    assert list(each.read(ws.deflated(LINES))) == []
    assert each.failure == "compressed frame received without negotiated permessage-deflate"


@pytest.mark.parametrize(
    ("wire", "answer"),
    [
        (ws.frame(b"", ws.CLOSE), ws.frame(b"", ws.CLOSE, masked=False)),
        (ws.close(1000, "bye"), ws.frame(b"\x03\xe8bye", ws.CLOSE, masked=False)),
        (ws.frame(b"\x03\xe8\xff", ws.CLOSE),
         ws.frame(b"\x03\xefinvalid utf8 body in close frame", ws.CLOSE, masked=False)),
    ],
)  # fmt: skip
def test_a_close_frame_is_answered_and_the_last(wire: bytes, answer: bytes) -> None:
    each = reader()
    assert b"".join(each.read(ws.frame(b"before") + wire + ws.frame(b"behind"))) == b"before"
    assert each.closing == answer


def test_a_bomb_costs_no_more_than_the_largest_payload() -> None:
    bomb = ws.deflated(b"\0" * (200 * MIB))
    assert len(bomb) < 300_000
    each = reader(most=MIB)
    tracemalloc.start()
    try:
        sizes = [len(piece) for piece in each.read(bomb)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(sizes) == MIB
    assert max(sizes) <= 1 << 16
    assert each.failure == TOO_LARGE
    assert peak < 3 * MIB


def test_a_message_may_inflate_to_the_limit_and_not_beyond() -> None:
    for size, failure in ((1000, ""), (1001, TOO_LARGE)):
        each = reader(most=1000)
        assert b"".join(each.read(ws.deflated(b"x" * size))) == b"x" * 1000
        assert each.failure == failure
    each = reader(most=1000)
    for _ in range(5):
        assert len(b"".join(each.read(ws.deflated(b"x" * 1000)))) == 1000


def test_compressed_nonsense_is_an_error() -> None:
    each = reader()
    assert list(each.read(ws.frame(b"\xff\xff\xff\xff", flags=0x40))) == []
    assert each.failure.startswith("flate: ")


def test_without_masks_when_the_client_asked_for_it() -> None:
    each = reader(masked=False)
    assert b"".join(each.read(ws.frame(LINES, masked=False) + ws.frame(LINES))) == LINES * 2


def test_unfinished_frames_keep_little() -> None:
    each = reader()
    list(each.read(ws.frame(b"x" * (8 * MIB))[: 4 * MIB]))
    held = [getattr(each, name) for name in each.__slots__]
    assert sum(len(value) for value in held if isinstance(value, bytes | list)) < 200


# -- writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 125, 126, 65_535, 65_536, MIB])
def test_one_flush_is_one_frame(size: int) -> None:
    data = os.urandom(size)
    assert list(ws.split(FrameWriter(False, False, False).encode(data))) == [(0x82, data)]


def test_small_writes_are_not_compressed() -> None:
    writer = FrameWriter(True, False, False)
    assert list(ws.split(writer.encode(b"x" * 64))) == [(0x82, b"x" * 64)]
    ((first, payload),) = ws.split(writer.encode(b"x" * 65))
    assert first == 0xC2
    assert ws.inflate(payload) == b"x" * 65


@pytest.mark.parametrize(
    ("compress", "whole", "firsts"),
    [(False, False, [0x82] * 3), (True, False, [0x42, 0x00, 0x80]), (True, True, [0xC2])],
)
def test_browsers_get_small_frames(compress: bool, whole: bool, firsts: list[int]) -> None:
    data = random.Random(1).randbytes(10_000)
    wire = FrameWriter(compress, True, whole).encode(data)
    frames = list(ws.split(wire))
    assert [each.first for each in frames] == firsts
    assert whole or max(len(each.payload) for each in frames) == 4096
    assert ws.content(wire) == data


def test_each_message_can_be_inflated_alone() -> None:
    writer = FrameWriter(True, False, False)
    wires = [writer.encode(b"abc" * 100) for _ in range(3)]
    assert wires[0] == wires[1] == wires[2]
    assert zlib.decompressobj(-15).decompress(wires[2][2:] + b"\0\0\xff\xff") == b"abc" * 100
