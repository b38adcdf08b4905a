"""Processor and memory use of this process, at the cost of two small reads."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Final

# A shorter window says more about the scheduler than about the server.
_WINDOW: Final = 1.0


class Usage:
    """CPU percent (of one core) since the reading before, taken at most once a second."""

    __slots__ = ("_at", "_cpu", "_elapsed", "_spent", "_used")

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        process_time: Callable[[], float] = time.process_time,
    ) -> None:
        self._elapsed = monotonic
        self._spent = process_time
        self._at = monotonic()
        self._used = process_time()
        self._cpu = 0.0

    def cpu(self) -> float:
        now = self._elapsed()
        elapsed = now - self._at
        if elapsed >= _WINDOW:
            used = self._spent()
            self._cpu = round((used - self._used) / elapsed * 100, 1)
            self._at, self._used = now, used
        return self._cpu


def resident_bytes() -> int:
    """Memory in use now; where the system does not tell, the peak."""
    import resource

    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read(128).split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def cores() -> int:
    return os.cpu_count() or 1


def usable_cores() -> int:
    """The cores that the process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return cores()
