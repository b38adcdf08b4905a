"""DIRECT.GET: messages as messages, without JSON.

A stream without `allow_direct` does not listen there, so the caller gets what it would get from
nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.api import level
from jetstream_py.api.decode import decode_lenient
from jetstream_py.api.errors import ApiError
from jetstream_py.api.messages import by_seq, select, usual
from jetstream_py.api.requests import MsgGetRequest
from jetstream_py.api.times import parse_time, time_text
from jetstream_py.subject import is_literal

if TYPE_CHECKING:
    from jetstream_py.api.service import ApiService
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Message, StreamStore

MAX_MULTI = 1024

START = hdr.START + b"\r\n"
IN_BATCH = (
    b"%bNats-Stream: %b\r\nNats-Subject: %b\r\nNats-Sequence: %d\r\nNats-Time-Stamp: %b\r\n"
    b"Nats-Num-Pending: %d\r\nNats-Last-Sequence: %d\r\n\r\n"
)

EMPTY_REQUEST = hdr.status(408, "Empty Request")
MALFORMED = hdr.status(408, "Malformed Request")
BAD_REQUEST = hdr.status(408, "Bad Request")
NOT_FOUND = hdr.status(404, "Message Not Found")
NO_RESULTS = hdr.status(404, "No Results")
TOO_MANY = hdr.status(413, "Too Many Results")
OUT_OF_SERVICE = hdr.status(503, "JetStream Out Of Service")
API_LEVEL_REQUIRED = hdr.status(412, "Required Api Level")


class Status(Exception):
    """The request ends with this header block."""

    def __init__(self, block: bytes) -> None:
        super().__init__(block)
        self.block = block


def direct_get(
    service: ApiService,
    path: bytes,
    reply: bytes,
    headers: bytes,
    body: bytes,
) -> bool:
    """Is there a stream that answers such requests?"""
    name, _, subject = path.partition(b".")
    text = name.decode("utf-8", "replace")
    stream = service.js.streams.get(text)
    if stream is None or not stream.config.allow_direct:
        stream = service.js.mirror_of(text)
        if stream is None:
            return False
    if not reply:
        return True
    if service.js.store.failed:
        service.answer(reply, b"", OUT_OF_SERVICE)
        return True
    try:
        # The two ways in which nearly all requests come need no look at the others.
        if subject and not body and not headers and is_literal(subject):
            block, data = rendered(stream, stream.store.newest(subject))
        elif not subject and not headers and (found := by_seq(body)):
            block, data = rendered(stream, stream.store.get(int(found[1])))
        else:
            _answer(service, stream, reply, _request(subject, headers, body))
            return True
        service.answer(reply, data, block)
    except Status as status:
        service.answer(reply, b"", status.block)
    return True


def _answer(service: ApiService, stream: Stream, reply: bytes, request: MsgGetRequest) -> None:
    if request.multi_last or request.batch:
        answers = _multi if request.multi_last else _batch
        for block, data in answers(service, stream, request):
            service.answer(reply, data, block)
        return
    block, data = rendered(stream, select(stream, request), request.no_hdr)
    service.answer(reply, data, block)


def _request(subject: bytes, headers: bytes, body: bytes) -> MsgGetRequest:
    if headers and not level.enough(headers):
        raise Status(API_LEVEL_REQUIRED)
    if not body and not subject:
        raise Status(EMPTY_REQUEST)
    if body and not body.strip():
        raise Status(MALFORMED)
    try:
        request = usual(body) or decode_lenient(body, MsgGetRequest) if body else MsgGetRequest()
    except ApiError:
        raise Status(MALFORMED) from None
    chosen = (
        request.seq
        or request.last_by_subj
        or request.next_by_subj
        or request.start_time
        or request.multi_last
    )
    if subject:
        if chosen or request.batch or request.max_bytes:
            raise Status(BAD_REQUEST)
        return MsgGetRequest(
            last_by_subj=subject.decode("utf-8", "surrogateescape"), no_hdr=request.no_hdr
        )
    if not chosen:
        raise Status(EMPTY_REQUEST)
    _check(request)
    return request


def _check(request: MsgGetRequest) -> None:
    others = request.batch or request.next_by_subj or request.multi_last
    if (
        (request.last_by_subj and (request.seq or request.start_time or others))
        or (request.seq and request.start_time)
        or (request.up_to_seq and request.up_to_time)
        or (request.multi_last and request.next_by_subj)
    ):
        raise Status(BAD_REQUEST)


def rendered(
    stream: Stream, message: Message | None, no_hdr: bool = False, *extra: tuple[bytes, bytes]
) -> tuple[bytes, bytes]:
    """Headers and payload of the answer."""
    if message is None:
        raise Status(NOT_FOUND)
    if no_hdr:
        return b"", message.data
    start = message.headers[:-2] if message.headers else START
    block = (
        b"%bNats-Stream: %b\r\nNats-Subject: %b\r\nNats-Sequence: %d\r\nNats-Time-Stamp: %b\r\n\r\n"
        % (
            start,
            stream.name,
            message.subject,
            message.seq,
            _stamp(message.ts),
        )
    )
    return hdr.extend(block, *extra) if extra else block, message.data


@lru_cache(4096)  # messages that were published together have one time
def _stamp(ts: int) -> bytes:
    return time_text(ts).encode()


def _end(pending: int, last: int, *extra: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    block = hdr.extend(
        hdr.status(204, "EOB"),
        (b"Nats-Num-Pending", b"%d" % pending),
        (b"Nats-Last-Sequence", b"%d" % last),
        *extra,
    )
    return block, b""


def _batch(
    service: ApiService, stream: Stream, request: MsgGetRequest
) -> Iterator[tuple[bytes, bytes]]:
    store = stream.store
    pattern = request.next_by_subj.encode()
    start = store.seq_at(parse_time(request.start_time)) if request.start_time else request.seq
    budget = request.max_bytes or service.max_pending
    pending, last, ts, time = 0, 0, -1, b""
    for seq, at, subject, head, data in _messages(store, max(start, 1), request.batch, pattern):
        if not last:
            pending = _pending_from(stream, seq, pattern)
        if request.no_hdr:
            yield b"", data
        else:  # the real server counts with the headers
            pending -= 1
            if at != ts:  # what was published together has one time
                ts, time = at, time_text(at).encode()
            top = head[:-2] if head else START
            yield IN_BATCH % (top, stream.name, subject, seq, time, pending, last), data
        last = seq
        budget -= len(subject) + len(head) + len(data)
        if budget <= 0:
            break
    if not last:  # nothing there, or nothing wanted
        first = store.next(max(start, 1), pattern)
        if first is None:
            raise Status(NOT_FOUND)
        pending = _pending_from(stream, first.seq, pattern)
    yield _end(pending, last)


def _messages(
    store: StreamStore, seq: int, batch: int, pattern: bytes
) -> Iterator[tuple[int, int, bytes, bytes, bytes]]:
    """Sequence, time, subject, headers and payload; large ones are read a few at a time."""
    average = store.bytes // store.messages if store.messages else 0
    most = min(limits.DIRECT_RUN, limits.DIRECT_RUN_BYTES // max(average, 1) + 1)
    while batch > 0 and (run := store.run(seq, min(batch, most), pattern, store.last_seq)):
        yield from zip(run.seqs, run.times, run.subjects, run.headers, run.datas, strict=True)
        batch -= len(run)
        seq = run.seqs[-1] + 1


def _pending_from(stream: Stream, seq: int, pattern: bytes) -> int:
    """Matches at or after a sequence."""
    return stream.store.count(pattern, since=seq)


def _progress(pending: int, last: int) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes]]:
    return (b"Nats-Num-Pending", b"%d" % pending), (b"Nats-Last-Sequence", b"%d" % last)


def _multi(
    service: ApiService, stream: Stream, request: MsgGetRequest
) -> Iterator[tuple[bytes, bytes]]:
    store = stream.store
    bound = request.up_to_seq or store.last_seq
    if request.up_to_time:
        bound = store.seq_at(parse_time(request.up_to_time)) - 1
    if bound < 1:
        raise Status(NO_RESULTS)
    found: set[int] = set()
    for pattern in filter(None, request.multi_last):
        for subject in store.subjects(pattern.encode()):
            found.add(store.last(subject, bound))
    found.discard(0)
    if len(found) > MAX_MULTI:
        raise Status(TOO_MANY)
    if not found:
        raise Status(NO_RESULTS)
    seqs = sorted(seq for seq in found if seq >= request.seq)
    budget = request.max_bytes or service.max_pending
    batch = request.batch or len(seqs)
    pending, last = len(seqs), 0
    for seq in seqs[:batch]:
        message = store.get(seq)
        if message is None:
            continue
        pending -= 1
        yield rendered(stream, message, False, *_progress(pending, last))
        last = seq
        budget -= len(message.subject) + len(message.headers) + len(message.data)
        if budget <= 0:
            break
    yield _end(pending, last, (b"Nats-UpTo-Sequence", b"%d" % bound))
