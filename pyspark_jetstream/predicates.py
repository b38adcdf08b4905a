"""Filters of a query that a server can help with: sequences, times, subjects.

What is understood narrows the range; what is not is left to Spark, which checks everything once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from pyspark_jetstream.options import TOKENS, nanoseconds
from pyspark_jetstream.subjects import common

MICROSECOND = 1_000
NOTHING = 1 << 62


@dataclass(frozen=True)
class Wanted:
    """What is left after all filters: `start` <= x < `end`, and patterns (none: all subjects)."""

    seq_start: int = 0
    seq_end: int = NOTHING
    ns_start: int = 0
    ns_end: int = NOTHING
    subjects: tuple[str, ...] = ()

    def narrow(self, start: int, end: int, seq_at: Callable[[int], int]) -> tuple[int, int]:
        """The part of a range of sequences that can hold what is wanted."""
        start, end = max(start, self.seq_start), min(end, self.seq_end)
        if self.ns_start:
            start = max(start, seq_at(self.ns_start))
        if self.ns_end < NOTHING:
            end = min(end, seq_at(self.ns_end))
        return start, max(start, end)


def wanted(filters: Iterable[Filter]) -> Wanted:
    """All filters hold at once."""
    found = Wanted()
    for one in filters:
        span = _span(one)
        if span is not None:
            found = _narrower(found, *span)
        elif patterns := _patterns(one):
            both = common(found.subjects, patterns)
            found = replace(found, seq_end=0) if both is None else replace(found, subjects=both)
    return found


def _narrower(found: Wanted, column: str, start: int, end: int) -> Wanted:
    if column == "seq":
        return replace(
            found, seq_start=max(found.seq_start, start), seq_end=min(found.seq_end, end)
        )
    return replace(found, ns_start=max(found.ns_start, start), ns_end=min(found.ns_end, end))


def _span(one: Filter) -> tuple[str, int, int] | None:
    """Column, first and end of what a filter lets through, in sequences or nanoseconds."""
    attribute, value = getattr(one, "attribute", ()), getattr(one, "value", None)
    if attribute == ("seq",):
        return _bounded("seq", one, value, int, 1)
    if attribute == ("time",):
        return _bounded("time", one, value, datetime, MICROSECOND)
    return None


def _bounded(
    column: str, one: Filter, value: Any, kind: type, step: int
) -> tuple[str, int, int] | None:
    values = list(value) if isinstance(one, In) else [value]
    if not values or not all(isinstance(v, kind) and not isinstance(v, bool) for v in values):
        return None
    if kind is datetime and any(v.tzinfo is None for v in values):
        return None
    numbers = [nanoseconds(v) if kind is datetime else v for v in values]
    low, high = min(numbers), max(numbers) + step
    match one:
        case EqualTo() | EqualNullSafe() | In():
            return column, low, high
        case GreaterThan():
            return column, high, NOTHING
        case GreaterThanOrEqual():
            return column, low, NOTHING
        case LessThan():
            return column, 0, low
        case LessThanOrEqual():
            return column, 0, high
    return None


def _patterns(one: Filter) -> tuple[str, ...]:
    """The patterns of what a filter lets through; none when it cannot be said with patterns."""
    if getattr(one, "attribute", ()) != ("subject",):
        return ()
    match one:
        case EqualTo() | EqualNullSafe():
            values: list[Any] = [one.value]
        case In():
            values = list(one.value)
        case StringStartsWith() if "." in one.value:
            values = [one.value.rpartition(".")[0] + ".>"]
        case _:
            return ()
    if isinstance(one, StringStartsWith):
        return tuple(values) if TOKENS.fullmatch(values[0]) and _literal(values[0][:-2]) else ()
    ok = all(isinstance(v, str) and TOKENS.fullmatch(v) and _literal(v) for v in values)
    return tuple(values) if ok else ()


def _literal(subject: str) -> bool:
    return not {"*", ">"} & set(subject.split("."))
