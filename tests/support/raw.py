"""A NATS client that speaks bytes.

It adds nothing to what a test sends and hides nothing of what the server answers. Every wait is a
wait on the socket that ends at a deadline; a missed deadline raises `Silence` with the bytes seen
so far, so that a failing test shows what the server did instead.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from types import TracebackType
from typing import Any, Self

from tests.support.wire import PONG, frame_end

TIMEOUT = 10.0
CHUNK = 1 << 18


class Silence(AssertionError):
    """The server did not say what the test waited for."""


class RawClient:
    """One TCP connection. `buffer` holds what was received and not yet read by the test."""

    def __init__(self, port: int, host: str = "127.0.0.1", timeout: float = TIMEOUT) -> None:
        self.socket = socket.create_connection((host, port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timeout = timeout
        self.buffer = bytearray()
        self.eof = False
        self.info: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        """Send the bytes; a server that has closed already is noticed by the next read."""
        self.socket.settimeout(self.timeout)
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def half_close(self) -> None:
        """Tell the server that nothing more follows; it still says what it has to say."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self.socket.close()

    def reset(self) -> None:
        """Close with RST, as the kernel of a crashed client would."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def read_until(self, mark: bytes, timeout: float | None = None) -> bytes:
        """Everything up to and including `mark`."""
        deadline = self._deadline(timeout)
        start = 0
        while (at := self.buffer.find(mark, start)) < 0:
            start = max(0, len(self.buffer) - len(mark) + 1)
            if not self._fill(deadline):
                raise Silence(f"closed before {mark!r}; received: {self._seen()}")
        return self._take(at + len(mark))

    def read(self, size: int, timeout: float | None = None) -> bytes:
        """So many bytes."""
        deadline = self._deadline(timeout)
        while len(self.buffer) < size:
            if not self._fill(deadline):
                raise Silence(f"closed before {size} bytes; received: {self._seen()}")
        return self._take(size)

    def read_frame(self, timeout: float | None = None) -> bytes:
        """One line, with its payload if it has one."""
        deadline = self._deadline(timeout)
        while (end := frame_end(self.buffer, 0)) < 0:
            if not self._fill(deadline):
                raise Silence(f"closed inside a frame; received: {self._seen()}")
        return self._take(end)

    def read_info(self, timeout: float | None = None) -> dict[str, Any]:
        """The next INFO; the latest one stays in `info`."""
        self.info = parse_info(self.read_frame(timeout))
        return self.info

    def read_all(self, timeout: float | None = None) -> bytes:
        """Everything until the server closes."""
        deadline = self._deadline(timeout)
        while self._fill(deadline):
            pass
        return self._take(len(self.buffer))

    def closed(self, timeout: float | None = None) -> bool:
        """Whether the server closes with nothing left to read."""
        try:
            return self.read_all(timeout) == b""
        except Silence:
            return False

    def exchange(self, data: bytes = b"", timeout: float | None = None) -> bytes:
        """Send, then read up to the PONG of a PING that follows, or to the end of the stream.

        The fence's PONG is not part of the answer; `eof` tells whether it never came. Bytes that
        hold a PING of their own, or leave a frame open, belong in `talk`.
        """
        self.send(data + b"PING\r\n")
        deadline = self._deadline(timeout)
        start = 0
        while True:
            end = frame_end(self.buffer, start)
            if end >= 0 and self.buffer[start:end] == PONG:
                answer = self._take(start)
                self._take(len(PONG))
                return answer
            if end >= 0:
                start = end
            elif not self._fill(deadline):
                return self._take(len(self.buffer))

    def talk(self, data: bytes, timeout: float | None = None) -> bytes:
        """Send, half-close and return all that the server says until it closes too."""
        self.send(data)
        self.half_close()
        return self.read_all(timeout)

    def _deadline(self, timeout: float | None) -> float:
        return time.monotonic() + (self.timeout if timeout is None else timeout)

    def _fill(self, deadline: float) -> bool:
        """Receive once; False at the end of the stream, `Silence` at the deadline."""
        if self.eof:
            return False
        left = deadline - time.monotonic()
        if left <= 0:
            raise Silence(f"deadline passed; received: {self._seen()}")
        self.socket.settimeout(left)
        try:
            data = self.socket.recv(CHUNK)
        except TimeoutError:
            raise Silence(f"deadline passed; received: {self._seen()}") from None
        except ConnectionResetError:
            data = b""
        self.buffer += data
        self.eof = not data
        return not self.eof

    def _take(self, size: int) -> bytes:
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken

    def _seen(self) -> str:
        return repr(bytes(self.buffer[-1000:]))


def parse_info(line: bytes) -> dict[str, Any]:
    assert line.startswith(b"INFO "), line
    info = json.loads(line[5:])
    assert isinstance(info, dict)
    return info
