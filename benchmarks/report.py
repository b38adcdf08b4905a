"""The table for the reader and the JSON for machines. Targets are named here and nowhere else."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from benchmarks.cases import Case, Run
from benchmarks.compare import Contender, Outcome, median_of, median_rate
from benchmarks.restart import Restart
from benchmarks.servers import NATS, NATS_ALWAYS
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
    "js-pub-5000": 1.0,
    "js-pub-5000-mem": 1.0,
    "js-mirror": 1.0,
    "js-source": 1.0,
}
# To nats-server that syncs every message before its ack, as we do: it syncs one by one.
_ALWAYS_TARGETS: Final = {
    "js-pub-5000": 50.0,
    "js-pub-100": 20.0,
    "js-pub-1": 0.67,  # a p50 of at most 1.5 times theirs
}
_TARGET_MANY_SUBJECTS: Final = 0.5


def target(case: Case, kind: str = NATS) -> float | None:
    """The ratio to this kind of server that we want at least; none where we have not set one."""
    if kind == NATS_ALWAYS:
        return _ALWAYS_TARGETS.get(case.mode)
    if case.subjects >= MANY_SUBJECTS and not case.by_latency:
        return _TARGET_MANY_SUBJECTS
    return _TARGETS.get(case.mode)


def verdict(case: Case, ratio: float, kind: str = NATS) -> str:
    wanted = target(case, kind)
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
    stored = any(outcome.case.grows for outcome in outcomes)
    rows = [_heading(who, stored)]
    rows += [_row(outcome, who, stored) for outcome in outcomes if not outcome.error]
    lines = [table(rows)]
    lines += [
        f"FAILED {o.case.mode} {o.case.size} B, {o.case.subjects} subjects: {o.error}"
        for o in outcomes
        if o.error
    ]
    return "\n".join(lines)


def _heading(who: Sequence[Contender], stored: bool) -> list[str]:
    labels = [one.label for one in who]
    ratios = ["ratio"] if len(who) == 2 else [f"to {label}" for label in labels[1:]]
    return [
        "mode",
        "size",
        "subjects",
        *(f"{label} msgs/s" for label in labels),
        *(cell for ratio in ratios for cell in (ratio, "spread", "target", "")),
        "rounds",
        *(f"{label} CPU" for label in labels),
        *(f"{label} disk" for label in labels if stored),
        "gen CPU",
        "gen waits",
        "gen ceiling",
    ]


def _row(outcome: Outcome, who: Sequence[Contender], stored: bool) -> list[str]:
    case = outcome.case
    runs = [outcome.runs.get(one.label, []) for one in who]
    every = [run for some in runs for run in some]
    return [
        case.mode,
        f"{case.size} B",
        str(case.subjects),
        *(_speed(case, some) for some in runs),
        *(cell for other in who[1:] for cell in _ratio_cells(outcome, other)),
        str(min(len(some) for some in runs if some)),
        *(_figure(some, "server_cpu_micros", ".2f", " µs") for some in runs),
        *(
            _figure(some if case.grows else [], "disk_per_message", ".0f", " B")
            for some in runs
            if stored
        ),
        _figure(every, "generator_cpu_micros", ".2f", " µs"),
        _figure(every, "busiest_waiting", ".0%"),
        _speed(case, [outcome.ceiling] if outcome.ceiling else []),
    ]


def _ratio_cells(outcome: Outcome, other: Contender) -> list[str]:
    """Ratio, spread, target and verdict of the first contender to this one."""
    ratios = outcome.ratios(other)
    if not ratios:
        return ["-"] * 4
    ratio = statistics.median(ratios)
    wanted = target(outcome.case, other.kind)
    return [
        f"{ratio:.2f}",
        f"{min(ratios):.2f}..{max(ratios):.2f}",
        f"{wanted:g}" if wanted is not None else "-",
        verdict(outcome.case, ratio, other.kind),
    ]


def _figure(runs: Sequence[Run], name: str, form: str, unit: str = "") -> str:
    return f"{median_of(runs, name):{form}}{unit}" if runs else "-"


def _speed(case: Case, runs: Sequence[Run]) -> str:
    if not runs:
        return "-"
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


def restart_table(restarts: Sequence[Restart]) -> str:
    rows = [["after SIGKILL", "stored", "kept", "to INFO", "to STREAM.INFO", "RSS", "disk"]]
    for one in restarts:
        if not one.error:
            rows.append(
                [
                    one.label,
                    f"{one.stored:,}",
                    f"{one.kept:,}",
                    f"{statistics.median(one.info_seconds) * 1000:,.0f} ms",
                    f"{statistics.median(one.answer_seconds) * 1000:,.0f} ms",
                    f"{one.rss / 1e6:,.0f} MB",
                    f"{one.disk_bytes / one.stored:.0f} B/msg",
                ]
            )
    lines = [table(rows)]
    lines += [f"FAILED restart of {one.label}: {one.error}" for one in restarts if one.error]
    return "\n".join(lines)


def as_json(
    outcomes: Sequence[Outcome],
    startups: Sequence[Startup],
    who: Sequence[Contender],
    restarts: Sequence[Restart] = (),
) -> dict[str, Any]:
    return {
        "machine": machine(),
        "contenders": [asdict(one) for one in who],
        "startup": [
            asdict(one) | {"median_ms": one.median_ms, "rss_mb": one.rss_mb} for one in startups
        ],
        "cases": [_case_json(outcome) for outcome in outcomes],
        "restarts": [asdict(one) for one in restarts],
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
    return {
        "case": asdict(outcome.case),
        "error": outcome.error,
        "to": {other.label: _ratio_json(outcome, other) for other in outcome.others},
        "runs": {label: [_run_json(r) for r in some] for label, some in outcome.runs.items()},
        "generator_ceiling": _run_json(outcome.ceiling) if outcome.ceiling else None,
    }


def _ratio_json(outcome: Outcome, other: Contender) -> dict[str, Any]:
    ratios = outcome.ratios(other)
    ratio = statistics.median(ratios) if ratios else None
    return {
        "ratio": ratio,
        "ratios": ratios,
        "target": target(outcome.case, other.kind),
        "verdict": verdict(outcome.case, ratio, other.kind) if ratio is not None else None,
    }


def _run_json(run: Run) -> dict[str, Any]:
    return {
        "messages": run.messages,
        "seconds": run.seconds,
        "rate": run.rate,
        "p50_micros": run.p50,
        "p99_micros": run.p99,
        "disk_bytes_per_message": run.disk_per_message,
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
