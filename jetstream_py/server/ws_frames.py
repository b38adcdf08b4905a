"""WebSocket frames, both ways. Sans-IO.

A frame may be as large as the client likes and need not hold whole NATS lines, so payloads are handed on
as they arrive: nothing waits here but an unfinished frame head or control frame (139 bytes) and the
window of an inflater. Libraries collect whole messages first, which would hold each large publish twice.
Masks are undone by the C code of `websockets`; in Python they cost a hundred times as much.

A compressed message may inflate to `max_payload` and no further, as with nats-server, and comes out in
pieces, so a bomb costs time for that much and memory for one piece.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final

from websockets.utils import apply_mask

CONTINUATION: Final = 0
TEXT: Final = 1
BINARY: Final = 2
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10

NORMAL: Final = 1000
GOING_AWAY: Final = 1001
PROTOCOL_ERROR: Final = 1002
INVALID_DATA: Final = 1007
POLICY: Final = 1008
TOO_BIG: Final = 1009
INTERNAL: Final = 1011
TLS_HANDSHAKE: Final = 1015

_FINAL: Final = 0x80
_RSV1: Final = 0x40  # compressed
_RSV23: Final = 0x30
_MASKED: Final = 0x80
_CONTROL_MAX: Final = 125
_TAIL: Final = b"\x00\x00\xff\xff"  # what deflate's sync flush ends with and the wire leaves out
_PIECE: Final = 64 * 1024
_BROWSER_FRAME: Final = 4096  # browsers do better with small frames
_COMPRESS_ABOVE: Final = 64  # smaller writes go as they are
_NOT_SENT: Final = frozenset({1004, 1005, 1006, 1015})  # codes that no close frame may carry

TOO_LARGE: Final = "maximum payload exceeded"


def frame(opcode: int, payload: bytes, flags: int = _FINAL) -> bytes:
    """One unmasked frame."""
    size = len(payload)
    first = opcode | flags
    if size <= _CONTROL_MAX:
        return bytes((first, size)) + payload
    if size < 1 << 16:
        return struct.pack(">BBH", first, 126, size) + payload
    return struct.pack(">BBQ", first, 127, size) + payload


def close_frame(code: int, reason: str) -> bytes:
    text = reason.encode()
    if len(text) > _CONTROL_MAX - 2:
        text = text[: _CONTROL_MAX - 5].decode(errors="ignore").encode() + b"..."
    return frame(CLOSE, struct.pack(">H", code) + text)


class FrameWriter:
    """Frames what a connection writes."""

    __slots__ = ("_compress", "_limit", "_whole")

    def __init__(self, compress: bool, browser: bool, whole: bool) -> None:
        self._compress = compress
        self._limit = _BROWSER_FRAME if browser else 0
        self._whole = whole  # a compressed message is not to be cut

    def encode(self, data: bytes) -> bytes:
        """Everything as one message, or as a few for a browser."""
        limit = self._limit
        if self._compress and len(data) > _COMPRESS_ABOVE:
            deflater = zlib.compressobj(zlib.Z_BEST_SPEED, zlib.DEFLATED, -zlib.MAX_WBITS)
            data = deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH)
            data = data[: -len(_TAIL)]
            if not limit or self._whole or len(data) <= limit:
                return frame(BINARY, data, _FINAL | _RSV1)
            return _fragments(data, limit)
        if not limit or len(data) <= limit:
            return frame(BINARY, data)
        cuts = range(0, len(data), limit)
        return b"".join([frame(BINARY, data[at : at + limit]) for at in cuts])


def _fragments(data: bytes, limit: int) -> bytes:
    """One compressed message in several frames."""
    frames = []
    for at in range(0, len(data), limit):
        opcode, flags = (CONTINUATION, 0) if at else (BINARY, _RSV1)
        if at + limit >= len(data):
            flags |= _FINAL
        frames.append(frame(opcode, data[at : at + limit], flags))
    return b"".join(frames)


class FrameReader:
    """Takes a client's frames apart.

    After `read` is through: `answers` are frames to be sent, `closing` is the answer to a close frame,
    `failure` tells what the client did wrong. After either of the last two nothing more is read.
    """

    __slots__ = (
        "_compress",
        "_deflated",
        "_final",
        "_inflated",
        "_inflater",
        "_left",
        "_mask",
        "_masked",
        "_max",
        "_open",
        "_rest",
        "answers",
        "closing",
        "failure",
    )

    def __init__(self, masked: bool, compress: bool, max_payload: int) -> None:
        self._masked = masked
        self._compress = compress
        self._max = max_payload
        self._rest = b""  # an unfinished head or control frame
        self._left = 0  # bytes of the current data frame that are still to come
        self._mask = b""
        self._open = False  # inside a message of several frames
        self._final = True  # the current data frame is its message's last
        self._deflated = False
        self._inflated = 0
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self.answers: list[bytes] = []
        self.closing: bytes | None = None
        self.failure = ""

    def read(self, data: bytes) -> Iterator[bytes]:
        """The client's bytes, as far as they are there."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        at, end = 0, len(data)
        plain: list[bytes] = []
        while at < end and not self.failure and self.closing is None:
            if not self._left:
                at = self._head(data, at)
                if at < 0:
                    break
                if self._left or not self._deflated:
                    continue
                piece = b""
            else:
                piece = data[at : at + self._left]
                at += len(piece)
                self._left -= len(piece)
                piece = self._unmask(piece)
            if not self._deflated:
                plain.append(piece)
                continue
            if plain:
                yield b"".join(plain)
                plain = []
            yield from self._inflate(piece)
            if self._final and not self._left:
                self._deflated = False  # a control frame may follow, which is no end of it
        if plain:
            yield plain[0] if len(plain) == 1 else b"".join(plain)

    def _unmask(self, piece: bytes) -> bytes:
        mask = self._mask
        if not mask:
            return piece
        if self._left:
            turn = len(piece) & 3
            self._mask = mask[turn:] + mask[:turn]
        return apply_mask(piece, mask)

    # -- heads ------------------------------------------------------------------------------------

    def _head(self, data: bytes, at: int) -> int:
        """Read a frame's head, or a whole control frame. Returns where the rest begins; -1 if it is
        not complete or not acceptable."""
        start = at
        if len(data) - at < 2:
            return self._wait(data, start)
        first, second = data[at], data[at + 1]
        opcode, size, masked = first & 0x0F, second & 0x7F, bool(second & _MASKED)
        self.failure = self._fault(first, size, masked)
        if self.failure:
            return -1
        at += 2
        more = {126: 2, 127: 8}.get(size, 0)
        if len(data) - at < more + (4 if masked else 0):
            return self._wait(data, start)
        if more:
            size = int.from_bytes(data[at : at + more], "big")
            at += more
            if size >> 63:
                self.failure = "invalid 64-bit payload length"
                return -1
        mask = b""
        if masked:
            mask = data[at : at + 4]
            at += 4
        if opcode >= CLOSE:
            if len(data) - at < size:
                return self._wait(data, start)
            payload = data[at : at + size]
            self._control(opcode, apply_mask(payload, mask) if mask else payload)
            return at + size
        self._begin(first, opcode, size, mask)
        return at

    def _wait(self, data: bytes, start: int) -> int:
        self._rest = data[start:]
        return -1

    def _fault(self, first: int, size: int, masked: bool) -> str:
        """What is wrong with a frame that begins so, or nothing."""
        opcode, final, compressed = first & 0x0F, first & _FINAL, first & _RSV1
        if first & _RSV23:
            return "RSV2 and RSV3 must be clear"
        if compressed and not self._compress:
            return "compressed frame received without negotiated permessage-deflate"
        if self._masked and not masked:
            return "mask bit missing"
        if opcode in (CLOSE, PING, PONG):
            if size > _CONTROL_MAX:
                most = f"maximum allowed of {_CONTROL_MAX} bytes"
                return f"control frame length bigger than {most}"
            if not final:
                return "control frame does not have final bit set"
            return "control frame must not be compressed" if compressed else ""
        if opcode in (TEXT, BINARY):
            unfinished = "new message started before final frame for previous message was received"
            return unfinished if self._open else ""
        if opcode != CONTINUATION:
            return f"unknown opcode {opcode}"
        return "" if self._open and not compressed else "invalid continuation frame"

    def _begin(self, first: int, opcode: int, size: int, mask: bytes) -> None:
        self._final = bool(first & _FINAL)
        self._open = not self._final
        self._left = size
        self._mask = mask
        if opcode != CONTINUATION:
            self._deflated = bool(first & _RSV1)
            self._inflated = 0
            if self._deflated:
                self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)

    def _control(self, opcode: int, payload: bytes) -> None:
        if opcode == PING:
            self.answers.append(frame(PONG, payload))
        elif opcode == CLOSE:
            self._closed(payload)

    def _closed(self, payload: bytes) -> None:
        if len(payload) == 1:
            self.failure = "close frame payload cannot be 1 byte"
            return
        if not payload:
            self.closing = frame(CLOSE, b"")
            return
        code = int.from_bytes(payload[:2], "big")
        if code in _NOT_SENT or not 1000 <= code < 5000 or 1016 <= code < 3000:
            self.failure = f"invalid close status code {code}"
            return
        try:
            payload[2:].decode()
        except UnicodeDecodeError:
            self.closing = close_frame(INVALID_DATA, "invalid utf8 body in close frame")
            return
        self.closing = frame(CLOSE, payload)

    # -- compression ------------------------------------------------------------------------------

    def _inflate(self, piece: bytes) -> Iterator[bytes]:
        if self._final and not self._left:
            piece += _TAIL
        inflater = self._inflater
        try:
            while piece:
                plain = inflater.decompress(piece, _PIECE)
                piece = inflater.unconsumed_tail
                room = self._max - self._inflated
                self._inflated += len(plain)
                if plain:
                    yield plain[:room]
                if self._inflated > self._max:
                    self.failure = TOO_LARGE
                    return
                if inflater.eof or not plain:
                    return
        except zlib.error as error:
            self.failure = f"flate: {error}"
