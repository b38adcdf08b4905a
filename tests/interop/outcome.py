"""What a tool was told, case by case, and the comparison of two servers' outcomes."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

# What jetstream-py says of a feature that it does not have so far.
LATER = "is not available in this version of jetstream-py"


@dataclass
class Outcome:
    """One case: why it failed, if it did, and the facts that must be the same everywhere."""

    failed: str = ""
    facts: list[str] = field(default_factory=list)


Transcript = Mapping[str, Outcome]


class Verdict(enum.Enum):
    SAME = "same"
    DIFFERENT = "DIFFERENT"
    LATER = "not there yet"
    FAILS = "FAILS on jetstream-py"
    WRONG = "fails on nats-server: the case is wrong"


@dataclass
class Row:
    tool: str
    case: str
    verdict: Verdict
    detail: list[str]


def unequal(rows: list[Row]) -> int:
    return sum(row.verdict not in (Verdict.SAME, Verdict.LATER) for row in rows)


def compare(tool: str, theirs: Transcript, ours: Transcript) -> list[Row]:
    return [row(tool, case, theirs[case], ours.get(case, Outcome("never ran"))) for case in theirs]


def row(tool: str, case: str, theirs: Outcome, ours: Outcome) -> Row:
    if theirs.failed:
        return Row(tool, case, Verdict.WRONG, [theirs.failed])
    if ours.failed:
        verdict = Verdict.LATER if LATER in ours.failed else Verdict.FAILS
        return Row(tool, case, verdict, [ours.failed])
    if theirs.facts == ours.facts:
        return Row(tool, case, Verdict.SAME, [])
    difference = difflib.unified_diff(theirs.facts, ours.facts, "nats-server", "jetstream-py", n=0)
    return Row(tool, case, Verdict.DIFFERENT, [line.rstrip() for line in difference])


def table(rows: list[Row]) -> str:
    """One line a case; what differs is written below."""
    tools = max(len(each.tool) for each in rows)
    cases = max(len(each.case) for each in rows)
    lines = [f"{r.tool:<{tools}}  {r.case:<{cases}}  {r.verdict.value}" for r in rows]
    for each in rows:
        if each.detail:
            lines += ["", f"{each.tool}, {each.case}:", *(f"    {line}" for line in each.detail)]
    return "\n".join(lines)
