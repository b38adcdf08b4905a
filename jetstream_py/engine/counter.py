"""Counters: streams in which a message adds to the last one of its subject (`allow_msg_counter`).

A publish says how much in `Nats-Incr` and has no payload; what is stored has the sum as its payload,
`{"val":"<decimal>"}`. Numbers have any length. They are decimals here, because these are read, added and
written in linear time; binary numbers are not, and a client may send 65,000 digits.

Sums of other streams are sourced as sums: a message says what its subject comes to at the origin, and the
difference to what the origin came to before is what it adds. What each origin came to stands in
`Nats-Counter-Sources`, `{"<stream>":{"<subject>":"<decimal>"}}`, and goes from message to message. So an
origin may lose messages, or be read twice, and the sum stays right.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, Inexact
from typing import TYPE_CHECKING, Final

import msgspec

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.api.errors import E, error
from jetstream_py.gotext import escape_json, utf8, wire_text

if TYPE_CHECKING:
    from jetstream_py.api.types import StreamConfig
    from jetstream_py.engine.expect import Fields

# Inexact would be a sum with more digits than that: it is an error, never rounded.
_EXACT: Final = Context(prec=limits.COUNTER_DIGITS, traps=[Inexact])
_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_ZERO: Final = Decimal(0)

# What a counter cannot be told beside its increment.
_CLASHES: Final = (
    hdr.ROLLUP,
    hdr.EXPECTED_STREAM,
    hdr.EXPECTED_LAST_SEQ,
    hdr.EXPECTED_LAST_SUBJECT_SEQ,
    hdr.EXPECTED_LAST_SUBJECT_SEQ_SUBJECT,
    hdr.EXPECTED_LAST_MSG_ID,
)

_Sources = dict[str, dict[str, str] | None]


class _Total(msgspec.Struct):
    """The payload of a counter."""

    val: str


_read_total = msgspec.json.Decoder(_Total).decode
_read_sources = msgspec.json.Decoder(_Sources | None).decode
_write = msgspec.json.Encoder(order="deterministic").encode


def check_increment(config: StreamConfig, headers: Fields, data: bytes) -> None:
    """What can be said of an increment without the sum. A header without a value is no increment."""
    increment = headers.get(hdr.INCREMENT)
    if not increment:
        return
    if _NUMBER.fullmatch(wire_text(increment)) is None:
        raise error(E.MESSAGE_INCR_INVALID)
    if not config.allow_msg_counter:
        raise error(E.MESSAGE_INCR_DISABLED)
    if data:
        raise error(E.MESSAGE_INCR_PAYLOAD)
    if any(headers.get(name) for name in _CLASHES):
        raise error(E.MESSAGE_INCR_INVALID)


def add(stored_headers: bytes, stored_body: bytes, headers: bytes) -> tuple[bytes, bytes, bytes]:
    """What a publish becomes after the last message of its subject (nothing: there is none): headers,
    payload and the sum."""
    increment = hdr.get(headers, hdr.INCREMENT)
    if not increment:
        raise error(E.MESSAGE_INCR_MISSING)
    total = _sum(_stored_total(stored_body), _number(wire_text(increment)))
    sources = _stored_sources(stored_headers)
    if sources:
        headers = hdr.replaced(headers, hdr.COUNTER_SOURCES, _json(sources))
    return headers, _body(total), str(total).encode()


def merge_source(
    stored_headers: bytes,
    stored_body: bytes,
    source_name: str,
    source_headers: bytes,
    source_body: bytes,
) -> tuple[bytes, bytes]:
    """Headers and payload of a sourced counter, after the last message of its subject here (nothing:
    there is none). `source_headers` are those to be stored, `Nats-Stream-Source` is among them and names the
    subject at the origin. An `ApiError` says that the message is no counter, or what is stored is none.
    """
    increment = hdr.get(source_headers, hdr.INCREMENT)
    if not increment or not source_body:
        raise error(E.MESSAGE_INCR_MISSING)
    _number(wire_text(increment))
    value = _stored_total(source_body)
    sources = _stored_sources(stored_headers)
    subject = _origin_subject(source_headers)
    subjects = sources.get(source_name) or {}
    known = _number(subjects[subject]) if subject in subjects else _ZERO
    sources[source_name] = subjects | {subject: str(value)}
    added = _sum(value, known.copy_negate())
    headers = hdr.replaced(source_headers, hdr.INCREMENT, str(added).encode())
    headers = hdr.replaced(headers, hdr.COUNTER_SOURCES, _json(sources))
    return headers, _body(_sum(_stored_total(stored_body), added))


def _origin_subject(headers: bytes) -> str:
    """`Nats-Stream-Source` is: stream, sequence, filter, transform, subject, identity."""
    words = (hdr.get(headers, hdr.STREAM_SOURCE) or b"").split(b" ")
    if len(words) < 5:
        raise error(E.MESSAGE_COUNTER_BROKEN)
    return utf8(words[4])


def _stored_total(body: bytes) -> Decimal:
    if not body:
        return _ZERO
    try:
        return _number(_read_total(body).val)
    except msgspec.MsgspecError:
        raise error(E.MESSAGE_COUNTER_BROKEN) from None


def _stored_sources(headers: bytes) -> _Sources:
    value = hdr.get(headers, hdr.COUNTER_SOURCES) if headers else None
    if not value:
        return {}
    try:
        return _read_sources(value) or {}
    except msgspec.MsgspecError:
        raise error(E.MESSAGE_COUNTER_BROKEN) from None


def _number(text: str) -> Decimal:
    if _NUMBER.fullmatch(text) is None:
        raise error(E.MESSAGE_COUNTER_BROKEN)
    return Decimal(text)


def _sum(one: Decimal, other: Decimal) -> Decimal:
    try:
        return _EXACT.add(one, other)
    except Inexact:
        raise error(E.MESSAGE_COUNTER_BROKEN) from None


def _body(total: Decimal) -> bytes:
    return b'{"val":"%b"}' % str(total).encode()


def _json(sources: _Sources) -> bytes:
    return escape_json(_write(sources))
