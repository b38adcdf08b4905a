"""Monitoring over HTTP: what the server is, does and has done.

The answers are pure functions of the broker (`varz`, `connz`, `subsz`, `healthz`); `endpoints` is
the table of what is served where; `server` is the thin face on aiohttp, an optional dependency.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
from typing import TYPE_CHECKING, Any

from jetstream_py import limits
from jetstream_py.server.monitor.history import Sampler
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.monitor.view import BrokerView
from jetstream_py.server.sockets import listening

if TYPE_CHECKING:
    import ssl

    from jetstream_py.server.monitor.server import HttpServer

__all__ = ["Monitor", "MonitorState", "MonitorUnavailable", "start_monitor"]


class MonitorUnavailable(Exception):
    """Monitoring was asked for and cannot be had."""


class Monitor:
    """A running monitoring listener."""

    def __init__(
        self,
        broker: BrokerView,
        sock: socket.socket,
        state: MonitorState,
        tls: ssl.SSLContext | None,
    ) -> None:
        self.host = state.host
        self.port = state.port
        self._broker = broker
        self._socket = sock
        self._state = state
        self._tls = self._renewed = tls
        if tls is not None:
            tls.sni_callback = self._choose
        self._server: HttpServer | None = None
        self._sampler = Sampler(broker, state)
        self._starting = asyncio.create_task(self._start(), name="monitor-start")

    def renew(self, tls: ssl.SSLContext) -> None:
        """Use these certificates from the next handshake on."""
        self._renewed = tls

    def _choose(self, handshake: ssl.SSLObject, name: str | None, first: ssl.SSLContext) -> None:
        if self._renewed is not None:
            handshake.context = self._renewed

    def judge_again(self) -> None:
        """Users may have changed."""
        if self._server is not None:
            self._server.end_watches()

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        name = f"{__name__}.server"
        try:
            await _knock(self._socket)
            module: Any = await loop.run_in_executor(None, importlib.import_module, name)
            self._server = module.HttpServer(self._broker, self._state)
            await self._server.listen(self._socket, self._tls)
        except Exception as error:
            # A socket that nobody serves would let requests hang: better refuse them.
            self._socket.close()
            self._broker.log.error(f"Monitoring did not start: {error!r}")

    async def close(self) -> None:
        """Stop listening and let answers under way end."""
        self._sampler.close()
        if self._server is None:
            self._starting.cancel()
        await asyncio.gather(self._starting, return_exceptions=True)
        if self._server is not None:
            await self._server.close()
        self._socket.close()


async def _knock(sock: socket.socket) -> None:
    """Wait until somebody connects, without accepting."""
    loop = asyncio.get_running_loop()
    knocked = asyncio.Event()
    loop.add_reader(sock, knocked.set)
    try:
        await knocked.wait()
    finally:
        loop.remove_reader(sock)


async def start_monitor(
    broker: BrokerView,
    host: str,
    port: int,
    state: MonitorState | None = None,
    tls: ssl.SSLContext | None = None,
) -> Monitor:
    """Listen at once, and say so in `state`. aiohttp, which is half as large as the rest of the server, is
    imported when the first client knocks; it waits in the backlog meanwhile.

    Raises `MonitorUnavailable` without aiohttp, and `OSError` when the address cannot be bound.
    """
    from importlib.util import find_spec

    if find_spec("aiohttp") is None:
        raise MonitorUnavailable("monitoring needs aiohttp: pip install 'jetstream-py[monitor]'")
    sock = listening(host, port, limits.MONITOR_BACKLOG)
    state = state or MonitorState()
    state.host, state.port = host, sock.getsockname()[1]
    state.secure = tls is not None
    return Monitor(broker, sock, state, tls)
