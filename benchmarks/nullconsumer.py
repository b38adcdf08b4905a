"""Consumers of the null server: rendered deliveries, sent for every pull request or at once."""

from __future__ import annotations

import re
import socket
from typing import Final

from benchmarks import wire

CONSUMER_MODES: Final = ("js-pull", "js-push", "js-ordered", "js-consumers", "js-workers")
_MAX_ACK_PENDING: Final = 1_000
_NEXT: Final = re.compile(rb'MSG\.NEXT\.BENCH\.([^ ]+) [^\n]+\n\{"batch":(\d+)')
_DELIVER: Final = re.compile(rb"SUB _INBOX\.bench-push\.\d+\.(\d+) ")
_ACK: Final = b"+ACK"
_ENDS: Final = (b"+ACK\r\n", b"}\r\n", wire.PING)
_STEP: Final = 10_000


class Frames:
    """The deliveries of a stream in order, rendered when first asked for."""

    def __init__(self, load: wire.Load) -> None:
        self._load = load
        self._pool = wire.payloads(load)
        self._frames: list[bytes] = []

    def between(self, start: int, stop: int) -> bytes:
        while len(self._frames) < stop:
            self._render(len(self._frames))
        return b"".join(self._frames[start:stop])

    def _render(self, first: int) -> None:
        names = wire.published_names(self._load, first, _STEP)
        for number, name in enumerate(names, first):
            body = self._pool[number % len(self._pool)]
            reply = b"$JS.ACK.BENCH.NULL.1.%d.%d.1767225600123456789.0" % (number + 1, number + 1)
            self._frames.append(b"MSG %b 1 %b %d\r\n%b\r\n" % (name, reply, len(body), body))


class ConsumerRelay:
    """Answers pull requests at once; pushes as far as acks allow, or all where there are none."""

    def __init__(self, mode: str, frames: Frames) -> None:
        self._window = _MAX_ACK_PENDING if mode == "js-push-ack" else 0
        self._frames = frames
        self._sent: dict[bytes, int] = {}
        self._due = 0
        self._acknowledged = 0
        self._rest: dict[socket.socket, bytes] = {}

    def joined(self, sock: socket.socket, subscriptions: bytes) -> None:
        wanted = _DELIVER.match(subscriptions)
        if wanted:
            self._due = int(wanted[1])
            self._push(sock)

    def received(self, sock: socket.socket, data: memoryview) -> None:
        text = self._rest.get(sock, b"") + data
        for consumer, batch in _NEXT.findall(text):
            start = self._sent.get(consumer, 0)
            self._sent[consumer] = start + int(batch)
            sock.sendall(self._frames.between(start, start + int(batch)))
        if self._due and self._window:
            self._acknowledged += text.count(_ACK)
            self._push(sock)
        if text.endswith(wire.PING):
            sock.sendall(wire.PONG)
        self._rest[sock] = b"" if text.endswith(_ENDS) else text[max(0, text.rfind(b"PUB ")) :]

    def _push(self, sock: socket.socket) -> None:
        sent = self._sent.get(b"", 0)
        until = min(self._due, self._acknowledged + self._window) if self._window else self._due
        if until > sent:
            self._sent[b""] = until
            sock.sendall(self._frames.between(sent, until))
