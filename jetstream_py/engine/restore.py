"""A stream comes back from its archive.

Messages go into the store as they arrive, under a record that says that the stream is not whole: nobody sees
it, and if the server stops, the next start removes it. When the archive is complete, the record of the stream
and those of its consumers are written in one commit, and the stream opens as after a restart.

Nothing in an archive is believed: names are compared, never used as paths; sizes and sequences have bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from jetstream_py import limits
from jetstream_py.api.errors import ApiError
from jetstream_py.backup import archive
from jetstream_py.backup.blockfile import Gone
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.engine import consumer_record
from jetstream_py.engine.engine import Stored
from jetstream_py.engine.expiry import Lifetimes
from jetstream_py.engine.origin import Origin
from jetstream_py.engine.source import Position, position_of
from jetstream_py.engine.stream import MAX_HEADERS
from jetstream_py.subject import is_valid_literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from jetstream_py.api.consumer_types import ConsumerConfig
    from jetstream_py.api.types import StreamConfig
    from jetstream_py.backup.archive import Entry
    from jetstream_py.engine.jetstream import JetStream
    from jetstream_py.engine.stream import Stream

    CheckConsumer = Callable[[ConsumerConfig], ConsumerConfig]  # raises `ApiError`

_LARGEST: Final = 1 << 62  # no sequence and no time is beyond this


class _State(msgspec.Struct):
    """What is used of `state.json`; the rest follows from the messages."""

    first_seq: int | None = None  # a tar does not tell it of a stream that never had a message
    last_seq: int = 0


class Restoration:
    """A stream that is not whole yet."""

    def __init__(self, js: JetStream, config: StreamConfig) -> None:
        self._js = js
        self.config = config
        self._created = js.clock.now_ns()
        stored = Stored(self._created, config, js.account, restoring=True)
        memory = config.storage == "memory"
        self.store = js.store.create(msgspec.json.encode(stored), memory)
        self._lifetimes = Lifetimes()
        self._sources = {Origin(each).key for each in config.sources}
        self._positions: dict[str, Position] = {}  # how far each had come
        self._state: _State | None = None
        self._consumers: dict[str, bytes] = {}
        self._weight = 0  # bytes of these

    def take(self, item: Entry | Gone) -> None:
        """The next item of the archive. Raises `ArchiveError`."""
        if isinstance(item, Gone):
            self.store.discard(item.seq)
        elif item.seq:
            self._take_message(item)
        elif item.name == archive.STATE:
            self._take_state(item)
        elif item.name.startswith(archive.CONSUMERS):
            self._take_consumer(item)
        else:
            raise ArchiveError("message sequence 0 out of order")

    def _take_state(self, entry: Entry) -> None:
        try:
            state = msgspec.json.decode(entry.data, type=_State)
        except (msgspec.MsgspecError, UnicodeError) as fault:
            raise ArchiveError(f"state.json cannot be read: {fault}") from None
        if not (0 <= (state.first_seq or 0) < _LARGEST and 0 <= state.last_seq < _LARGEST):
            raise ArchiveError("state.json has a number that cannot be")
        self._state = state

    def _take_consumer(self, entry: Entry) -> None:
        self._weight += len(entry.data)
        if self._weight > limits.RESTORE_CONSUMERS:
            raise ArchiveError("the consumers are too large")
        name = entry.name[len(archive.CONSUMERS) :].decode("utf-8", "replace")
        if name in self._consumers:
            raise ArchiveError(f"there are two consumers {name!r}")
        self._consumers[name] = entry.data

    def _take_message(self, entry: Entry) -> None:
        subject, ts, seq, headers, data = entry
        if seq <= self.store.last_seq:
            raise ArchiveError(f"message sequence {seq} out of order")
        if seq >= _LARGEST or not 0 <= ts < _LARGEST:
            raise ArchiveError("a message has a number that cannot be")
        if not is_valid_literal(subject) or subject.split() != [subject]:
            raise ArchiveError(f"message sequence {seq} has a bad subject")
        if headers and not _are_headers(headers):
            raise ArchiveError(f"message sequence {seq} has bad headers")
        self.store.append(subject, headers, data, ts, seq)
        if headers and self.config.allow_msg_ttl:
            self._lifetimes.add(seq, ts, headers, self._created)
        if headers and self._sources:
            position = position_of(headers)
            if position is not None and position.key in self._sources:
                self._positions[position.key] = position

    # -- the end -----------------------------------------------------------------------------------

    def finish(self, check: CheckConsumer) -> Stream:
        """The archive is complete. Raises `ArchiveError` or `ApiError`; then `abandon` is due."""
        if self._state is None:
            raise ArchiveError("EOF")
        consumers = [self._checked(name, check) for name in self._consumers]
        store, state = self.store, self._state
        if state.first_seq is not None and not store.messages and not store.last_seq:
            store.start_at(max(state.first_seq, 1))
        if state.last_seq > store.last_seq:
            store.skip(state.last_seq - store.last_seq)
        positions = self._positions.values()
        return self._js.adopt(
            self.config, store, self._created, self._lifetimes, positions, consumers
        )

    def _checked(self, name: str, check: CheckConsumer) -> consumer_record.Restored:
        found = consumer_record.read(self._consumers[name])
        config = found.config
        if not (config.name or config.durable_name):
            config = replace(config, name=name)
        if (config.name or config.durable_name) != name:
            raise ArchiveError(f"the consumer {name!r} has another name inside")
        try:
            checked = check(config)
        except ApiError as fault:
            raise ArchiveError(f"error adding consumer {name!r}: {fault.description}") from None
        # What a check notes there of the request would be of a request that nobody has made.
        return found._replace(config=replace(checked, metadata=found.config.metadata))

    def abandon(self) -> None:
        """It comes to nothing."""
        self._js.store.delete(self.store.sid)
        self._js.outbox.commit_soon()


def _are_headers(block: bytes) -> bool:
    whole = block.startswith(b"NATS/1.0") and block.endswith(b"\r\n\r\n")
    return whole and len(block) <= MAX_HEADERS
