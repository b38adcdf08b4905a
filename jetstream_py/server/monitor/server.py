"""The HTTP face of monitoring, on aiohttp.

Imported late and in a worker thread, because aiohttp takes longer to import than the rest of the
server takes to start. All it does is carry: what is answered is decided in `endpoints`.

Bounds: so many connections and no more (the next is closed at once), head and target of a request
within aiohttp's buffers, a request's body is never read, an answer that the client does not take in time
ends the connection, and so does silence. What goes to the gateway has bounds there.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from typing import Final

from aiohttp import web

from jetstream_py import limits
from jetstream_py.server.monitor import gateway
from jetstream_py.server.monitor.endpoints import TEXT, Answer, base_path
from jetstream_py.server.monitor.respond import Asked, respond
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.monitor.view import BrokerView
from jetstream_py.server.monitor.views import Visitor

LINGER: Final = 1.0  # for the rest of a body that nobody wants
SHUTDOWN: Final = 1.0

# Anybody can send nonsense: that is answered, not logged. Our own failures go to the server's log.
_SILENT: Final = logging.Logger(__name__)
_SILENT.disabled = True


class HttpServer:
    """Serves one listening socket until it is closed."""

    def __init__(self, broker: BrokerView, state: MonitorState) -> None:
        self._broker = broker
        self._state = state
        self._gateway = state.gateway() if state.gateway is not None else None
        self._below = base_path(broker.options.http_base_path) + gateway.PREFIX
        self._web = web.Server(
            self._handle,
            handler_cancellation=True,  # who has gone waits for nothing
            access_log=None,
            logger=_SILENT,
            keepalive_timeout=limits.MONITOR_KEEP_ALIVE,
            lingering_time=LINGER,
            max_line_size=limits.MONITOR_TARGET_SIZE,
            max_field_size=limits.MONITOR_TARGET_SIZE,
            auto_decompress=False,
        )
        self._listener: asyncio.Server | None = None

    async def listen(self, sock: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            self._connection,
            sock=sock,
            ssl=tls,
            ssl_handshake_timeout=limits.MONITOR_REQUEST_TIME if tls is not None else None,
        )

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self.end_watches()
        self._web.pre_shutdown()
        await self._web.shutdown(SHUTDOWN)

    def end_watches(self) -> None:
        """Who looks on for longer must be judged again, or the server stops."""
        if self._gateway is not None:
            self._gateway.end_watches()

    def _connection(self) -> asyncio.Protocol:
        return self._web() if len(self._web.connections) < limits.MONITOR_CONNECTIONS else _Refuse()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        target = _target(request)
        if self._gateway is not None and target.startswith(self._below):
            self._state.count(gateway.PREFIX[:-1])
            start = len(self._below) - len(gateway.PREFIX)
            return await self._gateway.handle(request, target[start:])
        response = web.Response()
        # Written here and not by aiohttp afterwards, so that the time limit covers it.
        try:
            async with asyncio.timeout(limits.MONITOR_REQUEST_TIME):
                reply = await self._answer(_asked(request))
                if reply.render is not None:
                    body = await asyncio.get_running_loop().run_in_executor(None, reply.render)
                    reply = reply._replace(body=body)
                response = _response(reply)
                await response.prepare(request)
                await response.write_eof()
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _answer(self, asked: Asked) -> Answer:
        try:
            return await respond(self._broker, self._state, asked)
        except Exception as error:
            self._broker.log.error(f"Monitoring request {asked.target!r} failed: {error!r}")
            return Answer(500, TEXT, b"Internal Server Error")


class _Refuse(asyncio.Protocol):
    """One connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _asked(request: web.BaseRequest) -> Asked:
    headers = request.headers
    visitor = Visitor(
        ip=request.remote or "",
        host=headers.get("Host", ""),
        authorization=headers.get("Authorization", ""),
    )
    return Asked(_target(request), request.method, visitor)


def _target(request: web.BaseRequest) -> str:
    """Path and query as sent; a proxy's absolute form counts without its scheme and host."""
    target = request.raw_path
    return target if target.startswith("/") else request.rel_url.raw_path_qs


def _response(reply: Answer) -> web.Response:
    headers = {"Content-Type": reply.content_type, "Server": "jetstream-py", **reply.headers}
    return web.Response(status=reply.status, body=reply.body, headers=headers)
