"""What a pull request asks for: the body of CONSUMER.MSG.NEXT, and of `+NXT`.

A body is JSON, a number of messages, or nothing; any other text counts as nothing. Clients send the same
few bodies over and over, so what was read is remembered. Bodies that differ each time, as those of
clients that count their deadline down, are read by msgspec; whatever it does not take as it is goes to
the decoder that knows Go's ways and texts.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, NamedTuple

import msgspec

from jetstream_py import limits
from jetstream_py.api import fields as f
from jetstream_py.api.decode import decode_lenient
from jetstream_py.api.errors import ApiError
from jetstream_py.api.fields import Wire
from jetstream_py.gotext import atoi

_BLANKS: Final = b" \t\r\n\v\f"
_FRACTION: Final = re.compile(rb"[0-9][.eE]")  # msgspec would take 1.0 and 1e2 for integers
_PREFIX: Final = len("invalid JSON: ")

_Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class BadRequest(Exception):
    """The body is JSON, but not a pull request; the text is what the client is told."""


class NextRequest(NamedTuple):
    """A pull request. `batch` is as it was sent: 0 and less ask for one message, too."""

    batch: int = 1
    expires: int = 0  # durations in nanoseconds
    no_wait: bool = False
    max_bytes: int = 0
    idle_heartbeat: int = 0
    group: str = ""
    id: str = ""
    min_pending: int = 0
    min_ack_pending: int = 0
    priority: int = 0
    json: bool = False  # the body was JSON


class _Body(Wire):
    """As Go reads it; error texts call it nothing."""

    batch: f.int_ = 0
    expires: f.duration = 0
    no_wait: bool = False
    max_bytes: f.int_ = 0
    idle_heartbeat: f.duration = 0
    group: str = ""
    id: str = ""
    min_pending: f.int64 = 0
    min_ack_pending: f.int64 = 0
    priority: f.int_ = 0


class _PlainBody(msgspec.Struct, forbid_unknown_fields=True):
    """As msgspec reads it: only what needs no second look."""

    batch: _Int64 = 0
    expires: _Int64 = 0
    no_wait: bool = False
    max_bytes: _Int64 = 0
    idle_heartbeat: _Int64 = 0
    group: str = ""
    id: str = ""
    min_pending: _Int64 = 0
    min_ack_pending: _Int64 = 0
    priority: _Int64 = 0


_decode_plain: Final = msgspec.json.Decoder(_PlainBody).decode
_cache: Final[dict[bytes, NextRequest]] = {}


def parse_next(body: bytes) -> NextRequest:
    """The request in a body. `BadRequest` says what is wrong with it."""
    known = _cache.get(body)
    if known is not None:
        return known
    request = _parse(body)
    if len(body) <= limits.NEXT_CACHE_LEN:
        if len(_cache) >= limits.NEXT_CACHE:
            _cache.clear()
        _cache[body] = request
    return request


def _parse(body: bytes) -> NextRequest:
    text = body.strip(_BLANKS)
    if not text.startswith(b"{"):
        return NextRequest(batch=_count(text))
    read = _plain(text) or _as_go_does(body)
    return NextRequest(
        read.batch,
        read.expires,
        read.no_wait,
        read.max_bytes,
        read.idle_heartbeat,
        read.group,
        read.id,
        read.min_pending,
        read.min_ack_pending,
        read.priority,
        json=True,
    )


def _plain(text: bytes) -> _PlainBody | None:
    if _FRACTION.search(text):
        return None
    try:
        return _decode_plain(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _as_go_does(body: bytes) -> _Body:
    try:
        return decode_lenient(body, _Body)
    except ApiError as fault:
        raise BadRequest(fault.description[_PREFIX:]) from None


def _count(text: bytes) -> int:
    try:
        return max(1, atoi(text.decode()))
    except ValueError:
        return 1
