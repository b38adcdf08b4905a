"""What became of each stream, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

PLANNED, DONE, ALREADY, FAILED = "planned", "done", "already there", "failed"


@dataclass
class Outcome:
    """One stream of a migration."""

    stream: str
    target: str
    status: str = PLANNED
    method: str = ""
    messages: int = 0
    bytes: int = 0
    first_seq: int = 0
    last_seq: int = 0
    consumers: list[str] = field(default_factory=list)
    verified: bool = False
    digest: str = ""  # of sequences, subjects, headers and data
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def fine(self) -> bool:
        return self.status != FAILED

    def json(self) -> dict[str, Any]:
        return asdict(self)


_COLUMNS = (
    "stream",
    "target",
    "status",
    "method",
    "messages",
    "sequences",
    "consumers",
    "verified",
)


def table(outcomes: list[Outcome]) -> str:
    rows = [_COLUMNS, *map(_row, outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = []
    for row, outcome in zip(rows, [None, *outcomes], strict=True):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
        if outcome is not None:
            said = [f"error: {outcome.error}"] if outcome.error else []
            lines += [f"    {line}" for line in [*outcome.notes, *said]]
    return "\n".join(lines)


def _row(outcome: Outcome) -> tuple[str, ...]:
    return (
        outcome.stream,
        outcome.target,
        outcome.status,
        outcome.method,
        f"{outcome.messages:,}",
        f"{outcome.first_seq}-{outcome.last_seq}",
        str(len(outcome.consumers)),
        "yes" if outcome.verified else "no",
    )
