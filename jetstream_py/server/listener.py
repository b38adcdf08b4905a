"""The socket that clients connect to."""

from __future__ import annotations

import asyncio

from jetstream_py import limits
from jetstream_py.server.broker import Broker
from jetstream_py.server.connection import ClientConnection
from jetstream_py.server.sockets import listening


class Listener:
    """Accepts clients for a broker."""

    def __init__(self, server: asyncio.Server, host: str, port: int) -> None:
        self._server = server
        self.host = host
        self.port = port

    @classmethod
    async def open(cls, broker: Broker, host: str, port: int) -> Listener:
        """Bind and accept. Port 0 picks a free one. Raises OSError."""
        sock = listening(host, port, limits.BACKLOG)
        actual: int = sock.getsockname()[1]
        broker.bound(host, actual)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: ClientConnection(broker), sock=sock, backlog=limits.BACKLOG
        )
        return cls(server, host, actual)

    def close(self) -> None:
        """Stop accepting; connections stay."""
        self._server.close()
