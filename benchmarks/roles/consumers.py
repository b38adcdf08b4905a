"""The listeners of many push consumers, a share of them on each of a few connections."""

from __future__ import annotations

import re
import select
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from benchmarks import wire
from benchmarks.conn import READ_BYTES, Connection, ConnectionLost
from benchmarks.deliveries import Deliveries, WrongDelivery
from benchmarks.roles.base import Facts

_NUMBERS: Final = re.compile(rb"\$JS\.ACK\.[^.]+\.([^.]+)\.1\.(\d+)\.")


@dataclass
class ConsumerCrowd:
    """Takes messages `first` to `last` of every consumer; number n delivers to `inbox.n`.

    One subscription for each: a consumer need not notice a wildcard that also matches.
    """

    port: int
    load: wire.Load
    inbox: str
    connections: int
    consumers: int
    first: int
    last: int
    drives: bool
    timeout: float

    conns: dict[int, tuple[Connection, Deliveries]] = field(init=False, default_factory=dict)

    def prepare(self) -> None:
        for _ in range(self.connections):
            conn = Connection(self.port, self.timeout)
            self.conns[conn.sock.fileno()] = (conn, Deliveries(self.load))
        if not self.drives:
            self._listen()

    def _listen(self) -> None:
        for start, (conn, deliveries) in enumerate(self.conns.values()):
            numbers = range(start, self.consumers, self.connections)
            subjects = [(f"{self.inbox}.{n}".encode(), n + 1) for n in numbers]
            conn.send(b"".join([b"SUB %b %d\r\n" % one for one in subjects]))
            if not self.drives:
                deliveries.feed(conn.flush())  # Something may have been waiting for us.

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        buffer = bytearray(READ_BYTES)
        view = memoryview(buffer)
        poller = select.epoll()
        for fd in self.conns:
            poller.register(fd, select.EPOLLIN)
        if self.drives:
            self._listen()
        due = self.consumers * (self.last - self.first + 1)
        received = sum(len(deliveries.replies) for _, deliveries in self.conns.values())
        while received < due:
            for fd, _ in poller.poll(0.1):
                conn, deliveries = self.conns[fd]
                received += len(deliveries.feed(view[: conn.read(buffer)]))
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{received} of {due} in {self.timeout} s")
        poller.close()
        for conn, deliveries in self.conns.values():
            deliveries.feed(conn.flush())
        return {"messages": received}

    def prove(self) -> Facts:
        found: dict[bytes, list[int]] = defaultdict(list)
        for _, deliveries in self.conns.values():
            for consumer, sequence in _NUMBERS.findall(b"\n".join(deliveries.replies)):
                found[consumer].append(int(sequence))
        due = list(range(self.first, self.last + 1))
        wrong = sum(1 for sequences in found.values() if sequences != due)
        if wrong or len(found) != self.consumers:
            raise WrongDelivery(
                f"{wrong} of {len(found)} consumers got something else than was due"
            )
        return {"consumers": len(found)}

    def close(self) -> None:
        for conn, _ in self.conns.values():
            conn.sock.close()
