"""What one connection holds: everything that can be reached from its protocol and not from the broker."""

from __future__ import annotations

import gc
import ssl
import sys
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from tests.server.net import FakeTransport, Net

# Not ours to count: code, and what is there once for all connections.
_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, ssl.SSLContext)
INFLATER = 40 * 1024  # zlib's window and state, which Python does not see


def reachable(*roots: Any) -> dict[int, Any]:
    seen: dict[int, Any] = {}
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _CODE):
            continue
        seen[id(one)] = one
        waiting += gc.get_referents(one)
    return seen


def held(net: Net, transport: FakeTransport) -> int:
    """Bytes that the connection costs beside its socket."""
    sessions = net.broker.sessions
    others, net.broker.sessions = sessions, {}
    try:
        shared = reachable(net.broker, *vars(net).values())
    finally:
        net.broker.sessions = others
    own = reachable(transport.protocol).items()
    return sum(_size(each) for key, each in own if key not in shared) + transport.waiting


def _size(one: Any) -> int:
    if isinstance(one, FakeTransport):
        return 0
    if isinstance(one, ssl.MemoryBIO):
        return one.pending
    if type(one).__name__ == "Decompress":
        return INFLATER
    return sys.getsizeof(one)
