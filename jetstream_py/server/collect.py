"""Collectors: receivers that take messages by the read, not one by one.

A part of the server that gets messages by the ten thousand (a stream's publishes, a consumer's acks)
wants them as a list: a call per message costs more than the message. A collector's items are gathered
while a read buffer is walked and handed over at its end, in the order they came. Nobody can tell the
difference, because they are also handed over *before any per-message handler runs*: an API request that
came behind a publish in the same read finds it done.

`drain` is not re-entrant: what a collector's handler publishes to a collector waits until that handler
is through and is taken by the same `drain`, so a handler never runs inside itself.
"""

from __future__ import annotations

from collections.abc import Callable

Item = tuple[bytes, bytes, bytes, bytes]  # subject, reply, header block, payload
Sink = Callable[[list[Item]], None]
Outcome = tuple[str, bytes, bool, str]  # stream, subject in it, no interest, error
Teller = Callable[[Item, bool], Outcome | None]  # takes a traced message and tells its fate


class Collector:
    """What one handler is to receive. Subscriptions of the same handler share it, and so their order."""

    __slots__ = ("handler", "items", "teller", "users")

    def __init__(self, handler: Sink, teller: Teller | None = None) -> None:
        self.handler = handler
        self.teller = teller
        self.items: list[Item] = []
        self.users = 0  # subscriptions that feed it


class Collectors:
    """Those of one broker that have something."""

    __slots__ = ("_draining", "filled")

    def __init__(self) -> None:
        self.filled: list[Collector] = []  # whoever puts the first item into one adds it here
        self._draining = False

    def drain(self) -> None:
        """Hand everything over."""
        if self._draining:
            return
        self._draining = True
        try:
            while self.filled:
                collector = self.filled.pop(0)
                items, collector.items = collector.items, []
                collector.handler(items)
        finally:
            self._draining = False
