"""The streams of an account: their names, their subjects, their life.

Every stream is one more subscriber of core NATS: it listens on its subjects through `Internal`, and a
publish reaches it as it reaches anybody. Two streams never listen on overlapping subjects, so a message
is stored once and its PubAck is unambiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from jetstream_py.api.errors import error
from jetstream_py.api.types import StreamConfig
from jetstream_py.engine.idle import IdleCheckpoint
from jetstream_py.engine.interval import SyncInterval
from jetstream_py.engine.outbox import Outbox
from jetstream_py.engine.settings import Settings
from jetstream_py.engine.shared import Bus, Shared
from jetstream_py.engine.stream import Stream
from jetstream_py.subject import overlap

if TYPE_CHECKING:
    from jetstream_py.clock import Clock
    from jetstream_py.store import Store
    from jetstream_py.timers import Timers


class Stored(msgspec.Struct):
    """What the store keeps of a stream besides its messages."""

    created: int
    config: StreamConfig


class JetStream:
    """All streams that one account has."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        timers: Timers,
        bus: Bus,
        soon: Callable[[Callable[[], None]], object],
        failed: Callable[[str], None],
        server_name: str = "",
        new_id: Callable[[], str] = lambda: "",
        most: Mapping[str, int] | None = None,
        settings: Settings = Settings(),  # noqa: B008 - it is frozen
    ) -> None:
        """`soon` runs a function at the end of the tick."""
        self.store = store
        self.server_name = server_name
        self.new_id = new_id
        self.settings = settings
        self.most = most or {}  # bytes that streams of a kind may reserve together
        self.clock = clock
        self.bus = bus
        self._interval: SyncInterval | None = None
        commit_soon = soon
        if store.lazy:
            self._interval = SyncInterval(store, timers, soon, settings.sync_interval)
            commit_soon = self._interval.soon
        self.outbox = Outbox(store, commit_soon, failed)
        if self._interval is not None:
            self._interval.commit_soon = self.outbox.commit_soon
        self._idle = IdleCheckpoint(store, timers, self.outbox.commit_soon)
        self.shared = Shared(clock, timers, store, self.outbox, bus, soon, new_id, settings)
        self.streams: dict[str, Stream] = {}
        self._subs: dict[str, list[Any]] = {}

    def recover(self) -> None:
        """Open what the store holds."""
        decoder = msgspec.json.Decoder(Stored)
        for raw, store in self.store.streams().values():
            stored = decoder.decode(raw)
            stream = Stream(self.shared, stored.config, store, stored.created)
            stream.recover()
            self.streams[stored.config.name] = stream
            self._listen(stream)
        if self.store.dirty:
            self.outbox.commit_soon()
        if self.streams:
            self._idle.arm()

    def close(self) -> None:
        self._idle.close()
        if self._interval is not None:
            self._interval.close()
        for name, stream in self.streams.items():
            self._mute(name)
            stream.close()

    # -- looking things up ------------------------------------------------------------------------

    def stream(self, name: str) -> Stream:
        stream = self.streams.get(name)
        if stream is None:
            raise error(10059)
        return stream

    def names(self, subject: bytes = b"") -> list[str]:
        """In order; with `subject`, those that listen to any part of it."""
        return sorted(
            name
            for name, stream in self.streams.items()
            if not subject or any(overlap(subject, own) for own in stream.subjects)
        )

    # -- creating and changing --------------------------------------------------------------------

    def create(self, config: StreamConfig) -> Stream:
        """A checked configuration becomes a stream. The same one again is the same stream."""
        existing = self.streams.get(config.name)
        if existing is not None:
            if existing.config != config:
                raise error(10058)
            return existing
        self._check_subjects(config)
        self._check_reservation(config, 0)
        created = self.clock.now_ns()
        raw = msgspec.json.encode(Stored(created, config))
        store = self.store.create(raw, memory=config.storage == "memory")
        if config.first_seq > 1:
            store.start_at(config.first_seq)
        stream = Stream(self.shared, config, store, created)
        self.streams[config.name] = stream
        self._listen(stream)
        self.outbox.commit_soon()
        return stream

    def update(self, config: StreamConfig) -> Stream:
        stream = self.stream(config.name)
        self._check_subjects(config)
        self._check_reservation(config, max(0, stream.config.max_bytes))
        self.store.save(stream.store.sid, msgspec.json.encode(Stored(stream.created_ns, config)))
        changed = config.subjects != stream.config.subjects
        retention = stream.config.retention
        stream.configure(config)
        if retention != config.retention:
            stream.consumers.release_handled()
        if changed:
            self._mute(config.name)
            self._listen(stream)
        self.outbox.commit_soon()
        return stream

    def delete(self, name: str) -> None:
        stream = self.stream(name)
        self._mute(name)
        stream.close(deleted=True)
        del self.streams[name]
        self.store.delete(stream.store.sid)
        self.outbox.commit_soon()

    def _check_subjects(self, config: StreamConfig) -> None:
        for subject in config.subjects or ():
            for name, stream in self.streams.items():
                if name != config.name and any(
                    overlap(subject.encode(), own) for own in stream.subjects
                ):
                    raise error(10065)

    def _check_reservation(self, config: StreamConfig, held: int) -> None:
        """Streams that say how large they may grow must fit in what the server was given."""
        most = self.most.get(config.storage, 0)
        wanted = self.reserved(config.storage) - held + config.max_bytes
        if most > 0 and config.max_bytes > 0 and wanted > most:
            raise error(10047 if config.storage == "file" else 10028)

    def _listen(self, stream: Stream) -> None:
        self._subs[stream.config.name] = [
            self.bus.collect(subject, stream.publish) for subject in stream.subjects
        ]

    def _mute(self, name: str) -> None:
        for sub in self._subs.pop(name, ()):
            self.bus.unsubscribe(sub)

    # -- usage ------------------------------------------------------------------------------------

    def used(self, storage: str) -> int:
        """Bytes of all streams of a kind."""
        return sum(
            stream.store.bytes
            for stream in self.streams.values()
            if stream.config.storage == storage
        )

    def reserved(self, storage: str) -> int:
        """Bytes that streams of a kind may grow to, as far as they say."""
        return sum(
            max(0, stream.config.max_bytes)
            for stream in self.streams.values()
            if stream.config.storage == storage
        )
