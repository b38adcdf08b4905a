"""`python -m benchmarks`: core NATS, two servers side by side, as a table and as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks import report
from benchmarks.compare import Contender, Effort, Outcome, compare, contenders
from benchmarks.loadgen import MODES, Case
from benchmarks.servers import COMMANDS, unwind_on_sigterm
from benchmarks.startup import Startup, measure_starts

_CEILING_ALLOWANCE: Final = 2.0  # seconds of a case's share, for the generator's ceiling
SIZES: Final = (128, 1024)
SUBJECTS: Final = (1, 200, report.MANY_SUBJECTS)


@dataclass(frozen=True)
class Plan:
    """What a run covers, and the seconds it may take in all, in which it drops rounds to stay."""

    cases: Sequence[Case]
    rounds: int
    least_rounds: int
    seconds: float
    starts: int
    budget: float


FULL: Final = Plan(
    cases=[Case(m, size, n) for m in MODES for size in SIZES for n in SUBJECTS],
    rounds=5,
    least_rounds=3,
    seconds=0.6,
    starts=9,
    budget=520.0,
)
QUICK: Final = Plan(
    cases=[
        *(Case(mode, 128, n) for mode in ("pub", "pub-sub") for n in SUBJECTS),
        *(Case(mode, 128, 1) for mode in MODES if mode not in ("pub", "pub-sub")),
        Case("pub-sub", 1024, 1),
    ],
    rounds=4,
    least_rounds=2,
    seconds=0.35,
    starts=9,
    budget=95.0,
)


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    plan = _plan(options)
    who = contenders(options.servers)
    deadline = time.monotonic() + plan.budget
    print(f"machine: {report.machine()}", flush=True)
    startups = measure_starts(who, plan.starts, deadline)
    print(report.startup_table(startups), end="\n\n", flush=True)
    outcomes = _outcomes(plan, who, deadline)
    print(report.outcome_table(outcomes, who))
    if options.json:
        text = json.dumps(report.as_json(outcomes, startups, who), indent=1)
        Path(options.json).write_text(text + "\n")
    return 1 if _failed(outcomes, startups) else 0


def _outcomes(plan: Plan, who: Sequence[Contender], deadline: float) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for number, case in enumerate(plan.cases, 1):
        left = deadline - time.monotonic()
        if outcomes and left <= 0:
            print(f"out of time: {len(plan.cases) - number + 1} cases left out", file=sys.stderr)
            break
        print(
            f"[{number}/{len(plan.cases)}] {case.mode} {case.size} B, {case.subjects} subjects",
            file=sys.stderr,
            flush=True,
        )
        share = left / (len(plan.cases) - number + 1)  # A slow machine costs rounds, not cases.
        until = time.monotonic() + share - _CEILING_ALLOWANCE
        effort = Effort(plan.rounds, min(plan.rounds, plan.least_rounds), plan.seconds, until)
        outcomes.append(compare(case, who, effort))
    return outcomes


def _failed(outcomes: Sequence[Outcome], startups: Sequence[Startup]) -> bool:
    """Failed, not slow: a server that did not start or a run that lost messages."""
    return any(o.error for o in outcomes) or any(s.error for s in startups)


def _plan(options: argparse.Namespace) -> Plan:
    plan = QUICK if options.quick else FULL
    cases = [
        replace(case, binary=options.binary)
        for case in plan.cases
        if (not options.modes or case.mode in options.modes)
        and (not options.sizes or case.size in options.sizes)
        and (not options.subjects or case.subjects in options.subjects)
    ]
    return replace(
        plan,
        cases=cases,
        rounds=options.rounds or plan.rounds,
        seconds=options.seconds or plan.seconds,
        starts=options.starts or plan.starts,
    )


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cases, under two minutes")
    parser.add_argument("--rounds", type=int, help="rounds per case")
    parser.add_argument("--seconds", type=float, help="wanted length of one run")
    parser.add_argument("--starts", type=int, help="starts of each server")
    parser.add_argument("--modes", type=_listed(MODES), help=", ".join(MODES))
    parser.add_argument("--sizes", type=_numbers, help="payload sizes, e.g. 128,1024")
    parser.add_argument("--subjects", type=_numbers, help="numbers of subjects, e.g. 1,200,30000")
    parser.add_argument("--binary", action="store_true", help="payloads of any bytes, not text")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument(
        "--servers",
        default="ours,nats",
        type=lambda text: ",".join(_listed(COMMANDS)(text)),
        help=f"one or two of {', '.join(COMMANDS)}; the ratio is first to second",
    )
    return parser.parse_args(argv)


def _listed(allowed: Iterable[str]) -> Callable[[str], list[str]]:
    def words(text: str) -> list[str]:
        for word in text.split(","):
            if word not in allowed:
                raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(allowed)}")
        return text.split(",")

    return words


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


if __name__ == "__main__":
    unwind_on_sigterm()
    sys.exit(main())
