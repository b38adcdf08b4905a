"""The sockets that clients connect to."""

from __future__ import annotations

import asyncio

from jetstream_py import limits
from jetstream_py.config.account_options import Tls
from jetstream_py.server.broker import Broker
from jetstream_py.server.connection import ClientConnection
from jetstream_py.server.sockets import listening
from jetstream_py.server.tls import Contexts


class Listener:
    """Accepts clients for a broker."""

    def __init__(self, broker: Broker, host: str) -> None:
        self.host = host
        self.port = 0
        self._broker = broker
        self._contexts: Contexts | None = None
        self._server: asyncio.Server | None = None

    @classmethod
    async def open(cls, broker: Broker, host: str, port: int) -> Listener:
        """Bind and accept. Port 0 picks a free one. Raises OSError and TlsError."""
        listener = cls(broker, host)
        listener.apply(broker.options.tls)
        sock = listening(host, port, limits.BACKLOG)
        listener.port = sock.getsockname()[1]
        broker.bound(host, listener.port)
        loop = asyncio.get_running_loop()
        listener._server = await loop.create_server(
            listener._receive, sock=sock, backlog=limits.BACKLOG
        )
        return listener

    def apply(self, tls: Tls | None) -> None:
        """Receive clients from now on as these settings say, with the certificates as they are now.
        Raises TlsError and changes nothing."""
        if tls is None:
            self._contexts = None
        elif self._contexts is None:
            self._contexts = Contexts(tls, self._broker.timers, self._broker.log)
        else:
            self._contexts.apply(tls)

    def _receive(self) -> asyncio.Protocol:
        if self._contexts is None:
            return ClientConnection(self._broker)
        from jetstream_py.server.tls_door import TlsDoor

        return TlsDoor(self._broker, self._contexts)

    def close(self) -> None:
        """Stop accepting; connections stay."""
        if self._server is not None:
            self._server.close()
