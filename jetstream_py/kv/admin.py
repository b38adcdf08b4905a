"""Buckets: made, found, listed, deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jetstream_py.js.errors import InvalidName, StreamExists, StreamNotFound
from jetstream_py.js.interface import JetStream
from jetstream_py.kv.bucket import KeyValue
from jetstream_py.kv.config import Bucket, BucketStatus
from jetstream_py.kv.errors import BucketExists, BucketNotFound
from jetstream_py.kv.names import SPACE, STREAM, stream_of


async def create_bucket(js: JetStream, bucket: Bucket | str, **options: Any) -> KeyValue:
    """Make a bucket, or open it if it is there with the same options. Raises BucketExists, InvalidBucket.

    Options are those of `Bucket`: `create_bucket(js, "settings", history=5)`.
    """
    wanted = _bucket(bucket, options)
    try:
        return KeyValue(js, await js.create_stream(wanted.stream()))
    except StreamExists as error:
        raise BucketExists(f"{wanted.bucket} is there with other options") from error


async def update_bucket(js: JetStream, bucket: Bucket | str, **options: Any) -> KeyValue:
    """Give a bucket other options. Raises BucketNotFound."""
    wanted = _bucket(bucket, options)
    try:
        return KeyValue(js, await js.update_stream(wanted.stream()))
    except StreamNotFound as error:
        raise BucketNotFound(wanted.bucket) from error


async def open_bucket(js: JetStream, bucket: str) -> KeyValue:
    """A bucket that is there. Raises BucketNotFound."""
    try:
        return KeyValue(js, await js.stream_info(stream_of(bucket)))
    except StreamNotFound as error:
        raise BucketNotFound(bucket) from error


async def delete_bucket(js: JetStream, bucket: str) -> None:
    """Remove a bucket with all its values. Raises BucketNotFound."""
    try:
        await js.delete_stream(stream_of(bucket))
    except StreamNotFound as error:
        raise BucketNotFound(bucket) from error


async def list_buckets(js: JetStream) -> list[BucketStatus]:
    """All buckets of the account. Mirrors have no subjects, so all streams are looked at."""
    return [BucketStatus(info) for info in await js.streams() if _is_bucket(info.config)]


def _is_bucket(config: dict[str, Any]) -> bool:
    if not str(config["name"]).startswith(STREAM):
        return False
    subjects = config.get("subjects") or []
    return bool(config.get("mirror")) or any(each.startswith(SPACE) for each in subjects)


def _bucket(bucket: Bucket | str, options: dict[str, Any]) -> Bucket:
    try:
        return Bucket(bucket, **options) if isinstance(bucket, str) else replace(bucket, **options)
    except TypeError as error:
        raise InvalidName(str(error)) from None
