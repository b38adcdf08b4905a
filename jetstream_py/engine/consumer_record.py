"""A consumer as an archive keeps it: its configuration, where it is, what it is owed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from jetstream_py.api.consumer_types import ConsumerConfig
from jetstream_py.api.responses import encode
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.engine.journal import Delta
from jetstream_py.gojson.fields import Wire, always

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer

_LARGEST = 1 << 62  # no sequence and no time is beyond this


class Place(Wire):
    consumer_seq: int = always(0)
    stream_seq: int = always(0)


class Pending(Wire, rename={"seq": "Sequence", "ts": "Timestamp"}):
    """A delivery that is not acked: the consumer's sequence of it, and when it was."""

    seq: int = always(0)
    ts: int = always(0)


class State(Wire):
    delivered: Place = always(Place())
    ack_floor: Place = always(Place())
    pending: dict[int, Pending] = msgspec.field(default_factory=dict)
    redelivered: dict[int, int] = msgspec.field(default_factory=dict)


class Record(Wire):
    config: ConsumerConfig = always(ConsumerConfig())
    state: State = always(State())


class Restored(NamedTuple):
    """What a consumer is made of again."""

    config: ConsumerConfig
    delta: Delta
    owed: dict[int, tuple[int, int]]
    redeliveries: dict[int, int]


_decode = msgspec.json.Decoder(Record).decode


def write(consumer: Consumer) -> bytes:
    unacked, ledger = consumer.unacked, consumer.ledger
    offset = consumer.shared.clock.now_ns() - consumer.shared.now()
    state = State(
        delivered=Place(consumer.delivered_seq, consumer.delivered_stream_seq),
        ack_floor=Place(ledger.floor_seq, ledger.floor_stream_seq),
        pending={
            seq: Pending(unacked.dseq[seq], unacked.since[seq] + offset)
            for seq in sorted(unacked.dseq, key=str)  # the order of Go's maps
        },
        redelivered={
            seq: unacked.redeliveries[seq] for seq in sorted(unacked.redeliveries, key=str)
        },
    )
    config = consumer.config
    if not (config.name or config.durable_name):
        config = msgspec.structs.replace(config, name=consumer.name)
    return b'{"config":%b,"state":%b}' % (encode(config), msgspec.json.encode(state))


def read(data: bytes) -> Restored:
    """Raises `ArchiveError`."""
    try:
        record = _decode(data)
    except (msgspec.MsgspecError, UnicodeError) as fault:
        raise ArchiveError(f"a consumer cannot be read: {fault}") from None
    state = record.state
    delivered, floor = state.delivered, state.ack_floor
    numbers = [*_numbers(delivered), *_numbers(floor), *state.pending, *state.redelivered]
    numbers += [number for it in state.pending.values() for number in (it.seq, it.ts)]
    numbers += state.redelivered.values()
    if not all(0 <= number < _LARGEST for number in numbers):
        raise ArchiveError("a consumer has a number that cannot be")
    delta = Delta(
        delivered.stream_seq + 1,
        delivered.consumer_seq + 1,
        min(floor.consumer_seq, delivered.consumer_seq),
        min(floor.stream_seq, delivered.stream_seq),
        0,
        ([], [], []),
        {},
        [],
    )
    owed = {seq: (it.seq, it.ts) for seq, it in state.pending.items()}
    return Restored(record.config, delta, owed, state.redelivered)


def _numbers(place: Place) -> tuple[int, int]:
    return place.consumer_seq, place.stream_seq
