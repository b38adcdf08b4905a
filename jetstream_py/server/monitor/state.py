"""What monitoring remembers between two answers."""

from __future__ import annotations

from jetstream_py.server.monitor.usage import Usage


class MonitorState:
    """Where the HTTP face listens, how often each endpoint was asked, and the CPU reading.

    One for each server. Answers over NATS use the same one, so both faces tell the same.
    """

    __slots__ = ("host", "port", "requests", "usage")

    def __init__(self, host: str = "", port: int = 0, usage: Usage | None = None) -> None:
        self.host = host
        self.port = port  # 0: no HTTP face
        self.requests: dict[str, int] = {}
        self.usage = usage or Usage()

    def count(self, endpoint: str) -> None:
        self.requests[endpoint] = self.requests.get(endpoint, 0) + 1
