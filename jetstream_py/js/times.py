"""Times between their three forms: nanoseconds, RFC 3339, datetime."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000_000


@lru_cache(maxsize=256)
def _seconds(text: str, zone: str) -> int:
    return round((datetime.fromisoformat(text + zone) - _EPOCH).total_seconds())


def parse_ns(text: str) -> int:
    """Nanoseconds of a time as servers write it: a fraction of any length, Z or an offset."""
    head, rest = text[:19], text[19:]
    fraction = 0
    if rest.startswith("."):
        digits = 1
        while digits < len(rest) and rest[digits].isdigit():
            digits += 1
        fraction = int(rest[1:digits][:9].ljust(9, "0"))
        rest = rest[digits:]
    return _seconds(head, "+00:00" if rest == "Z" else rest) * SECOND + fraction


def to_ns(when: datetime) -> int:
    """A time without a zone is taken as local, as datetime does."""
    delta = when.astimezone(UTC) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * SECOND + delta.microseconds * 1000


def to_datetime(ns: int) -> datetime:
    """To the microsecond, which is all that datetime knows."""
    return _EPOCH + timedelta(microseconds=ns // 1000)
