"""`python -m benchmarks.connections`: many idle connections, some busy ones, and what they cost.

Per server: resident memory per idle connection, and the PING latency that a probe sees alone, among
the idle ones, and while the busy ones publish and receive at a bounded rate.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks import procfs, report
from benchmarks.crew import Worker, crew, perform
from benchmarks.roles.crowd import BusyCrowd, IdleCrowd, Probe
from benchmarks.servers import Server, running, unwind_on_sigterm
from benchmarks.single import common_arguments, run

TIMEOUT: Final = 120.0
_PER_PROCESS: Final = 5000
_SPARE_FDS: Final = 200
_PROBE_INTERVAL: Final = 0.002


@dataclass(frozen=True)
class Crowd:
    """How many connections, and how busy: `rate` messages a second for each busy one."""

    idle: int = 10_000
    busy: int = 100
    rate: int = 100
    seconds: float = 5.0
    size: int = 128


SMALL: Final = Crowd(idle=500, busy=10, rate=100, seconds=0.5)


@dataclass(frozen=True)
class Latency:
    """Of PING to PONG, in microseconds."""

    p50: float
    p99: float

    def __str__(self) -> str:
        return f"{self.p50:.0f}/{self.p99:.0f} µs"


@dataclass(frozen=True)
class CrowdResult:
    server: str
    opened: int
    open_seconds: float
    still_open: int
    seen_by_server: int
    rss_alone: int
    rss_idle: int
    rss_busy: int
    sent: int
    received: int
    busy_seconds: float
    server_cpu_busy: float
    alone: Latency
    among_idle: Latency
    among_busy: Latency

    @property
    def rss_per_idle(self) -> float:
        return (self.rss_idle - self.rss_alone) / self.opened


def measure(kind: str, crowd: Crowd) -> CrowdResult:
    """Opens the crowd on a fresh server, looks, and lets it go again."""
    procfs.raise_fd_limit()
    with running(kind) as server:
        found: dict[str, Any] = {"server": kind, "opened": crowd.idle}
        found["rss_alone"] = procfs.settled_rss_bytes(server.pid)
        found["alone"] = _probe(server, crowd)
        begin = time.monotonic()
        with crew(_holders(server, crowd), TIMEOUT) as holders:
            found["open_seconds"] = time.monotonic() - begin
            for holder in holders:
                holder.go()
            found["rss_idle"] = procfs.settled_rss_bytes(server.pid)
            found["among_idle"] = _probe(server, crowd)
            found["seen_by_server"] = int(server.monitor("/varz")["connections"])
            found |= _busy(server, crowd)
            found["rss_busy"] = procfs.rss_bytes(server.pid)
            found["still_open"] = _dismiss(holders)
        return CrowdResult(**found)


def _holders(server: Server, crowd: Crowd) -> list[tuple[type, dict[str, object]]]:
    each = min(_PER_PROCESS, procfs.raise_fd_limit() - _SPARE_FDS)
    return [
        (
            IdleCrowd,
            {
                "port": server.port,
                "first": first,
                "count": min(each, crowd.idle - first),
                "timeout": TIMEOUT,
            },
        )
        for first in range(0, crowd.idle, each)
    ]


def _dismiss(holders: Sequence[Worker]) -> int:
    for holder in holders:
        holder.stop()
    return sum(holder.report(TIMEOUT).facts["open"] for holder in holders)


def _probe_args(server: Server, crowd: Crowd) -> dict[str, object]:
    return {
        "port": server.port,
        "count": max(50, int(crowd.seconds / _PROBE_INTERVAL / 2)),
        "interval": _PROBE_INTERVAL,
        "timeout": TIMEOUT,
    }


def _probe(server: Server, crowd: Crowd) -> Latency:
    with crew([(Probe, _probe_args(server, crowd))], TIMEOUT) as workers:
        (seen,) = perform(workers, TIMEOUT)
    return _latency(seen.facts["latencies"])


def _busy(server: Server, crowd: Crowd) -> dict[str, Any]:
    busy: dict[str, object] = {
        "port": server.port,
        "count": crowd.busy,
        "rate": crowd.rate,
        "seconds": crowd.seconds,
        "size": crowd.size,
        "timeout": TIMEOUT,
    }
    with crew([(BusyCrowd, busy), (Probe, _probe_args(server, crowd))], TIMEOUT) as workers:
        before = procfs.cpu_seconds(server.pid)
        ring, probe = perform(workers, TIMEOUT)
        used = procfs.cpu_seconds(server.pid) - before
    return {
        "sent": ring.facts["sent"],
        "received": ring.facts["received"],
        "busy_seconds": ring.ended - ring.started,
        "server_cpu_busy": used,
        "among_busy": _latency(probe.facts["latencies"]),
    }


def _latency(taken: list[float]) -> Latency:
    cuts = statistics.quantiles(taken, n=100)
    return Latency(cuts[49], cuts[98])


_ROWS: Final[dict[str, Callable[[CrowdResult], str]]] = {
    "idle connections": lambda r: f"{r.opened:,}",
    "opened per second": lambda r: f"{r.opened / r.open_seconds:,.0f}",
    "RSS alone": lambda r: f"{r.rss_alone / 1e6:.1f} MB",
    "RSS with the idle ones": lambda r: f"{r.rss_idle / 1e6:.1f} MB",
    "RSS per idle connection": lambda r: f"{r.rss_per_idle / 1024:.1f} KiB",
    "RSS after the busy ones": lambda r: f"{r.rss_busy / 1e6:.1f} MB",
    "PING p50/p99 alone": lambda r: str(r.alone),
    "PING p50/p99 among idle": lambda r: str(r.among_idle),
    "PING p50/p99 among busy": lambda r: str(r.among_busy),
    "busy messages per second": lambda r: f"{r.received / r.busy_seconds:,.0f}",
    "busy messages lost": lambda r: str(r.sent - r.received),
    "server CPU while busy": lambda r: f"{r.server_cpu_busy / r.busy_seconds:.0%}",
    "idle ones still open": lambda r: f"{r.still_open:,}",
}


def render(results: Sequence[CrowdResult]) -> str:
    """One column per server."""
    rows = [["", *(one.server for one in results)]]
    rows += [[name, *(show(one) for one in results)] for name, show in _ROWS.items()]
    return report.table(rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.connections", description=__doc__)
    parser.add_argument("--idle", type=int, default=Crowd.idle)
    parser.add_argument("--busy", type=int, default=Crowd.busy)
    parser.add_argument("--rate", type=int, default=Crowd.rate, help="messages/s of each busy one")
    parser.add_argument("--seconds", type=float, default=Crowd.seconds)
    common_arguments(parser)
    options = parser.parse_args(argv)
    crowd = Crowd(options.idle, options.busy, options.rate, options.seconds)
    return run(options, lambda kind: measure(kind, crowd), render)


if __name__ == "__main__":
    unwind_on_sigterm()
    sys.exit(main())
