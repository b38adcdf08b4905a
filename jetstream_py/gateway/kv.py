"""/v1/kv: buckets and their keys."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Final, TypedDict

from aiohttp import web

from jetstream_py import kv, limits
from jetstream_py.gateway.answers import (
    bytes_of,
    empty,
    entry_json,
    etag_of,
    http_date,
    json_of,
)
from jetstream_py.gateway.call import Call
from jetstream_py.gateway.errors import BAD_REQUEST, PRECONDITION, TOO_LARGE, HttpError
from jetstream_py.gateway.events import Event, send_events
from jetstream_py.gateway.made import made_of
from jetstream_py.gotext import rfc3339_nano
from jetstream_py.js import Watcher
from jetstream_py.kv import Bucket, BucketStatus, Entry
from jetstream_py.kv.names import check_key

WATCH: Final = ("watch", "include_history", "ignore_deletes", "updates_only", "last_event_id")


# -- buckets ---------------------------------------------------------------------------------------


async def list_buckets(call: Call) -> web.StreamResponse:
    call.expect(())
    return json_of({"buckets": [_status(each) for each in await kv.list_buckets(call.js)]})


async def get_bucket(call: Call) -> web.StreamResponse:
    """Its status, its keys (`?keys`), what changes (`?watch`), or what it was (`?at`)."""
    call.expect(("keys", "filter", "at", *WATCH))
    bucket = await kv.open_bucket(call.js, call.parts[1])
    filters = (call.query["filter"],) if "filter" in call.query else ()
    if call.flag("watch"):
        return await _watch(call, bucket, filters)
    if call.flag("keys"):
        return await _keys(bucket, filters)
    if "at" in call.query:
        if (await bucket.status()).bytes > limits.GATEWAY_PAST:
            raise _too_much("the bucket is", "ask for single keys")
        past = await bucket.as_of(**_point(call))
        found = [entry_json(each) for each in past.entries.values()]
        return json_of({"bucket": bucket.bucket, "revision": past.revision, "entries": found})
    return json_of(_status(await bucket.status()))


async def put_bucket(call: Call) -> web.StreamResponse:
    call.expect(())
    wanted = made_of(Bucket, call.parts[1], await call.options())
    bucket = await kv.create_bucket(call.js, wanted)
    return json_of(_status(await bucket.status()))


async def delete_bucket(call: Call) -> web.StreamResponse:
    call.expect(())
    await kv.delete_bucket(call.js, call.parts[1])
    return empty(204)


def _status(status: BucketStatus) -> dict[str, object]:
    return {
        "bucket": status.bucket,
        "description": status.description,
        "values": status.values,
        "bytes": status.bytes,
        "last_revision": status.last_revision,
        "history": status.history,
        "ttl": status.ttl,
        "limit_marker_ttl": status.limit_marker_ttl,
        "key_ttl": status.key_ttl,
        "max_bytes": status.max_bytes,
        "max_value_size": status.max_value_size,
        "storage": status.storage,
        "compression": status.compression,
        "metadata": status.metadata,
        "mirror": status.mirror,
    }


async def _keys(bucket: kv.KeyValue, filters: tuple[str, ...]) -> web.StreamResponse:
    """As many as an answer may have; `more` says that a filter is needed to see the others."""
    found: list[str] = []
    async with bucket.watch(*filters, ignore_deletes=True, meta_only=True) as watcher:
        async for entry in watcher:
            if entry is None or len(found) == limits.GATEWAY_KEYS:
                break
            found.append(entry.key)
    return json_of({"bucket": bucket.bucket, "keys": found, "more": entry is not None})


# -- keys ------------------------------------------------------------------------------------------


async def get_key(call: Call) -> web.StreamResponse:
    """Its value, or that of another time (`?at`), all of them (`?history`), or as they come (`?watch`)."""
    call.expect(("at", "history", *WATCH))
    bucket, key = await kv.open_bucket(call.js, call.parts[1]), call.parts[2]
    if call.flag("watch"):
        return await _watch(call, bucket, (check_key(key),))
    if call.flag("history"):
        kept = [entry_json(each) for each in await _history(bucket, key)]
        return json_of({"bucket": bucket.bucket, "key": key, "entries": kept})
    if "at" in call.query:
        entry = await bucket.get_as_of(key, **_point(call))
    else:
        entry = await bucket.get(key)
    headers = _headers(entry)
    return empty(304, headers) if call.knows(headers["ETag"]) else bytes_of(entry.value, headers)


async def put_key(call: Call) -> web.StreamResponse:
    call.expect(())
    must_be_new, revision, ttl = call.must_be_new, call.revision(), call.ttl()
    bucket, key = await kv.open_bucket(call.js, call.parts[1]), call.parts[2]
    value = await call.body(call.js.max_payload)
    if must_be_new:
        revision = await bucket.create(key, value, ttl=ttl)
    elif call.must_exist:
        revision = await bucket.update(key, value, await _revision(bucket, key), ttl=ttl)
    elif revision is not None:
        revision = await bucket.update(key, value, revision, ttl=ttl)
    else:
        revision = await bucket.put(key, value, ttl=ttl)
    told = {"bucket": bucket.bucket, "key": key, "revision": revision}
    return json_of(told, {"ETag": etag_of(revision)})


async def delete_key(call: Call) -> web.StreamResponse:
    """Leaves a marker; with `?purge` nothing but that."""
    call.expect(("purge",))
    revision, ttl, purge = call.revision(), call.ttl(), call.flag("purge")
    if ttl is not None and not purge:
        raise HttpError(BAD_REQUEST, "Nats-TTL goes with ?purge")
    bucket, key = await kv.open_bucket(call.js, call.parts[1]), call.parts[2]
    if call.must_exist:
        revision = await _revision(bucket, key)
    if purge:
        await bucket.purge(key, revision=revision, ttl=ttl)
    else:
        await bucket.delete(key, revision=revision)
    return empty(204)


async def _history(bucket: kv.KeyValue, key: str) -> list[Entry]:
    found: list[Entry] = []
    size = 0
    async with bucket.watch(check_key(key), include_history=True) as watcher:
        async for entry in watcher:
            if entry is None:
                break
            found.append(entry)
            size += len(entry.value)
            if size > limits.GATEWAY_PAST:
                raise _too_much("its history is", "watch it instead")
    return found


def _too_much(what: str, advice: str) -> HttpError:
    return HttpError(TOO_LARGE, f"{what} too large for one answer: {advice}")


async def _revision(bucket: kv.KeyValue, key: str) -> int:
    """Of a key that must have a value."""
    try:
        return (await bucket.get(key)).revision
    except kv.KeyNotFound as error:
        raise HttpError(PRECONDITION, str(error)) from error


def _headers(entry: Entry) -> dict[str, str]:
    return {
        "ETag": etag_of(entry.revision),
        "Last-Modified": http_date(entry.time_ns),
        "Nats-Time-Stamp": rfc3339_nano(entry.time_ns),
    }


# -- both ------------------------------------------------------------------------------------------


class Point(TypedDict, total=False):
    """Of the past."""

    revision: int
    time: datetime


def _point(call: Call) -> Point:
    if call.query["at"].isdecimal():
        return {"revision": call.number("at")}
    return {"time": call.time("at")}


async def _watch(call: Call, bucket: kv.KeyValue, filters: tuple[str, ...]) -> web.StreamResponse:
    last = call.last_event()
    watcher = bucket.watch(
        *filters,
        include_history=call.flag("include_history") and last is None,
        updates_only=call.flag("updates_only") and last is None,
        ignore_deletes=call.flag("ignore_deletes"),
        resume_from=None if last is None else last + 1,
    )
    async with watcher:
        return await send_events(call, _changes(watcher))


async def _changes(watcher: Watcher[Entry]) -> AsyncIterator[Event]:
    async for entry in watcher:
        if entry is None:
            yield Event("current", {})  # all that was there has been told
        else:
            yield Event(entry.operation.lower(), entry_json(entry), entry.revision)
