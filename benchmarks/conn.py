"""A blocking client connection that moves bytes and does nothing else.

The timeouts are the kernel's (SO_RCVTIMEO, SO_SNDTIMEO), not Python's: a Python timeout turns every
send and receive into two system calls (poll, then the call), which is generator time we would take
from the server under test.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from types import TracebackType
from typing import Final, Self

from benchmarks import wire

HOST: Final = "127.0.0.1"
READ_BYTES: Final = 256 * 1024
SEND_BYTES: Final = 128 * 1024
_SMALL_READ: Final = 16 * 1024


class ConnectionLost(Exception):
    """The server closed the connection, sent -ERR, or was silent for too long."""


class Connection:
    """One client connection: handshake done, both directions bounded by `timeout` seconds."""

    def __init__(self, port: int, timeout: float, receive_buffer: int = 0) -> None:
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:  # Only effective before the connect: it sets the window scale.
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        limit = struct.pack("ll", int(timeout), int(timeout % 1 * 1_000_000))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timeout = timeout
        self.info: dict[str, object] = {}
        self._small = bytearray(_SMALL_READ)
        try:
            self.sock.connect((HOST, port))
            self._handshake()
        except BaseException:
            self.sock.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.sock.close()

    def send(self, data: bytes | memoryview) -> None:
        try:
            self.sock.sendall(data)
        except OSError as error:
            raise ConnectionLost(f"send failed: {error!r}; {self._last_words()}") from error

    def read(self, buffer: bytearray) -> int:
        """Receive into `buffer` what is there, at least one byte."""
        try:
            count = self.sock.recv_into(buffer)
        except BlockingIOError as error:
            raise ConnectionLost(f"nothing received for {self.timeout} s") from error
        except OSError as error:
            raise ConnectionLost(f"receive failed: {error!r}") from error
        if not count:
            raise ConnectionLost("closed by the server")
        return count

    def read_until(self, ending: bytes) -> bytes:
        """Everything up to and including a read that holds `ending`. For short exchanges only."""
        deadline = time.monotonic() + self.timeout
        data = b""
        while ending not in data:
            if time.monotonic() > deadline:
                raise ConnectionLost(f"no {ending!r} within {self.timeout} s")
            data += self._small[: self.read(self._small)]
            if b"-ERR" in data:
                raise ConnectionLost(data[data.index(b"-ERR") :].decode(errors="replace"))
        return data

    def flush(self) -> bytes:
        """PING, then everything up to the PONG: the server has processed all we sent before."""
        self.send(wire.PING)
        return self.read_until(wire.PONG)

    def subscribe(self, subject: bytes, sid: bytes, queue: bytes = b"") -> None:
        self.send(b"SUB %b %b %b\r\n" % (subject, queue, sid) if queue else _sub(subject, sid))

    def _handshake(self) -> None:
        banner = self.read_until(b"\r\n")
        self.info = json.loads(banner[len(b"INFO ") :])
        self.send(wire.CONNECT)
        # Twice: nats-server follows the first PONG with a second INFO.
        self.flush()
        self.flush()

    def _last_words(self) -> str:
        try:
            return self.sock.recv(4096, socket.MSG_DONTWAIT)[-200:].decode(errors="replace")
        except OSError:
            return "the server said nothing"


def _sub(subject: bytes, sid: bytes) -> bytes:
    return b"SUB %b %b\r\n" % (subject, sid)
