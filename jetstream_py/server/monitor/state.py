"""What monitoring remembers between two answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from jetstream_py import limits
from jetstream_py.server.monitor.history import History
from jetstream_py.server.monitor.usage import Usage

if TYPE_CHECKING:
    from jetstream_py.server.monitor.gateway import MakeGateway
    from jetstream_py.server.monitor.viewer import Viewer


class MonitorState:
    """Where the HTTP face listens, how often each endpoint was asked, the CPU reading, the last hour,
    and who judges those who want to see messages.

    One for each server. Answers over NATS use the same one, so both faces tell the same.
    """

    __slots__ = (
        "gateway",
        "history",
        "host",
        "judges",
        "port",
        "requests",
        "secure",
        "usage",
        "viewer",
    )

    def __init__(self, host: str = "", port: int = 0, usage: Usage | None = None) -> None:
        self.host = host
        self.port = port  # 0: no HTTP face
        self.secure = False  # it speaks TLS
        self.requests: dict[str, int] = {}
        self.usage = usage or Usage()
        self.history = History()
        self.viewer: Viewer | None = None  # None: messages are shown to nobody
        self.gateway: MakeGateway | None = None  # None: there is none
        self.judges = asyncio.Semaphore(limits.VIEW_JUDGES)

    def count(self, endpoint: str) -> None:
        self.requests[endpoint] = self.requests.get(endpoint, 0) + 1
