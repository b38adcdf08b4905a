"""What a benchmark has measured: rates, latencies by rank, and how they are spread."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from typing import Any, Final

from jetstream_py.cli import show, units
from jetstream_py.cli.failure import Failure

RANKS: Final = (("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9))
ROWS: Final = 8  # of the plot
BAR: Final = 40


@dataclass
class Result:
    """One run."""

    title: str
    clients: int
    messages: int
    bytes: int
    seconds: float
    latencies: array[float] = field(default_factory=lambda: array("d"))  # seconds
    latency_of: str = ""  # what they are of
    errors: int = 0
    first_error: str = ""

    @property
    def rate(self) -> float:
        return self.messages / self.seconds if self.seconds else 0.0

    @property
    def bytes_rate(self) -> float:
        return self.bytes / self.seconds if self.seconds else 0.0

    def percentiles(self) -> dict[str, float]:
        """Seconds; nothing where there are no latencies."""
        ranked = sorted(self.latencies)
        if not ranked:
            return {}
        found = {"min": ranked[0], "avg": math.fsum(ranked) / len(ranked)}
        found |= {name: ranked[_rank(len(ranked), percent)] for name, percent in RANKS}
        return {**found, "max": ranked[-1]}


def _rank(count: int, percent: float) -> int:
    """Of the smallest value that is at least as large as so many percent of all."""
    return max(0, math.ceil(count * percent / 100) - 1)


def data(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = {
        "benchmark": result.title,
        "clients": result.clients,
        "messages": result.messages,
        "bytes": result.bytes,
        "seconds": round(result.seconds, 6),
        "messages_per_second": round(result.rate, 1),
        "bytes_per_second": round(result.bytes_rate, 1),
        "errors": result.errors,
    }
    if ranks := result.percentiles():
        found["latency_of"] = result.latency_of
        found["latency_us"] = {name: round(value * 1e6, 1) for name, value in ranks.items()}
    if result.first_error:
        found["first_error"] = result.first_error
    return found


def print_result(result: Result, as_json: bool) -> None:
    """Raises `Failure` if nothing went well."""
    if result.errors and not result.messages:
        raise Failure(f"nothing was done: {result.first_error}", _hint(result.first_error))
    if as_json:
        show.data(data(result))
    else:
        _print_facts(result)


def _hint(error: str) -> str:
    return "nobody listens there" if error.startswith("NATS/1.0 503") else ""


def _print_facts(result: Result) -> None:
    rate = f"{result.rate:,.0f} msgs/sec ~ {units.size(round(result.bytes_rate))}/sec"
    took = units.duration(round(result.seconds * 1e9))
    rates: list[tuple[str, object]] = [
        ("Clients", result.clients),
        ("Messages", units.count(result.messages)),
        ("Bytes", units.size(result.bytes)),
        ("Time", took),
        ("Rate", rate),
        ("Errors", f"{result.errors:,}: {result.first_error}" if result.errors else None),
    ]
    ranks = [
        (name, units.duration(round(value * 1e9))) for name, value in result.percentiles().items()
    ]
    show.facts(result.title, [("", rates), (f"Latency of {result.latency_of}", ranks)])
    if ranks and show.terminal():
        show.line()
        for text in plot(result.latencies):
            show.line(text)


def plot(latencies: array[float]) -> list[str]:
    """How many took how long: bars between powers, from the fastest to the slowest."""
    least, most = max(min(latencies), 1e-9), max(latencies)
    step = (most / least) ** (1 / ROWS) if most > least else 2.0
    counts = [0] * ROWS
    for value in latencies:
        at = int(math.log(max(value, least) / least) / math.log(step))
        counts[min(at, ROWS - 1)] += 1
    tallest = max(counts)
    lines = []
    for row, count in enumerate(counts):
        upto = units.duration(round(least * step ** (row + 1) * 1e9))
        bar = "█" * math.ceil(BAR * count / tallest)
        lines.append(f"  {'≤ ' + upto:>12} {bar:<{BAR}} {count:,}".rstrip())
    return lines
