"""A WebSocket client for tests that speaks bytes: requests and frames as the test wants them, wrong
ones too."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.support.raw import RawClient
from tests.support.server import Server, port_of

KEY = base64.b64encode(b"0123456789abcdef").decode()
ACCEPT = b"BACScCJPNqyz+UBoqMH89VmURoA="  # for KEY, by RFC 6455
HEADERS = {
    "Host": "127.0.0.1",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": KEY,
    "Sec-WebSocket-Version": "13",
}
MASK = b"\x11\x22\x33\x44"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
DEFLATE = {"Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits"}


class Frame(NamedTuple):
    first: int  # flags and opcode
    payload: bytes


def request(
    headers: Mapping[str, str | None] | None = None, method: str = "GET", path: str = "/"
) -> bytes:
    """An upgrade with these headers added, changed or (None) left out."""
    lines = {**HEADERS, **(headers or {})}
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
    return f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode()


def frame(
    payload: bytes, opcode: int = BINARY, final: bool = True, masked: bool = True, flags: int = 0
) -> bytes:
    size = len(payload)
    mask_bit = 0x80 if masked else 0
    head = bytes([(0x80 if final else 0) | flags | opcode])
    if size < 126:
        head += bytes([mask_bit | size])
    elif size < 1 << 16:
        head += bytes([mask_bit | 126]) + struct.pack(">H", size)
    else:
        head += bytes([mask_bit | 127]) + struct.pack(">Q", size)
    if not masked:
        return head + payload
    key = (MASK * (size // 4 + 1))[:size]
    mixed = int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")
    return head + MASK + mixed.to_bytes(size, "big")


def deflated(payload: bytes, opcode: int = BINARY) -> bytes:
    return frame(deflate(payload), opcode, flags=0x40)


def deflate(data: bytes) -> bytes:
    worker = zlib.compressobj(wbits=-15)
    return (worker.compress(data) + worker.flush(zlib.Z_SYNC_FLUSH)).removesuffix(b"\0\0\xff\xff")


def close(code: int, reason: str = "") -> bytes:
    return frame(struct.pack(">H", code) + reason.encode(), CLOSE)


def split(data: bytes) -> Iterator[Frame]:
    """The frames of a server, which are not masked; an unfinished one is an error."""
    while data:
        size, at = data[1], 2
        if size == 126:
            size, at = struct.unpack_from(">H", data, 2)[0], 4
        elif size == 127:
            size, at = struct.unpack_from(">Q", data, 2)[0], 10
        assert len(data) >= at + size, data
        yield Frame(data[0], data[at : at + size])
        data = data[at + size :]


def content(data: bytes) -> bytes:
    """What the NATS side said in these frames; control frames are passed over."""
    said, message, packed = b"", b"", False
    for first, payload in split(data):
        if first & 0x0F >= CLOSE:
            continue
        if first & 0x0F:
            message, packed = b"", bool(first & 0x40)
        message += payload
        if first & 0x80:
            said += inflate(message) if packed else message
    return said


def inflate(data: bytes) -> bytes:
    return zlib.decompressobj(-15).decompress(data + b"\0\0\xff\xff")


def close_code(data: bytes) -> tuple[int, str]:
    """Code and reason of the close frame at the end; (0, "") if there is none."""
    last = list(split(data))[-1:]
    if not last or last[0].first != 0x80 | CLOSE or len(last[0].payload) < 2:
        return 0, ""
    payload = last[0].payload
    return int.from_bytes(payload[:2], "big"), payload[2:].decode()


def port(server: Server) -> int:
    return port_of(server.ports["websocket"][0])


def upgraded(client: RawClient, asking: bytes | None = None) -> bytes:
    """Upgrade and read INFO. Returns the answer's head."""
    client.send(asking or request())
    head = client.read_until(b"\r\n\r\n")
    if b" 101 " in head:
        read_content(client, b"INFO ")
    return head


def read_content(client: RawClient, mark: bytes) -> bytes:
    """Read frames until what they carry holds the mark and ends a line."""
    said = b""
    while mark not in said or not said.endswith(b"\r\n"):
        said += content(read_frame(client))
    return said


def read_frame(client: RawClient) -> bytes:
    """One frame, as bytes."""
    head = client.read(2)
    more = {126: 2, 127: 8}.get(head[1], 0)
    extra = client.read(more)
    size = int.from_bytes(extra, "big") if more else head[1]
    return head + extra + client.read(size)
