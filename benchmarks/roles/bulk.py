"""Publisher and subscriber of bulk loads. Neither looks at a single message while the clock runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from benchmarks import wire
from benchmarks.conn import READ_BYTES, SEND_BYTES, Connection, ConnectionLost
from benchmarks.roles.base import Facts


@dataclass
class Publisher:
    """Sends whole cycles, then the END frame if somebody listens, then proves it with a PING."""

    port: int
    load: wire.Load
    cycles: int
    timeout: float
    announce_end: bool

    conn: Connection = field(init=False)
    data: memoryview = field(init=False)
    per_cycle: int = field(init=False)

    def prepare(self) -> None:
        cycle = wire.cycle(self.load)
        self.data = memoryview(cycle.data)
        self.per_cycle = cycle.messages
        self.conn = Connection(self.port, self.timeout)

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        parts = [self.data[at : at + SEND_BYTES] for at in range(0, len(self.data), SEND_BYTES)]
        send = self.conn.send
        for _ in range(self.cycles):
            for part in parts:
                send(part)
            if time.monotonic() > deadline:
                raise ConnectionLost(f"publishing took longer than {self.timeout} s")
        if self.announce_end:
            send(wire.end_pub())
        self.conn.flush()
        return {"messages": self.cycles * self.per_cycle}

    def close(self) -> None:
        self.conn.sock.close()


@dataclass
class Subscriber:
    """Receives until the END frame and checks that exactly the bytes that were due have come."""

    port: int
    load: wire.Load
    cycles: int
    timeout: float
    count_frames: bool = False

    conn: Connection = field(init=False)
    expected: int = field(init=False)
    per_cycle: int = field(init=False)

    def prepare(self) -> None:
        cycle = wire.cycle(self.load)
        self.expected = len(cycle.delivered) * self.cycles + len(wire.end_msg())
        self.per_cycle = cycle.messages
        self.conn = Connection(self.port, self.timeout)
        self.conn.subscribe(wire.subscription(self.load.subjects), wire.SUB_SID)
        self.conn.subscribe(wire.END_SUBJECT, wire.END_SID)
        self.conn.flush()

    def run(self) -> Facts:
        counter = FrameCounter() if self.count_frames else None
        received = self._receive(counter)
        facts: Facts = {
            "messages": self.cycles * self.per_cycle,
            "pings": wire.stray_pings(received, self.expected),
        }
        if counter:
            facts["frames"] = counter.frames - 1  # The END frame is not part of the load.
        return facts

    def _receive(self, counter: FrameCounter | None) -> int:
        """The number of bytes received up to the END frame."""
        deadline = time.monotonic() + self.timeout
        buffer = bytearray(READ_BYTES)
        ending = wire.end_msg()
        keep = len(ending) + 2 * len(wire.PING)
        read = self.conn.read
        tail = b""
        received = 0
        while ending not in tail:
            count = read(buffer)
            received += count
            tail = (tail + buffer[max(0, count - keep) : count])[-keep:]
            if counter:
                counter.feed(bytes(buffer[:count]))
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{received} of {self.expected} bytes in {self.timeout} s")
        return received

    def close(self) -> None:
        self.conn.sock.close()


class FrameCounter:
    """Counts MSG frames across reads; for tests, where the sum of bytes alone is not enough."""

    MARK = b"MSG "

    def __init__(self) -> None:
        self.frames = 0
        self._tail = b""

    def feed(self, data: bytes) -> None:
        data = self._tail + data
        self.frames += data.count(self.MARK)
        # Shorter than the mark, so that no frame is counted twice.
        self._tail = data[-(len(self.MARK) - 1) :]
