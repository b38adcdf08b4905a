"""Batches that have begun and not ended: how many there may be, and how long they may rest.

Both kinds of batches are known to a stream by the id that the client chose. There is a limit for the stream
and one for the server, and a batch of which nothing is heard for the time-out is dropped. That time is the
same for all, so the one that rests longest is always the first of the table: one timer is enough, and to
hear of a batch costs a move to the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from jetstream_py import limits
from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.clock import Clock
    from jetstream_py.engine.settings import Settings
    from jetstream_py.timers import Timers

Batch = TypeVar("Batch")


class BatchLimits(NamedTuple):
    """Of one kind of batches."""

    per_stream: int
    total: int
    msgs: int
    timeout: float  # seconds


def atomic_limits(settings: Settings) -> BatchLimits:
    return BatchLimits(
        settings.batch_per_stream or limits.BATCH_PER_STREAM,
        settings.batch_total or limits.BATCH_TOTAL,
        settings.batch_msgs or limits.BATCH_MSGS,
        settings.batch_timeout or limits.BATCH_TIMEOUT,
    )


def fast_limits(settings: Settings) -> BatchLimits:
    """A fast batch has no end of its own: only how many there are is limited."""
    return BatchLimits(
        settings.batch_per_stream or limits.FAST_BATCH_PER_STREAM,
        settings.batch_total or limits.FAST_BATCH_TOTAL,
        0,
        settings.batch_timeout or limits.BATCH_TIMEOUT,
    )


class Inflight:
    """The open batches of one kind in all streams of the server, and the bytes that they hold."""

    __slots__ = ("bytes", "count", "limits")

    def __init__(self, most: BatchLimits) -> None:
        self.limits = most
        self.count = self.bytes = 0


class OpenBatches(Generic[Batch]):
    """Those of one kind in one stream. `expired` is told which one was dropped for its rest."""

    def __init__(
        self,
        inflight: Inflight,
        clock: Clock,
        timers: Timers,
        expired: Callable[[bytes, Batch], None],
    ) -> None:
        self._inflight = inflight
        self._clock = clock
        self._timers = timers
        self._expired = expired
        self._all: dict[bytes, tuple[Batch, float]] = {}  # and when it was last heard of
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._all)

    @property
    def full(self) -> bool:
        most = self._inflight.limits
        return len(self._all) >= most.per_stream or self._inflight.count >= most.total

    def find(self, batch_id: bytes) -> Batch | None:
        found = self._all.get(batch_id)
        return found[0] if found is not None else None

    def heard(self, batch_id: bytes, batch: Batch) -> None:
        """There is something new of a batch, or a new batch."""
        if self._all.pop(batch_id, None) is None:
            self._inflight.count += 1
        self._all[batch_id] = batch, self._clock.monotonic()
        if self._timer is None:
            self._arm(self._inflight.limits.timeout)

    def drop(self, batch_id: bytes) -> None:
        if self._all.pop(batch_id, None) is not None:
            self._inflight.count -= 1

    def clear(self) -> list[Batch]:
        """Drop all; nobody is told."""
        dropped = [batch for batch, _ in self._all.values()]
        self._inflight.count -= len(dropped)
        self._all.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return dropped

    def _arm(self, delay: float) -> None:
        self._timer = self._timers.call_later(delay, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now, timeout = self._clock.monotonic(), self._inflight.limits.timeout
        while self._all:
            batch_id, (batch, since) = next(iter(self._all.items()))
            if since + timeout > now:
                self._arm(since + timeout - now)
                return
            self.drop(batch_id)
            self._expired(batch_id, batch)
