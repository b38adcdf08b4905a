"""The server's side of the protocol: bytes in, messages out, no socket.

A batch read spends most of its time here, so messages are not objects: they are rows of lists, and nothing
of a message is looked at that is not needed to find its end.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pyspark_jetstream.errors import ConnectError
from pyspark_jetstream.limits import LINE, PAYLOAD

CRLF: Final = b"\r\n"


class Frames:
    """What has arrived: messages in columns, and what else the server has said."""

    def __init__(self) -> None:
        self._rest = b""
        self.subjects: list[bytes] = []
        self.replies: list[bytes] = []
        self.headers: list[bytes] = []  # whole blocks, b"" for none
        self.datas: list[bytes] = []
        self.infos: list[dict[str, Any]] = []
        self.pings = 0
        self.pongs = 0
        self.errors: list[str] = []

    def __len__(self) -> int:
        return len(self.datas)

    def clear(self) -> None:
        """Forget the messages."""
        self.subjects, self.replies, self.headers, self.datas = [], [], [], []

    def feed(self, data: bytes) -> None:
        """Take what was read; half a frame waits for its other half. Raises `ConnectError`."""
        buffer = self._rest + data if self._rest else data
        find = buffer.find
        subjects, replies = self.subjects.append, self.replies.append
        headers, datas = self.headers.append, self.datas.append
        at, size = 0, len(buffer)
        while (eol := find(CRLF, at)) >= 0:
            words = buffer[at:eol].split(b" ")
            verb = words[0]
            if verb != b"HMSG" and verb != b"MSG":
                self._other(buffer[at:eol])
                at = eol + 2
                continue
            body = eol + 2
            end = body + _number(words[-1])
            if end + 2 > size:
                break
            split = body + _number(words[-2]) if verb == b"HMSG" else body
            subjects(words[1])
            replies(words[3] if len(words) > (5 if verb == b"HMSG" else 4) else b"")
            headers(buffer[body:split])
            datas(buffer[split:end])
            at = end + 2
        self._rest = buffer[at:]
        if len(self._rest) > LINE and CRLF not in self._rest:
            raise ConnectError("the server sends a line without an end")

    def _other(self, line: bytes) -> None:
        verb, _, rest = line.partition(b" ")
        if verb == b"PING":
            self.pings += 1
        elif verb == b"PONG":
            self.pongs += 1
        elif verb == b"-ERR":
            self.errors.append(rest.decode("utf-8", "replace").strip("'"))
        elif verb == b"INFO":
            try:
                self.infos.append(json.loads(rest))
            except ValueError:
                raise ConnectError("the server's INFO is no JSON") from None
        elif verb != b"+OK":
            raise ConnectError(f"not a NATS server; it says {line[:60]!r}")


def _number(word: bytes) -> int:
    if not word.isdigit() or (number := int(word)) > PAYLOAD:
        raise ConnectError(f"a message of {word[:20]!r} bytes")
    return number


def status(block: bytes) -> tuple[int, str]:
    """Code and text of a header block's first line; 0 for a plain block."""
    line = block[: block.find(CRLF)] if block else b""
    words = line.split(b" ", 2)
    if len(words) < 2 or not words[1].isdigit():
        return 0, ""
    return int(words[1]), words[2].decode("utf-8", "replace") if len(words) > 2 else ""


def pairs(block: bytes) -> list[tuple[str, bytes]]:
    """Headers in order; a name may come more than once, a value may be any bytes."""
    found = []
    for line in block.split(CRLF)[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            found.append((name.decode("utf-8", "replace"), value.lstrip(b" ")))
    return found


def value(block: bytes, name: bytes) -> bytes | None:
    """The first value of a header."""
    at = block.find(b"\r\n" + name + b":")
    if at < 0:
        return None
    start = at + len(name) + 3
    return block[start : block.find(CRLF, start)].strip(b" ")
