"""The streams of an account: their names, their subjects, their life.

Every stream is one more subscriber of core NATS: it listens on its subjects through `Internal`, and a
publish reaches it as it reaches anybody in its account. Two streams of an account never listen on
overlapping subjects, so a message is stored once and its PubAck is unambiguous.

An account that has no JetStream is here, too, with no streams: it is `enabled` when it gets an allowance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from jetstream_py.api.errors import error
from jetstream_py.api.extensions import TEMPLATE_OF, template_rule
from jetstream_py.api.reservation import check_reservation, most_bytes
from jetstream_py.api.types import AccountLimits, StreamConfig
from jetstream_py.engine.engine import GLOBAL, Engine, Parked, Stored
from jetstream_py.engine.offline import Offline, Unsupported, check_level
from jetstream_py.engine.quota import Allowance, Quota, Tally
from jetstream_py.engine.shared import Bus, Shared
from jetstream_py.engine.stream import Stream
from jetstream_py.engine.template import Template
from jetstream_py.subject import overlap

if TYPE_CHECKING:
    from jetstream_py.engine.consumer_record import Restored
    from jetstream_py.engine.expiry import Lifetimes
    from jetstream_py.engine.source import Position
    from jetstream_py.store import StreamStore


class JetStream:
    """All streams that one account has."""

    def __init__(self, engine: Engine, bus: Bus, account: str = GLOBAL) -> None:
        self.engine = engine
        self.account = account
        self.bus = bus
        self.store = engine.store
        self.server_name = engine.server_name
        self.new_id = engine.new_id
        self.settings = engine.settings
        self.clock = engine.clock
        self.outbox = engine.outbox
        self.streams: dict[str, Stream] = {}
        self.offline: dict[str, Offline] = {}
        self.allowance: Allowance | None = None  # None: no JetStream
        tally = Tally(self.streams.values)
        self._quota = Quota(account, tally, engine.tally, engine.most, engine.warn)
        self.shared = Shared(engine, account, bus, self._quota)
        self.shared.streams = self.streams
        self._subs: dict[str, list[Any]] = {}
        self.made: Counter[str] = Counter()  # streams by their template
        engine.accounts[account] = self

    # -- the account ------------------------------------------------------------------------------

    @property
    def enabled(self) -> bool:
        return self.allowance is not None

    @property
    def limits(self) -> AccountLimits:
        return self.allowance.limits if self.allowance is not None else AccountLimits()

    def enable(self, allowance: Allowance) -> None:
        """Take limits, and the streams that the store has of the account. What is there stays, even if it is
        more than the limits allow."""
        self.allowance = allowance
        self._quota.allow(allowance)
        for parked in self.engine.parked.pop(self.account, ()):
            self._open(parked)

    def _open(self, parked: Parked) -> None:
        stored, stream = parked.stored, None
        try:
            check_level(stored.config.metadata)
            stream = Stream(self.shared, stored.config, parked.store, stored.created)
            stream.recover()
        except Unsupported as unsupported:
            if stream is not None:
                stream.close()
            self.offline[stored.config.name] = Offline(parked, str(unsupported))
            self.engine.warn(
                f"Stream '{self.account} > {stored.config.name}' is offline: {unsupported}"
            )
            return
        self._add(stream)

    def disable(self) -> None:
        """Streams on disk are parked, those in memory are gone."""
        parked = [each.parked for each in self.offline.values()]
        self.offline.clear()
        for name, stream in self.streams.items():
            self._mute(name)
            stream.close()
            self._quota.forget(stream)
            if stream.config.storage == "memory":
                self.store.delete(stream.store.sid)
            else:
                parked.append(Parked(self._stored(stream, stream.config), stream.store))
        self.streams.clear()
        self.made.clear()
        self.allowance = None
        if parked:
            self.engine.parked[self.account] = parked
        self.outbox.commit_soon()

    def close(self) -> None:
        """The server stops."""
        for name, stream in self.streams.items():
            self._mute(name)
            stream.close()

    # -- looking things up ------------------------------------------------------------------------

    def stream(self, name: str) -> Stream:
        stream = self.streams.get(name)
        if stream is None:
            self.check_offline(name)
            raise error(10059)
        return stream

    def check_offline(self, name: str) -> None:
        if name in self.offline:
            raise error(10194, err=self.offline[name].reason)

    def names(self, subject: bytes = b"") -> list[str]:
        """In order; with `subject`, those that may have messages of any part of it. Also of those that are
        offline."""
        return sorted(
            name
            for name, subjects in self._subjects()
            if not subject
            or (any(overlap(subject, own) for own in subjects) and not self._is_template(name))
        )

    def _is_template(self, name: str) -> bool:
        stream = self.streams.get(name)
        return stream is not None and template_rule(stream.config.metadata) is not None

    def _subjects(self) -> Iterator[tuple[str, tuple[bytes, ...]]]:
        """Of all streams."""
        for name, stream in self.streams.items():
            yield name, stream.subjects
        for name, offline in self.offline.items():
            subjects = offline.parked.stored.config.subjects or ()
            yield name, tuple(subject.encode() for subject in subjects)

    # -- creating and changing --------------------------------------------------------------------

    def create(self, config: StreamConfig) -> Stream:
        """A checked configuration becomes a stream. The same one again is the same stream."""
        existing = self.streams.get(config.name)
        if existing is not None:
            if existing.config != config:
                raise error(10058)
            return existing
        self.check_addition(config)
        created = self.clock.now_ns()
        raw = msgspec.json.encode(Stored(created, config, self.account))
        store = self.store.create(raw, memory=config.storage == "memory")
        if config.first_seq > 1:
            store.start_at(config.first_seq)
        stream = Stream(self.shared, config, store, created)
        self._add(stream)
        self.outbox.commit_soon()
        return stream

    def check_addition(self, config: StreamConfig) -> None:
        """May there be such a stream beside the others?"""
        self.check_offline(config.name)
        self._check_room(config, 0)
        self._check_subjects(config)

    def adopt(
        self,
        config: StreamConfig,
        store: StreamStore,
        created: int,
        lifetimes: Lifetimes,
        positions: Collection[Position],
        consumers: Iterable[Restored],
    ) -> Stream:
        """What a restore has gathered becomes a stream."""
        if not self._is_template(config.metadata.get(TEMPLATE_OF, "")):
            config = _on_its_own(config)
        self.check_addition(config)
        stream = Stream(self.shared, config, store, created)
        stream.origins.resume(positions)
        stream.expiry.adopt(lifetimes)
        stream.recover()
        for restored in consumers:
            stream.consumers.restore(restored)
        self.store.save(store.sid, msgspec.json.encode(self._stored(stream, config)))
        self._add(stream)
        self.outbox.commit_soon()
        return stream

    def _add(self, stream: Stream) -> None:
        name = stream.config.name
        self.streams[name] = stream
        self.made[stream.config.metadata.get(TEMPLATE_OF, "")] += 1
        self._listen(stream)
        for other in self.streams.values():
            other.origins.appeared(name)

    def update(self, config: StreamConfig) -> Stream:
        stream = self.stream(config.name)
        _check_consumers(stream, config)
        held = max(0, stream.config.max_bytes)
        if config.max_bytes > held:
            self._check_room(config, held)
        self._check_subjects(config)
        self.store.save(stream.store.sid, msgspec.json.encode(self._stored(stream, config)))
        changed = config.subjects != stream.config.subjects
        retention = stream.config.retention
        stream.configure(config)
        if retention != config.retention:
            stream.consumers.dismiss()  # how messages may be read depends on it
            stream.consumers.release_handled()
        if changed:
            self._mute(config.name)
            self._listen(stream)
        self.outbox.commit_soon()
        return stream

    def _stored(self, stream: Stream, config: StreamConfig) -> Stored:
        return Stored(stream.created_ns, config, self.account)

    def delete(self, name: str) -> None:
        offline = self.offline.pop(name, None)
        if offline is not None:
            self.engine.erase(offline.parked)
            return
        stream = self.stream(name)
        self._mute(name)
        stream.close(deleted=True)
        self._quota.forget(stream)
        del self.streams[name]
        self.store.delete(stream.store.sid)
        self.made[stream.config.metadata.get(TEMPLATE_OF, "")] -= 1
        if self.made.pop(name, 0):
            self._set_free(name)
        self.outbox.commit_soon()

    def _set_free(self, template: str) -> None:
        """Streams of a template that is gone listen for themselves."""
        for stream in self.streams.values():
            if stream.config.metadata.get(TEMPLATE_OF) == template:
                config = _on_its_own(stream.config)
                self.store.save(stream.store.sid, msgspec.json.encode(self._stored(stream, config)))
                stream.configure(config)
                self.made[""] += 1
                self._listen(stream)

    def _check_subjects(self, config: StreamConfig) -> None:
        for subject in config.subjects or ():
            for name, subjects in self._subjects():
                if name == config.name or self._related(name, config):
                    continue
                if any(overlap(subject.encode(), own) for own in subjects):
                    raise error(10065)

    def _related(self, name: str, config: StreamConfig) -> bool:
        """A template and the streams that it has made."""
        other = self.streams.get(name)
        return config.metadata.get(TEMPLATE_OF) == name or (
            other is not None and other.config.metadata.get(TEMPLATE_OF) == config.name
        )

    def _check_room(self, config: StreamConfig, held: int) -> None:
        """Streams that say how large they may grow must fit in what the account and the server have."""
        kind = config.storage
        own, server = most_bytes(self.limits, kind), self.engine.most.get(kind, 0)
        check_reservation(config, own, self.reserved(kind) - held)
        check_reservation(config, server or -1, self.engine.reserved(kind) - held)

    def _listen(self, stream: Stream) -> None:
        metadata = stream.config.metadata
        taker = Template(self, stream) if template_rule(metadata) is not None else stream
        self._subs[stream.config.name] = [
            self.bus.collect(subject, taker.publish, taker.publish_traced)
            for subject in stream.subjects
            if TEMPLATE_OF not in metadata  # then the template hands over what comes
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

    def consumers(self) -> int:
        """With those that nobody sees."""
        return sum(
            len(stream.consumers) + len(stream.consumers.followers)
            for stream in self.streams.values()
        )

    def mirror_of(self, name: str) -> Stream | None:
        """A mirror that answers direct gets in the place of its origin."""
        for stream in self.streams.values():
            mirror = stream.config.mirror
            if (
                stream.config.mirror_direct
                and mirror is not None
                and mirror.name == name
                and stream.origins.close_behind()
            ):
                return stream
        return None


def _on_its_own(config: StreamConfig) -> StreamConfig:
    """The configuration of a stream that belongs to no template."""
    metadata = {key: value for key, value in config.metadata.items() if key != TEMPLATE_OF}
    return msgspec.structs.replace(config, metadata=metadata)


def _check_consumers(stream: Stream, config: StreamConfig) -> None:
    """Limits for consumers may not be lowered below what there is."""
    most = config.consumer_limits
    violating = [
        consumer.name
        for consumer in stream.consumers.shown()
        if 0 < most.inactive_threshold < consumer.config.inactive_threshold
        or 0 < most.max_ack_pending < consumer.config.max_ack_pending
    ]
    if violating:
        names = ", ".join(sorted(violating))
        raise error(10069, err=f"change to limits violates consumers: {names}")
