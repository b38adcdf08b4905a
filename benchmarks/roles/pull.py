"""Clients of pull consumers: they ask for a batch, read it, acknowledge it in one write, ask again."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks import wire
from benchmarks.conn import READ_BYTES, Connection, ConnectionLost
from benchmarks.deliveries import Content, Deliveries, WrongDelivery, acks
from benchmarks.roles.base import Facts

_STREAM: Final = b"BENCH"
_NEXT: Final = b"PUB $JS.API.CONSUMER.MSG.NEXT.%b.%b %b %d\r\n%b\r\n"
_REQUEST: Final = b'{"batch":%d,"expires":60000000000}'


@dataclass(frozen=True)
class Manner:
    """How a client asks, and whether it acknowledges."""

    batch: int
    in_flight: int = 1
    ack: bool = True
    each_read: bool = False  # Acknowledge what a read brought, and do not wait for the whole batch.


class PullClient:
    """One client of one consumer, fed with what its connection reads."""

    def __init__(self, conn: Connection, consumer: str, due: int, manner: Manner) -> None:
        self.conn = conn
        self._consumer = consumer.encode()
        # Of this connection alone, as clients have it, also where several share the consumer.
        self._inbox = b"_INBOX.bench-pull-%d.%b" % (conn.sock.getsockname()[1], self._consumer)
        self.due = due
        self.received = 0
        self._asked = 0
        self._manner = manner
        self._unacknowledged: list[bytes] = []
        self.deliveries: Deliveries

    def listen(self, load: wire.Load, keep: bool, sid: bytes = wire.SUB_SID) -> None:
        self.deliveries = Deliveries(load, keep)
        self.conn.subscribe(self._inbox, sid)

    def start(self) -> None:
        self.conn.send(self._requests())

    def took(self, data: memoryview) -> bool:
        """Acknowledges and asks for more when it is time to; says whether all has come."""
        found = self.deliveries.feed(data)
        if self.deliveries.statuses:
            raise WrongDelivery(f"a pull ended with {self.deliveries.statuses[0]}")
        self.received += len(found)
        manner = self._manner
        if manner.ack:
            self._unacknowledged += found
        done = self.received >= self.due
        if done or manner.each_read or self._may_ask():
            text = acks(self._unacknowledged) if self._unacknowledged else b""
            self._unacknowledged = []
            text += self._requests()
            if text:
                self.conn.send(text)
        return done

    def _may_ask(self) -> bool:
        outstanding = self._asked - self.received
        return (
            self._asked < self.due
            and outstanding <= (self._manner.in_flight - 1) * self._manner.batch
        )

    def _requests(self) -> bytes:
        text = b""
        while self._may_ask():
            batch = min(self._manner.batch, self.due - self._asked)
            self._asked += batch
            body = _REQUEST % batch
            text += _NEXT % (_STREAM, self._consumer, self._inbox, len(body), body)
        return text


@dataclass
class Puller:
    """Reads all its consumers, one after the other, over one connection.

    `filters` has one subject per consumer, or none for consumers of all subjects. `due` is how many
    messages to take from each, 0 for all that match among the `stored` ones.
    """

    port: int
    load: wire.Load
    consumers: list[str]
    filters: list[str]
    stored: int
    due: int
    manner: Manner
    timeout: float
    timed: bool = False
    keep: bool = False

    conn: Connection = field(init=False)
    content: Content = field(init=False)
    clients: list[PullClient] = field(init=False, default_factory=list)
    wanted: list[Sequence[int]] = field(init=False, default_factory=list)
    taken: list[int] = field(init=False, default_factory=list)

    def prepare(self) -> None:
        self.content = Content(self.load, self.stored)
        self.conn = Connection(self.port, self.timeout)
        for number, consumer in enumerate(self.consumers):
            sequences = self._sequences(self.filters[number]) if self.filters else None
            wanted = range(1, self.stored + 1) if sequences is None else sequences
            self.wanted.append(wanted[: self.due] if self.due else wanted)
            client = PullClient(self.conn, consumer, len(self.wanted[-1]), self.manner)
            client.listen(self.load, self.keep, b"%d" % (number + 1))
            self.clients.append(client)
        self.conn.flush()

    def _sequences(self, subject: str) -> list[int]:
        start = subject.removesuffix("*").encode()
        return self.content.matching(
            lambda name: name.startswith(start) if subject.endswith("*") else name == start
        )

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        for client in self.clients:
            self._read(client, deadline)
        self.clients[-1].deliveries.feed(self.conn.flush())
        facts: Facts = {"messages": sum(client.received for client in self.clients)}
        if self.timed:
            facts["latencies"] = [ns / 1000 for ns in self.taken]
        return facts

    def _read(self, client: PullClient, deadline: float) -> None:
        buffer = bytearray(READ_BYTES)
        view = memoryview(buffer)
        read, took, clock = self.conn.read, client.took, time.perf_counter_ns
        done, begin = False, clock()
        client.start()
        while not done:
            before = client.received
            done = took(view[: read(buffer)])
            if self.timed and client.received > before:
                now = clock()
                self.taken.append(now - begin)
                begin = now
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{client.received} of {client.due} in {self.timeout} s")

    def prove(self) -> Facts:
        for client, wanted in zip(self.clients, self.wanted, strict=True):
            client.deliveries.prove(wanted)
            if self.keep:
                client.deliveries.prove_content(self.content)
        return {}

    def close(self) -> None:
        self.conn.sock.close()


@dataclass
class Pullers:
    """Many clients at once, each on its own connection and each for `due` messages.

    Every one has a consumer of its own, or all share one: then they get all messages together.
    """

    port: int
    load: wire.Load
    consumers: list[str]
    shared: bool
    due: int
    manner: Manner
    timeout: float
    keep: bool = False

    clients: dict[int, PullClient] = field(init=False, default_factory=dict)

    def prepare(self) -> None:
        for consumer in self.consumers:
            conn = Connection(self.port, self.timeout)
            client = PullClient(conn, consumer, self.due, self.manner)
            client.listen(self.load, self.keep)
            conn.flush()
            self.clients[conn.sock.fileno()] = client

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        buffer = bytearray(READ_BYTES)
        view = memoryview(buffer)
        poller = select.epoll()
        for fd, client in self.clients.items():
            poller.register(fd, select.EPOLLIN)
            client.start()
        left = len(self.clients)
        while left:
            for fd, _ in poller.poll(0.1):
                client = self.clients[fd]
                if client.took(view[: client.conn.read(buffer)]):
                    poller.unregister(fd)
                    left -= 1
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{left} clients wait for more after {self.timeout} s")
        poller.close()
        for client in self.clients.values():
            client.deliveries.feed(client.conn.flush())
        return {"messages": sum(client.received for client in self.clients.values())}

    def prove(self) -> Facts:
        total = self.due * len(self.clients)
        content = Content(self.load, total if self.shared else self.due)
        parts: list[int] = []
        for client in self.clients.values():
            if self.shared:
                parts += client.deliveries.prove_part()
            else:
                client.deliveries.prove(range(1, self.due + 1))
            if self.keep:
                client.deliveries.prove_content(content)
        if self.shared and sorted(parts) != list(range(1, total + 1)):
            raise WrongDelivery(f"{len(set(parts))} of {total} messages between all clients")
        return {}

    def close(self) -> None:
        for client in self.clients.values():
            client.conn.sock.close()
