"""What Linux says about a process: CPU seconds, waiting for a core, resident memory, fd limits."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process; 10 ms steps."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def rss_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def peak_rss_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def settled_rss_bytes(pid: int, limit: float = 3.0, step: float = 0.25) -> int:
    """Resident memory once two looks agree within 1 %, or after `limit` seconds."""
    deadline = time.monotonic() + limit
    before = rss_bytes(pid)
    while time.monotonic() < deadline:
        time.sleep(step)
        now = rss_bytes(pid)
        if abs(now - before) <= before // 100:
            return now
        before = now
    return before


def raise_fd_limit() -> int:
    """Lift the soft limit of open files to the hard one; children inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


@contextmanager
def one_core(pid: int) -> Iterator[None]:
    """A process, ourselves, and the children we start meanwhile share one core.

    No wake-up then crosses cores, which on a virtual machine can cost more than all the rest.
    """
    ours = os.sched_getaffinity(0)
    theirs = os.sched_getaffinity(pid)
    core = {max(ours)}
    try:
        _pin_threads(pid, core)
        os.sched_setaffinity(0, core)
        yield
    finally:
        os.sched_setaffinity(0, ours)
        _pin_threads(pid, theirs)


def _pin_threads(pid: int, cores: set[int]) -> None:
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            os.sched_setaffinity(int(task.name), cores)
        except ProcessLookupError:
            continue  # The thread has ended meanwhile.


@dataclass(frozen=True)
class Moment:
    """The clocks of this process at one moment, in seconds."""

    wall: float
    cpu: float
    queued: float

    @classmethod
    def now(cls) -> Self:
        return cls(time.monotonic(), time.process_time(), _run_queue_seconds())


def _run_queue_seconds() -> float:
    """How long this process was ready to run and had no core."""
    try:
        return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0
