"""/v1/objects: stores and their objects, which never are in memory as a whole."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from string import ascii_letters, digits
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from jetstream_py import limits, objstore
from jetstream_py.gateway.answers import empty, etag_of, http_date, json_of, streamed
from jetstream_py.gateway.call import OWN_HEADER, Call
from jetstream_py.gateway.errors import BAD_REQUEST, RANGE, HttpError
from jetstream_py.gateway.made import made_of
from jetstream_py.gotext import rfc3339_nano
from jetstream_py.js import JetStreamError
from jetstream_py.objstore import ObjectInfo, Store, StoreStatus

ANYTHING = "application/octet-stream"
_TOKEN = frozenset(ascii_letters + digits + "-_")


# -- stores ----------------------------------------------------------------------------------------


async def list_stores(call: Call) -> web.StreamResponse:
    call.expect(())
    return json_of({"buckets": [_status(each) for each in await objstore.list_stores(call.js)]})


async def get_store(call: Call) -> web.StreamResponse:
    """Its status and its objects, as many as an answer may have."""
    call.expect(())
    store = await objstore.open_store(call.js, call.parts[1])
    found: list[dict[str, Any]] = []
    async with store.watch(ignore_deletes=True) as watcher:
        async for info in watcher:
            if info is None or len(found) == limits.GATEWAY_KEYS:
                break
            found.append(info_json(info))
    status = _status(await store.status())
    return json_of({**status, "objects": found, "more": info is not None})


async def put_store(call: Call) -> web.StreamResponse:
    call.expect(())
    wanted = made_of(Store, call.parts[1], await call.options())
    store = await objstore.create_store(call.js, wanted)
    return json_of(_status(await store.status()))


async def delete_store(call: Call) -> web.StreamResponse:
    call.expect(())
    await objstore.delete_store(call.js, call.parts[1])
    return empty(204)


def _status(status: StoreStatus) -> dict[str, Any]:
    return {
        "bucket": status.bucket,
        "description": status.description,
        "bytes": status.bytes,
        "ttl": status.ttl,
        "max_bytes": status.max_bytes,
        "storage": status.storage,
        "compression": status.compression,
        "sealed": status.sealed,
        "metadata": status.metadata,
    }


def info_json(info: ObjectInfo) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(info)
    return {**told, "modified": rfc3339_nano(told.pop("time_ns"))}


# -- objects ---------------------------------------------------------------------------------------


class Part(NamedTuple):
    """Which bytes of an object go out."""

    start: int
    end: int
    status: int = 200


async def get_object(call: Call) -> web.StreamResponse:
    """The bytes, or a range of them. Links are followed. The last chunk is not sent before all was checked:
    who gets less than the length that was told has no object."""
    call.expect(())
    named = await objstore.open_store(call.js, call.parts[1])
    store, info = await named.resolve(call.parts[2])
    headers = _headers(info)
    if call.knows(headers["ETag"]):
        return empty(304, headers)
    part = _part(call, info, headers["ETag"])
    if part.status == 206:
        headers["Content-Range"] = f"bytes {part.start}-{part.end - 1}/{info.size}"
    response = streamed(call, headers, part.status)
    response.content_length = part.end - part.start
    if call.request.method == "HEAD":
        await response.prepare(call.request)
        return response
    return await _send(call, response, store.read(info, part.start, part.end))


async def _send(
    call: Call, response: web.StreamResponse, chunks: AsyncIterator[bytes]
) -> web.StreamResponse:
    first = await anext(
        chunks, b""
    )  # what is damaged from the start is still answered with an error
    await response.prepare(call.request)
    try:
        await _write(response, first)
        async for chunk in chunks:
            await _write(response, chunk)
    except (JetStreamError, TimeoutError, ConnectionResetError):
        if call.request.transport is not None:
            call.request.transport.abort()
    return response


async def _write(response: web.StreamResponse, chunk: bytes) -> None:
    async with asyncio.timeout(limits.GATEWAY_STALL):
        await response.write(chunk)


def _part(call: Call, info: ObjectInfo, etag: str) -> Part:
    """A range that cannot be read is passed over, as HTTP has it; so is one of another version."""
    whole = Part(0, info.size)
    if "Range" not in call.headers or call.headers.get("If-Range", etag) != etag:
        return whole
    try:
        asked = call.request.http_range
    except ValueError:
        return whole
    start = asked.start or 0
    start = max(start + info.size, 0) if start < 0 else start
    end = info.size if asked.stop is None else min(asked.stop, info.size)
    if start >= end:
        text = f"the object has {info.size} bytes"
        raise HttpError(RANGE, text, headers={"Content-Range": f"bytes */{info.size}"})
    return Part(start, end, 206)


def _headers(info: ObjectInfo) -> dict[str, str]:
    """An object may say of itself what it likes, as long as it fits a header."""
    own = {name: values[0] for name, values in info.headers.items() if values}
    kind = own.pop("Content-Type", ANYTHING)
    sha256 = b64encode(info.sha256()).decode()
    return {
        **{f"{OWN_HEADER.title()}{name}": text for name, text in own.items() if _fits(name, text)},
        "Content-Type": kind if _fits("", kind) else ANYTHING,
        "ETag": etag_of(info.digest.partition("=")[2].rstrip("=")),
        "Digest": f"SHA-256={sha256}",
        "Last-Modified": http_date(info.time_ns),
        "Accept-Ranges": "bytes",
    }


def _fits(name: str, text: str) -> bool:
    return not set(name) - _TOKEN and text.isprintable()


async def put_object(call: Call) -> web.StreamResponse:
    call.expect(("description",))
    _unconditional(call)
    headers = call.own_headers()
    kind = call.headers.get("Content-Type", ANYTHING)
    if kind != ANYTHING:
        headers["Content-Type"] = kind
    store = await objstore.open_store(call.js, call.parts[1])
    info = await store.put(
        call.parts[2],
        call.pieces(call.max_upload),
        description=call.query.get("description", ""),
        headers=headers,
        chunk_size=min(limits.OBJECT_CHUNK, call.js.max_payload),
    )
    return json_of(info_json(info), {"ETag": _headers(info)["ETag"]})


async def delete_object(call: Call) -> web.StreamResponse:
    call.expect(())
    _unconditional(call)
    await (await objstore.open_store(call.js, call.parts[1])).delete(call.parts[2])
    return empty(204)


def _unconditional(call: Call) -> None:
    """A condition that is not looked at would be worse than none."""
    for name in ("If-Match", "If-None-Match"):
        if name in call.headers:
            raise HttpError(BAD_REQUEST, f"{name} is for keys; objects are replaced as they come")
