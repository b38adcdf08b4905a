"""Fast batches: a stream of messages under flow control, acknowledged now and then.

Messages are stored as they come, like any other; what is special is what the publisher hears. Its control
data is in the reply subject (`fast_reply`): the batch, the number of the message in it, and what to do. It
begins with a message that is answered at once with how many messages there are between two acks, and goes
on with messages that are not answered one by one. An ack says up to which number all is on disk, and how
many to the next ack. So a publisher that has not more than twice that number unacknowledged never stops,
and never floods us.

How many to the next ack is for the server to say: the 500 that a stream allows are shared by its open
batches, no batch gets more than it asked for, and from one ack to the next the number at most doubles or
halves. The first batch begins with all of it, another one with one message.

Numbers that are missing were lost on the way. They are reported as a gap; so is a message that was refused,
as an error. A batch that can live with that (`ok`) goes on, another one (`fail`) ends with what it has. A
number that was there already is the end in any case: the batch is not what we take it for. A ping repeats
the last ack, which may have been lost, too. The end is a PubAck with the sequence of the last message that
was stored, and the last number as the count: messages that were lost or refused within the batch are in it.

Messages that carry on an open batch without a gap, as they do when nothing is lost, are stored as a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.api import level
from jetstream_py.api.errors import ApiError, error
from jetstream_py.api.responses import fast_error, pub_ack_batch, pub_ack_error
from jetstream_py.engine.fast_reply import Op, Reply, parse_reply, parse_run
from jetstream_py.engine.open_batches import OpenBatches

if TYPE_CHECKING:
    from jetstream_py.engine.stream import Stream


class FastBatch:
    """What is known of one batch."""

    __slots__ = ("acked", "every", "flow", "id", "last", "ok", "stored")

    def __init__(self, start: Reply, alone: bool) -> None:
        self.id = start.batch
        self.ok = start.ok  # gaps and errors do not end it
        self.flow = start.flow  # the most messages between acks that it wants
        self.every = min(start.flow, limits.FAST_BATCH_FLOW) if alone else 1
        self.last = 0  # the last number that we have, or know to be lost
        self.acked = 0
        self.stored = 0  # the stream's sequence of the last message that was stored

    def reached(self, share: int) -> bool:
        """Is it time for an ack? `share` is what one batch may have now."""
        steps = (self.last - self.acked) // self.every
        if steps <= 0:
            return False
        self.acked += steps * self.every
        most = max(1, min(self.flow, share))
        wanted = self.every * 2 if self.every < most else self.every // 2
        self.every = min(wanted, most) if self.every < most else max(wanted, most)
        return True

    def ack(self) -> bytes:
        return b'{"type":"ack","seq":%d,"msgs":%d}' % (self.acked, self.every)


class FastBatches:
    """The open batches of one stream."""

    def __init__(self, stream: Stream) -> None:
        shared = stream.shared
        self._stream = stream
        self._open = OpenBatches[FastBatch](shared.fast, shared.clock, shared.timers, _silently)

    def clear(self) -> None:
        """The stream takes no batches any more."""
        self._open.clear()

    @property
    def _share(self) -> int:
        return limits.FAST_BATCH_FLOW // max(1, len(self._open))

    # -- runs --------------------------------------------------------------------------------------

    def publish_run(
        self, subjects: Sequence[bytes], replies: Sequence[bytes], datas: Sequence[bytes]
    ) -> bool:
        """Store messages without headers if they carry on a batch without a gap."""
        run = parse_run(replies)
        batch = self._open.find(run.batch) if run is not None else None
        if run is None or batch is None or run.seq != batch.last + 1:
            return False
        if not self._stream.takes(subjects, datas):
            return False
        count = len(datas)
        batch.stored = self._stream.append_run(subjects, datas) + count - 1
        self._open.heard(batch.id, batch)
        first, end = run.seq, run.seq + count
        at = max(first, batch.acked + batch.every)
        while at < end:
            batch.last = at
            self._flow(batch, replies[at - first])
            at = max(at + 1, batch.acked + batch.every)
        batch.last = end - 1
        return True

    # -- messages ----------------------------------------------------------------------------------

    def publish(self, subject: bytes, reply: bytes, headers: bytes, data: bytes) -> None:
        """One message, whatever it asks for."""
        try:
            headers = self._stream.admit(headers, data)
            batch, ask = self._find(reply, headers)
        except ApiError as refusal:
            if self._stream.probe is not None:
                self._stream.probe.refused(refusal)
            if not self._stream.config.no_ack:
                self._send(reply, pub_ack_error(self._stream.config.name, refusal))
            return
        self._open.heard(batch.id, batch)
        if batch.last == 0 and ask.op is Op.START and not self._stream.config.no_ack:
            self._send(reply, batch.ack())
        if not self._in_order(batch, ask, reply):
            return
        if ask.op is Op.PING:
            self._send(reply, batch.ack())
        elif ask.op is Op.END:
            self._finish(batch, reply, ask.seq - 1)
        else:
            headers = hdr.without(headers, hdr.REQUIRED_API_LEVEL)
            self._store(batch, ask, (subject, reply, headers, data))

    def _find(self, reply: bytes, headers: bytes) -> tuple[FastBatch, Reply]:
        """The batch that a reply speaks of, which may be a new one."""
        if not self._stream.config.allow_batched:
            raise error(10205)
        ask = parse_reply(reply)
        if ask is None:
            raise error(10206)
        if len(ask.batch) > limits.BATCH_ID:
            raise error(10207)
        batch = self._open.find(ask.batch)
        if batch is None:
            if ask.seq != 1 or ask.op is Op.PING:
                raise error(10208)
            if self._open.full:
                raise error(10211)
            batch = FastBatch(ask, alone=not len(self._open))
        if not level.enough(headers):
            self._open.drop(batch.id)
            raise error(10185)
        return batch, ask

    def _in_order(self, batch: FastBatch, ask: Reply, reply: bytes) -> bool:
        """Report what is missing. False if that is the end."""
        wanted = batch.last + 1
        seq = (
            ask.seq + 1 if ask.op is Op.PING else ask.seq
        )  # a ping names the last one that was sent
        if seq == wanted or (ask.op is Op.PING and seq < wanted):
            return True
        self._send(reply, b'{"type":"gap","last_seq":%d,"seq":%d}' % (wanted, seq))
        if not batch.ok or seq < wanted:
            self._finish(batch, reply, batch.last)
            return False
        batch.last = seq - 1
        if ask.op is Op.PING:
            batch.reached(self._share)
        return True

    def _store(self, batch: FastBatch, ask: Reply, item: tuple[bytes, bytes, bytes, bytes]) -> None:
        """A message that is in order."""
        stream, (subject, reply, headers, data) = self._stream, item
        newest = stream.store.last_seq
        try:
            ack = stream.store_message(stream.renamed(subject), headers, data)
        except ApiError as refusal:
            self._refused(batch, ask, reply, refusal)
            return
        batch.last = ask.seq
        duplicate = stream.store.last_seq == newest
        if not duplicate:
            batch.stored = stream.store.last_seq
        if duplicate and not batch.ok and ask.seq == 1 and ask.op is Op.COMMIT:
            self._open.drop(batch.id)
            self._send(reply, pub_ack_batch(ack, batch.id, 1))
            return
        if duplicate or ask.op is not Op.COMMIT:
            self._flow(batch, reply)
        if ask.op is Op.COMMIT:
            self._finish(batch, reply, ask.seq)

    def _refused(self, batch: FastBatch, ask: Reply, reply: bytes, refusal: ApiError) -> None:
        if self._stream.probe is not None:
            self._stream.probe.refused(refusal)
        if not batch.ok and ask.seq == 1:
            self._open.drop(batch.id)
            self._send(reply, pub_ack_error(self._stream.config.name, refusal))
            return
        self._send(reply, fast_error(ask.seq, refusal))
        batch.last = ask.seq
        if not batch.ok or ask.op is Op.COMMIT:
            self._finish(batch, reply, ask.seq - 1)

    def _flow(self, batch: FastBatch, reply: bytes) -> None:
        if batch.reached(self._share):
            self._send(reply, batch.ack())

    def _finish(self, batch: FastBatch, reply: bytes, count: int) -> None:
        self._open.drop(batch.id)
        ack = self._stream.ack_start + b"%d}" % batch.stored
        self._send(reply, pub_ack_batch(ack, batch.id, count))

    def _send(self, reply: bytes, data: bytes) -> None:
        shared = self._stream.shared
        shared.outbox.send(shared.bus, reply, data)


def _silently(batch_id: bytes, batch: FastBatch) -> None:
    """What it has stored stays; there is no advisory for it."""
