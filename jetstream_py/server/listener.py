"""The socket that clients connect to."""

from __future__ import annotations

import asyncio
import socket

from jetstream_py.server.broker import Broker
from jetstream_py.server.connection import ClientConnection

# Ten thousand clients may come back at once after a restart; the kernel caps this by its own limit.
BACKLOG = 4096


class Listener:
    """Accepts clients for a broker."""

    def __init__(self, server: asyncio.Server, host: str, port: int) -> None:
        self._server = server
        self.host = host
        self.port = port

    @classmethod
    async def open(cls, broker: Broker, host: str, port: int) -> Listener:
        """Bind and accept. Port 0 picks a free one. Raises OSError."""
        sock = bind(host, port)
        actual: int = sock.getsockname()[1]
        broker.bound(host, actual)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: ClientConnection(broker), sock=sock, backlog=BACKLOG
        )
        return cls(server, host, actual)

    def close(self) -> None:
        """Stop accepting; connections stay."""
        self._server.close()


def bind(host: str, port: int) -> socket.socket:
    """A bound TCP socket whose port is free again as soon as we end. `::` serves IPv4, too."""
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock
