"""The table for the reader and the JSON for machines. Targets are named here and nowhere else."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from benchmarks.compare import Contender, Outcome, median_of, median_rate
from benchmarks.loadgen import Case, Run
from benchmarks.startup import Startup

MANY_SUBJECTS: Final = 30_000
START_MS: Final = 150.0
IDLE_MB: Final = 40.0
_TARGETS: Final = {
    "pub": 0.5,
    "pub-sub": 0.8,
    "fanout5": 0.8,
    "reqrep-1": 1.0,
    "reqrep-1-core": 1.0,
}
_TARGET_MANY_SUBJECTS: Final = 0.5


def target(case: Case) -> float | None:
    """The ratio we want to reach at least; none where we have not set one."""
    if case.subjects >= MANY_SUBJECTS and not case.by_latency:
        return _TARGET_MANY_SUBJECTS
    return _TARGETS.get(case.mode)


def verdict(case: Case, ratio: float) -> str:
    wanted = target(case)
    if wanted is None:
        return "-"
    return "ok" if round(ratio, 2) >= wanted else "BELOW"


def table(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Aligned columns; the first `left` to the left, the rest to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def outcome_table(outcomes: Sequence[Outcome], who: Sequence[Contender]) -> str:
    rows = [_heading(who)]
    rows += [_row(outcome, who) for outcome in outcomes if not outcome.error]
    lines = [table(rows)]
    lines += [
        f"FAILED {o.case.mode} {o.case.size} B, {o.case.subjects} subjects: {o.error}"
        for o in outcomes
        if o.error
    ]
    return "\n".join(lines)


def _heading(who: Sequence[Contender]) -> list[str]:
    labels = [one.label for one in who]
    return [
        "mode",
        "size",
        "subjects",
        *(f"{label} msgs/s" for label in labels),
        "ratio",
        "spread",
        "rounds",
        "target",
        "",
        *(f"{label} CPU" for label in labels),
        "gen CPU",
        "gen waits",
        "gen ceiling",
    ]


def _row(outcome: Outcome, who: Sequence[Contender]) -> list[str]:
    case = outcome.case
    runs = [outcome.runs[one.label] for one in who]
    ratios = outcome.ratios()
    ratio = statistics.median(ratios) if ratios else None
    wanted = target(case)
    every = [run for some in runs for run in some]
    return [
        case.mode,
        f"{case.size} B",
        str(case.subjects),
        *(_speed(case, some) for some in runs),
        f"{ratio:.2f}" if ratio is not None else "-",
        f"{min(ratios):.2f}..{max(ratios):.2f}" if ratios else "-",
        str(min(len(some) for some in runs)),
        f"{wanted:.1f}" if wanted is not None else "-",
        verdict(case, ratio) if ratio is not None else "-",
        *(f"{median_of(some, 'server_cpu_micros'):.2f} µs" for some in runs),
        f"{median_of(every, 'generator_cpu_micros'):.2f} µs",
        f"{median_of(every, 'busiest_waiting'):.0%}",
        _speed(case, [outcome.ceiling]) if outcome.ceiling else "-",
    ]


def _speed(case: Case, runs: Sequence[Run]) -> str:
    if case.by_latency:
        return f"{median_of(runs, 'p50'):.0f}/{median_of(runs, 'p99'):.0f} µs"
    return f"{median_rate(runs):,.0f}"


def startup_table(startups: Sequence[Startup]) -> str:
    rows = [["server", "version", "start to INFO", "target", "", "idle RSS", "target", ""]]
    for one in startups:
        rows.append(
            [
                one.label,
                one.version or "-",
                f"{one.median_ms:.0f} ms",
                f"{START_MS:.0f} ms",
                "ok" if one.seconds and one.median_ms <= START_MS else "BELOW",
                f"{one.rss_mb:.1f} MB",
                f"{IDLE_MB:.0f} MB",
                "ok" if one.idle_rss and one.rss_mb <= IDLE_MB else "BELOW",
            ]
        )
    lines = [table(rows, left=2)]
    lines += [f"FAILED start of {one.label}: {one.error}" for one in startups if one.error]
    return "\n".join(lines)


def as_json(
    outcomes: Sequence[Outcome], startups: Sequence[Startup], who: Sequence[Contender]
) -> dict[str, Any]:
    return {
        "machine": machine(),
        "contenders": [asdict(one) for one in who],
        "startup": [
            asdict(one) | {"median_ms": one.median_ms, "rss_mb": one.rss_mb} for one in startups
        ],
        "cases": [_case_json(outcome) for outcome in outcomes],
    }


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "load_average": list(os.getloadavg()),
    }


def _case_json(outcome: Outcome) -> dict[str, Any]:
    ratios = outcome.ratios()
    ratio = statistics.median(ratios) if ratios else None
    return {
        "case": asdict(outcome.case),
        "error": outcome.error,
        "ratio": ratio,
        "ratios": ratios,
        "target": target(outcome.case),
        "verdict": verdict(outcome.case, ratio) if ratio is not None else None,
        "runs": {label: [_run_json(r) for r in some] for label, some in outcome.runs.items()},
        "generator_ceiling": _run_json(outcome.ceiling) if outcome.ceiling else None,
    }


def _run_json(run: Run) -> dict[str, Any]:
    return {
        "messages": run.messages,
        "seconds": run.seconds,
        "rate": run.rate,
        "p50_micros": run.p50,
        "p99_micros": run.p99,
        "server_cpu_seconds": run.server_cpu,
        "server_cpu_micros_per_message": run.server_cpu_micros,
        "generator_cpu_seconds": run.generator_cpu,
        "generator": [
            {
                "role": one.role,
                "cpu_seconds": one.cpu,
                "queued_seconds": one.queued,
                "waiting_share": one.waiting,
            }
            for one in run.reports
        ],
    }
