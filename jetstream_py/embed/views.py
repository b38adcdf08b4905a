"""Key-value buckets, object stores and streams of a server that runs in another thread.

They are coroutines of the server's loop. A `View` stands for such an object elsewhere: what is a coroutine
there is, by the rule of `portal`, to be awaited in a coroutine and done on return in plain code. What comes
back and has coroutines of its own (a watcher, a reader) is a `View`, too; `async with` and `async for`
work on it, and so do `with` and `for`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from jetstream_py import kv, objstore
from jetstream_py.embed.portal import Portal
from jetstream_py.js.wire import WireJetStream

Find = Callable[[WireJetStream, str, dict[str, Any]], Awaitable[Any]]


class View:
    """An object of another loop."""

    def __init__(self, portal: Portal, target: Any) -> None:
        self._portal = portal
        self._target = target

    def __repr__(self) -> str:
        return f"<view of {self._target!r}>"

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not inspect.ismethod(found):
            return found
        if inspect.iscoroutinefunction(found):
            return lambda *args, **options: self._portal.call(self._await, found, args, options)
        return lambda *args, **options: show(self._portal, found(*args, **options))

    async def _await(self, function: Callable[..., Any], args: Any, options: Any) -> Any:
        return show(self._portal, await function(*args, **options))

    def _do(self, name: str, *args: Any) -> Any:
        return self._portal.call(self._await, getattr(self._target, name), args, {})

    # -- coroutines -------------------------------------------------------------------------------

    async def __aenter__(self) -> Any:
        return await self._do("__aenter__")

    async def __aexit__(self, *error: object) -> Any:
        return await self._do("__aexit__", *error)

    def __aiter__(self) -> View:
        return self

    async def __anext__(self) -> Any:
        return await self._do("__anext__")

    # -- plain code -------------------------------------------------------------------------------

    def __enter__(self) -> Any:
        return self._do("__aenter__")

    def __exit__(self, *error: object) -> Any:
        return self._do("__aexit__", *error)

    def __iter__(self) -> View:
        return self

    def __next__(self) -> Any:
        try:
            return self._do("__anext__")
        except StopAsyncIteration:
            raise StopIteration from None


def show(portal: Portal, found: Any) -> Any:
    """As it is, or as a view of it."""
    there = inspect.isasyncgen(found) or _has_coroutines(type(found))
    return View(portal, found) if there else found


def _has_coroutines(kind: type) -> bool:
    return kind.__module__.startswith("jetstream_py.") and any(
        inspect.iscoroutinefunction(each) for base in kind.__mro__ for each in vars(base).values()
    )


# -- found or made ---------------------------------------------------------------------------------


async def bucket_of(js: WireJetStream, name: str, options: dict[str, Any]) -> kv.KeyValue:
    """Without options a bucket that is there is taken as it is."""
    if not options:
        try:
            return await kv.open_bucket(js, name)
        except kv.BucketNotFound:
            pass
    return await kv.create_bucket(js, name, **options)


async def store_of(js: WireJetStream, name: str, options: dict[str, Any]) -> objstore.ObjectStore:
    """The same for an object store."""
    if not options:
        try:
            return await objstore.open_store(js, name)
        except objstore.StoreNotFound:
            pass
    return await objstore.create_store(js, name, **options)
