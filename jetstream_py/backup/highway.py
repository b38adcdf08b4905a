"""HighwayHash-64, the checksum of nats-server's store files.

A keyed hash over packets of 32 bytes: four lanes of 64 bits, multiplied, and bytes moved between neighbours.
Moving bytes is what Python is slow at, so that is one `translate`: the order of bytes is the text and the
data is the table. A packet takes some 4 µs, the end of a message as much as four packets.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from typing import Final

_LANES: Final = struct.Struct("<4Q")
_MASK: Final = (1 << 64) - 1
_LOW: Final = (1 << 32) - 1
_MUL0: Final = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
_MUL1: Final = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)
_PACKET: Final = 32
_STEP: Final = 32 * 1024  # bytes in one go: some 5 ms
_PAIR: Final = (3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7)  # where each byte comes from
_ORDER: Final = bytes(_PAIR) + bytes(at + 16 for at in _PAIR)
_PAD: Final = bytes(256 - _PACKET)

Four = tuple[int, int, int, int]
State = tuple[Four, Four, Four, Four]  # v0, v1, mul0, mul1


def start(key: bytes) -> State:
    """The state before any data. A key has 32 bytes."""
    lanes = _LANES.unpack(key)
    v0 = tuple(lane ^ mul for lane, mul in zip(lanes, _MUL0, strict=True))
    v1 = tuple(_turned(lane) ^ mul for lane, mul in zip(lanes, _MUL1, strict=True))
    return v0, v1, _MUL0, _MUL1  # type: ignore[return-value]  # they are four


def digest(state: State, data: bytes) -> bytes:
    """The eight bytes that stand behind a record."""
    steps = in_steps(state, data)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return bytes(end.value)


def in_steps(state: State, data: bytes) -> Generator[None, None, bytes]:
    """`digest` for those who have something else to do in between."""
    whole = len(data) & -_PACKET
    for at in range(0, whole, _STEP):
        if at:
            yield
        state = _update(state, data, at, min(at + _STEP, whole))
    if whole < len(data):
        state = _last(state, data[whole:])
    for _ in range(4):
        v0 = state[0]
        turned = _LANES.pack(_turned(v0[2]), _turned(v0[3]), _turned(v0[0]), _turned(v0[1]))
        state = _update(state, turned, 0, _PACKET)
    return (sum(lanes[0] for lanes in state) & _MASK).to_bytes(8, "little")


def _turned(lane: int) -> int:
    """The halves change places."""
    return lane >> 32 | (lane & _LOW) << 32


def _last(state: State, rest: bytes) -> State:
    """Less than a packet is left: its length goes into the state, and it is spread over a packet."""
    size = len(rest)
    v0, v1, mul0, mul1 = state
    v0 = tuple(lane + (size << 32) + size & _MASK for lane in v0)  # type: ignore[assignment]
    v1 = tuple(_rotated(lane, size) for lane in v1)  # type: ignore[assignment]
    packet = bytearray(_PACKET)
    even = size & ~3
    packet[:even] = rest[:even]
    if size & 16:
        packet[28:] = rest[-4:]
    elif odd := size & 3:
        packet[16], packet[17] = rest[even], rest[even + (odd >> 1)]
        packet[18] = rest[-1]
    return _update((v0, v1, mul0, mul1), bytes(packet), 0, _PACKET)


def _rotated(lane: int, by: int) -> int:
    """Both halves, to the left."""
    low, high = lane & _LOW, lane >> 32
    low = (low << by | low >> 32 - by) & _LOW
    high = (high << by | high >> 32 - by) & _LOW
    return high << 32 | low


def _update(state: State, data: bytes, at: int, end: int) -> State:
    """Whole packets. Everything is a local here: this is where the time goes."""
    (a0, a1, a2, a3), (b0, b1, b2, b3), (m0, m1, m2, m3), (n0, n1, n2, n3) = state
    mask, low, order, pad = _MASK, _LOW, _ORDER, _PAD
    pack, unpack, read = _LANES.pack, _LANES.unpack, _LANES.unpack_from
    for place in range(at, end, _PACKET):
        d0, d1, d2, d3 = read(data, place)
        b0 = b0 + m0 + d0 & mask
        b1 = b1 + m1 + d1 & mask
        b2 = b2 + m2 + d2 & mask
        b3 = b3 + m3 + d3 & mask
        m0 ^= (b0 & low) * (a0 >> 32)
        m1 ^= (b1 & low) * (a1 >> 32)
        m2 ^= (b2 & low) * (a2 >> 32)
        m3 ^= (b3 & low) * (a3 >> 32)
        a0 = a0 + n0 & mask
        a1 = a1 + n1 & mask
        a2 = a2 + n2 & mask
        a3 = a3 + n3 & mask
        n0 ^= (a0 & low) * (b0 >> 32)
        n1 ^= (a1 & low) * (b1 >> 32)
        n2 ^= (a2 & low) * (b2 >> 32)
        n3 ^= (a3 & low) * (b3 >> 32)
        d0, d1, d2, d3 = unpack(order.translate(pack(b0, b1, b2, b3) + pad))
        a0 = a0 + d0 & mask
        a1 = a1 + d1 & mask
        a2 = a2 + d2 & mask
        a3 = a3 + d3 & mask
        d0, d1, d2, d3 = unpack(order.translate(pack(a0, a1, a2, a3) + pad))
        b0 = b0 + d0 & mask
        b1 = b1 + d1 & mask
        b2 = b2 + d2 & mask
        b3 = b3 + d3 & mask
    return (a0, a1, a2, a3), (b0, b1, b2, b3), (m0, m1, m2, m3), (n0, n1, n2, n3)
