"""Times as the API writes and reads them: RFC 3339, with Go's words for what is wrong with one."""

from __future__ import annotations

import re
from datetime import date
from typing import Final, NamedTuple

from jetstream_py.gotext import rfc3339_nano

ZERO_TIME: Final = "0001-01-01T00:00:00Z"

_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_EPOCH: Final = date(1970, 1, 1).toordinal()
_400_YEARS: Final = 146_097  # in days
_SECOND: Final = 1_000_000_000
_YEAR_1000: Final = (date(1000, 1, 1).toordinal() - _EPOCH) * 86_400 * _SECOND
_YEAR_10000: Final = (date(9999, 12, 31).toordinal() + 1 - _EPOCH) * 86_400 * _SECOND


class _Part(NamedTuple):
    """A piece of the layout: how it looks there, what a value may hold, and its highest number."""

    layout: str
    form: re.Pattern[str]
    name: str = ""
    low: int = 0
    high: int = 0


def _part(layout: str, form: str, name: str = "", low: int = 0, high: int = 0) -> _Part:
    return _Part(layout, re.compile(form, re.ASCII), name, low, high)


_PARTS: Final = (
    _part("2006", r"\d{4}", "year", 0, 9999),
    _part("-", "-"),
    _part("01", r"\d\d", "month", 1, 12),
    _part("-", "-"),
    _part("02", r"\d\d", "day", 0, 99),  # how many there are depends on the month
    _part("T", "T"),
    _part("15", r"\d\d?", "hour", 0, 23),
    _part(":", ":"),
    _part("04", r"\d\d", "minute", 0, 59),
    _part(":", ":"),
    _part("05", r"\d\d", "second", 0, 59),
)
_FRACTION: Final = re.compile(r"[.,](\d+)", re.ASCII)
_ZONE: Final = re.compile(r"Z|([+-])(\d\d):(\d\d)", re.ASCII)


class _Moment(NamedTuple):
    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    ns: int
    zone: int  # minutes east of Greenwich


def time_text(ns: int | None) -> str:
    """Nanoseconds since 1970 as text; None is the time that was never set."""
    return ZERO_TIME if ns is None else rfc3339_nano(ns)


def utc_text(text: str) -> str:
    """The same time in UTC; one whose year has no four digits there stays as it is."""
    ns = parse_time(text)
    return rfc3339_nano(ns) if is_plain(ns) else text


def is_plain(ns: int) -> bool:
    """Is the year one from 1000 to 9999?"""
    return _YEAR_1000 <= ns < _YEAR_10000


def parse_time(text: str) -> int:
    """Nanoseconds since 1970. ValueError says what could not be read."""
    moment = _parse(text)
    minutes = (_day(*moment[:3]) * 24 + moment.hour) * 60 + moment.minute - moment.zone
    return (minutes * 60 + moment.second) * _SECOND + moment.ns


def _day(year: int, month: int, day: int) -> int:
    """Days since 1970; unlike `date`, this knows the year 0 too."""
    return date(year or 400, month, day).toordinal() - _EPOCH - (0 if year else _400_YEARS)


def normal_time(text: str) -> str:
    """The time as Go writes back what it read. ValueError says what could not be read."""
    moment = _parse(text)
    text = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*moment[:6])
    fraction = f".{moment.ns:09}".rstrip("0") if moment.ns else ""
    if not moment.zone:
        return f"{text}{fraction}Z"
    hours, minutes = divmod(abs(moment.zone), 60)
    return f"{text}{fraction}{'+' if moment.zone > 0 else '-'}{hours:02}:{minutes:02}"


def _parse(text: str) -> _Moment:
    numbers: list[int] = []
    at = 0
    for part in _PARTS:
        match = part.form.match(text, at)
        if match is None:
            raise _unreadable(text, at, part.layout)
        if part.name:
            numbers.append(_in_range(text, part.name, int(match[0]), part.low, part.high))
        at = match.end()
    fraction = _FRACTION.match(text, at)
    if fraction is not None:
        at = fraction.end()
    zone = _ZONE.match(text, at)
    if zone is None:
        raise _unreadable(text, at, "Z07:00")
    east = _offset(text, zone)
    if zone.end() < len(text):
        raise ValueError(f"parsing time {_quote(text)}: extra text: {_quote(text[zone.end() :])}")
    _in_range(text, "day", numbers[2], 1, _days(numbers[0], numbers[1]))
    ns = int(fraction[1][:9].ljust(9, "0")) if fraction else 0
    year, month, day, hour, minute, second = numbers
    return _Moment(year, month, day, hour, minute, second, ns, east)


def _offset(text: str, zone: re.Match[str]) -> int:
    if zone[1] is None:
        return 0
    hours = _in_range(text, "time zone offset hour", int(zone[2]), 0, 24)
    minutes = _in_range(text, "time zone offset minute", int(zone[3]), 0, 60)
    east = hours * 60 + minutes
    return east if zone[1] == "+" else -east


def _in_range(text: str, name: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ValueError(f"parsing time {_quote(text)}: {name} out of range")
    return value


def _days(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _unreadable(text: str, at: int, layout: str) -> ValueError:
    return ValueError(
        f"parsing time {_quote(text)} as {_quote(_LAYOUT)}: "
        f"cannot parse {_quote(text[at:])} as {_quote(layout)}"
    )


def _quote(text: str) -> str:
    """Bytes beyond ASCII are shown one by one here."""
    quoted = (
        f"\\{char}" if char in '"\\' else char if " " <= char <= "~" else _escaped(char)
        for char in text
    )
    return f'"{"".join(quoted)}"'


def _escaped(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode())
