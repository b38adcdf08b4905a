"""Messages of a stream by one request: as JSON from any stream, as they are from one with `allow_direct`.

A batch is one request with many answers. Each brings how many are left; an empty one with status 204 ends
them.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from jetstream_py.js.errors import ApiError, MessageNotFound, NoResponders, RequestTimeout
from jetstream_py.js.times import parse_ns
from jetstream_py.js.types import NO_HEADERS, Message, Received, parse_headers

if TYPE_CHECKING:
    from jetstream_py.js.wire import WireJetStream

NOT_FOUND: Final = 404
END_OF_BATCH: Final = 204
NO_RESPONDERS: Final = 503
_ABSENT: Final = (10037, "no message found")

Query = Mapping[str, object]


class _Stored(msgspec.Struct, frozen=True):
    subject: str
    seq: int
    time: str
    hdrs: str = ""
    data: str = ""


class _Got(msgspec.Struct, frozen=True):
    message: _Stored


async def get(js: WireJetStream, stream: str, query: Query, direct: bool) -> Message:
    """The one message that a query names."""
    if not direct:
        found = msgspec.convert(await js.api(f"STREAM.MSG.GET.{stream}", query), _Got).message
        data, block = b64decode(found.data), b64decode(found.hdrs)
        return Message(found.subject, found.seq, parse_ns(found.time), parse_headers(block), data)
    subject = f"{js.prefix}.DIRECT.GET.{stream}"
    return _message(await js.bus.request(subject, _json(query), NO_HEADERS, js.timeout))


async def last(js: WireJetStream, stream: str, subject: str) -> Message:
    """The newest of a subject, by the cheapest of all requests."""
    where = f"{js.prefix}.DIRECT.GET.{stream}.{subject}"
    return _message(await js.bus.request(where, b"", NO_HEADERS, js.timeout))


async def at_time(js: WireJetStream, stream: str, time_ns: int) -> Message:
    """The first message that is not older. An ordered reader finds it in any stream."""
    from jetstream_py.js.reader import Start

    async with js.read(stream, start=Start.at_time(time_ns), headers_only=True) as reader:
        if reader.initial == 0:
            raise MessageNotFound(NOT_FOUND, *_ABSENT)
        return await anext(reader)


class Batch(NamedTuple):
    """Answers to one request: messages, how many are left, and for the newest of subjects as of when."""

    messages: list[Message]
    left: int = 0
    up_to: int = 0


async def batch(js: WireJetStream, stream: str, query: Query) -> Batch:
    """All answers to one request. The server ends it early when it has sent enough bytes."""
    answers: asyncio.Queue[Received] = asyncio.Queue()
    inbox = await js.bus.inbox(answers.put_nowait)
    found: list[Message] = []
    try:
        body = _json({name: value for name, value in query.items() if value})
        await js.bus.publish(f"{js.prefix}.DIRECT.GET.{stream}", body, NO_HEADERS, inbox.subject)
        while True:
            try:
                async with asyncio.timeout(js.timeout):
                    answer = await answers.get()
            except TimeoutError:
                raise RequestTimeout(f"a batch of {stream} does not end") from None
            if answer.status == END_OF_BATCH:
                left, up_to = map(answer.headers.get, ("Nats-Num-Pending", "Nats-UpTo-Sequence"))
                return Batch(found, int(left or 0), int(up_to or 0))
            if answer.status == NOT_FOUND:
                return Batch(found)
            found.append(_message(answer))
    finally:
        await inbox.close()


async def last_for(
    js: WireJetStream, stream: str, subjects: Sequence[str], up_to_seq: int
) -> list[Message]:
    """The newest of each subject, all as of the same sequence, by as many requests as it takes."""
    found: list[Message] = []
    query: dict[str, object] = {"multi_last": list(subjects), "up_to_seq": up_to_seq}
    while True:
        part = await batch(js, stream, query)
        found += part.messages
        if not part.left or not part.messages:
            return found
        query |= {"seq": found[-1].seq + 1, "up_to_seq": part.up_to}


def _json(query: Query) -> bytes:
    return msgspec.json.encode(query)


def _message(answer: Received) -> Message:
    if answer.status == NOT_FOUND:
        raise MessageNotFound(NOT_FOUND, *_ABSENT)
    if answer.status == NO_RESPONDERS and not answer.description:
        raise NoResponders("nobody answers direct reads there")
    headers = dict(answer.headers)
    try:
        return Message(
            headers.pop("Nats-Subject"),
            int(headers.pop("Nats-Sequence")),
            parse_ns(headers.pop("Nats-Time-Stamp")),
            _own(headers),
            answer.data,
            int(headers.pop("Nats-Num-Pending", 0)),
        )
    except (KeyError, ValueError):
        raise ApiError(answer.status or 500, 0, answer.description or "no message") from None


def _own(headers: dict[str, str]) -> dict[str, str]:
    """Without what the server added."""
    for name in ("Nats-Stream", "Nats-Last-Sequence"):
        headers.pop(name, None)
    return headers
