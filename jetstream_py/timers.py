"""Timers on a `Clock`.

`Timers` is a heap of deadlines that knows no event loop: somebody asks it for the next deadline and
tells it when to run what is due. `drive()` binds it to an asyncio loop with one loop timer for all of
them, so ten thousand idle connections cost one wake-up for each ping and nothing in between.
Cancelled timers stay in the heap until their time comes or until they are the majority.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py.clock import Clock

if TYPE_CHECKING:
    import asyncio


class Timer:
    """A call in the future."""

    __slots__ = ("action", "due", "order", "owner")

    def __init__(self, owner: Timers, due: float, order: int, action: Callable[[], None]) -> None:
        self.owner = owner
        self.due = due
        self.order = order  # equal deadlines fire in the order they were set
        self.action: Callable[[], None] | None = action

    def __lt__(self, other: Timer) -> bool:
        return (self.due, self.order) < (other.due, other.order)

    def cancel(self) -> None:
        if self.action is not None:
            self.action = None
            self.owner.forget()


class Timers:
    """Deadlines in order. `on_change` is called when the earliest one moved."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.on_change: Callable[[], None] = _nothing
        self._heap: list[Timer] = []
        self._order = 0
        self._cancelled = 0

    def call_later(self, delay: float, action: Callable[[], None]) -> Timer:
        self._order += 1
        timer = Timer(self, self.clock.monotonic() + delay, self._order, action)
        heapq.heappush(self._heap, timer)
        if self._heap[0] is timer:
            self.on_change()
        return timer

    def forget(self) -> None:
        """A timer was cancelled; sweep when most of the heap is such."""
        self._cancelled += 1
        if self._cancelled > 64 and self._cancelled * 2 > len(self._heap):
            self._heap = [timer for timer in self._heap if timer.action is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def next_due(self) -> float | None:
        """The monotonic time of the earliest live timer."""
        heap = self._heap
        while heap and heap[0].action is None:
            heapq.heappop(heap)
            self._cancelled -= 1
        return heap[0].due if heap else None

    def run_due(self) -> int:
        """Run what is due now, in order; what these calls set for later waits."""
        now = self.clock.monotonic()
        ran = 0
        while (due := self.next_due()) is not None and due <= now:
            timer = heapq.heappop(self._heap)
            action, timer.action = timer.action, None
            assert action is not None
            action()
            ran += 1
        return ran


def _nothing() -> None:
    return None


def drive(timers: Timers, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Run `timers` by `loop`, whose time must pass as the clock's does. Returns the way to stop."""
    handle: asyncio.TimerHandle | None = None

    def arm() -> None:
        nonlocal handle
        if handle is not None:
            handle.cancel()
        due = timers.next_due()
        handle = None
        if due is not None:
            handle = loop.call_later(max(0.0, due - timers.clock.monotonic()), fire)

    def fire() -> None:
        nonlocal handle
        handle = None
        try:
            timers.run_due()
        finally:
            arm()

    def stop() -> None:
        timers.on_change = _nothing
        if handle is not None:
            handle.cancel()

    timers.on_change = arm
    arm()
    return stop
