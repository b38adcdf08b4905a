"""The books of a consumer: which deliveries are settled, and up to where all are.

Settled means acked, terminated, or gone from the stream. The ack floor is the delivery below which
everything is settled. It follows when the lowest open delivery is settled, and jumps to the last delivery
when none is open; a message that was delivered as often as it may be is never settled, so the floor waits
below it until then. Retention hears of everything that is settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jetstream_py.engine.acks import Delivery
    from jetstream_py.engine.consumer import Consumer

DELETED = "Unacknowledged message was deleted"
BY_LIMITS = "Message deleted by stream limits"


class Ledger:
    """The books of one consumer."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._unacked = consumer.unacked
        self._position = consumer.position
        self.floor_seq = 0  # of the consumer's sequences ...
        self.floor_stream_seq = 0  # ... and of the stream's
        self.acked_ns = 0  # wall clock

    def _touch(self) -> None:
        self.acked_ns = self._consumer.shared.clock.now_ns()

    # -- acks --------------------------------------------------------------------------------------

    def finish(self, named: Delivery) -> int:
        """Acked or terminated. Returns the consumer's sequence if one delivery was settled by it."""
        if self._consumer.config.ack_policy == "all":
            self.ack_upto(named.dseq, named.seq)
            return 0
        self._touch()
        return self._settle(named.seq)

    def delivered(self, seqs: Sequence[int]) -> None:
        """Without acks a delivery is settled when it has left."""
        self.floor_seq = self._consumer.next_dseq - 1
        self.floor_stream_seq = seqs[-1]
        self._consumer.stream.consumers.settled(seqs)

    def settle_run(self, seqs: list[int]) -> None:
        """Many acks as one step; none of them was delivered twice."""
        self._touch()
        dseqs = self._unacked.settle_run(seqs)
        if dseqs:
            self._raise_floor(self.floor_seq + 1 in dseqs)
        self._consumer.stream.consumers.settled(seqs)
        self._consumer.changed()

    def ack_upto(self, dseq: int, seq: int) -> None:
        """Everything up to a delivery is acked."""
        self._touch()
        if dseq <= self.floor_seq or seq <= self.floor_stream_seq:
            return
        settled = self._unacked.settle_upto(seq)
        # A client may know a delivery that a crash has taken from the journal.
        self.floor_seq = min(dseq, self._consumer.next_dseq - 1)
        self.floor_stream_seq = seq
        self._consumer.stream.consumers.settled(settled)
        self._consumer.changed()

    def _settle(self, seq: int) -> int:
        """A delivery is done with; the floor follows if it was the lowest."""
        dseq = self._unacked.settle(seq)
        if dseq:
            self._raise_floor(dseq == self.floor_seq + 1)
        self._consumer.stream.consumers.settled([seq])
        return dseq

    def _raise_floor(self, lowest: bool) -> None:
        """Deliveries were settled, the lowest one among them or not."""
        oldest = self._unacked.oldest()
        if not oldest:
            self.floor_seq = self._consumer.next_dseq - 1
            self.floor_stream_seq = self._position.next_seq - 1
        elif lowest:
            self.floor_seq = self._unacked.dseq[oldest] - 1
            self.floor_stream_seq = oldest - 1

    # -- what happens to the stream ----------------------------------------------------------------

    def removed(self, seqs: Sequence[int], newest: int) -> None:
        """Messages were removed one by one, `newest` being the last in the stream."""
        self._position.removed(seqs, newest)
        unacked = self._unacked
        for seq in [seq for seq in seqs if seq in unacked.dseq or seq in unacked.redeliveries]:
            if seq in unacked.dseq:
                self._terminate(seq)
            else:
                unacked.settle(seq)

    def trimmed(self, first_seq: int) -> None:
        """The stream begins later than it did."""
        while 0 < (oldest := self._unacked.oldest()) < first_seq:
            self._terminate(oldest)
        self._unacked.forget_before(first_seq)

    def _terminate(self, seq: int, reason: str = DELETED) -> None:
        self._touch()
        deliveries = max(1, self._unacked.redeliveries.get(seq, 0))  # as nats-server counts here
        dseq = self._unacked.dseq[seq]
        if self._consumer.config.ack_policy == "all":
            self.ack_upto(dseq, seq)
        else:
            self._settle(seq)
        self._consumer.shared.events.terminated(
            *self._consumer.names, dseq, seq, deliveries, reason
        )
        self._consumer.changed()

    def vanished(self, seq: int) -> None:
        """It is due again, and not there any more."""
        self._terminate(seq, BY_LIMITS)

    def purged(self, pattern: bytes, end: int, removed: Sequence[int]) -> None:
        """A purge took the beginning of the stream, or messages that match the pattern: if there is an
        `end`, all of them before it."""
        position = self._position
        if not pattern:
            self._lose_upto(self._consumer.stream.store.first_seq)
        elif end and position.within(pattern):
            self._lose_upto(end)
        else:
            self._purged_some(removed)
            if position.touches(pattern):
                self._follow_the_head()
        self._consumer.changed()

    def _lose_upto(self, end: int) -> None:
        """Nothing before `end` is there any more."""
        unacked, position = self._unacked, self._position
        for seq in [seq for seq in unacked.dseq if seq < end]:
            self._touch()
            self._settle(seq)
        for seq in [seq for seq in unacked.redeliveries if seq < end]:
            unacked.settle(seq)
        if position.next_seq < end:
            position.move(end)
        else:
            position.recount()
        if not len(unacked):
            self._raise_floor(lowest=True)

    def _purged_some(self, removed: Sequence[int]) -> None:
        if removed:
            self._position.removed(removed, max(removed))
        for seq in removed:
            if seq in self._unacked:
                self._touch()
                self._settle(seq)

    def _follow_the_head(self) -> None:
        """The stream may begin later than the consumer would go on."""
        if self._position.next_seq < self._consumer.stream.store.first_seq:
            self._position.move(self._consumer.stream.store.first_seq)
            if not len(self._unacked):
                self._raise_floor(lowest=True)
