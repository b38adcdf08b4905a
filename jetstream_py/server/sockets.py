"""Sockets that listen, and the addresses of those who come."""

from __future__ import annotations

import socket
from typing import Final

_ALL: Final = ("", "0.0.0.0", "::")
_MAPPED: Final = "::ffff:"  # an IPv4 client of a socket that serves both families


def listening(host: str, port: int, backlog: int) -> socket.socket:
    """A listening TCP socket; port 0 picks a free one. Raises OSError.

    The address is free again as soon as we end, `localhost` is the IPv4 one, and "all interfaces"
    are those of both families.
    """
    if host in _ALL and socket.has_dualstack_ipv6():
        return _bound(socket.AF_INET6, ("::", port), backlog)
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    found.sort(key=lambda each: each[0] != socket.AF_INET)
    return _bound(found[0][0], found[0][4], backlog)


def _bound(family: int, address: tuple[object, ...], backlog: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.setblocking(False)
        sock.bind(address)
        sock.listen(backlog)
    except OSError:
        sock.close()
        raise
    return sock


def peer(name: tuple[str, int] | None) -> tuple[str, int]:
    """Address and port of a client, as people write them."""
    if name is None:
        return "", 0
    return name[0].removeprefix(_MAPPED), name[1]
