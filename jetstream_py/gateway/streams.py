"""/v1/streams: what streams there are, messages in and out."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any, Final

from aiohttp import web

from jetstream_py import limits
from jetstream_py.gateway.answers import json_of, message_json
from jetstream_py.gateway.call import Call
from jetstream_py.gateway.errors import BAD_REQUEST, NOT_FOUND, HttpError
from jetstream_py.gateway.events import Event, send_events
from jetstream_py.js import Message, MessageNotFound, NoResponders, Reader, Start, StreamInfo
from jetstream_py.js.times import to_ns

_NAME: Final = re.compile(r"[^\s.*>/\\\x00-\x1f\x7f]{1,255}")
_OURS: Final = ("$JS.", "$SYS.")  # requests to the server are not for streams
EVERYTHING: Final = ">"


async def list_streams(call: Call) -> web.StreamResponse:
    call.expect(())
    return json_of({"streams": [_info(each) for each in await call.js.streams()]})


async def get_stream(call: Call) -> web.StreamResponse:
    call.expect(())
    return json_of(_info(await call.js.stream_info(_stream(call))))


def _info(info: StreamInfo) -> dict[str, Any]:
    return {"config": info.config, "created": info.created, "state": info.state}


async def post_message(call: Call) -> web.StreamResponse:
    """Store a message; the answer says that it is on disk."""
    call.expect(("subject",))
    stream = _stream(call)
    subject = call.query.get("subject") or call.headers.get("Nats-Subject", "")
    if not subject.isprintable() or not subject or subject.startswith(_OURS):
        raise HttpError(BAD_REQUEST, "?subject, or Nats-Subject, is a subject of the stream")
    headers = call.message_headers()
    data = await call.body(call.js.max_payload)
    try:
        ack = await call.js.publish(subject, data, headers=headers, expected_stream=stream)
    except NoResponders as error:
        raise HttpError(NOT_FOUND, f"no stream has the subject {subject[:100]!r}") from error
    told: dict[str, object] = {"stream": ack.stream, "seq": ack.seq}
    told |= {"domain": ack.domain} if ack.domain else {}
    return json_of(told | ({"duplicate": True} if ack.duplicate else {}))


async def get_messages(call: Call) -> web.StreamResponse:
    """A page of messages, or with `?follow` all from there on and then those that come."""
    call.expect(("from", "time", "subject", "limit", "follow", "last_event_id"))
    if "from" in call.query and "time" in call.query:
        raise HttpError(BAD_REQUEST, "from and time exclude each other")
    stream = _stream(call)
    if call.flag("follow"):
        return await _follow(call, stream)
    info = await call.js.stream_info(stream)
    try:
        first = await _first(call, stream)
        found = await _page(call, info, first)
    except MessageNotFound:
        found = []
    told: dict[str, Any] = {"stream": stream, "messages": [*map(message_json, found)]}
    if found and found[-1].seq < info.state.last_seq:
        told["next"] = found[-1].seq + 1
    return json_of(told)


async def _first(call: Call, stream: str) -> int:
    if "time" in call.query:
        return (await call.js.at_time(stream, to_ns(call.time("time")))).seq
    return max(call.number("from", 1), 1)


async def _page(call: Call, info: StreamInfo, seq: int) -> list[Message]:
    subject, limit = call.query.get("subject") or EVERYTHING, call.limit()
    if info.config.get("allow_direct"):
        return await call.js.batch(
            info.name, subject, seq, batch=limit, max_bytes=limits.GATEWAY_ANSWER
        )
    found: list[Message] = []
    size = 0
    while len(found) < limit and size < limits.GATEWAY_ANSWER:
        try:
            message = await call.js.next(info.name, subject, seq, direct=False)
        except MessageNotFound:
            break
        found.append(message)
        size += len(message.data)
        seq = message.seq + 1
    return found


async def _follow(call: Call, stream: str) -> web.StreamResponse:
    last = call.last_event()
    if last is not None:
        start = Start.at_seq(last + 1)
    elif "time" in call.query:
        start = Start.at_time(to_ns(call.time("time")))
    elif call.query.get("from") == "new":
        start = Start.new()
    else:
        start = Start.at_seq(call.number("from", 1))
    filters = [call.query["subject"]] if call.query.get("subject") else []
    async with call.js.read(stream, filters, start) as reader:
        return await send_events(call, _messages(reader))


async def _messages(reader: Reader) -> AsyncIterator[Event]:
    async for message in reader:
        yield Event("message", message_json(message), message.seq)


def _stream(call: Call) -> str:
    name = call.parts[1]
    if not _NAME.fullmatch(name):
        raise HttpError(BAD_REQUEST, f"not a stream's name: {name[:100]!r}")
    return name
