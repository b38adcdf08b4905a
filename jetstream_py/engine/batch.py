"""Atomic batches: messages that are stored all together or not at all.

A batch has an id, and its messages are numbered from 1. They are only collected, in memory, until the one
comes that commits: nobody can read them, and they use no sequences. Then every message is checked, as if
those before it were stored already (`batch_checks`). Only when the last check has passed is the first
message appended, and nothing comes in between: the loop has no turn before the last one is. So they have
consecutive sequences; and as the store takes whatever is staged as one group, they share a commit, and a
power cut leaves all of them or none. Whoever reads by sequence sees them from now on, consumers when the
commit is done: in either case all at once.

    seq 1      seq 2      seq 3 commit           all checked          staged at once       one group commit
    (empty)    (empty)        ->        refused: all forgotten   or   PubAck in the outbox        ->  sent

Messages that only carry on a batch are collected as a run, and a batch whose messages ask for nothing else is
stored as one. Everything else goes message by message.

A batch ends before its commit when its numbers have a gap (`incomplete`), when it has more messages than
allowed or all open ones together hold too many bytes (`large`), when a message wants an API that we do not
have (`unsupported`), or when it rests too long (`timeout`): these are told to whoever listens for
advisories. One that is refused when it is committed, or because it cannot be understood, is forgotten
silently; its publisher knows. What is open when the server stops is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.api import level
from jetstream_py.api.errors import ApiError, error
from jetstream_py.api.responses import pub_ack_batch
from jetstream_py.engine.batch_checks import Draft, Planned
from jetstream_py.engine.headed import MOST
from jetstream_py.engine.open_batches import OpenBatches
from jetstream_py.gotext import utf8

if TYPE_CHECKING:
    from jetstream_py.engine.shared import Item
    from jetstream_py.engine.stream import Stream

ONE = b"1"  # commits with this message
EOB = b"eob"  # commits without it

NO_LIMIT = 1 << 62
_SEQUENCE = 1 << 64
_OWN = (hdr.BATCH_ID, hdr.BATCH_SEQUENCE, hdr.BATCH_COMMIT)


class Batch:
    """What has been collected."""

    __slots__ = ("id", "messages", "size")

    def __init__(self, batch_id: bytes) -> None:
        self.id = batch_id
        self.messages: list[tuple[bytes, bytes, bytes]] = []  # subject, headers, payload
        self.size = 0


class AtomicBatches:
    """The open batches of one stream."""

    def __init__(self, stream: Stream) -> None:
        shared = stream.shared
        self._stream = stream
        self._inflight = shared.atomic
        self._open = OpenBatches[Batch](shared.atomic, shared.clock, shared.timers, self._expired)

    def publish(self, subject: bytes, headers: bytes, data: bytes) -> bytes:
        """A message of a batch; returns the answer, which is empty unless it commits."""
        stream = self._stream
        headers = stream.admit(headers, data)
        if not stream.config.allow_atomic:
            raise error(10174)
        batch, seq = self._find(headers)
        commit = hdr.get(headers, hdr.BATCH_COMMIT)
        if commit is not None and commit not in (ONE, EOB):
            self._forget(batch)
            raise error(10200)
        self._check(batch, seq, commit == EOB, headers)
        if commit != EOB:
            headers = hdr.without(headers, hdr.REQUIRED_API_LEVEL)
            self._collect(batch, subject, headers, data)
        if commit is None:
            self._open.heard(batch.id, batch)
            if stream.probe is not None:
                stream.probe.waits = True
            return b""
        self._forget(batch)
        if commit == EOB:
            subject, headers, data = batch.messages[-1]
            headers = hdr.extend(headers, (hdr.BATCH_COMMIT, ONE))
            batch.messages[-1] = subject, headers, data
        seq = self._store(batch)
        return pub_ack_batch(stream.ack_start + b"%d}" % seq, batch.id, len(batch.messages))

    def __len__(self) -> int:
        return len(self._open)

    def carry_on(self, items: Sequence[Item], at: int) -> int:
        """Collect messages from there on that carry on an open batch and do nothing else: no gap, no answer,
        no other header of ours. Returns how many; what `publish` does with the others it does for each."""
        stream, inflight = self._stream, self._inflight
        batch_id = hdr.get(items[at][2], hdr.BATCH_ID) if stream.runs else None
        batch = self._open.find(batch_id) if batch_id else None
        if batch is None:
            return 0
        start = b"NATS/1.0\r\n%b: %b\r\n%b: " % (hdr.BATCH_ID, batch.id, hdr.BATCH_SEQUENCE)
        most = stream.config.max_msg_size if stream.config.max_msg_size >= 0 else NO_LIMIT
        seq, size, room = len(batch.messages), 0, limits.BATCH_BYTES - inflight.bytes
        found: list[tuple[bytes, bytes, bytes]] = []
        for subject, reply, headers, data in islice(items, at, at + inflight.limits.msgs - seq):
            seq += 1
            expected = b"%b%d\r\n" % (start, seq)
            size += limits.BATCH_OVERHEAD + len(subject) + len(headers) + len(data)
            if (
                reply
                or not headers.startswith(expected)
                or headers.find(hdr.PREFIX, len(expected) - 2) >= 0
                or len(headers) + len(data) > most
                or size > room
            ):
                size -= limits.BATCH_OVERHEAD + len(subject) + len(headers) + len(data)
                break
            found.append((subject, headers, data))
        if found:
            batch.messages += found
            batch.size += size
            inflight.bytes += size
            self._open.heard(batch.id, batch)
        return len(found)

    def clear(self) -> None:
        """The stream takes no batches any more."""
        for batch in self._open.clear():
            self._inflight.bytes -= batch.size

    # -- collecting --------------------------------------------------------------------------------

    def _find(self, headers: bytes) -> tuple[Batch, int]:
        """The batch of a message, which may be a new one, and the message's number in it."""
        batch_id = hdr.get(headers, hdr.BATCH_ID) or b""
        if len(batch_id) > limits.BATCH_ID:
            raise error(10179)
        seq = _number(hdr.get(headers, hdr.BATCH_SEQUENCE))
        if seq is None:
            raise error(10175)
        batch = self._open.find(batch_id)
        if batch is not None:
            return batch, seq
        if seq != 1:
            raise self._too_large() if seq > self._inflight.limits.msgs else error(10176)
        if self._open.full:
            raise error(10210)
        return Batch(batch_id), seq

    def _check(self, batch: Batch, seq: int, eob: bool, headers: bytes) -> None:
        """May the message be a part of the batch?"""
        have = len(batch.messages)
        if not level.enough(headers):
            raise self._abandoned(batch, "unsupported", error(10185))
        if seq != have + 1 or (eob and not have):
            raise self._abandoned(batch, "incomplete", error(10176))
        if not eob and seq > self._inflight.limits.msgs:
            raise self._abandoned(batch, "large", self._too_large())

    def _collect(self, batch: Batch, subject: bytes, headers: bytes, data: bytes) -> None:
        size = limits.BATCH_OVERHEAD + len(subject) + len(headers) + len(data)
        if self._inflight.bytes + size > limits.BATCH_BYTES:
            raise self._abandoned(batch, "large", error(10023))
        batch.messages.append((subject, headers, data))
        batch.size += size
        self._inflight.bytes += size

    def _too_large(self) -> ApiError:
        return error(10199, size=self._inflight.limits.msgs)

    # -- the end -----------------------------------------------------------------------------------

    def _store(self, batch: Batch) -> int:
        """All or nothing; returns the sequence of the last one."""
        stream = self._stream
        subjects, headers, datas = zip(*batch.messages, strict=True)
        plain = stream.runs and stream.probe is None and _asks_nothing(headers)
        if plain and stream.takes(subjects, datas, headers):
            first = stream.append_run(subjects, datas, headers)
            stream.consumers.announce(subjects)
            return first + len(subjects) - 1
        draft = Draft(stream)
        plan = [draft.add(*message) for message in batch.messages]
        draft.check_room()
        if stream.probe is not None:
            stream.probe.arrive(plan[-1].subject, stream.wants(plan[-1].subject))
        seqs = [self._place(planned) for planned in plan]
        # Most of them came earlier than what the stream is about to announce.
        stream.consumers.announce([planned.subject for planned in plan])
        return seqs[-1]

    def _place(self, planned: Planned) -> int:
        stream = self._stream
        if not stream.wants(planned.subject):
            return stream.skip(planned.msg_id, planned.ends)
        return stream.place(*planned)

    def _abandoned(self, batch: Batch, reason: str, refusal: ApiError) -> ApiError:
        self._forget(batch)
        self._tell(batch, reason)
        return refusal

    def _expired(self, batch_id: bytes, batch: Batch) -> None:
        self._forget(batch)
        self._tell(batch, "timeout")

    def _forget(self, batch: Batch) -> None:
        self._open.drop(batch.id)
        self._inflight.bytes -= batch.size
        batch.size = 0

    def _tell(self, batch: Batch, reason: str) -> None:
        stream = self._stream
        stream.shared.batch_abandoned(stream.config.name, utf8(batch.id), reason)


def _asks_nothing(headers: Sequence[bytes]) -> bool:
    """No message has a header of ours beside those that make it a part of the batch?"""
    text = b"".join(headers)
    own = sum(text.count(b"\r\n%b:" % name) for name in _OWN)
    return text.count(hdr.PREFIX) == own and max(map(len, headers)) <= MOST


def _number(text: bytes | None) -> int | None:
    """Digits that are a sequence."""
    if not text or not text.isdigit() or len(text) > limits.BATCH_DIGITS:
        return None
    number = int(text)
    return number if number < _SEQUENCE else None
