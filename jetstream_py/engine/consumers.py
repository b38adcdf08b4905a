"""The consumers of one stream, and what they mean for it: who is woken, what may be removed.

After a commit the stream is announced, and every consumer whom it concerns (`audience`) looks for new
messages. Messages that are removed one by one are noted by the store and told to the consumers then, or
earlier if somebody asks for their numbers.

With interest and work-queue retention the consumers decide what stays. A message goes when no consumer
needs it any more. To find one that does, the last one found is asked first: usually it is the slowest
consumer that holds a message, so most acks cost one question.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from jetstream_py import limits
from jetstream_py.api.errors import error
from jetstream_py.engine import journal
from jetstream_py.engine.audience import Audience
from jetstream_py.engine.consumer import Consumer
from jetstream_py.engine.journal import Journal
from jetstream_py.engine.naming import short_hash
from jetstream_py.engine.offline import check_consumer

if TYPE_CHECKING:
    from jetstream_py.api.consumer_types import ConsumerConfig
    from jetstream_py.engine.consumer_record import Restored
    from jetstream_py.engine.stream import Stream

RELEASE_RUN = 500  # messages looked at together when it is decided what may go


class Follower(Protocol):
    """A mirror or a source that reads the stream: a consumer that nobody sees."""

    def serve(self) -> None:
        """There may be something new."""
        ...

    def dismissed(self) -> None:
        """The stream is gone, or is not one to read from like this any more."""
        ...


class Consumers(dict[str, Consumer]):
    """By name."""

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self._stream = stream
        self._shared = stream.shared
        self._subs: dict[str, list[Any]] = {}
        self._announced = False  # for the next commit
        self._audience = Audience(self)
        self.purging = False
        self._next_cid = 1
        self._holder: Consumer | None = None  # who needed a message when last asked
        self._interest: dict[bytes, bool] = {}  # subjects that somebody's filter covers, or not
        self._first_seq = 0  # of the stream, when consumers last heard of it
        self.followers: list[Follower] = []

    def shown(self) -> list[Consumer]:
        """Those that people see."""
        return [consumer for consumer in self.values() if not consumer.direct]

    # -- life --------------------------------------------------------------------------------------

    def create(self, name: str, config: ConsumerConfig) -> Consumer:
        """A checked configuration becomes a consumer."""
        kept = self._keeps(config)
        written = self._journal(self._next_cid) if kept else None
        self._next_cid += 1
        created = self._shared.clock.now_ns()
        consumer = Consumer(self._stream, name, config, created, written)
        consumer.start()
        self._add(consumer)
        if written is not None:
            written.save(consumer)
            written.write(consumer)
        self._shared.events.created(*consumer.names)
        self.announce()
        consumer.alarm.arm()
        return consumer

    def recover(self) -> None:
        """Those that the store knows. Raises `Unsupported`."""
        found = list(journal.stored(self._shared.store, self._stream.store.sid))
        for _, stored, _ in found:
            check_consumer(stored.name, stored.config.metadata)
        for cid, stored, deltas in found:
            written = self._journal(cid)
            self._next_cid = max(self._next_cid, cid + 1)
            consumer = Consumer(self._stream, stored.name, stored.config, stored.created, written)
            written.restore(consumer, deltas)
            self._add(consumer)
            consumer.alarm.arm()
        if self:
            self.announce()

    def restore(self, restored: Restored) -> None:
        """One from an archive, with its state. Who had not begun begins as a new one does."""
        config = restored.config
        written = self._journal(self._next_cid) if self._keeps(config) else None
        self._next_cid += 1
        created = self._shared.clock.now_ns()
        consumer = Consumer(self._stream, config.name, config, created, written)
        if config.deliver_policy == "last_per_subject" and restored.delta.next_dseq == 1:
            consumer.start()  # an archive does not say which messages it had chosen
        else:
            consumer.restore(restored.delta, restored.owed, restored.redeliveries)
        self._add(consumer)
        if written is not None:
            written.save(consumer)
            written.write(consumer)
        self.announce()
        consumer.alarm.arm()

    def _journal(self, cid: int) -> Journal:
        return Journal(self._shared, self._stream.store.sid, cid)

    def _keeps(self, config: ConsumerConfig) -> bool:
        return self._stream.config.storage == "file" and not config.mem_storage

    def _add(self, consumer: Consumer) -> None:
        bus = self._shared.bus
        self[consumer.name] = consumer
        self._subs[consumer.name] = subs = []
        if consumer.config.ack_policy in ("all", "explicit"):
            subs.append(bus.collect(b"$JS.ACK.%b.%b.>" % consumer.tokens, consumer.desk.take))
            path = self.path_v2(consumer.name)
            subs.append(bus.collect(b"$JS.ACK.%b.>" % path, consumer.desk.take_v2))
        self.refilter()
        self._stream.store.removed = self._stream.store.removed or []

    def path_v2(self, name: str) -> bytes:
        """The tokens by which a reply to a consumer names domain and account, too."""
        domain = self._shared.domain or "_"
        return f"{domain}.{short_hash(self._shared.account)}.{self._stream.config.name}.{name}".encode()

    def reply_path(self, name: str) -> bytes:
        """The tokens by which replies of messages name a consumer."""
        if self._shared.ack_v2:
            return self.path_v2(name)
        return f"{self._stream.config.name}.{name}".encode()

    def delete(self, name: str) -> None:
        consumer = self.pop(name, None)
        if consumer is None:
            raise error(10014)
        self._close(consumer, deleted=True)
        if consumer.journal is not None:
            consumer.journal.delete()
        self._shared.events.deleted(*consumer.names)
        self.refilter()
        if not self:
            self._stream.store.removed = None
        self.release_all()

    def close(self, deleted: bool) -> None:
        """The stream closes, or is deleted with all its consumers."""
        self.dismiss()
        for consumer in list(self.values()):
            if deleted and consumer.journal is not None:
                consumer.journal.delete()
            elif consumer.journal is not None:
                consumer.journal.write(consumer)
            self._close(consumer, deleted)
            if deleted:
                self._shared.events.deleted(*consumer.names)
        self.clear()
        self._stream.store.removed = None

    def _close(self, consumer: Consumer, deleted: bool) -> None:
        for sub in self._subs.pop(consumer.name):
            self._shared.bus.unsubscribe(sub)
        consumer.close(deleted)
        if self._holder is consumer:
            self._holder = None

    def dismiss(self) -> None:
        """Mirrors and sources may not read here any longer."""
        followers, self.followers = self.followers, []
        for follower in followers:
            follower.dismissed()

    # -- news --------------------------------------------------------------------------------------

    def announce(self, subjects: Collection[bytes] | None = None) -> None:
        """Something may be there to deliver (on these subjects), or not to deliver any more."""
        if not self and not self.followers:
            return
        self._audience.note(subjects)
        if not self._announced:
            self._announced = True
            self._shared.announce(self._stream)

    def take_off(self) -> None:
        """A commit begins: what is announced from now on belongs to the next one."""
        self._announced = False
        self._audience.take_off()

    def wake(self) -> None:
        self.settle()
        for consumer in self._audience.concerned():
            consumer.serve()
        for follower in list(self.followers):
            follower.serve()

    def settle(self) -> None:
        """Tell the consumers which messages are gone."""
        if self.purging:
            return  # they will hear of it when it is done
        removed, first = self._stream.store.removed, self._stream.store.first_seq
        if not removed and first <= self._first_seq:
            return
        self._first_seq = max(first, self._first_seq)
        newest = max(removed) if removed else 0
        if removed:
            self._stream.store.removed = []
        relieved = False
        for consumer in list(self.values()):
            owed = len(consumer.unacked.dseq)
            if not owed and not consumer.unacked.redeliveries:
                consumer.position.removed(removed or (), newest)
                continue
            if removed:
                consumer.ledger.removed(removed, newest)
            consumer.ledger.trimmed(first)
            relieved = relieved or len(consumer.unacked.dseq) < owed
        if relieved:
            self.announce()  # somebody who owed too much may go on

    def purged(self, pattern: bytes, end: int) -> None:
        """A purge is done; with `end`, all that matched before it is gone."""
        self.purging = False
        removed, self._stream.store.removed = self._stream.store.removed, [] if self else None
        for consumer in list(self.values()):
            consumer.ledger.purged(pattern, end, removed or ())
        self.announce()  # somebody who owed too much may go on

    # -- retention ---------------------------------------------------------------------------------

    def refilter(self) -> None:
        """Consumers or their filters have changed."""
        self._interest.clear()
        self._audience.changed()

    def interested(self, subject: bytes) -> bool:
        """Does any consumer want messages on this subject?"""
        known = self._interest.get(subject)
        if known is None:
            if len(self._interest) >= limits.INTEREST_CACHE:
                self._interest.clear()
            known = any(consumer.position.covers(subject) for consumer in self.values())
            self._interest[subject] = known
        return known

    def settled(self, seqs: Sequence[int]) -> None:
        """A consumer is done with messages: they go if that was the last reason to keep them."""
        retention = self._stream.config.retention
        if retention == "limits" or not seqs:
            return
        if retention == "interest":
            seqs = [seq for seq in seqs if not self._held(seq)]
        self._stream.store.discard_all(seqs)
        self._shared.outbox.commit_soon()

    def _held(self, seq: int) -> bool:
        """`_needed`, of which the subject is a part only if some consumer is not past the message."""
        holder = self._holder
        if (holder is None or not holder.holds(seq)) and not any(
            consumer.holds(seq) for consumer in self.values()
        ):
            return False
        message = self._stream.store.get(seq)
        return message is not None and self._needed(seq, message.subject)

    def _needed(self, seq: int, subject: bytes) -> bool:
        if self._holder is not None and self._holder.needs(seq, subject):
            return True
        for consumer in self.values():
            if consumer.needs(seq, subject):
                self._holder = consumer
                return True
        return False

    def release_all(self) -> None:
        """Remove what nobody needs any more: a consumer is gone, or wants less."""
        if self._stream.config.retention == "interest":
            self._release(b"", self._stream.store.last_seq)

    def release_handled(self) -> None:
        """Retention by interest begins: what consumers were done with before goes, and what none of them
        was ever to see stays; without consumers nothing does."""
        if not self:
            self.release_all()
        elif self._stream.config.retention == "interest":
            for consumer in self.values():
                self._release(consumer.position.pattern, consumer.position.next_seq - 1)

    def _release(self, pattern: bytes, up_to: int) -> None:
        """Nobody needs these, so to nobody they are lost: what is owed stays owed."""
        self.settle()
        store = self._stream.store
        seq = store.first_seq
        while run := store.run(seq, RELEASE_RUN, pattern, up_to):
            found = zip(run.seqs, run.subjects, strict=True)
            seq = run.seqs[-1] + 1
            store.discard_all([at for at, subject in found if not self._needed(at, subject)])
        if store.removed:
            newest = max(store.removed)
            for consumer in self.values():
                consumer.position.removed(store.removed, newest)
            store.removed = []
        self._first_seq = store.first_seq
        self._shared.outbox.commit_soon()
