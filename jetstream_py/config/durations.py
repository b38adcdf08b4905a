"""Go's notation of durations: `"1m30s"`, `"250ms"`."""

from __future__ import annotations

import re
from typing import Final

from jetstream_py import gotext

_SECOND: Final = 1_000_000_000
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,  # Greek mu and the micro sign look alike, Go takes both
    "ms": 1_000_000,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")


def seconds(text: str) -> float:
    """Raises ValueError with Go's text."""
    return nanoseconds(text) / _SECOND


def nanoseconds(text: str) -> int:
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    total = 0
    position = 0
    while position < len(rest) or not rest:
        part = _PART.match(rest, position)
        if part is None or not (part[1] or part[2]) or len(part[1]) > 20:
            raise ValueError(f"time: invalid duration {gotext.quote(text)}")
        if not part[3]:
            raise ValueError(f"time: missing unit in duration {gotext.quote(text)}")
        if part[3] not in _UNITS:
            unit = gotext.quote(part[3])
            raise ValueError(f"time: unknown unit {unit} in duration {gotext.quote(text)}")
        fraction = (part[2] or "")[:18]
        total += int(part[1] or 0) * _UNITS[part[3]]
        total += int(fraction or 0) * _UNITS[part[3]] // 10 ** len(fraction)
        position = part.end()
    if total >= 2**63:
        raise ValueError(f"time: invalid duration {gotext.quote(text)}")
    return sign * total


def text(value: float) -> str:
    """`90.0` is `1m30s`."""
    return gotext.duration(round(value * _SECOND))
