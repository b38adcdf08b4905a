"""Publishers of batches: atomic ones, whose commits are answered, and fast ones with flow control."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Final

from benchmarks import wire
from benchmarks.conn import READ_BYTES, Connection, ConnectionLost
from benchmarks.roles.base import Facts
from benchmarks.roles.request import Requester, with_inbox
from benchmarks.tally import Marks

BATCH: Final = 500  # messages of an atomic batch
_FLOW: Final = 500  # messages between acks that a fast batch asks for
_COMMITTED: Final = b'"count":'
_REPLY: Final = wire.INBOX + b".fast.batch.%d.fail.%%d.%%d.$FI" % _FLOW
_START, _APPEND, _COMMIT = range(3)
_ACK: Final = re.compile(rb'"seq":(\d+),"msgs":(\d+)\}')


class AtomicBatches:
    """Frames of whole batches, rendered a few at a time."""

    def __init__(self, load: wire.Load, count: int) -> None:
        self._names = wire.published_names(load, 0, count * BATCH)
        self._payloads = wire.payloads(load)

    def render(self, start: int, stop: int) -> bytes:
        return b"".join(
            self._frame(batch, seq) for batch in range(start, stop) for seq in range(1, BATCH + 1)
        )

    def _frame(self, batch: int, seq: int) -> bytes:
        number = batch * BATCH + seq - 1
        commits = seq == BATCH
        headers = b"NATS/1.0\r\nNats-Batch-Id: %d\r\nNats-Batch-Sequence: %d\r\n" % (batch, seq)
        headers += b"Nats-Batch-Commit: 1\r\n\r\n" if commits else b"\r\n"
        payload = self._payloads[number % len(self._payloads)]
        reply = b" %b.%08d" % (wire.INBOX, batch) if commits else b""
        head = b"HPUB %b%b" % (self._names[number], reply)
        sizes = b" %d %d\r\n" % (len(headers), len(headers) + len(payload))
        return b"".join((head, sizes, headers, payload, b"\r\n"))


@dataclass
class AtomicPublisher(Requester):
    """Keeps up to `window` batches without an answer; `count` is rounded up to whole batches."""

    def prepare(self) -> None:
        self.count = -(-self.count // BATCH)
        self.requests = AtomicBatches(self.load, self.count)
        self.tally = Marks(_COMMITTED)
        self.conn = with_inbox(self.port, self.timeout)

    def run(self) -> Facts:
        messages = self.count * BATCH
        return super().run() | {"messages": messages, "stored": messages}


@dataclass
class FastPublisher:
    """One fast batch of `count` messages, with not more than two acks' worth of them unacknowledged."""

    port: int
    load: wire.Load
    count: int
    timeout: float

    conn: Connection = field(init=False)
    frames: list[bytes] = field(init=False)

    def prepare(self) -> None:
        names = wire.published_names(self.load, 0, self.count)
        pool = wire.payloads(self.load)
        ops = [_START, *[_APPEND] * (self.count - 2), _COMMIT]
        self.frames = [
            b"PUB %b %b %d\r\n%b\r\n" % (name, _REPLY % (seq, op), self.load.size, payload)
            for seq, (name, op, payload) in enumerate(
                zip(names, ops, wire.from_first(pool, 0, self.count), strict=True), 1
            )
        ]
        self.conn = Connection(self.port, self.timeout)
        self.conn.subscribe(wire.INBOX + b".fast.>", wire.SUB_SID)
        self.conn.flush()

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        buffer, data, pings, sent = bytearray(READ_BYTES), b"", 0, 1
        self.conn.send(self.frames[0])
        while _COMMITTED not in data:
            read = bytes(buffer[: self.conn.read(buffer)])
            pings += read.count(wire.PING)
            data = data[-200:] + read
            if b'"error"' in data or b'"gap"' in data or time.monotonic() > deadline:
                raise ConnectionLost(f"{sent} sent, then {data[-200:]!r}")
            acks = _ACK.findall(data)
            until = min(self.count, int(acks[-1][0]) + 2 * int(acks[-1][1])) if acks else 0
            if until > sent:
                self.conn.send(b"".join(self.frames[sent:until]))
                sent = until
        if b'"count":%d}' % self.count not in data + self.conn.flush():
            raise ConnectionLost(f"not all are stored: {data[-200:]!r}")
        return {"messages": self.count, "stored": self.count, "pings": pings}

    def close(self) -> None:
        self.conn.sock.close()
