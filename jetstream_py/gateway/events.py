"""Server-sent events: what changes, as it changes, on a response that stays open.

An event's id is a sequence, so a browser that lost its connection asks for what came behind it
(`Last-Event-ID`) by itself. Streams end after a while for the same reason: whoever comes again is judged
again. A reader who does not take what is sent is let go.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

import msgspec
from aiohttp import web

from jetstream_py import limits
from jetstream_py.gateway.answers import streamed
from jetstream_py.gateway.call import Call
from jetstream_py.gateway.errors import translated
from jetstream_py.js import JetStreamError

ALIVE: Final = b": alive\n\n"


class Event(NamedTuple):
    name: str
    data: object
    id: int = 0  # 0: nothing to go on behind

    def encode(self) -> bytes:
        """JSON has no line breaks, so it is one line of data."""
        start = f"id: {self.id}\n" if self.id else ""
        return f"{start}event: {self.name}\n".encode() + b"data: %b\n\n" % msgspec.json.encode(
            self.data
        )


async def send_events(call: Call, events: AsyncIterator[Event]) -> web.StreamResponse:
    response = streamed(
        call, {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}, status=200
    )
    await response.prepare(call.request)
    if call.request.method == "HEAD":
        return response
    following: asyncio.Task[Event | None] | None = None
    try:
        async with asyncio.timeout(limits.GATEWAY_WATCH_TIME):
            await _write(response, ALIVE)
            while True:
                following = following or asyncio.create_task(_next(events))
                done, _ = await asyncio.wait({following}, timeout=limits.GATEWAY_HEARTBEAT)
                if not done:
                    await _write(response, ALIVE)
                    continue
                event, following = following.result(), None
                if event is None:
                    return response
                await _write(response, event.encode())
    except (TimeoutError, ConnectionResetError):
        return response
    except JetStreamError as error:  # the bucket is gone, say
        await _write(response, Event("error", translated(error).body()).encode())
        return response
    finally:
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def _next(events: AsyncIterator[Event]) -> Event | None:
    return await anext(events, None)


async def _write(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(limits.GATEWAY_STALL):
        await response.write(data)
