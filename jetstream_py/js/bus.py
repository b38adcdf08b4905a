"""The seam between streams and whatever carries messages to them.

A bus speaks for one account: over a connection (`js.remote`) or inside the server's own process
(`app.inprocess`). Everything above it is the same code, so both behave alike by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from jetstream_py.js.types import NO_HEADERS, Headers, Received


class Inbox(Protocol):
    """A subscription to a subject that nobody else has."""

    @property
    def subject(self) -> str: ...

    async def close(self) -> None:
        """No message is handed over after this."""
        ...


class Bus(Protocol):
    """Requests, publishes and inboxes of one account."""

    @property
    def max_payload(self) -> int:
        """Bytes of headers and data together that the server takes."""
        ...

    def new_id(self) -> str:
        """An identifier that does not come again."""
        ...

    def now_ns(self) -> int:
        """The time, to tell how old a message is."""
        ...

    async def request(
        self, subject: str, data: bytes, headers: Headers, seconds: float
    ) -> Received:
        """One answer. Raises NoResponders, RequestTimeout, Disconnected."""
        ...

    async def publish(
        self, subject: str, data: bytes = b"", headers: Headers = NO_HEADERS, reply: str = ""
    ) -> None:
        """Send it and do not wait. If `reply` is given and nobody listens, that is raised (NoResponders) or
        comes there (status 503)."""
        ...

    async def inbox(self, deliver: Callable[[Received], None]) -> Inbox:
        """A new subject; `deliver` is called in the loop for each message that comes there."""
        ...
