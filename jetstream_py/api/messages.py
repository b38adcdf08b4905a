"""The verbs about single messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jetstream_py.api import responses as r
from jetstream_py.api.decode import decode_required
from jetstream_py.api.errors import error
from jetstream_py.api.requests import MsgDeleteRequest, MsgGetRequest
from jetstream_py.api.times import parse_time, time_text
from jetstream_py.api.types import StoredMessage
from jetstream_py.gotext import utf8
from jetstream_py.subject import is_literal

if TYPE_CHECKING:
    from jetstream_py.api.service import Request
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Message


# The bodies that client libraries send. Whatever has another shape meets the careful parser.
_TEXT = rb'"([ !#-\[\]-~]+)"'  # no escapes, and ASCII, where every reading of JSON agrees
_SEQ = rb'"seq": ?([1-9][0-9]{0,18})'
by_seq = re.compile(rb"\{" + _SEQ + rb"\}").fullmatch
_LAST = re.compile(rb'\{"last_by_subj": ?' + _TEXT + rb"\}").fullmatch
_NEXT = re.compile(rb"\{" + _SEQ + rb', ?"next_by_subj": ?' + _TEXT + rb"\}").fullmatch


def usual(body: bytes) -> MsgGetRequest | None:
    """A request as nearly all are; None: parse it."""
    if found := by_seq(body):
        return MsgGetRequest(seq=int(found[1]))
    if found := _LAST(body):
        return MsgGetRequest(last_by_subj=found[1].decode())
    if found := _NEXT(body):
        return MsgGetRequest(seq=int(found[1]), next_by_subj=found[2].decode())
    return None


def get(request: Request) -> bytes:
    body = usual(request.body) or decode_required(request.body, MsgGetRequest, request.strict)
    check_selector(body)
    stream = request.js.stream(request.name)
    message = select(stream, body)
    if message is None:
        raise error(10037)
    stored = StoredMessage(
        subject=utf8(message.subject),
        seq=message.seq,
        hdrs=b"" if body.no_hdr else message.headers,
        data=message.data,
        time=time_text(message.ts),
    )
    return r.encode(r.MsgGetResponse(message=stored))


def check_selector(body: MsgGetRequest) -> None:
    """Exactly one way to choose a message."""
    if body.batch or body.max_bytes:
        raise error(10003)
    ways = bool(body.seq) + bool(body.last_by_subj) + bool(body.start_time)
    if body.next_by_subj:
        if body.last_by_subj or (body.seq and body.start_time):
            raise error(10003)
    elif ways != 1:
        raise error(10003)


def select(stream: Stream, body: MsgGetRequest) -> Message | None:
    store = stream.store
    if body.last_by_subj:
        subject = body.last_by_subj.encode()
        if is_literal(subject):
            return store.newest(subject)
        seq = store.last(subject)
        return store.get(seq) if seq else None
    start = store.seq_at(parse_time(body.start_time)) if body.start_time else body.seq
    if body.next_by_subj or body.start_time:
        return store.next(max(start, 1), body.next_by_subj.encode())
    return store.get(start)


def delete(request: Request) -> bytes:
    body = decode_required(request.body, MsgDeleteRequest, request.strict)
    stream = request.js.stream(request.name)
    stream.delete(body.seq, erase=not body.no_erase)
    return r.encode(r.MsgDeleteResponse(success=True))
