"""Answers: JSON, bytes, and nothing."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import formatdate
from typing import Any

import msgspec
from aiohttp import web

from jetstream_py.gateway.call import Call
from jetstream_py.gateway.errors import HttpError
from jetstream_py.gotext import rfc3339_nano
from jetstream_py.js import Message
from jetstream_py.kv import Entry

# Contents are for the one who asked: not for caches, and whatever they are, no page of this server.
PRIVATE: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Server": "jetstream-py",
}


def json_of(
    value: object, headers: Mapping[str, str] | None = None, status: int = 200
) -> web.Response:
    """Bytes in it become base64."""
    return web.Response(
        status=status,
        body=msgspec.json.encode(value),
        headers={**PRIVATE, "Content-Type": "application/json", **(headers or {})},
    )


def error_of(error: HttpError) -> web.Response:
    return json_of(error.body(), error.headers, error.status)


def empty(status: int, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, headers={**PRIVATE, **(headers or {})})


def bytes_of(body: bytes, headers: Mapping[str, str]) -> web.Response:
    return web.Response(
        body=body, headers={**PRIVATE, "Content-Type": "application/octet-stream", **headers}
    )


def streamed(call: Call, headers: Mapping[str, str], status: int) -> web.StreamResponse:
    """The head of an answer whose body comes piece by piece."""
    return web.StreamResponse(status=status, headers={**PRIVATE, **call.cors, **headers})


def etag_of(text: object) -> str:
    return f'"{text}"'


def http_date(time_ns: int) -> str:
    return formatdate(time_ns // 1_000_000_000, usegmt=True)


def entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "bucket": entry.bucket,
        "key": entry.key,
        "revision": entry.revision,
        "created": rfc3339_nano(entry.time_ns),
        "operation": entry.operation,
        "value": entry.value,
    }


def message_json(message: Message) -> dict[str, Any]:
    return {
        "seq": message.seq,
        "time": rfc3339_nano(message.time_ns),
        "subject": message.subject,
        "headers": message.headers,
        "data": message.data,
    }
