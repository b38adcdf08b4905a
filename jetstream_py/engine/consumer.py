"""One consumer: what to deliver next, and what becomes of it.

A consumer is a position in the stream, the deliveries that are not acked (`unacked`), and an outlet that
knows where messages go (`pull`, `push`). `serve` is the one loop that delivers: first what must go out
again, then what is new, as long as the outlet wants more and `max_ack_pending` allows. It is called
whenever one of these may have changed. It works in slices, so that a consumer with a million messages
ahead does not keep the loop from others.

Only what is on disk is delivered: `wake` is called after the commit, and reads end at `visible_seq`.

Everything that happens by itself (late acks, ends of requests, heartbeats, the end of a pause, inactivity)
hangs on one alarm: the earliest of all. It may ring too early, never too late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jetstream_py.engine.ack_desk import AckDesk
from jetstream_py.engine.position import Position
from jetstream_py.engine.pull import Pull
from jetstream_py.engine.push import Push
from jetstream_py.engine.run import Run
from jetstream_py.engine.unacked import Unacked
from jetstream_py.store import Columns
from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.api.consumer_types import ConsumerConfig
    from jetstream_py.engine.acks import Delivery
    from jetstream_py.engine.journal import Delta, Journal
    from jetstream_py.engine.stream import Stream

DELETED = "Unacknowledged message was deleted"
BY_LIMITS = "Message deleted by stream limits"

SLICE = 1024 * 1024  # bytes delivered before others get their turn
CONGESTED = 2_000_000  # ns until a look whether a slow client has caught up
MAX_PAYLOAD_BURST = 1024 * 1024


class Consumer:
    """A consumer that is open."""

    def __init__(
        self,
        stream: Stream,
        name: str,
        config: ConsumerConfig,
        created_ns: int,
        journal: Journal | None,
    ) -> None:
        self.shared = stream.shared
        self.stream = stream
        self.name = name
        self.created_ns = created_ns
        self.journal = journal
        self.closed = False
        self.names = (stream.config.name, name)
        self.tokens = (stream.config.name.encode(), name.encode())
        self.config = config
        self.position = Position(stream.store, config.filters)
        self.unacked = Unacked(config.ack_wait, config.backoff)
        self.next_dseq = 1
        self.floor_seq = self.floor_stream_seq = 0
        self.delivered_ns = self.acked_ns = 0
        self._serving = False
        self._scheduled = False
        self._unheard: list[int] = []
        self._replay_due = 0
        self._replay_from: tuple[int, int] | None = None  # stored time and delivery of the last one
        self._alarm: Timer | None = None
        self._alarm_at = 0
        self.ack_form = (b"$JS.ACK.%b.%b." % self.tokens).replace(b"%", b"%%")
        self.desk = AckDesk(self)
        self.pull = Pull(self)
        self.outlet: Pull | Push = Push(self) if config.deliver_subject else self.pull
        self._configure()

    def _configure(self) -> None:
        config = self.config
        self._max_pending = config.max_ack_pending if config.ack_policy != "none" else -1
        self.sample = _percent(config.sample_freq)
        self.paused_until_ns = config.pause_ns or 0
        self._was_paused = self.paused

    def update(self, config: ConsumerConfig) -> None:
        """Take a checked configuration."""
        old, self.config = self.config, config
        self._configure()
        if old.filters != config.filters:
            self.position.filter(config.filters)
            self.stream.consumers.refilter()
            self.stream.consumers.release_all()
        if (old.ack_wait, old.backoff) != (config.ack_wait, config.backoff):
            self.unacked.configure(config.ack_wait, config.backoff)
        self.outlet.configure()
        if old.deliver_subject != config.deliver_subject:
            for seq in self.unacked.dseq:  # whoever listened there is not coming back
                self.unacked.queue(seq)
        if self.journal is not None:
            self.journal.save(self)
        self.stream.consumers.announce()

    def start(self) -> None:
        """A new consumer finds its place."""
        self.position.start(self.config)
        self.floor_stream_seq = self.position.next_seq - 1

    def restore(
        self, state: Delta, owed: dict[int, tuple[int, int]], redeliveries: dict[int, int]
    ) -> None:
        """After a restart. What has left the stream meanwhile is owed no more."""
        self.next_dseq = state.next_dseq
        self.floor_seq, self.floor_stream_seq = state.floor_seq, state.floor_stream_seq
        if state.resume:
            self.position.choose(state.next_seq, state.resume)
        self.position.move(state.next_seq)
        offset = self.shared.clock.now_ns() - self.shared.now()
        store = self.stream.store
        for seq in sorted(owed):
            if store.get(seq) is not None:
                dseq, delivered = owed[seq]
                self.unacked.restore(seq, dseq, delivered - offset)
        self.unacked.redeliveries.update(redeliveries)
        self.unacked.restored()

    # -- what others see ---------------------------------------------------------------------------

    @property
    def direct(self) -> bool:
        """Belongs to a mirror or a source: not shown to people."""
        return self.config.direct

    @property
    def delivered_seq(self) -> int:
        return self.next_dseq - 1

    @property
    def delivered_stream_seq(self) -> int:
        return self.position.next_seq - 1

    @property
    def num_ack_pending(self) -> int:
        return len(self.unacked)

    @property
    def num_redelivered(self) -> int:
        return len(self.unacked.redeliveries) if self.config.max_deliver != 1 else 0

    @property
    def num_waiting(self) -> int:
        return len(self.pull.waiting) if self.pull.is_active() else 0

    def num_pending(self) -> int:
        self.stream.consumers.settle()
        return self.position.ahead()

    @property
    def push_bound(self) -> bool:
        return self.outlet is not self.pull and self.outlet.is_active()

    def has_interest(self) -> bool:
        return self.outlet.is_active()

    @property
    def pinned_id(self) -> str:
        return self.pull.pinned.id

    @property
    def pinned_ns(self) -> int:
        return self.pull.pinned.since_ns

    def unpin(self) -> None:
        self.pull.pinned.unpin("admin")
        self.serve()

    def needs(self, seq: int, subject: bytes) -> bool:
        """Is this consumer a reason to keep a message?"""
        return self.holds(seq) and self.position.covers(subject)

    def holds(self, seq: int) -> bool:
        """Is a message ahead, or owed?"""
        unacked = self.unacked
        return self.position.waits_for(seq) or seq in unacked.dseq or seq in unacked.redeliveries

    @property
    def at_limit(self) -> bool:
        """Are as many acks owed as may be?"""
        return 0 < self._max_pending <= len(self.unacked)

    def burst(self) -> float:
        """The largest message that a rate limit must let through."""
        most = self.stream.config.max_msg_size
        return float(most if most > 0 else MAX_PAYLOAD_BURST)

    # -- delivering --------------------------------------------------------------------------------

    def serve(self) -> None:
        """Deliver what can be delivered now."""
        if self._serving or self.closed:
            return
        self._serving = True
        try:
            self._serve()
        finally:
            self._serving = False
        self.arm()

    def _serve(self) -> None:
        outlet, unacked, position = self.outlet, self.unacked, self.position
        left = SLICE
        while wanted := outlet.wants():
            if self.paused:
                outlet.at_end()
                return
            if left <= 0 or outlet.congested():
                self._continue_later(left <= 0)
                return
            if unacked.waiting:
                if not self._send_again():
                    return
                continue
            room = (
                min(wanted, self._max_pending - len(unacked)) if self._max_pending > 0 else wanted
            )
            if room <= 0:
                outlet.at_limit()
                return
            messages = position.read(room, self.stream.visible_seq)
            if not messages:
                outlet.at_end()
                return
            if self.config.replay_policy == "original":
                messages = messages.part(0, 1)
                if not self._on_time(messages.times[0]):
                    return
            sent = outlet.send(Run(self, messages, 1, self.num_pending() - 1))
            if not sent:
                return
            messages = messages.part(0, sent)
            self._delivered(messages)
            if self._unheard:
                self._requeue_unheard()
            left -= sum(map(len, messages.datas)) + 100 * sent

    def _continue_later(self, at_once: bool) -> None:
        if not at_once:
            self._ring_at(self.shared.now() + CONGESTED)
        elif not self._scheduled:
            self._scheduled = True
            self.shared.soon(self._continue)

    def _continue(self) -> None:
        self._scheduled = False
        self.serve()

    def _delivered(self, messages: Columns) -> None:
        """New messages have left."""
        seqs = messages.seqs
        if self.config.ack_policy == "none":
            self.floor_seq = self.next_dseq + len(seqs) - 1
            self.floor_stream_seq = seqs[-1]
        else:
            self.unacked.deliver(seqs, self.next_dseq, self.shared.now())
        self.next_dseq += len(seqs)
        self.position.advance(seqs)
        self.delivered_ns = self.shared.clock.now_ns()
        if self.config.ack_policy == "none":
            self.stream.consumers.settled(self, seqs)
        self.changed()

    def unheard(self, seqs: list[int]) -> None:
        """They left, but their listener was gone: they go out again at once."""
        self._unheard += seqs

    def _requeue_unheard(self) -> None:
        for seq in self._unheard:
            if seq in self.unacked:
                self.unacked.queue(seq)
        self._unheard.clear()

    def _send_again(self) -> bool:
        """Deliver the next one that is due again. False: nobody took it."""
        unacked = self.unacked
        seq = unacked.next_again()
        message = self.stream.store.get(seq) if seq else None
        if message is None:
            if seq:
                self._vanished(seq)
            return True
        redeliveries = unacked.redeliveries.get(seq, 0) + 1
        most = self.config.max_deliver
        if 0 < most <= redeliveries:
            self._give_up(seq)
            return True
        if not self.outlet.send(
            Run(self, Columns.of([message]), redeliveries + 1, self.num_pending())
        ):
            unacked.put_back(seq)
            return False
        unacked.redeliveries[seq] = redeliveries
        unacked.redelivered(seq, self.shared.now())
        self.next_dseq += 1
        self.delivered_ns = self.shared.clock.now_ns()
        self._requeue_unheard()
        self.changed()
        return True

    def _give_up(self, seq: int) -> None:
        """It was delivered as often as it may be."""
        deliveries = self.unacked.redeliveries.get(seq, 0) + 1
        self.unacked.give_up(seq)
        self.shared.events.max_deliver(*self.names, seq, deliveries)
        self.changed()

    def _redeliver_late(self, now: int) -> None:
        most = self.config.max_deliver
        for seq in self.unacked.late(now):
            if 0 < most <= self.unacked.redeliveries.get(seq, 0) + 1:
                self._give_up(seq)
            else:
                self.unacked.queue(seq)

    def _on_time(self, ts: int) -> bool:
        """Replay as it was: may the message leave already?"""
        now = self.shared.now()
        if self._replay_from is not None:
            stored, left = self._replay_from
            due = left + ts - stored
            if due > now:
                self._replay_due = due
                self._ring_at(due)
                return False
        self._replay_from = (ts, now)
        return True

    def changed(self) -> None:
        if self.journal is not None:
            self.journal.changed(self)

    # -- acks --------------------------------------------------------------------------------------

    def finish(self, named: Delivery) -> int:
        """Acked or terminated. Returns the consumer's sequence if one delivery was settled by it."""
        if self.config.ack_policy == "all":
            self.ack_upto(named.dseq, named.seq)
            return 0
        self.acked_ns = self.shared.clock.now_ns()
        return self._settle(named.seq)

    def settle_run(self, seqs: list[int]) -> None:
        """Many acks as one step; none of them was delivered twice."""
        self.acked_ns = self.shared.clock.now_ns()
        dseqs = self.unacked.settle_run(seqs)
        if dseqs:
            self._raise_floor(self.floor_seq + 1 in dseqs)
        self.stream.consumers.settled(self, seqs)
        self.changed()

    def ack_upto(self, dseq: int, seq: int) -> None:
        """Everything up to a delivery is acked."""
        self.acked_ns = self.shared.clock.now_ns()
        if dseq <= self.floor_seq or seq <= self.floor_stream_seq:
            return
        settled = self.unacked.settle_upto(seq)
        self.floor_seq, self.floor_stream_seq = dseq, seq
        self.stream.consumers.settled(self, settled)
        self.changed()

    def _settle(self, seq: int) -> int:
        """A delivery is done with; the floor follows if it was the lowest."""
        dseq = self.unacked.settle(seq)
        if dseq:
            self._raise_floor(dseq == self.floor_seq + 1)
        self.stream.consumers.settled(self, [seq])
        return dseq

    def _raise_floor(self, lowest: bool) -> None:
        """Deliveries were settled, the lowest one among them or not."""
        oldest = self.unacked.oldest()
        if not oldest:
            self.floor_seq, self.floor_stream_seq = self.next_dseq - 1, self.position.next_seq - 1
        elif lowest:
            self.floor_seq, self.floor_stream_seq = self.unacked.dseq[oldest] - 1, oldest - 1

    # -- what happens to the stream ----------------------------------------------------------------

    def removed(self, seqs: Sequence[int], newest: int) -> None:
        """Messages up to `newest` were removed one by one."""
        self.position.removed(newest)
        unacked = self.unacked
        if not unacked.dseq and not unacked.redeliveries:
            return
        for seq in [seq for seq in seqs if seq in unacked.dseq or seq in unacked.redeliveries]:
            if seq in unacked.dseq:
                self._terminate(seq)
            else:
                unacked.settle(seq)

    def trimmed(self, first_seq: int) -> None:
        """The stream begins later than it did."""
        while 0 < (oldest := self.unacked.oldest()) < first_seq:
            self._terminate(oldest)

    def _terminate(self, seq: int, reason: str = DELETED) -> None:
        self.acked_ns = self.shared.clock.now_ns()
        deliveries = max(1, self.unacked.redeliveries.get(seq, 0))  # as nats-server counts here
        dseq = self.unacked.dseq[seq]
        if self.config.ack_policy == "all":
            self.ack_upto(dseq, seq)
        else:
            self._settle(seq)
        self.shared.events.terminated(*self.names, dseq, seq, deliveries, reason)
        self.changed()

    def _vanished(self, seq: int) -> None:
        """It is due again, and not there any more."""
        self._terminate(seq, BY_LIMITS)

    def purged(self, pattern: bytes, removed: Sequence[int]) -> None:
        """A purge took the beginning of the stream, or what matches the pattern."""
        store, unacked, position = self.stream.store, self.unacked, self.position
        everything = pattern and position.within(pattern)
        if pattern and not everything:
            self._purged_some(removed)
            if position.touches(pattern):
                self._follow_the_head()
            self.changed()
            return
        for seq in [seq for seq in unacked.dseq if everything or store.get(seq) is None]:
            self.acked_ns = self.shared.clock.now_ns()
            self._settle(seq)
        for seq in [seq for seq in unacked.redeliveries if everything or seq < store.first_seq]:
            unacked.settle(seq)
        if everything or position.next_seq < store.first_seq:
            position.move(store.last_seq + 1 if everything else store.first_seq)
        else:
            position.removed(position.next_seq)
        if not len(unacked):
            self.floor_seq, self.floor_stream_seq = self.next_dseq - 1, self.position.next_seq - 1
        self.changed()

    def _purged_some(self, removed: Sequence[int]) -> None:
        if removed:
            self.position.removed(max(removed))
        for seq in removed:
            if seq in self.unacked:
                self.acked_ns = self.shared.clock.now_ns()
                self._settle(seq)

    def _follow_the_head(self) -> None:
        """The stream may begin later than the consumer would go on."""
        if self.position.next_seq < self.stream.store.first_seq:
            self.position.move(self.stream.store.first_seq)
            if not len(self.unacked):
                self._raise_floor(lowest=True)

    # -- administration ----------------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        return self.paused_until_ns > 0 and self.paused_until_ns > self.shared.clock.now_ns()

    def pause(self, until_ns: int) -> None:
        """Deliver nothing until then; 0 resumes."""
        self.paused_until_ns = until_ns
        self._was_paused = self.paused
        self.shared.events.paused(*self.names, self.paused, until_ns)
        self.serve()

    def reset(self, seq: int) -> int:
        """Begin again, at the ack floor or at a sequence."""
        target = seq or self.floor_stream_seq + 1
        self.unacked.clear()
        self.next_dseq = 1
        self.delivered_ns = self.acked_ns = 0
        self.floor_seq, self.floor_stream_seq = 0, target - 1
        self.position.move(target)
        if self.journal is not None:
            self.journal.write(self)
        self.stream.consumers.announce()
        return target

    def close(self, deleted: bool) -> None:
        self.closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        self.pull.close(deleted)
        if self.outlet is not self.pull:
            self.outlet.close(deleted)

    # -- time --------------------------------------------------------------------------------------

    def arm(self) -> None:
        """Set the alarm for the earliest thing that will happen by itself."""
        if self.closed:
            return
        due = [self.unacked.next_due(), self.outlet.next_due(), self._replay_due]
        if self.outlet is not self.pull and self.pull.waiting:
            due.append(self.pull.next_due())
        now = self.shared.now()
        if self._was_paused:
            due.append(now + max(0, self.paused_until_ns - self.shared.clock.now_ns()))
        if self.config.inactive_threshold:
            due.append(
                max(self.outlet.active, now) + self.config.inactive_threshold
                if self.outlet.is_active()
                else self.outlet.active + self.config.inactive_threshold
            )
        earliest = min([at for at in due if at], default=0)
        if earliest:
            self._ring_at(earliest)

    def _ring_at(self, at: int) -> None:
        if self._alarm is not None:
            if self._alarm_at <= at:
                return
            self._alarm.cancel()
        self._alarm_at = at
        delay = max(0.0, (at - self.shared.now()) / 1e9)
        self._alarm = self.shared.timers.call_later(delay, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now = self.shared.now() + 1  # the clock counts in floats: do not miss by a rounding
        self._replay_due = 0
        self._redeliver_late(now)
        self.outlet.tick(now)
        if self._was_paused and not self.paused:
            self._was_paused = False
            self.shared.events.paused(*self.names, False, self.paused_until_ns)
        threshold = self.config.inactive_threshold
        if threshold:
            if self.outlet.is_active():
                self.outlet.active = now
            elif self.outlet.active + threshold <= now:
                self.stream.consumers.delete(self.name)
                return
        self.serve()


def _percent(text: str) -> int:
    """`sample_freq`, which was checked before."""
    number = text.removesuffix("%")
    return min(int(number), 100) if number.isdigit() else 0
