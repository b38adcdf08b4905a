"""Time as a parameter.

Nothing below the composition root reads the system's time: it is handed a `Clock`. Tests hand a
`ManualClock` and move it, so an hour of timers runs in a millisecond and always in the same order.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for what people read, monotonic time for what the server measures."""

    def now_ns(self) -> int:
        """Nanoseconds since the epoch (UTC)."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump."""
        ...


class SystemClock:
    """The clock of the machine."""

    __slots__ = ()

    now_ns = staticmethod(time.time_ns)
    monotonic = staticmethod(time.monotonic)


class ManualClock:
    """A clock that stands still until it is moved."""

    __slots__ = ("_monotonic", "_now_ns")

    def __init__(self, now_ns: int = 1_700_000_000_000_000_000, monotonic: float = 1_000.0) -> None:
        self._now_ns = now_ns
        self._monotonic = monotonic

    def now_ns(self) -> int:
        return self._now_ns

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both faces of the clock forward."""
        if seconds < 0:
            raise ValueError("time does not run backwards")
        self._now_ns += round(seconds * 1e9)
        self._monotonic += seconds
