"""What all accounts of a server share: the store, the way out, what the server allows.

There is one store and one outbox, so messages of all accounts share the syncs. A stream's account stands in
its record in the store. Streams whose account is not there, or has no JetStream (any more), stay on disk:
they are *parked* here, nobody serves them, and they go on where they were when the account comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from jetstream_py.api.types import StreamConfig
from jetstream_py.engine import chain, expiry, journal, schedule, source
from jetstream_py.engine.idle import IdleCheckpoint
from jetstream_py.engine.interval import SyncInterval
from jetstream_py.engine.open_batches import Inflight, atomic_limits, fast_limits
from jetstream_py.engine.outbox import Outbox
from jetstream_py.engine.quota import Tally
from jetstream_py.engine.request_queue import RequestQueue
from jetstream_py.engine.settings import Settings

if TYPE_CHECKING:
    from jetstream_py.clock import Clock
    from jetstream_py.engine.chain import Chain
    from jetstream_py.engine.jetstream import JetStream
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Store, StreamStore
    from jetstream_py.timers import Timers

GLOBAL = "$G"  # the account of streams from the time before accounts


class Stored(msgspec.Struct):
    """What the store keeps of a stream besides its messages."""

    created: int
    config: StreamConfig
    account: str = GLOBAL
    restoring: bool = False  # a restore is under way: it is not a stream yet


class Parked(NamedTuple):
    """A stream that nobody serves."""

    stored: Stored
    store: StreamStore


def _silent(text: str) -> None:
    return None


class Engine:
    """JetStream of a server, apart from its accounts."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        timers: Timers,
        soon: Callable[[Callable[[], None]], object],
        failed: Callable[[str], None],
        server_name: str = "",
        new_id: Callable[[], str] = lambda: "",
        most: Mapping[str, int] | None = None,
        settings: Settings = Settings(),  # noqa: B008 - it is frozen
        warn: Callable[[str], None] = _silent,
    ) -> None:
        """`soon` runs a function at the end of the tick; `warn` is told what a log should say."""
        self.store = store
        self.clock = clock
        self.timers = timers
        self.soon = soon
        self.server_name = server_name
        self.new_id = new_id
        self.settings = settings
        self.warn = warn
        self.most = (
            most or {}
        )  # bytes that streams of a kind may have together, if there is a limit
        self.tally = Tally(self.streams)
        self.atomic = Inflight(atomic_limits(settings))
        self.fast = Inflight(fast_limits(settings))
        self.accounts: dict[str, JetStream] = {}
        self.dropped = 0  # publishes that came too fast, see `inflow`
        self.requests = RequestQueue(store, clock, soon, warn, settings)
        self.chains: list[Chain] = []  # of immutable streams
        self._news: list[Stream] = []
        self._flying_news: list[Stream] = []  # of the commit under way
        self._later: list[Callable[[], None]] = []
        self._flying_later: list[Callable[[], None]] = []
        self._interval: SyncInterval | None = None
        commit_soon = soon
        if store.lazy:
            self._interval = SyncInterval(store, timers, soon, settings.sync_interval)
            commit_soon = self._interval.soon
        self._failed = failed
        self.outbox = Outbox(store, commit_soon, self._fail)
        if self._interval is not None:
            self._interval.commit_soon = self.outbox.commit_soon
        self.outbox.committing = self._take_off
        self.outbox.committed = self._tell
        self._idle = IdleCheckpoint(store, timers, self.outbox.commit_soon)
        self.parked = self._found()

    def _found(self) -> dict[str, list[Parked]]:
        """By account. All are parked until their account is opened. Unfinished restores go."""
        decoder = msgspec.json.Decoder(Stored)
        found: dict[str, list[Parked]] = {}
        for raw, store in list(self.store.streams().values()):
            stored = decoder.decode(raw)
            if stored.restoring:
                self.store.delete(store.sid)
                continue
            found.setdefault(stored.account, []).append(Parked(stored, store))
        return found

    def begin(self) -> None:
        """All accounts are open: commit what their recovery has changed."""
        if self.store.dirty:
            self.outbox.commit_soon()
        if any(True for _ in self.streams()):
            self._idle.arm()

    def close(self) -> None:
        self._idle.close()
        if self._interval is not None:
            self._interval.close()

    # -- streams of all accounts ------------------------------------------------------------------

    def streams(self) -> Iterator[Stream]:
        for account in self.accounts.values():
            yield from account.streams.values()

    def used(self, storage: str) -> int:
        """Bytes of all streams of a kind."""
        return sum(account.used(storage) for account in self.accounts.values())

    def reserved(self, storage: str) -> int:
        """Bytes that streams of a kind may grow to, as far as they say."""
        return sum(account.reserved(storage) for account in self.accounts.values())

    def forget(self, account: str) -> None:
        """Delete the streams that an account has left behind."""
        for parked in self.parked.pop(account, ()):
            self.erase(parked)

    def erase(self, parked: Parked) -> None:
        """Delete a stream that nobody serves."""
        sid = parked.store.sid
        for start in (
            journal.prefix(sid),
            expiry.prefix(sid),
            schedule.prefix(sid),
            source.prefix(sid),
            chain.prefix(sid),
        ):
            for key, _ in self.store.meta_items(start):
                self.store.put_meta(key, None)
        self.store.delete(sid)
        self.outbox.commit_soon()

    def drop(self) -> None:
        self.dropped += 1

    # -- news -------------------------------------------------------------------------------------

    def announce(self, stream: Stream) -> None:
        """Consumers of the stream are to be woken when the next commit is done."""
        self._news.append(stream)
        self.outbox.commit_soon()

    def after_commit(self, action: Callable[[], None]) -> None:
        """Go on when the next commit is done: for work in slices that must not outrun the disk."""
        self._later.append(action)
        self.outbox.commit_soon()

    def _take_off(self) -> None:
        """A commit begins: what is announced from now on belongs to the next one."""
        self._flying_news, self._news = self._news, []
        self._flying_later, self._later = self._later, []
        for stream in self._flying_news:
            stream.consumers.take_off()
        for each in self.chains:
            each.extend()

    def _tell(self) -> None:
        news, self._flying_news = self._flying_news, []
        for stream in news:
            stream.consumers.wake()
        later, self._flying_later = self._flying_later, []
        for action in later:
            action()
        self.requests.resume()

    def _fail(self, error: str) -> None:
        self._failed(error)
        self.requests.resume()
