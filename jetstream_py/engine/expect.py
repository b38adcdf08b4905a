"""What a publish may demand of its stream, in headers: expectations and rollup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jetstream_py import headers as hdr
from jetstream_py.api.errors import ApiError, error
from jetstream_py.engine.counter import check_increment
from jetstream_py.engine.schedule import check_end, check_schedule
from jetstream_py.engine.ttl import parse_ttl
from jetstream_py.gotext import quote, wire_text

if TYPE_CHECKING:
    from jetstream_py.api.types import StreamConfig
    from jetstream_py.engine.stream import Stream

Fields = Mapping[bytes, bytes]  # `hdr.fields` of a header block

_ROLLUPS = (b"sub", b"all")


def check_expectations(stream: Stream, subject: bytes, headers: Fields, data: bytes) -> int | None:
    """Everything that is checked before the message id is looked up. When a schedule is due; None: it is
    none."""
    config = stream.config
    check_increment(config, headers, data)
    expected = headers.get(hdr.EXPECTED_STREAM)
    if expected and expected != config.name.encode():
        raise error(10060)
    ttl = headers.get(hdr.TTL)
    if ttl and not config.allow_msg_ttl and parse_ttl(ttl):
        raise error(10166)  # what is no TTL at all is refused later, with another error
    _check_subject_sequence(stream, subject, headers)
    expected = headers.get(hdr.EXPECTED_LAST_SEQ)
    if expected and expected_number(expected) != stream.store.last_seq:
        raise wrong_last(expected, stream.store.last_seq)
    due = check_schedule(stream, subject, headers)
    check_end(stream, subject, headers)
    if headers.get(hdr.STREAM_SOURCE):
        raise error(10227)
    return due


def _check_subject_sequence(stream: Stream, subject: bytes, headers: Fields) -> None:
    expected = headers.get(hdr.EXPECTED_LAST_SUBJECT_SEQ)
    other = headers.get(hdr.EXPECTED_LAST_SUBJECT_SEQ_SUBJECT)
    if not expected:
        if other:
            raise error(10193)
        return
    last = stream.store.last(other or subject)
    if expected_number(expected) != last:
        raise wrong_last(expected, last, " by subject")


def rollup_of(config: StreamConfig, headers: Fields) -> bytes:
    """`sub`, `all` or nothing."""
    value = headers.get(hdr.ROLLUP)
    if not value:
        return b""
    if not config.allow_rollup_hdrs or config.deny_purge:
        raise error(10111, err="rollup not permitted")
    rollup = value.lower()
    if rollup not in _ROLLUPS:
        raise error(10111, err=f"rollup value invalid: {quote(wire_text(value).lower())}")
    return rollup


def wrong_last(expected: bytes, last: int, what: str = "") -> ApiError:
    """The last sequence, of the stream or `what`, is another one."""
    number = expected_number(expected) % (1 << 64)
    cause = f"last sequence{what} mismatch: {number} vs {last}"
    return error(10071, cause=cause, seq=last)


def expected_number(text: bytes) -> int:
    """A sequence; what is none equals no sequence."""
    return int(text) if text.isdigit() and len(text) <= 20 else -1
