"""When the store has had nothing to do for a while, it writes checkpoints.

A checkpoint is what makes a start after a crash fast; under load they come by themselves, but the last ones
before a pause would wait for the next load, or for the stop that a crash does not give. So some seconds
after the last commit everything that is behind is written, in slices. The timer exists only while there
was a commit that nobody has looked at: a server at rest has none, however many streams it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py import limits

if TYPE_CHECKING:
    from jetstream_py.store import Store
    from jetstream_py.timers import Timer, Timers


class IdleCheckpoint:
    """Watches the commits of a store."""

    def __init__(self, store: Store, timers: Timers, commit_soon: Callable[[], None]) -> None:
        self._store = store
        self._timers = timers
        self._commit_soon = commit_soon
        self._seen = -1
        self._timer: Timer | None = None
        store.on_commit = self.arm

    def arm(self) -> None:
        """There was a commit, or a start that may have found work left."""
        if self._timer is None:
            self._timer = self._timers.call_later(limits.CHECKPOINT_IDLE, self._look)

    def close(self) -> None:
        self._store.on_commit = lambda: None
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = None
        store = self._store
        if store.failed:
            return
        if store.busy or store.commits != self._seen:
            self._seen = store.commits
            self.arm()
        elif store.tidy():
            self._commit_soon()
