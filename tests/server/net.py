"""Connections on fake transports and a clock that is moved by hand."""

from __future__ import annotations

import asyncio
from typing import Any

from jetstream_py.config.options import Options
from jetstream_py.server.connection import ClientConnection
from tests.server.harness import CONNECT, Bench

journal: list[tuple[int, bytes]] = []


class FakeTransport(asyncio.Transport):
    """Takes `room` bytes; what is beyond waits, as in a socket whose peer does not read."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = port
        self.protocol: asyncio.Protocol
        self.written = b""
        self.waiting = 0
        self.room = 1 << 60
        self.closing = self.aborted = self.reading_paused = self.ended = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", self.port) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        journal.append((self.port, bytes(data)))
        taken = min(self.room, len(data))
        self.room -= taken
        self.written += bytes(data[:taken])
        if taken < len(data):
            if not self.waiting:
                self.protocol.pause_writing()
            self.waiting += len(data) - taken

    def drain(self) -> None:
        self.waiting = 0
        self.room = 1 << 60
        self.protocol.resume_writing()

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self.protocol = protocol

    def is_closing(self) -> bool:
        return self.closing

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = self.aborted = True
        self.waiting = 0

    def pause_reading(self) -> None:
        self.reading_paused = True

    def resume_reading(self) -> None:
        self.reading_paused = False

    def take(self) -> bytes:
        data, self.written = self.written, b""
        return data


class Net:
    """A broker and connections to it."""

    def __init__(self, options: Options) -> None:
        self.bench = Bench(options)
        self.broker = self.bench.broker
        self.ports = iter(range(40_000, 50_000))

    def open(self, opening: bytes = CONNECT) -> FakeTransport:
        transport = FakeTransport(next(self.ports))
        transport.protocol = ClientConnection(self.broker)
        transport.protocol.connection_made(transport)
        if opening:
            transport.protocol.data_received(opening)
        self.tick()
        assert transport.take().startswith(b"INFO ")
        return transport

    def send(self, transport: FakeTransport, data: bytes) -> None:
        transport.protocol.data_received(data)
        self.tick()

    def tick(self) -> None:
        """What the loop does at the end of an iteration."""
        self.bench.loop.call_soon(self.bench.loop.stop)
        self.bench.loop.run_forever()

    def pass_time(self, seconds: float) -> None:
        """Move the clock in small steps, firing timers when they are due."""
        for _ in range(round(seconds * 10)):
            self.bench.clock.advance(0.1)
            self.broker.timers.run_due()
            self.tick()
