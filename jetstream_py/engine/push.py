"""Where the messages of a push consumer go: to whoever listens on its deliver subject.

Nothing is sent while nobody listens there. With flow control the consumer keeps a window of bytes: past
half of it the client is asked to answer, and when the window is full delivery stops until it does. Each
answer doubles the window. Without flow control a slow client is waited for as long as its connection can
be filled without being dropped.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from jetstream_py import headers as hdr
from jetstream_py.engine import statuses

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer
    from jetstream_py.engine.run import Run

RUN = 1000
WINDOW_MAX = 32 * 1024 * 1024
WINDOW = WINDOW_MAX // 16
SECOND = 1_000_000_000


class Push:
    """The deliver subject of one consumer."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._bus = consumer.shared.bus
        self._subject = b""
        self._group = b""
        self.bound = False
        self._window = WINDOW
        self._flying = 0  # bytes that no answer has covered
        self._asked = b""  # the subject on which an answer is awaited ...
        self._covered = 0  # ... and the bytes that it will cover
        self._ignored = False  # the last answer acked nothing: the next heartbeat asks again
        self._fc_sub = None
        self._allowance = 0.0  # bytes that the rate limit lets through
        self._filled = consumer.shared.now()
        self.rate_due = 0
        self.beat = 0
        self.active = self._filled
        self.configure()

    def configure(self) -> None:
        config = self._consumer.config
        subject, group = config.deliver_subject.encode(), config.deliver_group.encode()
        if (subject, group) != (self._subject, self._group):
            moved = bool(self._subject)
            if moved:
                self._bus.unwatch(self._subject, self._interest_changed)
            self._subject, self._group = subject, group
            self._bus.watch(subject, self._interest_changed)
            self.bound = not moved and self._bus.bound(subject, group)
            if moved:  # clients see that it is not bound for a moment
                self._consumer.shared.soon(self._interest_changed)
        if config.flow_control and self._fc_sub is None:
            pattern = b"$JS.FC.%b.*" % self._consumer.reply_path
            self._fc_sub = self._bus.subscribe(pattern, self._answered)
        self._acks_by_answer = config.ack_policy == "flow_control"
        self._rate = config.rate_limit_bps / 8
        self._burst = self._consumer.burst()
        self._allowance = min(self._allowance or self._burst, self._burst)
        self._beat_later(self._consumer.shared.now())

    # -- interest ----------------------------------------------------------------------------------

    def _interest_changed(self) -> None:
        if self._consumer.closed:
            return
        was = self.bound
        self.bound = self._bus.bound(self._subject, self._group)
        if was == self.bound:
            return
        now = self.active = self._consumer.shared.now()
        self._window, self._flying, self._asked, self._covered = WINDOW, 0, b"", 0
        if self.bound:
            self._beat_later(now)
            self._consumer.shared.soon(self._consumer.serve)
        self._consumer.alarm.arm()

    def is_active(self) -> bool:
        return self.bound

    # -- deliveries --------------------------------------------------------------------------------

    def wants(self) -> int:
        if not self.bound or (self._consumer.config.flow_control and self._flying > self._window):
            return 0
        if self._rate:
            return 1
        return RUN

    def congested(self) -> bool:
        return self._bus.backlog(self._subject) > WINDOW

    def send(self, run: Run) -> int:
        """Deliver as much of the run as windows and rates allow. Returns how many messages."""
        flow_control = self._consumer.config.flow_control
        sent = len(run)
        if self._rate:
            sent = self._admitted(run.sizes(), flow_control)
        elif flow_control:
            sent = self._within_window(run.sizes())
        if sent:
            self._bus.deliver(self._subject, *run.part(0, sent))
            self._beat_later(self._consumer.shared.now())
        if flow_control and not self._asked and self._flying > self._window // 2:
            self._ask()
        return sent

    def _admitted(self, sizes: list[int], flow_control: bool) -> int:
        for i, size in enumerate(sizes):
            if self._rate and not self._within_rate(size):
                return i
            self._flying += size
            if flow_control and self._flow(size):
                return i + 1
        return len(sizes)

    def _within_window(self, sizes: list[int]) -> int:
        """`_admitted` when there is no rate. An answer that is awaited covers something, so `_flow` has
        nothing to do before the message that fills the window."""
        limit = self._window if self._asked else self._window // 2
        flying = list(accumulate(sizes, initial=self._flying))
        sent = min(bisect_right(flying, limit, 1), len(sizes))
        self._flying = flying[sent]
        self._flow(sizes[sent - 1])
        return sent

    def _flow(self, size: int) -> bool:
        """Is the run to end here, because the client is to be asked or the window is full?"""
        if not self._asked:
            return self._flying > self._window // 2
        if self._flying - self._covered >= self._window:
            self._covered += size
        return self._flying > self._window

    def _ask(self) -> None:
        new = self._consumer.shared.new_id()[-4:].encode()
        self._asked = b"$JS.FC.%b.%b" % (self._consumer.reply_path, new)
        self._covered = self._flying
        self._bus.publish(self._subject, b"", self._asked, statuses.FLOW_CONTROL)

    def _answered(
        self, subject: bytes, reply: bytes, headers: bytes, data: bytes, client: object
    ) -> None:
        if subject != self._asked:
            return
        self._window = min(self._window * 2, WINDOW_MAX)
        self._flying -= self._covered
        self._asked, self._covered = b"", 0
        if self._acks_by_answer:
            dseq, seq = (hdr.get(headers, name) for name in (hdr.LAST_CONSUMER, hdr.LAST_STREAM))
            if not (dseq and seq and dseq.isdigit() and seq.isdigit()):
                self._ignored = True
                return
            self._consumer.ledger.ack_upto(int(dseq), int(seq))
        self._consumer.serve()

    def _within_rate(self, size: int) -> bool:
        """Take the bytes from the bucket, or say when they will be there."""
        now = self._consumer.shared.now()
        gained = (now - self._filled) * self._rate / SECOND
        self._allowance = min(self._burst, self._allowance + gained)
        self._filled = now
        if size > self._allowance:
            missing = size - self._allowance
            self.rate_due = (
                0 if size > self._burst else now + int(missing / self._rate * SECOND) + 1
            )
            return False
        self._allowance -= size
        self.rate_due = 0
        return True

    def at_end(self) -> None:
        """Heartbeats say it."""

    def at_limit(self) -> None:
        """Acks are owed; where answers are acks, ask for one."""
        if self._acks_by_answer and not self._asked and not self._ignored:
            self._ask()

    # -- time --------------------------------------------------------------------------------------

    def tick(self, now: int) -> None:
        if self.rate_due and self.rate_due <= now:
            self.rate_due = 0
        if self.beat and self.beat <= now:
            self._beat_later(now)
            if self.bound:
                consumer = self._consumer
                last = consumer.next_dseq - 1, consumer.position.looked_at
                self._bus.publish(self._subject, b"", b"", statuses.heartbeat(*last, self._asked))
                self._ignored = False
                if len(consumer.unacked):
                    self.at_limit()

    def _beat_later(self, now: int) -> None:
        interval = self._consumer.config.idle_heartbeat
        self.beat = now + interval if interval and self.bound else 0

    def next_due(self) -> int:
        """When something happens by itself, 0 for never."""
        beat, due = self.beat, self.rate_due
        return min(beat, due) if beat and due else beat or due

    def close(self, deleted: bool) -> None:
        self._bus.unwatch(self._subject, self._interest_changed)
        if self._fc_sub is not None:
            self._bus.unsubscribe(self._fc_sub)
