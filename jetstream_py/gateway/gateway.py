"""From a request to an answer: who asks, for what, and within which bounds.

Theory of operation. A request is let in as a NATS user (`Doorman`), and gets streams that do what this user
may: all that follows goes over the subjects that a NATS client would use, each of them judged. So the gateway
has no rights of its own, and no rules about them. A watch is a reader like any other, on a response that
stays open; transfers of objects go chunk by chunk and wait for the slower side.

Web pages of other hosts may not use it unless the configuration names them: a browser would send the
passwords that it remembers along, and on a server without users nothing else would stop them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Final, NamedTuple, Protocol

from aiohttp import web

from jetstream_py import limits
from jetstream_py.gateway import openapi
from jetstream_py.gateway.answers import empty, error_of, json_of
from jetstream_py.gateway.call import Call, split_path, split_query
from jetstream_py.gateway.errors import BAD_REQUEST, BUSY, FORBIDDEN, HttpError, translated
from jetstream_py.gateway.routes import TRANSFERS, WATCHES, Handler, find
from jetstream_py.js import JetStream, JetStreamError

INBOXES: Final = "_INBOX"
EXPOSED: Final = "ETag, Digest, Content-Range, Last-Modified, Nats-Time-Stamp"


class Visitor(NamedTuple):
    """Who asks, as far as HTTP tells."""

    ip: str
    host: str  # by which name they found us
    authorization: str
    inboxes: str  # where the user may listen for answers


class Doorman(Protocol):
    def admit(self, visitor: Visitor) -> AbstractAsyncContextManager[JetStream]:
        """The streams of the user that a visitor is. Raises HttpError, and what views raise."""
        ...


class Gateway:
    """Of one server."""

    def __init__(
        self,
        doorman: Doorman,
        max_upload: int,
        allowed_origins: tuple[str, ...],
        complain: Callable[[str], None],
    ) -> None:
        """`complain` is told of what should not happen."""
        self._doorman = doorman
        self._max_upload = max_upload
        self._origins = allowed_origins
        self._complain = complain
        self._watching: set[asyncio.Task[object]] = set()
        self._transfers = 0

    async def handle(self, request: web.BaseRequest, target: str) -> web.StreamResponse:
        """Answer it, errors among that. `target` is path and query as they came."""
        cors: Mapping[str, str] = {}
        try:
            cors = self._cors(request)
            response = await self._answer(request, target, cors)
        except HttpError as error:
            response = error_of(error)
        except JetStreamError as error:
            response = error_of(translated(error))
        except TimeoutError:
            response = error_of(HttpError(504, "it takes too long"))
        except (web.RequestPayloadError, ConnectionResetError):
            response = error_of(HttpError(BAD_REQUEST, "the body has no end"))
        except Exception as error:
            self._complain(f"HTTP request {request.method} {target[:200]!r} failed: {error!r}")
            response = error_of(HttpError(500, "Internal Server Error"))
        await _finish(request, response, cors)
        return response

    def end_watches(self) -> None:
        for task in self._watching:
            task.cancel()

    async def _answer(
        self, request: web.BaseRequest, target: str, cors: Mapping[str, str]
    ) -> web.StreamResponse:
        parts, query = split_path(target), split_query(target)
        if request.method == "OPTIONS":
            return empty(204, {"Allow": openapi.METHODS})
        if parts == ["openapi.json"]:
            return json_of(openapi.DOCUMENT)
        visitor = Visitor(
            ip=request.remote or "",
            host=request.headers.get("Host", ""),
            authorization=request.headers.get("Authorization", ""),
            inboxes=request.headers.get("Nats-Inbox-Prefix", INBOXES),
        )
        async with self._doorman.admit(visitor) as js:
            handler = find(parts, request.method)
            call = Call(request, js, parts, query, self._max_upload, cors)
            return await self._serve(handler, call)

    async def _serve(self, handler: Handler, call: Call) -> web.StreamResponse:
        flag = WATCHES.get(handler)
        if flag is not None and call.flag(flag):
            with self._watch():
                return await handler(call)
        if handler in TRANSFERS:
            with self._transfer():
                return await handler(call)
        async with asyncio.timeout(limits.GATEWAY_REQUEST_TIME):
            return await handler(call)

    @contextmanager
    def _watch(self) -> Iterator[None]:
        if len(self._watching) >= limits.GATEWAY_WATCHERS:
            raise _busy(f"{limits.GATEWAY_WATCHERS} watch already")
        task = asyncio.current_task()
        assert task is not None
        self._watching.add(task)
        try:
            yield
        finally:
            self._watching.discard(task)

    @contextmanager
    def _transfer(self) -> Iterator[None]:
        if self._transfers >= limits.GATEWAY_TRANSFERS:
            raise _busy(f"{limits.GATEWAY_TRANSFERS} objects are on their way already")
        self._transfers += 1
        try:
            yield
        finally:
            self._transfers -= 1

    def _cors(self, request: web.BaseRequest) -> Mapping[str, str]:
        """What pages of other hosts are told. Raises HttpError if they may not use it."""
        origin = request.headers.get("Origin")
        if origin is None or origin.partition("://")[2] == request.headers.get("Host", ""):
            return {}
        if origin not in self._origins and "*" not in self._origins:
            raise HttpError(FORBIDDEN, "pages of this host are not in allowed_origins")
        asked = request.headers.get("Access-Control-Request-Headers", "")
        return {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": openapi.METHODS,
            "Access-Control-Allow-Headers": asked if asked.isprintable() else "",
            "Access-Control-Expose-Headers": EXPOSED,
            "Access-Control-Max-Age": "600",
            "Vary": "Origin",
        }


async def _finish(
    request: web.BaseRequest, response: web.StreamResponse, cors: Mapping[str, str]
) -> None:
    """Written here and not by aiohttp, so that there is a bound on the time that it takes."""
    try:
        async with asyncio.timeout(limits.GATEWAY_STALL):
            if not response.prepared:
                response.headers.update(cors)
                await response.prepare(request)
            await response.write_eof()
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
    except ConnectionResetError:
        pass  # nobody is there any more


def _busy(text: str) -> HttpError:
    return HttpError(BUSY, text, headers={"Retry-After": "5"})
