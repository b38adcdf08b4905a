"""`python -m benchmarks`: servers side by side, core NATS or JetStream, as a table and as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks import disk, report, views
from benchmarks.cases import Case
from benchmarks.compare import Contender, Effort, Outcome, compare, contenders
from benchmarks.loadgen import BATCH_MODES, CORE_MODES, JS_MODES, READ_MODES
from benchmarks.reading import KEYS
from benchmarks.restart import Restart, measure_restarts
from benchmarks.servers import COMMANDS, NATS, NATS_ALWAYS, OURS, unwind_on_sigterm
from benchmarks.startup import Startup, measure_starts

_CEILING_ALLOWANCE: Final = 2.0  # seconds of a case's share, for the generator's ceiling
SIZES: Final = (128, 1024)
SUBJECTS: Final = (1, 200, report.MANY_SUBJECTS)
JS_SUBJECTS: Final = (1, 200)
RESTART: Final = "js-restart"
RESTART_LARGE: Final = "js-restart-10m"  # takes minutes to fill: only when it is asked for by name
LARGE: Final = 10_000_000
VIEWS: Final = "views"  # a client in Python, with all that it costs
GROUPS: Final = {
    "core": CORE_MODES,
    "js": (*JS_MODES, *BATCH_MODES, RESTART),
    "read": READ_MODES,
}
MODES: Final = (*CORE_MODES, *JS_MODES, *BATCH_MODES, RESTART, RESTART_LARGE, *READ_MODES, VIEWS)
# Modes whose cost does not grow with the payload enough to be worth a second row.
_ONE_SIZE: Final = ("js-pull-1x2", "js-pull-100x2", "js-sparse", "js-catchup", "js-catchup-pull")


@dataclass(frozen=True)
class Plan:
    """What a run covers, and the seconds it may take in all, in which it drops rounds to stay."""

    servers: str
    cases: Sequence[Case]
    rounds: int
    least_rounds: int
    seconds: float
    budget: float
    starts: int = 0
    restarts: int = 0
    restart_messages: int = 0
    catch_up: int = 0


CORE: Final = Plan(
    servers=f"{OURS},{NATS}",
    cases=[Case(m, size, n) for m in CORE_MODES for size in SIZES for n in SUBJECTS],
    rounds=5,
    least_rounds=3,
    seconds=0.6,
    budget=520.0,
    starts=9,
)
QUICK_CORE: Final = replace(
    CORE,
    cases=[
        *(Case(mode, 128, n) for mode in ("pub", "pub-sub") for n in SUBJECTS),
        *(Case(mode, 128, 1) for mode in CORE_MODES if mode not in ("pub", "pub-sub")),
        Case("pub-sub", 1024, 1),
    ],
    rounds=4,
    least_rounds=2,
    seconds=0.35,
    budget=95.0,
)
JETSTREAM: Final = Plan(
    servers=f"{OURS},{NATS},{NATS_ALWAYS}",
    cases=[
        case
        for mode in (*JS_MODES, *BATCH_MODES)
        for size in SIZES
        for n in JS_SUBJECTS
        if not (case := Case(mode, size, n)).reads or n > 1  # One last message needs no search.
    ],
    rounds=5,
    least_rounds=2,
    seconds=0.6,
    budget=520.0,
    restarts=3,
    restart_messages=1_000_000,
)
QUICK_JETSTREAM: Final = replace(
    JETSTREAM,
    cases=[
        *(Case(mode, 128, 200) for mode in (*JS_MODES, *BATCH_MODES)),
        *(Case("js-pub-5000", size, 1) for size in SIZES),
    ],
    rounds=3,
    least_rounds=1,  # A disk that syncs slowly takes its time.
    seconds=0.35,
    budget=100.0,
    restarts=1,
    restart_messages=100_000,
)
READING: Final = Plan(
    servers=f"{OURS},{NATS},{NATS_ALWAYS}",
    cases=[
        Case(mode, size, KEYS if mode.startswith("kv-") else 200)
        for mode in READ_MODES
        for size in SIZES
        if size == SIZES[0] or mode not in _ONE_SIZE
    ],
    rounds=3,
    least_rounds=1,
    seconds=0.6,
    budget=1100.0,
    catch_up=1_000_000,
)
QUICK_READING: Final = replace(
    READING,
    cases=[case for case in READING.cases if case.size == SIZES[0]],
    rounds=2,
    seconds=0.3,
    budget=280.0,
    catch_up=100_000,
)


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    print(f"machine: {report.machine()}", flush=True)
    outcomes: list[Outcome] = []
    startups: list[Startup] = []
    restarts: list[Restart] = []
    who: list[Contender] = []
    for plan in _plans(options):
        who = contenders(plan.servers)
        if plan.starts:
            startups = measure_starts(who, plan.starts, time.monotonic() + plan.budget)
            print(report.startup_table(startups), end="\n\n", flush=True)
        if plan.restarts or plan.catch_up:
            print(f"disk: {disk.file_system()}, fdatasync {disk.sync_micros():.0f} µs", flush=True)
        if plan.restart_messages:
            restarts = measure_restarts(who, plan.restart_messages, plan.restarts)
            print(report.restart_table(restarts), end="\n\n", flush=True)
        if plan.cases:
            found = _outcomes(plan, who, time.monotonic() + plan.budget)
            print(report.outcome_table(found, who), end="\n\n", flush=True)
            outcomes += found
    columns = _views(options) if VIEWS in options.modes else []
    if options.json:
        figures = report.as_json(outcomes, startups, who, restarts)
        if columns:
            figures[VIEWS] = views.as_json(columns)
        text = json.dumps(figures, indent=1)
        Path(options.json).write_text(text + "\n")
    return 1 if _failed(outcomes, startups, restarts) else 0


def _views(options: argparse.Namespace) -> list[views.Column]:
    amount = views.Amount(rounds=1) if options.quick else views.Amount()
    columns = views.measure(replace(amount, rounds=options.rounds or amount.rounds))
    print(views.table(columns), end="\n\n", flush=True)
    return columns


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
        least = min(plan.rounds, plan.least_rounds)
        effort = Effort(plan.rounds, least, plan.seconds, until, plan.catch_up)
        outcomes.append(compare(case, who, effort))
    return outcomes


def _failed(
    outcomes: Sequence[Outcome], startups: Sequence[Startup], restarts: Sequence[Restart]
) -> bool:
    """Failed, not slow: a server that did not start or a run that lost messages."""
    errors = [one.error for one in outcomes] + [one.error for one in startups]
    return any(errors + [one.error for one in restarts])


def _plans(options: argparse.Namespace) -> list[Plan]:
    """The plans of the groups of which a mode was asked for."""
    core, streams, reading = (
        (QUICK_CORE, QUICK_JETSTREAM, QUICK_READING)
        if options.quick
        else (CORE, JETSTREAM, READING)
    )
    plans: list[Plan] = []
    if not set(options.modes).isdisjoint(CORE_MODES):
        plans.append(replace(_chosen(core, options), starts=options.starts or core.starts))
    if not set(options.modes).isdisjoint((*JS_MODES, *BATCH_MODES, RESTART, RESTART_LARGE)):
        plan = _chosen(streams, options)
        plans.append(replace(plan, restart_messages=_restart_messages(streams, options)))
    if not set(options.modes).isdisjoint(READ_MODES):
        messages = options.catch_up_messages or reading.catch_up
        plans.append(replace(_chosen(reading, options), catch_up=messages))
    return plans


def _restart_messages(plan: Plan, options: argparse.Namespace) -> int:
    if RESTART_LARGE in options.modes:
        return LARGE
    asked = RESTART in options.modes
    return (options.restart_messages or plan.restart_messages) if asked else 0


def _chosen(plan: Plan, options: argparse.Namespace) -> Plan:
    cases = [
        replace(case, binary=options.binary)
        for case in plan.cases
        if case.mode in options.modes
        and (not options.sizes or case.size in options.sizes)
        and (not options.subjects or case.subjects in options.subjects)
    ]
    return replace(
        plan,
        cases=cases,
        servers=options.servers or plan.servers,
        rounds=options.rounds or plan.rounds,
        restarts=(options.rounds or plan.restarts) if plan.restarts else 0,
        seconds=options.seconds or plan.seconds,
    )


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cases, under two minutes")
    parser.add_argument("--rounds", type=int, help="rounds per case")
    parser.add_argument("--seconds", type=float, help="wanted length of one run")
    parser.add_argument("--starts", type=int, help="starts of each server")
    parser.add_argument(
        "--modes",
        type=_modes,
        default=list(CORE_MODES),
        help=f"core (the default), js, read, or any of {', '.join(MODES)}",
    )
    parser.add_argument("--sizes", type=_numbers, help="payload sizes, e.g. 128,1024")
    parser.add_argument("--subjects", type=_numbers, help="numbers of subjects, e.g. 1,200,30000")
    parser.add_argument("--binary", action="store_true", help="payloads of any bytes, not text")
    parser.add_argument(
        "--restart-messages", type=int, metavar="N", help="in the store of js-restart"
    )
    parser.add_argument(
        "--catch-up-messages", type=int, metavar="N", help="in the stream of js-catchup"
    )
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument(
        "--servers",
        type=lambda text: ",".join(_listed(COMMANDS)(text)),
        help=f"of {', '.join(COMMANDS)}; ratios are of the first to each other",
    )
    return parser.parse_args(argv)


def _listed(allowed: Iterable[str]) -> Callable[[str], list[str]]:
    def words(text: str) -> list[str]:
        for word in text.split(","):
            if word not in allowed:
                raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(allowed)}")
        return text.split(",")

    return words


def _modes(text: str) -> list[str]:
    names = _listed((*GROUPS, *MODES))(text)
    return [mode for name in names for mode in GROUPS.get(name, (name,))]


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


if __name__ == "__main__":
    unwind_on_sigterm()
    sys.exit(main())
