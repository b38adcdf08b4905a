"""The addresses of this machine, for the ports file of a server that listens on all of them.

Linux tells them over a netlink socket: one request, answered by a dump of messages, each with the
interface's index and a list of attributes. Elsewhere the resolver's opinion has to do.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator
from typing import Final

WILDCARDS: Final = frozenset({"", "0.0.0.0", "::", "[::]"})

_NLMSG_DONE: Final = 3
_RTM_NEWADDR: Final = 20
_RTM_GETADDR: Final = 22
_REQUEST_DUMP: Final = 0x301
_IFA_ADDRESS: Final = 1
_MESSAGE: Final = struct.Struct("=LHHLL")  # length, type, flags, sequence, pid
_IFADDR: Final = struct.Struct("=BBBBL")  # family, prefix, flags, scope, interface
_ATTRIBUTE: Final = struct.Struct("=HH")  # length, type
_DUMP_SIZE: Final = 1 << 16


def reachable(host: str) -> list[str]:
    """The addresses under which a server bound to `host` can be reached."""
    if host not in WILDCARDS:
        return [_resolve(host)]
    if sys.platform == "linux":
        try:
            return _ask_netlink()
        except (OSError, struct.error):
            pass  # a sandbox without netlink
    return _ask_resolver()


def _resolve(host: str) -> str:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return host
    return str(found[0][4][0])


def _ask_resolver() -> list[str]:
    found = ["127.0.0.1", _resolve(socket.gethostname())]
    return list(dict.fromkeys(found))


def _ask_netlink() -> list[str]:
    found: list[tuple[int, str]] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.settimeout(1.0)
        body = _IFADDR.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        head = _MESSAGE.pack(_MESSAGE.size + len(body), _RTM_GETADDR, _REQUEST_DUMP, 1, 0)
        netlink.send(head + body)
        done = False
        while not done:
            for kind, message in _messages(netlink.recv(_DUMP_SIZE)):
                done = done or kind == _NLMSG_DONE
                if kind == _RTM_NEWADDR:
                    found += _addresses(message)
    # The dump is by family; users think in interfaces. Sorting is stable, so v4 stays before v6.
    return [address for _, address in sorted(found, key=lambda pair: pair[0])]


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _MESSAGE.size:
        length, kind, *_ = _MESSAGE.unpack_from(data)
        if length < _MESSAGE.size:
            raise OSError("netlink sent a message shorter than its head")
        yield kind, data[_MESSAGE.size : length]
        data = data[(length + 3) & ~3 :]


def _addresses(message: bytes) -> Iterator[tuple[int, str]]:
    family, _, _, _, interface = _IFADDR.unpack_from(message)
    rest = message[_IFADDR.size :]
    while len(rest) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(rest)
        if length < _ATTRIBUTE.size:
            return
        if kind == _IFA_ADDRESS and family in (socket.AF_INET, socket.AF_INET6):
            yield interface, socket.inet_ntop(family, rest[_ATTRIBUTE.size : length])
        rest = rest[(length + 3) & ~3 :]
