"""The verbs about single messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py.api import responses as r
from jetstream_py.api.decode import decode_required
from jetstream_py.api.errors import error
from jetstream_py.api.requests import MsgDeleteRequest, MsgGetRequest
from jetstream_py.api.times import parse_time, time_text
from jetstream_py.api.types import StoredMessage
from jetstream_py.gotext import utf8

if TYPE_CHECKING:
    from jetstream_py.api.service import Request
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Message


def get(request: Request) -> bytes:
    body = decode_required(request.body, MsgGetRequest, request.strict)
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
        seq = store.last(body.last_by_subj.encode())
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
