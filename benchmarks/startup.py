"""Start-to-INFO time and idle memory of the servers, in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks import procfs
from benchmarks.compare import Contender
from benchmarks.servers import ServerFailed, running

# RSS is looked at in this many of the starts: settling takes longer than starting.
_MEMORY_LOOKS = 3


@dataclass
class Startup:
    """Of one contender: seconds from spawn to the first INFO, and bytes resident when idle."""

    label: str
    version: str = ""
    seconds: list[float] = field(default_factory=list)
    idle_rss: list[int] = field(default_factory=list)
    error: str = ""

    @property
    def median_ms(self) -> float:
        return statistics.median(self.seconds) * 1000 if self.seconds else 0.0

    @property
    def rss_mb(self) -> float:
        return statistics.median(self.idle_rss) / 1e6 if self.idle_rss else 0.0


def measure_starts(who: Sequence[Contender], starts: int, deadline: float) -> list[Startup]:
    """Starts every contender `starts` times, alternating; fewer when `deadline` passes."""
    found = {one.label: Startup(one.label) for one in who}
    for number in range(starts):
        if number and time.monotonic() > deadline:
            break
        for one in who if number % 2 == 0 else reversed(who):
            _start_once(one, found[one.label], number < _MEMORY_LOOKS)
    return list(found.values())


def _start_once(one: Contender, startup: Startup, look_at_memory: bool) -> None:
    try:
        with running(one.kind) as server:
            startup.seconds.append(server.start_seconds)
            startup.version = server.version
            if look_at_memory:
                startup.idle_rss.append(procfs.settled_rss_bytes(server.pid))
    except ServerFailed as error:
        startup.error = str(error)
