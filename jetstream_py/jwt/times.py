"""Hours of the day at which a user may be connected, and from where."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address
from zoneinfo import ZoneInfo

from jetstream_py.config.account_options import TimeRange

TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d\Z", re.ASCII)
_DAY = timedelta(days=1)
_LOCAL = ("", "Local")  # the server's own


def is_zone(name: str) -> bool:
    """Does anybody know a time zone of that name?"""
    return name in _LOCAL or _zone(name) is not None


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None


def open_until(ranges: Iterable[TimeRange], location: str, now: float) -> float | None:
    """When the range ends that it is now in; None outside of all. Nobody checks the hours in a scope
    before: those that are none are never."""
    where = None if location in _LOCAL else _zone(location)
    if where is None and location not in _LOCAL:
        return None
    here = datetime.fromtimestamp(now, where).astimezone(where)
    for times in ranges:
        if not (TIME.match(times.start) and TIME.match(times.end)):
            continue
        start, end = (_at(here, text) for text in (times.start, times.end))
        if start > end:  # over midnight
            start, end = (start - _DAY, end) if here < end else (start, end + _DAY)
        if start <= here < end:
            return end.timestamp()
    return None


def _at(day: datetime, text: str) -> datetime:
    hour, minute, second = map(int, text.split(":"))
    return day.replace(hour=hour, minute=minute, second=second, microsecond=0)


def comes_from(address: str, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Is the address in one of the networks?"""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(parsed in network for network in networks)
