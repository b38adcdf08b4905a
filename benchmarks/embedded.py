"""What an embedded server costs: to start and stop it, and a test suite that has one for each test.

    python -m benchmarks.embedded [--starts 100] [--suites 5]

The suite is the half of `examples/orders` that runs with any server; beside ours it has a nats-server process
for each test, started as test harnesses do.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from benchmarks.crew import ROOT
from benchmarks.servers import NATS, running
from jetstream_py import Server

EXAMPLE: Final = ROOT / "examples" / "orders"
PLUGINS: Final = {"ours": "jetstream_py.pytest_plugin", "nats-server": "benchmarks.spawned"}
_WARM: Final = 5
_MANY: Final = 10  # times the suite, as that of a larger project


class Cost(NamedTuple):
    """Milliseconds, the median and the slowest of twenty."""

    start: tuple[float, float]
    stop: tuple[float, float]


def _cost(pairs: list[tuple[float, float]]) -> Cost:
    def told(seconds: list[float]) -> tuple[float, float]:
        ordered = sorted(seconds)
        return statistics.median(ordered) * 1000, ordered[len(ordered) * 19 // 20] * 1000

    return Cost(told([start for start, _ in pairs]), told([stop for _, stop in pairs]))


def in_a_loop(store: str, starts: int) -> Cost:
    async def once() -> tuple[float, float]:
        began = time.perf_counter()
        server = await Server(store=store).start()
        up = time.perf_counter()
        await server.stop()
        return up - began, time.perf_counter() - up

    async def main() -> list[tuple[float, float]]:
        return [await once() for _ in range(_WARM + starts)]

    return _cost(asyncio.run(main())[_WARM:])


def in_a_thread(store: str, starts: int) -> Cost:
    def once() -> tuple[float, float]:
        began = time.perf_counter()
        server = Server(store=store).start_in_thread()
        up = time.perf_counter()
        server.stop()
        return up - began, time.perf_counter() - up

    return _cost([once() for _ in range(_WARM + starts)][_WARM:])


def process(store: str, starts: int) -> Cost:
    """nats-server, from its spawn to its first INFO, and from the signal to its end."""

    def once() -> tuple[float, float]:
        with running(NATS, extra=["-js", "-sd", "store"]) as server:
            up = time.perf_counter()
        return server.start_seconds, time.perf_counter() - up

    return _cost([once() for _ in range(starts)])


WAYS: Final[dict[str, tuple[Callable[[str, int], Cost], str]]] = {
    "in the loop, memory": (in_a_loop, "memory"),
    "in the loop, temporary directory": (in_a_loop, "tmp"),
    "in a thread, memory": (in_a_thread, "memory"),
    "in a thread, temporary directory": (in_a_thread, "tmp"),
    "nats-server, a process": (process, ""),
}


def suite(plugin: str, times: int) -> tuple[float, int]:
    """Seconds that pytest takes for the example's tests, each so many times, and how many that were."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "anywhere", "-p", "no:cacheprovider"]
    command += ["-p", plugin, "-p", "pytest_asyncio.plugin", "--keep-duplicates"]
    command += ["test_orders.py"] * times
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    done = subprocess.run(command, cwd=EXAMPLE, env=environ, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return took, int(done.stdout.rpartition(" passed")[0].split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description="what an embedded server costs")
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--suites", type=int, default=5)
    asked = parser.parse_args()
    print("milliseconds (median, 95 %)           start            stop")
    for name, (measure, store) in WAYS.items():
        start, stop = measure(store, asked.starts)
        print(
            f"{name:34} {start[0]:6.1f} {start[1]:6.1f}   {stop[0]:6.1f} {stop[1]:6.1f}", flush=True
        )
    if not asked.suites:
        return
    print("\nexamples/orders, a server for each test")
    for times in (1, _MANY):
        for name, plugin in PLUGINS.items():
            runs = [suite(plugin, times) for _ in range(asked.suites)]
            took = statistics.median(seconds for seconds, _ in runs)
            print(f"{name:12} {took:5.2f} s for {runs[0][1]} tests", flush=True)


if __name__ == "__main__":
    main()
