"""The client of a push consumer: a subscriber that acknowledges, or answers flow control."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from benchmarks import wire
from benchmarks.conn import READ_BYTES, Connection, ConnectionLost
from benchmarks.deliveries import Content, Deliveries, acks, nothing
from benchmarks.roles.base import Facts


@dataclass
class PushReader:
    """Takes `due` messages from number `first` on.

    A reader that drives the run subscribes when the clock starts: a consumer delivers as soon as
    somebody listens. One that waits for a publisher listens before.
    """

    port: int
    load: wire.Load
    deliver: str
    first: int
    due: int
    ack: bool
    drives: bool
    timeout: float
    keep: bool = False

    conn: Connection = field(init=False)
    deliveries: Deliveries = field(init=False)

    def prepare(self) -> None:
        self.deliveries = Deliveries(self.load, self.keep)
        self.conn = Connection(self.port, self.timeout)
        if not self.drives:
            self._listen()
            self.deliveries.feed(self.conn.flush())  # Something may have been waiting for us.

    def _listen(self) -> None:
        self.conn.subscribe(self.deliver.encode(), wire.SUB_SID)

    def run(self) -> Facts:
        deadline = time.monotonic() + self.timeout
        buffer = bytearray(READ_BYTES)
        view = memoryview(buffer)
        deliveries, read, send = self.deliveries, self.conn.read, self.conn.send
        if self.drives:
            self._listen()
        received, flow = len(deliveries.replies), 0
        while received < self.due:
            found = deliveries.feed(view[: read(buffer)])
            received += len(found)
            if self.ack and found:
                send(acks(found))
            if deliveries.statuses:
                replies = deliveries.flow_replies()
                flow += len(replies)
                send(nothing(replies))
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{received} of {self.due} in {self.timeout} s")
        deliveries.feed(self.conn.flush())
        return {"messages": received, "flow_replies": flow}

    def prove(self) -> Facts:
        self.deliveries.prove(range(self.first, self.first + self.due))
        if self.keep:
            self.deliveries.prove_content(Content(self.load, self.first + self.due - 1))
        return {}

    def close(self) -> None:
        self.conn.sock.close()
