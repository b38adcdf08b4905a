"""Object stores: made, found, listed, deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jetstream_py.js.errors import StreamExists, StreamNotFound
from jetstream_py.js.interface import JetStream
from jetstream_py.objstore.config import STREAM, Store, StoreStatus, stream_of
from jetstream_py.objstore.errors import InvalidObject, StoreExists, StoreNotFound
from jetstream_py.objstore.store import ObjectStore


async def create_store(js: JetStream, store: Store | str, **options: Any) -> ObjectStore:
    """Make a store, or open it if it is there with the same options. Raises StoreExists, InvalidObject.

    Options are those of `Store`: `create_store(js, "files", max_bytes=10**9)`.
    """
    wanted = _store(store, options)
    try:
        return ObjectStore(js, await js.create_stream(wanted.stream()))
    except StreamExists as error:
        raise StoreExists(f"{wanted.bucket} is there with other options") from error


async def open_store(js: JetStream, bucket: str) -> ObjectStore:
    """A store that is there. Raises StoreNotFound."""
    try:
        return ObjectStore(js, await js.stream_info(stream_of(bucket)))
    except StreamNotFound as error:
        raise StoreNotFound(bucket) from error


async def delete_store(js: JetStream, bucket: str) -> None:
    """Remove a store with all its objects. Raises StoreNotFound."""
    try:
        await js.delete_stream(stream_of(bucket))
    except StreamNotFound as error:
        raise StoreNotFound(bucket) from error


async def list_stores(js: JetStream) -> list[StoreStatus]:
    """All stores of the account."""
    found = await js.streams("$O.*.C.>")
    return [StoreStatus(info) for info in found if info.name.startswith(STREAM)]


def _store(store: Store | str, options: dict[str, Any]) -> Store:
    try:
        return Store(store, **options) if isinstance(store, str) else replace(store, **options)
    except TypeError as error:
        raise InvalidObject(str(error)) from None
