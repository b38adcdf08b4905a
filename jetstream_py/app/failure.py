"""Failures to start: what happened, in nats-server's words, and what to do about it, in ours."""

from __future__ import annotations

import errno
import socket
from typing import Final

from jetstream_py.gotext import join_host_port
from jetstream_py.log.files import reason

_LISTEN_HINTS: Final = {
    errno.EADDRINUSE: "Another process listens there: stop it or choose another port "
    "(-1 takes any free one)",
    errno.EADDRNOTAVAIL: "This machine has no such address: choose one of its own, "
    "or 0.0.0.0 for all",
    errno.EACCES: "Ports below 1024 need privileges: choose a higher one",
}


class StartError(Exception):
    """The server cannot start. `str()` is what happened, `hint` what the user can do."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint


class PortInUse(StartError):
    """Another process, or another server of this one, listens there."""


class StoreInUse(StartError):
    """Another server has the store's directory."""


def cannot_listen(text: str, hint: str, error: OSError) -> StartError:
    """The error for a listener that did not open."""
    kind = PortInUse if error.errno == errno.EADDRINUSE else StartError
    return kind(text, hint)


def listen_failure(host: str, port: int, error: OSError) -> tuple[str, str]:
    """Why nobody can listen there, and the way out."""
    if isinstance(error, socket.gaierror):
        return f"listen tcp: lookup {host}: no such host", "Check the name, or give an address"
    hint = _LISTEN_HINTS.get(error.errno or 0, "Choose another address or port")
    return f"listen tcp {join_host_port(host, port)}: bind: {reason(error)}", hint
