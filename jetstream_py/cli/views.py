"""Buckets and objects on the command line: the views of `kv` and `objstore` over our connection."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

import click
from nats.aio.client import Client

from jetstream_py import kv, objstore
from jetstream_py.cli import ask
from jetstream_py.cli.connect import Session, work_with
from jetstream_py.cli.failure import Failure, api_failure
from jetstream_py.cli.frame import Settings
from jetstream_py.js.errors import ApiError, JetStreamError, NoResponders, RequestTimeout
from jetstream_py.js.remote import jetstream
from jetstream_py.js.wire import WireJetStream

# the most exact class first -> what to do next
HINTS: tuple[tuple[type[JetStreamError], str], ...] = (
    (kv.BucketNotFound, "`jetstream-py kv ls` shows the buckets there are"),
    (kv.BucketExists, "`jetstream-py kv info` shows its options, `kv rm` removes it"),
    (kv.KeyDeleted, "`jetstream-py kv history` shows what it was, `kv revert` brings it back"),
    (kv.KeyNotFound, "`jetstream-py kv ls BUCKET` shows the keys there are"),
    (kv.KeyExists, "`jetstream-py kv put` sets a value whatever there is"),
    (kv.WrongRevision, "`jetstream-py kv get` shows the revision it has now"),
    (objstore.StoreNotFound, "`jetstream-py object ls` shows the stores there are"),
    (objstore.StoreExists, "`jetstream-py object info` shows its options, `object rm` removes it"),
    (objstore.ObjectNotFound, "`jetstream-py object ls STORE` shows the objects there are"),
    (objstore.StoreSealed, "a sealed store can only be removed: `jetstream-py object rm`"),
    (RequestTimeout, "--timeout waits longer"),
)


class View(Session):
    """A session with JetStream as views see it."""

    async def _process_headers(self, headers: bytes) -> Any:
        """As nats-py does: views look into single headers, and keep none of them for others."""
        return await Client._process_headers(self, headers)

    @functools.cached_property
    def js(self) -> WireJetStream:
        return jetstream(self, prefix=self.prefix, timeout=self.settings.seconds)


def viewing(
    function: Callable[..., Awaitable[None]], loop: Callable[..., None] = asyncio.run
) -> Callable[..., None]:
    """Make an `async def verb(view, ...)` a click callback; `loop` runs it."""

    @functools.wraps(function)
    def callback(*arguments: Any, **options: Any) -> None:
        settings = click.get_current_context().find_object(Settings) or Settings()
        loop(
            work_with(
                settings, lambda view: _translated(function(view, *arguments, **options)), View
            )
        )

    return callback


async def _translated(work: Awaitable[None]) -> None:
    try:
        await work
    except JetStreamError as error:
        raise failure(error) from None


def failure(error: JetStreamError) -> Failure:
    """In words for whoever typed the command."""
    if isinstance(error, NoResponders):
        return api_failure(503, 0, "JetStream does not answer")
    if isinstance(error, ApiError):
        return api_failure(error.code, error.err_code, error.description)
    text = str(error)
    if isinstance(error, kv.BucketNotFound | objstore.StoreNotFound):
        text = f"there is no {'bucket' if isinstance(error, kv.BucketNotFound) else 'store'} {text}"
    elif isinstance(error, kv.KeyExists):
        text = f"there is a value: {text}"
    elif isinstance(error, kv.KeyDeleted):
        text = f"{error.args[0]} was deleted ({error.operation}) in revision {error.revision}"
    hint = next((hint for kind, hint in HINTS if isinstance(error, kind)), "")
    return Failure(text, hint)


async def pick_bucket(view: View, name: str | None) -> str:
    if name:
        return name
    return ask.pick("Bucket", "BUCKET", [each.bucket for each in await kv.list_buckets(view.js)])


async def pick_store(view: View, name: str | None) -> str:
    if name:
        return name
    return ask.pick("Store", "STORE", [each.bucket for each in await objstore.list_stores(view.js)])


def payload(value: str | None, label: str, flag: str) -> bytes:
    """What was given, or standard input, or an answer."""
    if value is not None:
        return value.encode("utf-8", "surrogateescape")
    if ask.possible():
        return ask.text(label, flag, "").encode()
    return sys.stdin.buffer.read()


def metadata(pairs: Sequence[str]) -> dict[str, str]:
    """`name=value` as given with --metadata. Raises `click.BadParameter`."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{pair!r} is no name=value", param_hint="--metadata")
        found[name] = value
    return found


def seconds(nanoseconds: int) -> float:
    return nanoseconds / 1e9


def local(when: datetime) -> str:
    """To the second, in the zone of whoever reads it."""
    return f"{when.astimezone():%Y-%m-%d %H:%M:%S}"
