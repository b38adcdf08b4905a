"""The sockets that clients connect to."""

from __future__ import annotations

import asyncio
from typing import Self

from jetstream_py import limits
from jetstream_py.config.account_options import Tls, WebSocket
from jetstream_py.config.options import Options
from jetstream_py.server import proto
from jetstream_py.server.broker import Broker
from jetstream_py.server.connection import ClientConnection
from jetstream_py.server.sockets import listening
from jetstream_py.server.tls import Contexts


class Listener:
    """Accepts clients for a broker."""

    connection_type = "STANDARD"

    def __init__(self, broker: Broker, host: str) -> None:
        self.host = host
        self.port = 0
        self._broker = broker
        self._contexts: Contexts | None = None
        self._server: asyncio.Server | None = None

    @classmethod
    async def open(cls, broker: Broker, host: str, port: int) -> Self:
        """Bind and accept. Port 0 picks a free one. Raises OSError and TlsError."""
        listener = cls(broker, host)
        listener.apply(broker.options)
        sock = listening(host, port, limits.BACKLOG)
        listener.port = sock.getsockname()[1]
        listener._tell()
        loop = asyncio.get_running_loop()
        listener._server = await loop.create_server(
            listener._receive, sock=sock, backlog=limits.BACKLOG
        )
        return listener

    def apply(self, options: Options) -> None:
        """Receive clients from now on as these options say, with the certificates as they are now.
        Raises TlsError and changes nothing."""
        self._secure(options.tls)

    def _secure(self, tls: Tls | None) -> None:
        if tls is None:
            self._contexts = None
        elif self._contexts is None:
            self._contexts = Contexts(tls, self._broker.timers, self._broker.log)
        else:
            self._contexts.apply(tls)

    def drop_unpinned(self) -> None:
        """Close clients whose certificates are no longer among the pinned ones."""
        if self._contexts is None or not self._contexts.tls.pinned_certs:
            return
        from jetstream_py.server.tls_door import why_not_pinned

        pins, broker = self._contexts.tls.pinned_certs, self._broker
        gone = [
            session
            for session in broker.sessions.values()
            if session.link.connection_type == self.connection_type
            and (info := session.link.tls_info()) is not None
            and why_not_pinned(pins, info)
        ]
        if gone:
            broker.log.info(f"Disconnect {len(gone)} clients due to pinned certs reload")
        for session in gone:
            broker.close_session(session, proto.TLS_HANDSHAKE)

    @property
    def url_scheme(self) -> str:
        return "nats" if self._contexts is None else "tls"

    def _tell(self) -> None:
        self._broker.bound(self.host, self.port)

    def _receive(self) -> asyncio.Protocol:
        if self._contexts is None:
            return ClientConnection(self._broker)
        from jetstream_py.server.tls_door import TlsDoor

        return TlsDoor(self._broker, self._contexts)

    def close(self) -> None:
        """Stop accepting; connections stay."""
        if self._server is not None:
            self._server.close()


class WebSocketListener(Listener):
    """Accepts clients that come by WebSocket."""

    connection_type = "WEBSOCKET"

    _options: WebSocket

    def apply(self, options: Options) -> None:
        assert options.websocket is not None, "its listener is there"
        self._secure(options.websocket.tls)
        self._options = options.websocket

    @property
    def url_scheme(self) -> str:
        return "ws" if self._contexts is None else "wss"

    def _tell(self) -> None:
        self._broker.bound_websocket(self.host, self.port, self._contexts is not None)

    def _receive(self) -> asyncio.Protocol:
        from jetstream_py.server.ws_door import WebSocketDoor

        return WebSocketDoor(self._broker, self._options, self._contexts)
