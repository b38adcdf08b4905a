"""`sync_interval`: acks that leave before the sync, for those who want nats-server's trade.

By default an answer waits in the outbox until the commit that holds it is synced. With an interval the
store is `lazy`: it is not dirty, so the outbox lets answers go at the end of the tick, and what they
speak of stays staged until the interval has passed or `limits.INTERVAL_BYTES` have gathered. Then it is
committed as one group like any other, in one synced transaction. So no unsafe flag of the database is
needed, and the worst that a crash can do is to take back the last interval: never to damage a store,
reorder it, or leave a hole in it. (nats-server has its last interval in the kernel's cache: there it
survives `kill -9`, here it does not.)

What an administrator asks for is synced before it is answered, interval or not: streams made, changed and
deleted, purges, deleted messages.

While a commit runs answers wait for it. That bounds what can be staged: a disk that cannot keep up slows
its publishers down instead of filling the memory.

The timer exists only while something is staged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py import limits

if TYPE_CHECKING:
    from jetstream_py.store import Store
    from jetstream_py.timers import Timer, Timers

Soon = Callable[[Callable[[], None]], object]


class SyncInterval:
    """Stands between the outbox and the loop: whenever the outbox wants to commit, it notices."""

    def __init__(self, store: Store, timers: Timers, soon: Soon, seconds: float) -> None:
        self._store = store
        self._timers = timers
        self._soon = soon
        self._seconds = seconds
        self._timer: Timer | None = None
        self.commit_soon: Callable[[], None] = lambda: None  # the outbox's

    def soon(self, action: Callable[[], None]) -> None:
        """Run `action` at the end of the tick: something was staged, perhaps."""
        if self._store.staged_bytes > limits.INTERVAL_BYTES:
            self._store.sync_next()
        if self._timer is None:
            self._timer = self._timers.call_later(self._seconds, self._pass)
        self._soon(action)

    def _pass(self) -> None:
        self._timer = None
        if self._store.staged:
            self._store.sync_next()
            self.commit_soon()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
