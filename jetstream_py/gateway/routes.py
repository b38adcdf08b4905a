"""Which path and method is which handler. The document at /v1/openapi.json describes exactly these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from jetstream_py.gateway import kv, objects, streams
from jetstream_py.gateway.call import Call
from jetstream_py.gateway.errors import NOT_ALLOWED, NOT_FOUND, HttpError

Handler = Callable[[Call], Awaitable[web.StreamResponse]]

ROUTES: Final[Mapping[str, Mapping[str, Handler]]] = {
    "/v1/kv": {"GET": kv.list_buckets},
    "/v1/kv/{bucket}": {"GET": kv.get_bucket, "PUT": kv.put_bucket, "DELETE": kv.delete_bucket},
    "/v1/kv/{bucket}/{key}": {"GET": kv.get_key, "PUT": kv.put_key, "DELETE": kv.delete_key},
    "/v1/objects": {"GET": objects.list_stores},
    "/v1/objects/{bucket}": {
        "GET": objects.get_store,
        "PUT": objects.put_store,
        "DELETE": objects.delete_store,
    },
    "/v1/objects/{bucket}/{name}": {
        "GET": objects.get_object,
        "PUT": objects.put_object,
        "DELETE": objects.delete_object,
    },
    "/v1/streams": {"GET": streams.list_streams},
    "/v1/streams/{stream}": {"GET": streams.get_stream},
    "/v1/streams/{stream}/messages": {"GET": streams.get_messages, "POST": streams.post_message},
}
_PATTERNS: Final = {tuple(path.split("/")[2:]): methods for path, methods in ROUTES.items()}
TRANSFERS: Final = (objects.get_object, objects.put_object)
WATCHES: Final[Mapping[Handler, str]] = {
    kv.get_bucket: "watch",
    kv.get_key: "watch",
    streams.get_messages: "follow",
}  # what makes them one


def find(parts: list[str], method: str) -> Handler:
    """HEAD is a GET whose body is not sent."""
    methods = next((each for path, each in _PATTERNS.items() if _fits(path, parts)), None)
    if methods is None or "" in parts:
        raise HttpError(NOT_FOUND, "there is no such path")
    handler = methods.get("GET" if method == "HEAD" else method)
    if handler is None:
        allowed = ", ".join([*methods, "HEAD", "OPTIONS"])
        raise HttpError(NOT_ALLOWED, f"{method} is not for this path", headers={"Allow": allowed})
    return handler


def _fits(path: tuple[str, ...], parts: list[str]) -> bool:
    return len(path) == len(parts) and all(
        name == part or name.startswith("{") for name, part in zip(path, parts, strict=True)
    )
