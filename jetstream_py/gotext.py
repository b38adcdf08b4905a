"""The text forms of Go that clients and tools of nats-server know how to read.

Times, durations, numbers and error texts in monitoring answers follow Go's standard library,
because the tools that read them were written against it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_MICROSECOND: Final = 1_000
_MILLISECOND: Final = 1_000_000
_SECOND: Final = 1_000_000_000

_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_UINT64_MAX: Final = 2**64 - 1

_INT = re.compile(r"[+-]?[0-9]+\Z")
_UINT = re.compile(r"[0-9]+\Z")
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})

_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
# Go escapes what a browser could take for markup or for the end of a script line.
_JSON_ESCAPES: Final = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


# -- time ------------------------------------------------------------------------------------------


def rfc3339_nano(ns: int) -> str:
    """A point in time, UTC, without the zeros at the end of its fraction."""
    seconds, fraction = divmod(ns, _SECOND)
    return f"{_date_and_time(seconds)}{_fraction(fraction, 9)}Z"


@lru_cache(4096)  # thousands of connections start and speak in the same few seconds
def _date_and_time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def duration(ns: int) -> str:
    """`785µs`, `1.2ms`, `1m30s`: the biggest unit that fits, exact to the nanosecond."""
    if ns < 0:
        return "-" + duration(-ns)
    if ns < _SECOND:
        return _below_a_second(ns)
    seconds, fraction = divmod(ns, _SECOND)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{seconds}{_fraction(fraction, 9)}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _below_a_second(ns: int) -> str:
    if ns == 0:
        return "0s"
    if ns < _MICROSECOND:
        return f"{ns}ns"
    unit, digits, name = (_MICROSECOND, 3, "µs") if ns < _MILLISECOND else (_MILLISECOND, 6, "ms")
    whole, fraction = divmod(ns, unit)
    return f"{whole}{_fraction(fraction, digits)}{name}"


def _fraction(value: int, digits: int) -> str:
    return f".{value:0{digits}d}".rstrip("0") if value else ""


def uptime(ns: int) -> str:
    """Whole seconds as `1y2d3h4m5s`, from the first unit that is not zero."""
    return _span(max(0, ns) // _SECOND)


@lru_cache(4096)
def _span(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    years, days = divmod(days, 365)
    parts = ((years, "y"), (days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s"))
    first = next((i for i, (value, _) in enumerate(parts) if value), len(parts) - 1)
    return "".join(f"{value}{name}" for value, name in parts[first:])


# -- numbers and booleans: ValueError carries Go's error text --------------------------------------


def atoi(text: str) -> int:
    """A decimal number that fits 64 bits."""
    if not _INT.match(text):
        raise ValueError(_syntax("Atoi", text))
    if len(text) > 64 or not _INT64_MIN <= (value := int(text)) <= _INT64_MAX:
        raise ValueError(_range("Atoi", text))
    return value


def parse_uint64(text: str) -> int:
    """A decimal number without a sign that fits 64 bits."""
    if not _UINT.match(text):
        raise ValueError(_syntax("ParseUint", text))
    if len(text) > 64 or (value := int(text)) > _UINT64_MAX:
        raise ValueError(_range("ParseUint", text))
    return value


def parse_bool(text: str) -> bool:
    """One of the twelve spellings that Go knows."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(_syntax("ParseBool", text))


def number(value: float) -> int | float:
    """A float as Go's JSON writes it: without `.0`."""
    return int(value) if value.is_integer() else value


def _syntax(function: str, text: str) -> str:
    return f"strconv.{function}: parsing {quote(text)}: invalid syntax"


def _range(function: str, text: str) -> str:
    return f"strconv.{function}: parsing {quote(text)}: value out of range"


# -- strings ---------------------------------------------------------------------------------------


def quote(text: str) -> str:
    """A Go string literal. Bytes that are not UTF-8 come in as surrogate escapes."""
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if char.isprintable():
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def wire_text(data: bytes) -> str:
    """Bytes from the wire as `quote` takes them: what is not UTF-8 stays visible."""
    return data.decode("utf-8", "surrogateescape")


def utf8(data: bytes) -> str:
    """Text from the wire; each byte that is not UTF-8 becomes one U+FFFD."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
        return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in text)


def escape_json(encoded: bytes) -> bytes:
    """Escape in a JSON text what Go escapes beyond the standard."""
    for char, escape in _JSON_ESCAPES:
        if char in encoded:
            encoded = encoded.replace(char, escape)
    return encoded


def join_host_port(host: str, port: int) -> str:
    """An address as Go writes it, with brackets around one of IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
