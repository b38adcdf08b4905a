"""Cutting the server's byte stream into frames, and the lines a client opens with."""

from __future__ import annotations

import json
from collections.abc import Iterator

PONG = b"PONG\r\n"
OK = b"+OK\r\n"
UNKNOWN = b"-ERR 'Unknown Protocol Operation'\r\n"
UNAUTHORIZED = b"-ERR 'Authorization Violation'\r\n"


def connect(**options: object) -> bytes:
    """A CONNECT line; quiet (neither verbose nor pedantic) unless told otherwise."""
    merged = {"verbose": False, "pedantic": False} | options
    return b"CONNECT " + json.dumps(merged, separators=(",", ":")).encode() + b"\r\n"


QUIET = connect()
REQUESTER = connect(headers=True, no_responders=True)


def pub(subject: bytes, payload: bytes = b"", reply: bytes = b"") -> bytes:
    middle = b" " + reply if reply else b""
    return b"PUB %b%b %d\r\n%b\r\n" % (subject, middle, len(payload), payload)


def hpub(subject: bytes, headers: bytes, payload: bytes = b"", reply: bytes = b"") -> bytes:
    middle = b" " + reply if reply else b""
    sizes = b"%d %d" % (len(headers), len(headers) + len(payload))
    return b"HPUB %b%b %b\r\n%b%b\r\n" % (subject, middle, sizes, headers, payload)


def msg(subject: bytes, sid: bytes | int, payload: bytes = b"", reply: bytes = b"") -> bytes:
    """The MSG frame a subscriber should see."""
    sid = b"%d" % sid if isinstance(sid, int) else sid
    middle = b" " + reply if reply else b""
    return b"MSG %b %b%b %d\r\n%b\r\n" % (subject, sid, middle, len(payload), payload)


def frame_end(data: bytes | bytearray, start: int) -> int:
    """Where the frame that begins at `start` ends, or -1 while it is incomplete."""
    eol = data.find(b"\r\n", start)
    if eol < 0:
        return -1
    end = eol + 2
    if data.startswith((b"MSG ", b"HMSG "), start):
        end += int(bytes(data[start:eol]).split()[-1]) + 2
    return end if end <= len(data) else -1


def frames(data: bytes | bytearray) -> Iterator[bytes]:
    """The frames of a server's stream; what is left incomplete comes last, as it is."""
    start = 0
    while start < len(data):
        end = frame_end(data, start)
        if end < 0:
            end = len(data)
        yield bytes(data[start:end])
        start = end


def messages(data: bytes | bytearray) -> list[bytes]:
    """Only the MSG and HMSG frames."""
    return [frame for frame in frames(data) if frame.startswith((b"MSG ", b"HMSG "))]
