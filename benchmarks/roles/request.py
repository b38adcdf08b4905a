"""Requesters and the responder: unique reply subjects under one inbox wildcard, as clients do it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Protocol

from benchmarks import wire
from benchmarks.conn import READ_BYTES, Connection, ConnectionLost
from benchmarks.roles.base import Facts
from benchmarks.tally import EqualLengths, Tally, reply_length

# A requester tops its window up when a tenth of it is free, as a client's write buffer would: one
# system call per reply would make the generator dearer than the server.
_REFILL_SHARE = 10


class Frames(Protocol):
    """The frames of a run, rendered a slice at a time."""

    def render(self, start: int, stop: int) -> bytes: ...


class Requests:
    """The frames of all requests, rendered a slice at a time by one C-level join."""

    def __init__(self, load: wire.Load, count: int) -> None:
        names = islice(cycle(wire.subjects(load.subjects)), count)
        payload = wire.payloads(load)[0]
        inbox = b" " + wire.INBOX + b"."
        self._items = [
            name + inbox + token for name, token in zip(names, wire.tokens(count), strict=True)
        ]
        self._end = b" %d\r\n%b\r\n" % (load.size, payload)
        self._between = self._end + b"PUB "

    def render(self, start: int, stop: int) -> bytes:
        return b"PUB " + self._between.join(self._items[start:stop]) + self._end


@dataclass
class Requester:
    """Keeps up to `window` requests in flight until `count` are answered."""

    port: int
    load: wire.Load
    count: int
    window: int
    timeout: float
    keep_replies: bool = False

    conn: Connection = field(init=False)
    requests: Frames = field(init=False)
    tally: Tally = field(init=False)
    kept: list[bytes] = field(init=False, default_factory=list)

    def prepare(self) -> None:
        self.requests = Requests(self.load, self.count)
        self.tally = EqualLengths(reply_length(self.load.size))
        self.conn = with_inbox(self.port, self.timeout)

    def run(self) -> Facts:
        self._exchange()
        rest = self.conn.flush()
        if self.keep_replies:
            self.kept.append(rest)
        facts: Facts = {"messages": self.count, "pings": self.tally.settle(rest, self.count)}
        if self.keep_replies:
            replies = re.findall(rb"MSG %b\.(\w+) " % re.escape(wire.INBOX), b"".join(self.kept))
            facts["distinct_replies"] = len(set(replies))
        return facts

    def _exchange(self) -> None:
        deadline = time.monotonic() + self.timeout
        buffer = bytearray(READ_BYTES)
        view = memoryview(buffer)
        read, took = self.conn.read, self.tally.took
        refill = max(1, self.window // _REFILL_SHARE)
        sent = min(self.window, self.count)
        self.conn.send(self.requests.render(0, sent))
        answered = 0
        while answered < self.count:
            got = read(buffer)
            answered = took(view[:got])
            if self.keep_replies:
                self.kept.append(bytes(view[:got]))
            until = min(self.count, answered + self.window)
            if until - sent >= refill or until == self.count > sent:
                self.conn.send(self.requests.render(sent, until))
                sent = until
            if time.monotonic() > deadline:
                last = bytes(view[max(0, got - 200) : got])
                raise ConnectionLost(f"{answered} answers in {self.timeout} s, last {last!r}")

    def close(self) -> None:
        self.conn.sock.close()


@dataclass
class LatencyRequester:
    """One request at a time, each timed from before its send to the last byte of its reply."""

    port: int
    load: wire.Load
    count: int
    timeout: float

    conn: Connection = field(init=False)
    frames: list[bytes] = field(init=False)
    lengths: list[int] = field(init=False)

    def prepare(self) -> None:
        requests = Requests(self.load, self.count)
        self.frames = [requests.render(i, i + 1) for i in range(self.count)]
        self.lengths = [reply_length(self.load.size)] * self.count
        self.conn = with_inbox(self.port, self.timeout)

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        buffer = bytearray(READ_BYTES)
        send, read, clock = self.conn.send, self.conn.read, time.perf_counter_ns
        taken: list[int] = []
        for request, due in zip(self.frames, self.lengths, strict=True):
            start = clock()
            send(request)
            got = read(buffer)
            if got != due:
                self._complete(bytes(buffer[:got]), due)
            end = clock()
            taken.append(end - start)
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{len(taken)} replies in {self.timeout} s")
        self.conn.flush()
        return {"messages": self.count, "latencies": [ns / 1000 for ns in taken]}

    def _complete(self, data: bytes, due: int) -> None:
        """A reply that came in pieces, or with a PING of the server."""
        buffer = bytearray(READ_BYTES)
        for _ in range(due):
            data = data.replace(wire.PING, b"")
            if len(data) >= due:
                break
            data += buffer[: self.conn.read(buffer)]
        if len(data) != due:
            raise ConnectionLost(f"not one reply: {data[:200]!r}")

    def close(self) -> None:
        self.conn.sock.close()


@dataclass
class Responder:
    """Answers `count` requests with a payload of the same size, a batch per read."""

    port: int
    load: wire.Load
    count: int
    timeout: float
    queue: bool = True

    conn: Connection = field(init=False)
    request: re.Pattern[bytes] = field(init=False)

    def prepare(self) -> None:
        # The payload is skipped by count, which the regex engine does in one step.
        size = self.load.size
        self.request = re.compile(rb"(?s)MSG [^ ]+ 1 ([^ ]+) %d\r\n.{%d}" % (size, size + 2))
        self.conn = Connection(self.port, self.timeout)
        queue = wire.QUEUE if self.queue else b""
        self.conn.subscribe(wire.subscription(self.load.subjects), wire.SUB_SID, queue)
        self.conn.flush()

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        end = b" %d\r\n%b\r\n" % (self.load.size, wire.payloads(self.load)[0])
        between = end + b"PUB "
        buffer = bytearray(READ_BYTES)
        answered, rest = 0, b""
        while answered < self.count:
            data = rest + buffer[: self.conn.read(buffer)]
            replies = self.request.findall(data)
            rest = wire.incomplete(self.request, b"MSG ", data)
            if replies:
                self.conn.send(b"PUB " + between.join(replies) + end)
                answered += len(replies)
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{answered} of {self.count} requests in {self.timeout} s")
        self.conn.flush()
        return {"messages": answered}

    def close(self) -> None:
        self.conn.sock.close()


def with_inbox(port: int, timeout: float) -> Connection:
    conn = Connection(port, timeout)
    conn.subscribe(wire.INBOX + b".*", wire.SUB_SID)
    conn.flush()
    return conn
