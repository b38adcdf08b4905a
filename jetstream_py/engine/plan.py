"""When a schedule is due: `Nats-Schedule` and `Nats-Schedule-Time-Zone`, read.

Three forms: `@at <time>` once, `@every <duration>`, and cron expressions. Time is a parameter.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from jetstream_py import limits
from jetstream_py.api.errors import E, error
from jetstream_py.api.times import ZERO_TIME, parse_time
from jetstream_py.config import durations
from jetstream_py.engine.cron import PREDEFINED, SECOND, Cron
from jetstream_py.gotext import rfc3339_nano, wire_text

_AT: Final = "@at "
_EVERY: Final = "@every "
_LOCALTIME: Final = "/etc/localtime"
_ZERO: Final = parse_time(ZERO_TIME)


class Plan(Protocol):
    """When a schedule is due."""

    once: bool

    def due(self, after: int) -> int | None:
        """The next time, for one that was stored or was due at `after`; None if there is none."""
        ...

    def text(self, ns: int) -> str:
        """Such a time as it is told."""
        ...


class _At:
    once = True

    def __init__(self, ns: int) -> None:
        self._ns = ns

    def due(self, after: int) -> int:
        return self._ns

    def text(self, ns: int) -> str:
        return rfc3339_nano(ns)


class _Every:
    """From whole seconds on, so that all of a kind are due together."""

    once = False

    def __init__(self, interval: int) -> None:
        self._interval = interval

    def due(self, after: int) -> int:
        return (after + SECOND // 2) // SECOND * SECOND + self._interval

    def text(self, ns: int) -> str:
        return rfc3339_nano(ns)


class _Cron:
    once = False

    def __init__(self, cron: Cron, zone: tzinfo) -> None:
        self._cron = cron
        self._zone = zone

    def due(self, after: int) -> int | None:
        return self._cron.next(after, self._zone)

    def text(self, ns: int) -> str:
        text = datetime.fromtimestamp(ns // SECOND, self._zone).isoformat()
        return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


@lru_cache(limits.SCHEDULE_CACHE)
def read_plan(value: bytes, zone_name: bytes | None) -> Plan | None:
    """None: there is no schedule. An `ApiError` says what is wrong with it."""
    zone = UTC if zone_name is None else _read_zone(wire_text(zone_name))
    if not value:
        return None
    text = wire_text(value)
    try:
        if not text.startswith((_AT, _EVERY)):
            return _Cron(Cron(PREDEFINED.get(text, text)), zone)
        if zone_name is not None:
            raise ValueError("only a cron expression has a zone")
        if text.startswith(_AT):
            ns = parse_time(text.removeprefix(_AT))
            return _At(ns) if ns != _ZERO else None
        interval = durations.nanoseconds(text.removeprefix(_EVERY))
        if interval < SECOND:
            raise ValueError("too often")
        return _Every(interval)
    except ValueError:
        raise error(E.MESSAGE_SCHEDULES_PATTERN_INVALID) from None


def _read_zone(name: str) -> tzinfo:
    try:
        return _local_zone() if name == "Local" else ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # no such file, no file, no zone in it
        raise error(E.MESSAGE_SCHEDULES_TIME_ZONE_INVALID) from None


def _local_zone() -> tzinfo:
    """The zone of the machine."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if name:
        return ZoneInfo(name)
    if not os.path.exists(_LOCALTIME):
        return UTC
    with open(_LOCALTIME, "rb") as file:
        return ZoneInfo.from_file(file)
