"""For the stuck consumer: a publisher at a bounded rate, readers by the dozen, and one that stops."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass, field

from benchmarks import wire
from benchmarks.conn import READ_BYTES, Connection, ConnectionLost
from benchmarks.roles.base import Facts, told_to_stop

_TICK = 0.005
_FULL_SPEED_BATCH = 64
# Small, so that what a stuck client does not read stays with the server.
_STUCK_RECEIVE_BUFFER = 64 * 1024


@dataclass
class PacedPublisher:
    """Publishes to one subject at `rate` messages a second; 0 is as fast as the server takes it."""

    port: int
    size: int
    messages: int
    rate: int
    timeout: float

    conn: Connection = field(init=False)
    frame: bytes = field(init=False)

    def prepare(self) -> None:
        self.frame = wire.pub(wire.ONE_SUBJECT, wire.payloads(wire.Load(self.size, 1))[0])
        self.conn = Connection(self.port, self.timeout)

    def run(self) -> Facts:
        begin = time.monotonic()
        deadline = begin + self.timeout
        batch = max(1, round(self.rate * _TICK)) if self.rate else _FULL_SPEED_BATCH
        sent = 0
        while sent < self.messages:
            count = min(batch, self.messages - sent)
            self.conn.send(self.frame * count)
            sent += count
            now = time.monotonic()
            if now > deadline:
                raise ConnectionLost(f"{sent} of {self.messages} sent in {self.timeout} s")
            if self.rate:
                time.sleep(max(0.0, begin + sent / self.rate - now))
        self.conn.send(wire.end_pub())
        self.conn.flush()
        return {"messages": sent}

    def close(self) -> None:
        self.conn.sock.close()


@dataclass
class Readers:
    """`count` subscribers of the one subject, each on its own connection, read as data comes."""

    port: int
    count: int
    size: int
    messages: int
    timeout: float

    conns: dict[int, Connection] = field(init=False, default_factory=dict)

    def prepare(self) -> None:
        for _ in range(self.count):
            conn = Connection(self.port, self.timeout)
            _subscribe(conn)
            self.conns[conn.sock.fileno()] = conn

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        frame = wire.msg(wire.ONE_SUBJECT, wire.SUB_SID, bytes(self.size))
        expected = len(frame) * self.messages + len(wire.end_msg())
        received = dict.fromkeys(self.conns, 0)
        tails = dict.fromkeys(self.conns, b"")
        buffer = bytearray(READ_BYTES)
        poller = select.epoll()
        for fd in self.conns:
            poller.register(fd, select.EPOLLIN)
        complete = 0
        while complete < self.count:
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{complete} of {self.count} done in {self.timeout} s")
            for fd, _ in poller.poll(0.1):
                got = self.conns[fd].read(buffer)
                received[fd] += got
                tails[fd] = (tails[fd] + buffer[max(0, got - 100) : got])[-100:]
                if wire.end_msg() in tails[fd]:
                    wire.stray_pings(received[fd], expected)
                    poller.unregister(fd)
                    complete += 1
        poller.close()
        return {"complete": complete, "messages": complete * self.messages}

    def close(self) -> None:
        for conn in self.conns.values():
            conn.sock.close()


@dataclass
class StuckReader:
    """Subscribes and does not read until told to stop; then sees what became of its connection."""

    port: int
    timeout: float

    conn: Connection = field(init=False)

    def prepare(self) -> None:
        self.conn = Connection(self.port, self.timeout, _STUCK_RECEIVE_BUFFER)
        _subscribe(self.conn)

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        while not told_to_stop() and time.monotonic() < deadline:
            time.sleep(0.01)
        buffer = bytearray(READ_BYTES)
        got, said, last = 0, b"", ""
        while time.monotonic() < deadline and not last:
            try:
                count = self.conn.read(buffer)
            except ConnectionLost as lost:
                last = str(lost)
            else:
                got += count
                said = (said + buffer[:count])[-200:]
        error = said[said.rfind(b"-ERR") :].decode(errors="replace") if b"-ERR" in said else ""
        closed = bool(last) and "nothing received" not in last
        return {"read": got, "closed": closed, "error": error.strip()}

    def close(self) -> None:
        self.conn.sock.close()


def _subscribe(conn: Connection) -> None:
    conn.subscribe(wire.ONE_SUBJECT, wire.SUB_SID)
    conn.subscribe(wire.END_SUBJECT, wire.END_SID)
    conn.flush()
