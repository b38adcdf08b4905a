"""Cron expressions: six fields, second to day of the week, and the next time that they all allow.

A field is a list of parts: `*` or `?`, a number or a name, a range, each maybe with a step; `5/10` is from 5
to the end. Days of the month and of the week are both asked only if one of them is a star; if both say
something, one is enough. A star with a step says something.

Times are those on the wall of a zone. When its clocks go forward, what is between does not happen; when
they go back, it happens twice.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from jetstream_py import limits

SECOND: Final = 1_000_000_000
PREDEFINED: Final = {
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}

_MONTHS: Final = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_NO_BLANKS: Final = "\x1c\x1d\x1e\x1f"  # unlike `str.split` has it
_DAY: Final = timedelta(days=1)


class _Field(NamedTuple):
    low: int
    high: int
    names: dict[str, int]


_FIELDS: Final = (
    _Field(0, 59, {}),
    _Field(0, 59, {}),
    _Field(0, 23, {}),
    _Field(1, 31, {}),
    _Field(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


class _Allowed(NamedTuple):
    """What a field allows, as bits; `star` if it is one."""

    bits: int
    star: bool


class Cron:
    """An expression that was read."""

    __slots__ = ("_days", "_hours", "_minutes", "_months", "_seconds", "_weekdays")

    def __init__(self, text: str) -> None:
        """ValueError: it is none."""
        words = text.split() if len(text) <= limits.CRON_LENGTH else []
        if len(words) != len(_FIELDS) or any(char in text for char in _NO_BLANKS):
            raise ValueError("a cron expression has six fields")
        allowed = [_read(word, field) for word, field in zip(words, _FIELDS, strict=True)]
        self._seconds, self._minutes, self._hours = (each.bits for each in allowed[:3])
        self._days, self._weekdays = allowed[3], allowed[5]
        self._months = allowed[4].bits

    def next(self, after: int, zone: tzinfo) -> int | None:
        """The first time after `after`, in nanoseconds; None if there is none for years."""
        start = after // SECOND + 1
        day = datetime.fromtimestamp(start, zone).date()
        last = day.year + limits.SCHEDULE_YEARS
        while day.year <= last:
            if not self._months >> day.month & 1:
                day = _next_month(day)
                continue
            if self._has(day):
                midnight = int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())
                found = self._within(day, max(start, midnight), zone)
                if found is not None:
                    return found * SECOND
            day += _DAY
        return None

    def _has(self, day: date) -> bool:
        of_month = bool(self._days.bits >> day.day & 1)
        of_week = bool(self._weekdays.bits >> day.isoweekday() % 7 & 1)
        if self._days.star or self._weekdays.star:
            return of_month and of_week
        return of_month or of_week

    def _within(self, day: date, at: int, zone: tzinfo) -> int | None:
        """The first second of the day from `at` on."""
        while True:
            wall = datetime.fromtimestamp(at, zone)
            if wall.date() != day:
                return None
            if not self._hours >> wall.hour & 1:
                at += 3600 - 60 * wall.minute - wall.second
            elif not self._minutes >> wall.minute & 1:
                at += 60 - wall.second
            elif not self._seconds >> wall.second & 1:
                at += 1
            else:
                return at


def _next_month(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _read(text: str, field: _Field) -> _Allowed:
    parts = [_read_part(part, field) for part in text.split(",") if part]
    bits = 0
    for part in parts:
        bits |= part.bits
    return _Allowed(bits, any(part.star for part in parts))


def _read_part(text: str, field: _Field) -> _Allowed:
    span, *steps = text.split("/")
    first, *rest = span.split("-")
    star = first in ("*", "?")
    low, high = field.low, field.high
    if not star:
        if len(rest) > 1:
            raise ValueError("a range has two ends")
        low = high = _number(first, field.names)
        if rest:
            high = _number(rest[0], field.names)
        elif steps:
            high = field.high
    if len(steps) > 1:
        raise ValueError("a range has one step")
    step = _number(steps[0], {}) if steps else 1
    if low < field.low or high > field.high or low > high or not step:
        raise ValueError("out of range")
    bits = sum(1 << number for number in range(low, high + 1, step))
    return _Allowed(bits, star and step == 1)


def _number(text: str, names: dict[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise ValueError("no number")
    return int(digits)
