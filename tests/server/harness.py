"""Sessions without sockets: a broker on a clock that stands still, links that collect bytes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from jetstream_py.clock import ManualClock
from jetstream_py.config.options import Options
from jetstream_py.log import Log, LogSettings
from jetstream_py.server.broker import Broker
from jetstream_py.server.link import NoLink
from jetstream_py.server.session import Session

QUIET = LogSettings(file="/dev/null")
CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n'


class FakeLink(NoLink):
    """Takes what a session writes."""

    session: Session

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.is_closed = self.is_connected = self.is_held = False

    def flush(self) -> None:
        if self.session.out:
            self.written.append(self.session.take_output())

    def connected(self) -> None:
        self.is_connected = True

    def close(self, linger: bool) -> None:
        self.is_closed = True

    def hold(self) -> None:
        self.is_held = True

    def release(self) -> None:
        self.is_held = False

    def take(self) -> bytes:
        data = b"".join(self.written)
        self.written.clear()
        return data


class Bench:
    """A broker and its clients."""

    def __init__(self, options: Options | None = None, seed: int = 1) -> None:
        self.clock = ManualClock()
        self.loop = asyncio.new_event_loop()
        self.faults: list[object] = []  # what went wrong in callbacks of the loop
        self.loop.set_exception_handler(lambda _, fault: self.faults.append(fault))
        chance = random.Random(seed).random
        self.broker = Broker(options or Options(), self.clock, Log(QUIET), self.loop, chance)

    def close(self) -> None:
        self.loop.close()
        self.broker.log.close()

    def client(self, connect: bytes = CONNECT) -> Client:
        client = Client(self)
        client.send(connect)
        client.read()
        return client


class Client:
    """One connection, as its peer sees it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.link = FakeLink()
        broker = bench.broker
        self.session = self.link.session = broker.open_session(self.link, "127.0.0.1", 40000)
        broker.greet(self.session)
        self.greeting = self.read()

    def send(self, data: bytes, cuts: Sequence[int] = ()) -> None:
        """Hand in the bytes, cut at the given places."""
        start = 0
        for cut in (*sorted(cuts), len(data)):
            if data[start:cut] and not self.session.closed:
                self.session.receive(data[start:cut])
                self.bench.broker.flush()
            start = cut

    def read(self) -> bytes:
        self.bench.broker.flush()
        return self.link.take()

    def ask(self, data: bytes) -> bytes:
        self.send(data)
        return self.read()

    def drop(self) -> None:
        self.bench.broker.close_session(self.session, "Client Closed")
