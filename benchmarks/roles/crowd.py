"""Many connections in one process: idle ones that only answer PINGs, busy ones at a bounded rate,
and a probe that measures what a PING costs meanwhile."""

from __future__ import annotations

import select
import socket
import time
from dataclasses import dataclass, field

from benchmarks import wire
from benchmarks.conn import HOST, Connection, ConnectionLost
from benchmarks.roles.base import Facts, told_to_stop
from benchmarks.roles.bulk import FrameCounter

_BATCH = 100
_READ = 16 * 1024
_PERIOD = 0.02  # Every busy connection sends one burst in this time.


@dataclass
class IdleCrowd:
    """Connections with one subscription each and nothing to do, held until told to stop."""

    port: int
    first: int
    count: int
    timeout: float

    socks: dict[int, socket.socket] = field(init=False, default_factory=dict)

    def prepare(self) -> None:
        deadline = time.monotonic() + self.timeout
        for start in range(self.first, self.first + self.count, _BATCH):
            stop = min(start + _BATCH, self.first + self.count)
            self._open(range(start, stop))
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{len(self.socks)} connections in {self.timeout} s")

    def _open(self, numbers: range) -> None:
        """A batch in three steps, so that the server can work while we do."""
        batch = [socket.create_connection((HOST, self.port), self.timeout) for _ in numbers]
        self.socks |= {sock.fileno(): sock for sock in batch}
        for sock, number in zip(batch, numbers, strict=True):
            _await(sock, b"INFO ")
            sock.sendall(wire.CONNECT + b"SUB idle.%d.* 1\r\n" % number + wire.PING)
        for sock in batch:
            _await(sock, wire.PONG)

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        poller = select.epoll()
        for fd in self.socks:
            poller.register(fd, select.EPOLLIN)
        answered = 0
        while not told_to_stop() and time.monotonic() < deadline:
            for fd, _ in poller.poll(0.05):
                answered += self._answer(poller, fd)
        poller.close()
        return {"open": len(self.socks), "pings": answered}

    def _answer(self, poller: select.epoll, fd: int) -> int:
        data = _read_some(self.socks[fd])
        if not data:
            poller.unregister(fd)
            self.socks.pop(fd).close()
            return 0
        pings = data.count(wire.PING)
        if pings:
            self.socks[fd].sendall(wire.PONG * pings)
        return pings

    def close(self) -> None:
        for sock in self.socks.values():
            sock.close()


@dataclass
class BusyCrowd:
    """A ring: each connection publishes to the next one, `rate` messages a second each."""

    port: int
    count: int
    rate: int
    seconds: float
    size: int
    timeout: float

    conns: list[Connection] = field(init=False, default_factory=list)
    bursts: list[bytes] = field(init=False, default_factory=list)
    per_burst: int = field(init=False)

    def prepare(self) -> None:
        self.per_burst = max(1, round(self.rate * _PERIOD))
        payload = wire.payloads(wire.Load(self.size, 1))[0]
        for number in range(self.count):
            conn = Connection(self.port, self.timeout)
            conn.subscribe(b"busy.%05d" % number, wire.SUB_SID)
            conn.flush()
            self.conns.append(conn)
            following = b"busy.%05d" % ((number + 1) % self.count)
            self.bursts.append(wire.pub(following, payload) * self.per_burst)

    def run(self) -> Facts:
        poller = select.epoll()
        counters = {conn.sock.fileno(): FrameCounter() for conn in self.conns}
        socks = {conn.sock.fileno(): conn.sock for conn in self.conns}
        for fd in socks:
            poller.register(fd, select.EPOLLIN)
        begin = time.monotonic()
        deadline = begin + self.timeout
        slots = int(self.seconds / _PERIOD) * self.count
        sent = 0
        while not (sent == slots and _frames(counters) >= slots * self.per_burst):
            now = time.monotonic()
            if now > deadline:
                raise ConnectionLost(
                    f"{_frames(counters)} of {slots * self.per_burst} messages in {self.timeout} s"
                )
            due = min(slots, int((now - begin) / _PERIOD * self.count))
            for slot in range(sent, due):
                self.conns[slot % self.count].send(self.bursts[slot % self.count])
            sent = max(sent, due)
            for fd, _ in poller.poll(0.001):
                data = _read_some(socks[fd])
                if not data:
                    raise ConnectionLost("a busy connection was closed by the server")
                counters[fd].feed(data)
        poller.close()
        return {"sent": slots * self.per_burst, "received": _frames(counters)}

    def close(self) -> None:
        for conn in self.conns:
            conn.sock.close()


@dataclass
class Probe:
    """One connection that sends a PING every `interval` seconds and times the PONG."""

    port: int
    count: int
    interval: float
    timeout: float

    conn: Connection = field(init=False)

    def prepare(self) -> None:
        self.conn = Connection(self.port, self.timeout)

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        taken: list[float] = []
        for _ in range(self.count):
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{len(taken)} PONGs in {self.timeout} s")
            start = time.perf_counter_ns()
            self.conn.flush()
            taken.append((time.perf_counter_ns() - start) / 1000)
            time.sleep(self.interval)
        return {"latencies": taken}

    def close(self) -> None:
        self.conn.sock.close()


def _frames(counters: dict[int, FrameCounter]) -> int:
    return sum(counter.frames for counter in counters.values())


def _await(sock: socket.socket, word: bytes) -> None:
    data = b""
    while word not in data or not data.endswith(b"\r\n"):
        part = sock.recv(4096)
        if not part or b"-ERR" in part:
            raise ConnectionLost(f"instead of {word!r}: {part!r}")
        data += part


def _read_some(sock: socket.socket) -> bytes:
    """What is there; nothing when the connection is gone."""
    try:
        return sock.recv(_READ)
    except ConnectionError:
        return b""
