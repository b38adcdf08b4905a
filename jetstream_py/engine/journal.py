"""What survives of a consumer: its configuration, its position, its debts.

State is written as deltas: where the consumer is, and every debt that changed since the last one. When the
deltas outgrow the state they describe, the whole state is written and they go, so a change costs the same
whether ten acks are owed or a million. All of it is staged with the store and becomes durable with the
next group commit.

Deliveries and plain acks are written soon, not at once: if the power fails before, messages come again that
were delivered or acked within the last moment, and none is skipped. An ack that wants an answer is written
first and answered after the commit, so what was confirmed never comes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from jetstream_py import limits
from jetstream_py.api.consumer_types import ConsumerConfig
from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer
    from jetstream_py.engine.shared import Shared
    from jetstream_py.store import Store


class StoredConsumer(msgspec.Struct):
    """What does not change by itself."""

    name: str
    created: int
    config: ConsumerConfig


class Delta(msgspec.Struct, array_like=True):
    """A step of the state. `owed` are columns: sequence, consumer's sequence, wall time of delivery."""

    next_seq: int
    next_dseq: int
    floor_seq: int
    floor_stream_seq: int
    resume: int
    owed: tuple[list[int], list[int], list[int]]
    redeliveries: dict[int, int]
    settled: list[int]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Delta).decode
_decode_config = msgspec.json.Decoder(StoredConsumer).decode


def prefix(sid: int) -> bytes:
    return b"c%08x" % sid


class Journal:
    """The records of one consumer."""

    def __init__(self, shared: Shared, sid: int, cid: int) -> None:
        self._shared = shared
        self._key = prefix(sid) + b"%08x" % cid
        self._deltas = 0  # how many there are ...
        self._weight = 0  # ... and their bytes
        self._base = 0  # bytes of the whole state when it was last written
        self._timer: Timer | None = None

    # -- writing -----------------------------------------------------------------------------------

    def save(self, consumer: Consumer) -> None:
        """Stage the configuration."""
        stored = StoredConsumer(consumer.name, consumer.created_ns, consumer.config)
        self._shared.store.put_meta(self._key, msgspec.json.encode(stored))
        self._shared.outbox.commit_soon()

    def changed(self, consumer: Consumer) -> None:
        """The state is to be written soon."""
        if len(consumer.unacked.touched) > limits.JOURNAL_CHANGES:
            self.write(consumer)
        elif self._timer is None:
            self._timer = self._shared.timers.call_later(
                limits.JOURNAL_DELAY, lambda: self.write(consumer)
            )

    def write(self, consumer: Consumer) -> None:
        """Stage what changed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        unacked = consumer.unacked
        whole = self._weight > max(self._base, limits.JOURNAL_WEIGHT) or self._deltas == 0
        touched = unacked.dseq.keys() | unacked.redeliveries.keys() if whole else unacked.touched
        raw = _encode(self._delta(consumer, touched))
        if whole:
            self._forget_deltas()
            self._base = len(raw)
        else:
            self._weight += len(raw)
        unacked.touched = set()
        self._put(self._deltas, raw)
        self._deltas += 1
        self._shared.outbox.commit_soon()

    def _delta(self, consumer: Consumer, touched: set[int]) -> Delta:
        unacked = consumer.unacked
        seqs = sorted(touched & unacked.dseq.keys())
        offset = self._shared.clock.now_ns() - self._shared.now()
        return Delta(
            consumer.position.next_seq,
            consumer.next_dseq,
            consumer.ledger.floor_seq,
            consumer.ledger.floor_stream_seq,
            consumer.position.resume,
            (
                seqs,
                [unacked.dseq[seq] for seq in seqs],
                [unacked.since[seq] + offset for seq in seqs],
            ),
            {seq: n for seq in touched if (n := unacked.redeliveries.get(seq, 0))},
            list(touched - unacked.dseq.keys()),
        )

    def _put(self, number: int, raw: bytes | None) -> None:
        self._shared.store.put_meta(self._key + b"%08x" % number, raw)

    def _forget_deltas(self) -> None:
        for number in range(self._deltas):
            self._put(number, None)
        self._deltas = self._weight = 0

    def delete(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._forget_deltas()
        self._shared.store.put_meta(self._key, None)
        self._shared.outbox.commit_soon()

    # -- reading -----------------------------------------------------------------------------------

    def restore(self, consumer: Consumer, deltas: list[bytes]) -> None:
        """Take the state that was written last."""
        owed: dict[int, tuple[int, int]] = {}
        redeliveries: dict[int, int] = {}
        for raw in deltas:
            delta = _decode(raw)
            for seq in delta.settled:
                owed.pop(seq, None)
                redeliveries.pop(seq, None)
            owed.update(zip(delta.owed[0], zip(*delta.owed[1:], strict=True), strict=True))
            redeliveries.update(delta.redeliveries)
            self._weight += len(raw)
        self._deltas = len(deltas)
        self._base = len(deltas[0]) if deltas else 0
        if deltas:
            consumer.restore(delta, owed, redeliveries)


def stored(store: Store, sid: int) -> list[tuple[int, StoredConsumer, list[bytes]]]:
    """The consumers of a stream: id, configuration, deltas in order."""
    found: dict[bytes, list[bytes]] = {}
    start = prefix(sid)
    for key, raw in store.meta_items(start):
        found.setdefault(key[len(start) :][:8], []).append(raw)
    return [(int(cid, 16), _decode_config(raws[0]), raws[1:]) for cid, raws in found.items()]
