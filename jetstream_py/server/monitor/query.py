"""Query strings, read as nats-server reads them, with its error texts.

Broken pairs (a bad escape, a semicolon) are skipped, the first value of a name counts, and an empty
value is the same as none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from jetstream_py import gotext

Query = dict[str, str]
T = TypeVar("T")

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class BadRequest(Exception):
    """The argument cannot be used; the text is the body of the 400 answer."""


def parse_query(raw: str) -> Query:
    """The arguments after the question mark. Bytes beyond UTF-8 become surrogate escapes."""
    query: Query = {}
    for pair in raw.split("&"):
        if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
            continue
        name, _, value = pair.partition("=")
        query.setdefault(_unescape(name), _unescape(value))
    return query


def _unescape(text: str) -> str:
    from urllib.parse import unquote_to_bytes  # only who asks by HTTP needs it

    data = unquote_to_bytes(text.replace("+", " ").encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "surrogateescape")


def boolean(query: Query, name: str) -> bool:
    return _decode(query, name, "boolean", gotext.parse_bool, False)


def integer(query: Query, name: str) -> int:
    return _decode(query, name, "int", gotext.atoi, 0)


def unsigned(query: Query, name: str) -> int:
    return _decode(query, name, "uint64", gotext.parse_uint64, 0)


def _decode(query: Query, name: str, kind: str, parse: Callable[[str], T], default: T) -> T:
    text = query.get(name, "")
    if not text:
        return default
    try:
        return parse(text)
    except ValueError as error:
        raise BadRequest(f"Error decoding {kind} for '{name}': {error}") from None
