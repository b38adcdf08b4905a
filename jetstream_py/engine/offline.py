"""Streams that a later version has made, and that this one does not understand: kept, and not served.

What a stream or a consumer needs is noted in its metadata when it is made, as a level of the API. A stream
that needs more than there is, or has a consumer that does, is *offline*: it holds its name and its subjects,
requests are told why, its messages are left alone. It can be deleted. The version that made it finds it as
it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from jetstream_py.api.stream_config import REQUIRED_KEY
from jetstream_py.version import API_LEVEL

if TYPE_CHECKING:
    from jetstream_py.engine.engine import Parked


class Offline(NamedTuple):
    parked: Parked
    reason: str


class Unsupported(Exception):
    """It needs a later version. The text says why."""


def check_level(metadata: Mapping[str, str] | None) -> None:
    """Raises `Unsupported`."""
    level = (metadata or {}).get(REQUIRED_KEY, "")
    if level.isdecimal() and int(level) > API_LEVEL:
        text = f"unsupported - required API level: {level}, current API level: {API_LEVEL}"
        raise Unsupported(text)


def check_consumer(name: str, metadata: Mapping[str, str] | None) -> None:
    try:
        check_level(metadata)
    except Unsupported:
        raise Unsupported(f'stopped - unsupported consumer "{name}"') from None
