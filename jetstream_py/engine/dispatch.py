"""Delivering: the one loop that decides what leaves next, and when to stop.

`serve` is called whenever something may have changed: after a commit, with a request, an ack, a listener, a
late delivery. It sends first what must go out again, then what is new, as long as the outlet wants more and
`max_ack_pending` allows. It works in slices, so that a consumer with a million messages ahead does not
keep the loop from others, and it waits for clients that cannot keep up.

Only what is on disk is delivered: reads end at the stream's `visible_seq`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jetstream_py.engine.run import Run
from jetstream_py.store import Columns

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer

SLICE = 1024 * 1024  # bytes delivered before others get their turn
LARGE = 1024  # bytes on average: a thousand of these are a slice
CONGESTED = 2_000_000  # ns until a look whether a slow client has caught up


class Dispatcher:
    """Serves the outlet of one consumer."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.serving = False
        self._scheduled = False
        self._unheard: list[int] = []
        self.replay_due = 0
        self._replay_from: tuple[int, int] | None = None  # stored time and delivery of the last one

    def serve(self) -> None:
        """Deliver what can be delivered now."""
        if self.serving or self._consumer.closed:
            return
        self.serving = True
        try:
            self._serve()
        finally:
            self.serving = False
        self._consumer.alarm.arm()

    def _serve(self) -> None:
        consumer = self._consumer
        outlet, unacked, position = consumer.outlet, consumer.unacked, consumer.position
        left = SLICE
        while wanted := outlet.wants():
            if consumer.paused:
                outlet.at_end()
                return
            if left <= 0 or outlet.congested():
                self._continue_later(left <= 0)
                return
            if unacked.waiting:
                if not self._send_again():
                    return
                continue
            room = wanted
            if consumer.max_pending > 0:
                room = min(wanted, consumer.max_pending - len(unacked))
            if room <= 0:
                outlet.at_limit()
                return
            store = consumer.stream.store
            if store.bytes > LARGE * store.messages:  # a run of large messages is more than a slice
                room = min(room, max(1, SLICE * store.messages // store.bytes))
            messages = position.read(room, consumer.stream.visible_seq)
            if not messages:
                outlet.at_end()
                return
            if consumer.config.replay_policy == "original":
                messages = messages.part(0, 1)
                if not self._on_time(messages.times[0]):
                    return
            sent = outlet.send(Run(consumer, messages, 1, consumer.num_pending() - 1))
            if not sent:
                return
            messages = messages.part(0, sent)
            self.delivered(messages.seqs, consumer.shared.now())
            if self._unheard:
                self._requeue_unheard()
            left -= sum(map(len, messages.datas)) + 100 * sent

    def _continue_later(self, at_once: bool) -> None:
        if not at_once:
            self._consumer.alarm.ring_at(self._consumer.shared.now() + CONGESTED)
        elif not self._scheduled:
            self._scheduled = True
            self._consumer.shared.soon(self._continue)

    def _continue(self) -> None:
        self._scheduled = False
        self.serve()

    def delivered(self, seqs: Sequence[int], now: int) -> None:
        """New messages have left."""
        consumer = self._consumer
        acked = consumer.config.ack_policy != "none"
        if acked:
            consumer.unacked.deliver(seqs, consumer.next_dseq, now)
        consumer.next_dseq += len(seqs)
        consumer.position.advance(seqs)
        consumer.delivered_ns = consumer.shared.clock.now_ns()
        if not acked:
            consumer.ledger.delivered(seqs)
        if consumer.journal is not None:
            consumer.journal.changed(consumer)

    def unheard(self, seqs: list[int]) -> None:
        """They left, but their listener was gone: they go out again at once."""
        self._unheard += seqs

    def _requeue_unheard(self) -> None:
        for seq in self._unheard:
            if seq in self._consumer.unacked:
                self._consumer.unacked.queue(seq)
        self._unheard.clear()

    def _send_again(self) -> bool:
        """Deliver the next one that is due again. False: nobody took it."""
        consumer = self._consumer
        unacked = consumer.unacked
        seq = unacked.next_again()
        message = consumer.stream.store.get(seq) if seq else None
        if message is None:
            if seq:
                consumer.ledger.vanished(seq)
            return True
        redeliveries = unacked.redeliveries.get(seq, 0) + 1
        if 0 < consumer.config.max_deliver <= redeliveries:
            self._give_up(seq)
            return True
        run = Run(consumer, Columns.of([message]), redeliveries + 1, consumer.num_pending())
        if not consumer.outlet.send(run):
            unacked.put_back(seq)
            return False
        unacked.redeliveries[seq] = redeliveries
        unacked.redelivered(seq, consumer.shared.now())
        consumer.next_dseq += 1
        consumer.delivered_ns = consumer.shared.clock.now_ns()
        self._requeue_unheard()
        consumer.changed()
        return True

    def _give_up(self, seq: int) -> None:
        """It was delivered as often as it may be."""
        letters = self._consumer.dead_letters
        if letters is not None:
            letters.exhausted(seq)
        else:
            self.give_up(seq)

    def give_up(self, seq: int) -> None:
        """A delivery ends without an ack."""
        deliveries = self._consumer.unacked.redeliveries.get(seq, 0) + 1
        self._consumer.unacked.give_up(seq)
        self._consumer.shared.events.max_deliver(*self._consumer.names, seq, deliveries)
        self._consumer.changed()

    def redeliver_late(self, now: int) -> None:
        most = self._consumer.config.max_deliver
        for seq in self._consumer.unacked.late(now):
            if 0 < most <= self._consumer.unacked.redeliveries.get(seq, 0) + 1:
                self._give_up(seq)
            else:
                self._consumer.unacked.queue(seq)

    def _on_time(self, ts: int) -> bool:
        """Replay as it was: may the message leave already?"""
        now = self._consumer.shared.now()
        if self._replay_from is not None:
            stored, left = self._replay_from
            due = left + ts - stored
            if due > now:
                self.replay_due = due
                self._consumer.alarm.ring_at(due)
                return False
        self._replay_from = (ts, now)
        return True
