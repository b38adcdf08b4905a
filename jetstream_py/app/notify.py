"""What systemd is told, if it started us and wants to know: the protocol of `Type=notify`."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping


class Notify:
    """One datagram per change of state to the socket that the environment names, or nothing."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        path = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + path[1:] if path.startswith("@") else path

    def ready(self) -> None:
        self._send(f"READY=1\nMAINPID={os.getpid()}")

    def reloading(self) -> None:
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, state: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.sendto(state.encode(), self._address)
        except OSError:
            pass  # Nobody listens: a supervisor that is gone must not take the server with it.
