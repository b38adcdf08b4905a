"""Time that is moved by hand, and everything that it causes.

`advance(30)` does not jump. It goes from deadline to deadline of all servers on the clock; at each of
them the timers that are due run, in order, and the clock waits until the servers have done what came of
it: committed, delivered, written. Only then does time go on. So a message that a schedule publishes at
second 5 is delivered at second 5, and its `ack_wait` of 10 seconds ends at second 15, as on a clock that
runs.

A server is *quiet* when no commit is under way or asked for, nothing waits to be written, and nothing is
to run in the next turn of its loop. Then it is let turn a few times more, for bytes of clients that have
arrived already. What a client has not sent yet is not waited for: flush it, or use `ack_sync`, before the
clock is moved.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Final, Protocol

from jetstream_py.embed.portal import NOTHING, Portal

_FIRST: Final = 1_000.0  # monotonic seconds at the beginning
_SLACK: Final = 2e-9  # of sums of floats


class Hands(Protocol):
    """A server on a clock."""

    portal: Portal

    def next_due(self) -> float | None: ...

    async def run_due(self) -> None:
        """Run timers that are due, and become quiet."""
        ...

    async def settle(self) -> None:
        """Become quiet."""
        ...


class ManualClock:
    """A clock that stands still until it is moved; for one server or several."""

    def __init__(self, start: datetime | None = None) -> None:
        """`start` is the wall time at first, by default that of the machine."""
        self._start_ns = time.time_ns() if start is None else round(start.timestamp() * 1e9)
        self._moved_ns = 0
        self._monotonic = _FIRST
        self._hands: list[Hands] = []
        self._moving = asyncio.Lock()

    def now_ns(self) -> int:
        return self._start_ns + self._moved_ns

    def monotonic(self) -> float:
        return self._monotonic

    def now(self) -> datetime:
        """The wall time."""
        return datetime.fromtimestamp(self.now_ns() / 1e9, UTC)

    def advance(self, seconds: float) -> Awaitable[None]:
        """Move on. In a coroutine await it; elsewhere all is done when this returns."""
        if not seconds >= 0 or math.isinf(seconds):
            raise ValueError(f"time does not move by {seconds} seconds")
        if not self._hands:
            self._set(self._monotonic + seconds)
            return NOTHING
        moved: Awaitable[None] = self._hands[0].portal.call(self._advance, seconds)
        return moved

    async def _advance(self, seconds: float) -> None:
        async with self._moving:
            end = self._monotonic + seconds
            await self._each("settle")
            while (due := self._next_due()) is not None and due <= end + _SLACK:
                self._set(max(due, self._monotonic))
                await self._each("run_due")
            self._set(max(end, self._monotonic))

    def _next_due(self) -> float | None:
        found = [due for hands in self._hands if (due := hands.next_due()) is not None]
        return min(found, default=None)

    async def _each(self, step: str) -> None:
        for hands in list(self._hands):
            await hands.portal.visit(getattr(hands, step))

    def _set(self, monotonic: float) -> None:
        """Wall time never lags behind: who computed a deadline from it finds that it has come."""
        self._monotonic = monotonic
        self._moved_ns = math.ceil((monotonic - _FIRST) * 1e9)

    def bind(self, hands: Hands) -> None:
        self._hands.append(hands)

    def unbind(self, hands: Hands) -> None:
        self._hands.remove(hands)
