"""One consumer: its parts, its life, and what others may know of it.

A consumer is a position in the stream (`position`), deliveries that are not acked (`unacked`), books of what
is settled (`ledger`), an outlet that knows where messages go (`pull` or `push`), a loop that delivers
(`dispatch`), a desk where acks arrive (`ack_desk`), one alarm for all that happens by itself (`alarm`), and
a journal of what must survive (`journal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py.api.extensions import dead_letter_address
from jetstream_py.engine.ack_desk import AckDesk
from jetstream_py.engine.alarm import Alarm
from jetstream_py.engine.dead_letters import DeadLetters
from jetstream_py.engine.dispatch import Dispatcher
from jetstream_py.engine.ledger import Ledger
from jetstream_py.engine.position import Position
from jetstream_py.engine.pull import Pull
from jetstream_py.engine.push import Push
from jetstream_py.engine.unacked import Unacked

if TYPE_CHECKING:
    from jetstream_py.api.consumer_types import ConsumerConfig
    from jetstream_py.engine.journal import Delta, Journal
    from jetstream_py.engine.stream import Stream


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
        self.delivered_ns = 0  # wall clock
        self.reply_path = stream.consumers.reply_path(name)
        self.ack_start = b"$JS.ACK.%b." % self.reply_path
        self.ack_form = self.ack_start.replace(b"%", b"%%")
        self.ledger = Ledger(self)
        self.desk = AckDesk(self)
        self.alarm = Alarm(self)
        self.dispatcher = Dispatcher(self)
        self.serve = self.dispatcher.serve
        self.pull = Pull(self)
        self.dead_letters: DeadLetters | None = None
        self.outlet: Pull | Push = Push(self) if config.deliver_subject else self.pull
        self._configure()

    def _configure(self) -> None:
        config = self.config
        self.max_pending = config.max_ack_pending if config.ack_policy != "none" else -1
        self.sample = _percent(config.sample_freq)
        self.paused_until_ns = config.pause_ns or 0
        self.was_paused = self.paused
        self._address_dead_letters()

    def _address_dead_letters(self) -> None:
        address, letters = dead_letter_address(self.config.metadata), self.dead_letters
        if address is None:
            self.dead_letters = None
            if letters is not None:
                letters.abandon()
        elif letters is None:
            self.dead_letters = DeadLetters(self, address)
        else:
            letters.address = address

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
        self.ledger.floor_stream_seq = self.position.next_seq - 1

    def restore(
        self, state: Delta, owed: dict[int, tuple[int, int]], redeliveries: dict[int, int]
    ) -> None:
        """After a restart. What has left the stream meanwhile is owed no more."""
        self.next_dseq = state.next_dseq
        self.ledger.floor_seq = state.floor_seq
        self.ledger.floor_stream_seq = state.floor_stream_seq
        if state.resume:
            self.position.choose(state.next_seq, state.resume)
        self.position.move(state.next_seq)
        offset = self.shared.clock.now_ns() - self.shared.now()
        store = self.stream.store
        for seq in sorted(owed):
            if store.get(seq) is not None:
                dseq, delivered = owed[seq]
                self.unacked.restore(seq, dseq, delivered - offset)
        self.unacked.redeliveries.update(
            (seq, n) for seq, n in redeliveries.items() if store.get(seq) is not None
        )
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
        return 0 < self.max_pending <= len(self.unacked)

    def burst(self) -> float:
        """The largest message that a rate limit must let through."""
        most = self.stream.config.max_msg_size
        return float(most if most > 0 else self.shared.max_payload)

    def changed(self) -> None:
        if self.journal is not None:
            self.journal.changed(self)

    # -- administration ----------------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        return self.paused_until_ns > 0 and self.paused_until_ns > self.shared.clock.now_ns()

    def pause(self, until_ns: int) -> None:
        """Deliver nothing until then; 0 resumes."""
        self.paused_until_ns = until_ns
        self.was_paused = self.paused
        self.shared.events.paused(*self.names, self.paused, until_ns)
        self.serve()

    def reset(self, seq: int) -> int:
        """Begin again, at the ack floor or at a sequence."""
        ledger = self.ledger
        target = seq or ledger.floor_stream_seq + 1
        self.unacked.clear()
        self.next_dseq = 1
        self.delivered_ns = ledger.acked_ns = 0
        ledger.floor_seq, ledger.floor_stream_seq = 0, target - 1
        self.position.move(target)
        if self.journal is not None:
            self.journal.write(self)
        self.stream.consumers.announce()
        return target

    def close(self, deleted: bool) -> None:
        self.closed = True
        self.alarm.cancel()
        self.pull.close(deleted)
        if self.outlet is not self.pull:
            self.outlet.close(deleted)


def _percent(text: str) -> int:
    """`sample_freq`, which was checked before."""
    number = text.removesuffix("%")
    return min(int(number), 100) if number.isdigit() else 0
