"""`python -m benchmarks.stuck`: many subscribers of one subject, one of which stops reading.

Per server: the rate with all reading and with one stuck, what the stuck one costs in peak memory
(at most `max_pending` should it be), and that the server closed it as a slow consumer while all
others received everything.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks import procfs, report
from benchmarks.compare import contenders
from benchmarks.crew import GRACE, Report, Worker, WorkerFailed, crew
from benchmarks.roles.readers import PacedPublisher, Readers, StuckReader
from benchmarks.servers import COMMANDS, Server, ServerFailed, running, unwind_on_sigterm

TIMEOUT: Final = 60.0
_READER_PROCESSES: Final = 3
# What the kernel may hold for a connection whose client does not read, on top of max_pending.
_KERNEL_BYTES: Final = 8 << 20


@dataclass(frozen=True)
class Scene:
    """Who listens to how much. `rate` is publishes a second, 0 for as fast as it goes."""

    subscribers: int = 100
    max_pending: int = 8 << 20
    size: int = 1024
    rate: int = 3000

    @property
    def messages(self) -> int:
        """Enough for a stuck client to fill the kernel's buffers and twice its max_pending."""
        return (2 * self.max_pending + _KERNEL_BYTES) // self.size

    @property
    def config(self) -> str:
        return f"max_pending: {self.max_pending}\n"


SMALL: Final = Scene(subscribers=10, max_pending=2 << 20, size=4096, rate=2000)


@dataclass(frozen=True)
class SceneResult:
    """One run with (`stuck`) or without a stuck subscriber."""

    server: str
    stuck: bool
    seconds: float
    messages: int
    max_pending: int
    readers: int
    complete: int
    delivered: int
    peak_rss: int
    slow_consumers: int
    stuck_closed: bool
    stuck_read: int
    stuck_error: str

    @property
    def rate(self) -> float:
        return self.messages / self.seconds


def measure(kind: str, scene: Scene, stuck: bool) -> SceneResult:
    """One run on a fresh server, so that its peak memory is the run's."""
    with running(kind, config=scene.config) as server:
        cast = _cast(server, scene, stuck)
        with crew(cast, TIMEOUT) as workers:
            held = workers[:1] if stuck else []
            reports, last = _perform(workers[len(held) :], held)
            slow = int(server.monitor("/varz")["slow_consumers"])
            peak = procfs.peak_rss_bytes(server.pid)
    readers = [one for one in reports if one.role == Readers.__name__]
    publisher = reports[-1]
    return SceneResult(
        server=kind,
        stuck=stuck,
        seconds=max(one.ended for one in readers) - publisher.started,
        messages=publisher.facts["messages"],
        max_pending=scene.max_pending,
        readers=scene.subscribers - stuck,
        complete=sum(one.facts["complete"] for one in readers),
        delivered=sum(one.facts["messages"] for one in readers),
        peak_rss=peak,
        slow_consumers=slow,
        stuck_closed=bool(last and last.facts["closed"]),
        stuck_read=last.facts["read"] if last else 0,
        stuck_error=last.facts["error"] if last else "",
    )


def _perform(
    workers: Sequence[Worker], held: Sequence[Worker]
) -> tuple[list[Report], Report | None]:
    """All but the stuck one to their end; only then may it look at its connection."""
    for worker in (*held, *workers):
        worker.go()
    reports = [worker.report(TIMEOUT + GRACE) for worker in workers]
    last = None
    for worker in held:
        worker.stop()
        last = worker.report(TIMEOUT + GRACE)
    return reports, last


def _cast(server: Server, scene: Scene, stuck: bool) -> list[tuple[type, dict[str, object]]]:
    common: dict[str, object] = {"port": server.port, "timeout": TIMEOUT}
    load = common | {"size": scene.size, "messages": scene.messages}
    cast: list[tuple[type, dict[str, object]]] = [(StuckReader, common)] if stuck else []
    left = scene.subscribers - stuck
    for process in range(_READER_PROCESSES, 0, -1):
        share = left // process
        left -= share
        cast.append((Readers, load | {"count": share}))
    return [*cast, (PacedPublisher, load | {"rate": scene.rate})]


_ROWS: Final[dict[str, Callable[[SceneResult, SceneResult], str]]] = {
    "publishes/s, all reading": lambda a, b: f"{a.rate:,.0f}",
    "publishes/s, one stuck": lambda a, b: f"{b.rate:,.0f}",
    "rate kept": lambda a, b: f"{b.rate / a.rate:.2f}",
    "readers with everything": lambda a, b: f"{b.complete} of {b.readers}",
    "peak RSS, all reading": lambda a, b: f"{a.peak_rss / 1e6:.1f} MB",
    "peak RSS, one stuck": lambda a, b: f"{b.peak_rss / 1e6:.1f} MB",
    "cost of the stuck one": lambda a, b: f"{(b.peak_rss - a.peak_rss) / 1e6:.1f} MB",
    "max_pending": lambda a, b: f"{b.max_pending / 1e6:.1f} MB",
    "slow_consumers (/varz)": lambda a, b: f"{a.slow_consumers} then {b.slow_consumers}",
    "stuck one closed": lambda a, b: "yes" if b.stuck_closed else "NO",
    "what it was told": lambda a, b: b.stuck_error or "-",
}


def render(pairs: Sequence[tuple[SceneResult, SceneResult]]) -> str:
    """One column per server: without a stuck subscriber, then with one."""
    rows = [["", *(with_one.server for _, with_one in pairs)]]
    rows += [[name, *(show(*pair) for pair in pairs)] for name, show in _ROWS.items()]
    return report.table(rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stuck", description=__doc__)
    parser.add_argument("--subscribers", type=int, default=Scene.subscribers)
    parser.add_argument("--max-pending", type=int, default=Scene.max_pending)
    parser.add_argument("--rate", type=int, default=Scene.rate, help="publishes/s; 0: full speed")
    parser.add_argument("--servers", default="ours,nats", help=", ".join(COMMANDS))
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(argv)
    scene = Scene(options.subscribers, options.max_pending, rate=options.rate)
    pairs: list[tuple[SceneResult, SceneResult]] = []
    failed = False
    for one in contenders(options.servers):
        try:
            pairs.append((measure(one.kind, scene, False), measure(one.kind, scene, True)))
        except (ServerFailed, WorkerFailed) as error:
            failed = True
            print(f"FAILED {one.label}: {error}", file=sys.stderr)
    if pairs:
        print(render(pairs))
    if options.json:
        figures = [[asdict(result) for result in pair] for pair in pairs]
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    unwind_on_sigterm()
    sys.exit(main())
