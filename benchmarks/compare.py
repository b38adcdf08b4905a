"""Servers side by side: interleaved rounds of one case, and the ratios of the rounds.

Speed on a shared machine drifts over minutes and jumps within seconds, so a rate alone says little.
All servers therefore run the same case in turns (A B, B A, A B, ...), each round gives one ratio,
and the figure we look at is the median of those ratios with its smallest and largest.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import disk
from benchmarks.cases import Case, Run
from benchmarks.crew import WorkerFailed
from benchmarks.loadgen import DISK_TIMEOUT, calibrate, run_case
from benchmarks.servers import NATS_ALWAYS, Server, ServerFailed, null_server, running
from benchmarks.stage import fill
from benchmarks.streams import Api, create, with_jetstream

_CEILING_SECONDS = 0.3


@dataclass(frozen=True)
class Contender:
    """A server in the comparison; two contenders may be of the same kind (to see the noise)."""

    label: str
    kind: str


@dataclass
class Outcome:
    """All runs of one case, in the order of the rounds, per contender."""

    case: Case
    contenders: Sequence[Contender]
    runs: dict[str, list[Run]] = field(default_factory=dict)
    ceiling: Run | None = None
    error: str = ""

    @property
    def others(self) -> Sequence[Contender]:
        """Those to whom the first contender is compared."""
        return self.contenders[1:]

    def ratios(self, other: Contender) -> list[float]:
        """Per round, how the first contender compares to another; above 1 is better."""
        first, second = (self.runs.get(one.label, []) for one in (self.contenders[0], other))
        return [self._ratio(one, two) for one, two in zip(first, second, strict=False)]

    def _ratio(self, one: Run, two: Run) -> float:
        return two.p50 / one.p50 if self.case.by_latency else one.rate / two.rate


def contenders(names: str) -> list[Contender]:
    """`ours,nats` -> contenders; a repeated name gets a number."""
    made: list[Contender] = []
    for kind in names.split(","):
        before = sum(1 for one in made if one.kind == kind)
        made.append(Contender(f"{kind}-{before + 1}" if before else kind, kind))
    return made


@dataclass(frozen=True)
class Effort:
    """How many rounds of about how many seconds; fewer, but `least`, to keep the deadline."""

    rounds: int
    least: int
    seconds: float
    deadline: float
    catch_up: int = 0  # messages in a stream that a server reads after a start


def compare(case: Case, who: Sequence[Contender], effort: Effort) -> Outcome:
    """Runs the case in turns on every contender, then alone for the generator's ceiling."""
    who = [one for one in who if len(who) == 1 or _differs(case, one)]
    outcome = Outcome(case, who, {one.label: [] for one in who})
    try:
        if case.cold:
            _cold_rounds(outcome, effort)
            return outcome
        with ExitStack() as stack:
            start = with_jetstream if case.jetstream else running
            servers = [(one.label, stack.enter_context(start(one.kind))) for one in who]
            _rounds(outcome, servers, effort)
        outcome.ceiling = _ceiling(case) if case.has_ceiling else None
    except (WorkerFailed, ServerFailed) as error:
        outcome.error = str(error)
    return outcome


def _differs(case: Case, one: Contender) -> bool:
    """When to sync is a matter of writing only: for reads there is one nats-server."""
    return not (case.reads and one.kind == NATS_ALWAYS)


def _rounds(outcome: Outcome, servers: list[tuple[str, Server]], effort: Effort) -> None:
    case = outcome.case
    counts = {label: calibrate(server, case, effort.seconds) for label, server in servers}
    taken = 0.0
    for number in range(effort.rounds):
        begin = time.monotonic()
        if number >= effort.least and begin + taken > effort.deadline:
            return
        for label, server in servers if number % 2 == 0 else reversed(servers):
            outcome.runs[label].append(run_case(server, case, counts[label]))
        taken = time.monotonic() - begin


def _cold_rounds(outcome: Outcome, effort: Effort) -> None:
    """Every run on a server that has just been started, with files that only the disk has."""
    case, messages = outcome.case, effort.catch_up
    with tempfile.TemporaryDirectory(prefix="bench-cold-") as folder:
        stores = {one.label: Path(folder, one.label) for one in outcome.contenders}
        for one in outcome.contenders:
            with with_jetstream(one.kind, stores[one.label]) as server, Api(server.port) as api:
                create(api, case.storage)
                fill(server, case.load, 0, messages, DISK_TIMEOUT)
        for number in range(effort.rounds):
            if number >= effort.least and time.monotonic() > effort.deadline:
                return
            for one in outcome.contenders if number % 2 == 0 else reversed(outcome.contenders):
                disk.forget(stores[one.label])
                with with_jetstream(one.kind, stores[one.label]) as server:
                    outcome.runs[one.label].append(run_case(server, case, messages))


def _ceiling(case: Case) -> Run:
    """The better of two runs against the null server: a ceiling is what was reached at least once."""
    with null_server(case.mode, case.size, case.subjects) as server:
        messages = calibrate(server, case, _CEILING_SECONDS)
        runs = [run_case(server, case, messages) for _ in range(2)]
    return min(runs, key=lambda run: run.p50 if case.by_latency else -run.rate)


def median_rate(runs: Sequence[Run]) -> float:
    return statistics.median(run.rate for run in runs)


def median_of(runs: Sequence[Run], figure: str) -> float:
    """The median of one figure of the runs, e.g. `p50` or `server_cpu_micros`."""
    return statistics.median(float(getattr(run, figure)) for run in runs)
