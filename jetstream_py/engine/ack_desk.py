"""Where acks arrive: from what clients say to what the consumer does.

Acks come by the hundred, and nearly all say the same: this delivery is done. A list of such is taken apart
as columns (a short one in a loop, which costs less there) and settled as one step. Whatever does not have
that form (another word, a reply, a policy that looks at order, deliveries that were repeated) goes one by
one; the result is the same.
"""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING

from jetstream_py.engine import acks
from jetstream_py.engine.acks import Delivery

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer
    from jetstream_py.engine.shared import Item

_dots = methodcaller("count", b".")
TOKENS = 9  # of an ack subject: $JS ACK stream consumer count seq consumer-seq time pending
MORE = 2  # in the second form domain and account follow ACK
FEW = 4  # acks that are not worth the preparation of columns


class AckDesk:
    """The acks of one consumer."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._start = b"$JS.ACK.%b.%b." % consumer.tokens
        self._sampled = 0

    def take(self, items: list[Item]) -> None:
        """What came in one read."""
        if not self._settled(items, 0):
            self._one_by_one(len(self._start), items, exact=True)
            self._consumer.serve()

    def take_v2(self, items: list[Item]) -> None:
        """The same on subjects that name domain and account; more may follow after the usual tokens."""
        if not self._settled(items, MORE):
            consumer = self._consumer
            path = consumer.stream.consumers.path_v2(consumer.name)
            self._one_by_one(len(path) + len(b"$JS.ACK.."), items, exact=False)
            consumer.serve()

    # -- plain ones --------------------------------------------------------------------------------

    def _settled(self, items: list[Item], more: int) -> bool:
        """Settle plain acks together. False: they must be looked at one by one."""
        consumer = self._consumer
        if consumer.config.ack_policy != "explicit" or consumer.sample or consumer.unacked.repeated:
            return False
        seqs = _few(items, more) if len(items) <= FEW else _many(items, more)
        if seqs is None or max(seqs) >= consumer.position.next_seq:
            return False
        consumer.ledger.settle_run(seqs)
        if consumer.pull.waiting or consumer.outlet is not consumer.pull:
            consumer.serve()  # there is room for more
        return True

    # -- one by one --------------------------------------------------------------------------------

    def _one_by_one(self, at: int, items: list[Item], exact: bool) -> None:
        consumer = self._consumer
        confirmed: list[bytes] = []
        for subject, reply, _, data in items:
            tokens = subject[at:].split(b".")
            if len(tokens) < 5 or (len(tokens) > 5 and exact):
                self._no_responder(subject, reply)
                continue
            named = acks.delivery(tokens)
            if named is None or named.seq >= consumer.position.next_seq:
                continue
            if data.startswith(acks.NEXT):
                self._ack(named)
                if reply:
                    consumer.pull.request(reply, data[len(acks.NEXT) :].strip())
                continue
            if self._word(named, data, reply) and reply:
                confirmed.append(reply)
        consumer.changed()
        if confirmed:
            self._confirm(confirmed)

    def _confirm(self, replies: list[bytes]) -> None:
        """Tell the client once the acks are on disk."""
        consumer = self._consumer
        if consumer.journal is not None:
            consumer.journal.write(consumer)
        for reply in replies:
            consumer.shared.outbox.send(consumer.shared.bus, reply, b"")

    def _no_responder(self, subject: bytes, reply: bytes) -> None:
        """On a subject with another number of tokens nobody listens."""
        if reply:
            block = b"NATS/1.0 503\r\nNats-Subject: %b\r\n\r\n" % subject
            self._consumer.shared.bus.publish(reply, b"", b"", block)

    def _word(self, named: Delivery, data: bytes, reply: bytes) -> bool:
        """Do what the client says. False: not at once, and somebody else will confirm it."""
        deliveries, seq, dseq = named
        consumer = self._consumer
        unacked, shared = consumer.unacked, consumer.shared
        if data in acks.ACKS:
            self._ack(named)
        elif data.startswith(acks.NAK):
            if seq in unacked:
                unacked.nak(seq, acks.nak_delay(data), shared.now())
                shared.events.nak(*consumer.names, dseq, seq, deliveries)
        elif data.startswith(acks.TERM):
            reason = data[len(acks.TERM) :].strip().decode("utf-8", "replace")
            if consumer.dead_letters is not None and seq in unacked:
                consumer.dead_letters.terminated(named, reason, reply)
                return False
            self.terminate(named, reason)
        elif data == acks.PROGRESS and seq in unacked:
            unacked.extend(seq, shared.now())
        return True

    def terminate(self, named: Delivery, reason: str) -> None:
        """The client does not want it again."""
        deliveries, seq, dseq = named
        consumer = self._consumer
        consumer.ledger.finish(named)
        consumer.shared.events.terminated(*consumer.names, dseq, seq, deliveries, reason)

    def _ack(self, named: Delivery) -> None:
        consumer = self._consumer
        since = consumer.unacked.since.get(named.seq, 0)
        if consumer.ledger.finish(named) and consumer.sample:
            self._sampled += consumer.sample
            if self._sampled >= 100:
                self._sampled %= 100
                deliveries, seq, dseq = named
                took = consumer.shared.now() - since
                consumer.shared.events.ack_sample(*consumer.names, dseq, seq, took, deliveries)


def _few(items: list[Item], more: int) -> list[int] | None:
    """The sequences of plain acks; None: there is another among them."""
    seqs = []
    for subject, reply, _, word in items:
        tokens = subject.split(b".")
        if reply or word not in acks.ACKS or len(tokens) != TOKENS + more:
            return None
        seq = tokens[5 + more]
        if not seq.isdigit():
            return None
        seqs.append(int(seq))
    return seqs


def _many(items: list[Item], more: int) -> list[int] | None:
    """The same as columns."""
    subjects, replies, _, words = zip(*items, strict=True)
    if any(replies) or not acks.ACKS.issuperset(words):
        return None
    width = TOKENS + more
    if set(map(_dots, subjects)) != {width - 1}:
        return None
    seqs = b".".join(subjects).split(b".")[5 + more :: width]
    if b"" in seqs or not b"".join(seqs).isdigit():
        return None
    return list(map(int, seqs))
