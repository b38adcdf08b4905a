"""Durations, sizes and times as people write and read them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
# The letters of the nats command: M is a month, m a minute.
UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
    "d": DAY,
    "D": DAY,
    "w": 7 * DAY,
    "W": 7 * DAY,
    "M": 30 * DAY,
    "y": 365 * DAY,
    "Y": 365 * DAY,
}
SIZES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
NO_LIMIT: Final = ("-1", "unlimited", "none", "never")
MOST: Final = 2**63 - 1

_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|[smhdDwWMyY])")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTPE]?)(?:I?B)?", re.IGNORECASE)


def parse_duration(text: str) -> int:
    """`1h30m`, `1d`, `250ms` in nanoseconds; `-1`, `unlimited` and `never` are 0. Raises `ValueError`."""
    text = text.strip()
    if text in ("0", *NO_LIMIT):
        return 0
    total, at = 0, 0
    while part := _PART.match(text, at):
        number, unit = part.groups()
        scale = UNITS[unit]
        total += int(number) * scale if number.isdecimal() else round(float(number) * scale)
        at = part.end()
    if at != len(text) or not text or total > MOST:
        raise ValueError(f"{text!r} is no duration like 1h30m, 1d or 250ms")
    return total


def parse_size(text: str) -> int:
    """`10MiB`, `1G`, `512` in bytes; units are powers of 1024. `-1` and `unlimited` are -1."""
    text = text.strip()
    if text in NO_LIMIT:
        return -1
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no size like 512, 10KiB or 1G")
    number, letter = found.groups()
    scale: int = 1024 ** " KMGTPE".index(letter.upper() or " ")
    total = int(number) * scale if number.isdecimal() else round(float(number) * scale)
    if total > MOST:
        raise ValueError(f"{text!r} is too large")
    return total


def parse_time(text: str, now: datetime | None = None) -> datetime:
    """A time (`2026-01-31T10:00:00Z`, `2026-01-31 10:00`), or how long ago (`1h`)."""
    now = now or datetime.now(UTC)
    try:
        ago = 0 if text in NO_LIMIT else parse_duration(text)
    except ValueError:
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{text!r} is neither a time like 2026-01-31 10:00 nor 1h") from None
        return found.astimezone(UTC)
    if not ago:
        raise ValueError(f"{text!r} is no time")
    return now - timedelta(microseconds=ago / 1000)


def rfc3339(when: datetime) -> str:
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z")


def duration(nanoseconds: int) -> str:
    """`1h30m`, `2d`, `1.5s`, `250ms`: the parts that are not zero, at most three of them."""
    if nanoseconds < 0:
        return "-" + duration(-nanoseconds)
    if nanoseconds < MINUTE:
        for unit, scale in (("s", SECOND), ("ms", 1_000_000), ("µs", 1_000)):
            if nanoseconds >= scale:
                return f"{_short(nanoseconds / scale)}{unit}"
        return f"{nanoseconds}ns" if nanoseconds else "0s"
    parts, rest = [], nanoseconds
    for unit, scale in (("y", 365 * DAY), ("d", DAY), ("h", HOUR), ("m", MINUTE)):
        count, rest = divmod(rest, scale)
        if count:
            parts.append(f"{count}{unit}")
    if rest >= SECOND:
        parts.append(f"{rest // SECOND}s")
    return "".join(parts[:3])


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def size(count: int) -> str:
    """`512 B`, `1.5 KiB`, `20 MiB`."""
    value, unit = float(count), 0
    while value >= 1024 and unit < len(SIZES) - 1:
        value /= 1024
        unit += 1
    return f"{value:.1f} {SIZES[unit]}" if unit and value < 10 else f"{value:.0f} {SIZES[unit]}"


def count(number: int) -> str:
    return f"{number:,}"


def limit(number: int, render: Callable[[int], str] = count) -> str:
    """A limit as JetStream has it: 0 and less are none."""
    return render(number) if number > 0 else "unlimited"


def parse_stamp(text: str) -> datetime | None:
    """A time as servers write it, nine digits and all; None for Go's zero."""
    if not text or text.startswith("0001-"):
        return None
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))


def stamp(text: str) -> str:
    """A server's time to the second, in the zone of whoever reads it."""
    found = parse_stamp(text)
    return "never" if found is None else f"{found.astimezone():%Y-%m-%d %H:%M:%S}"


def since(text: str, now: datetime | None = None) -> str:
    """How long ago a server's time is."""
    found = parse_stamp(text)
    if found is None:
        return "never"
    passed = (now or datetime.now(UTC)) - found
    return duration(max(0, passed // timedelta(microseconds=1)) * 1000)
