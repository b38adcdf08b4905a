"""Pull requests that wait: who is next, who has waited long enough.

Requests are served in turn, one message each. With the priority policy `prioritized` the turn is taken
within the smallest priority that waits. There are at most `max_waiting` of them, so looking at all is
cheap; only the way of a message (its head, `turn`) must not.

Times are nanoseconds of the monotonic clock.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jetstream_py.api.next_request import NextRequest


class PullRequest:
    """One MSG.NEXT, as long as it waits."""

    __slots__ = (
        "ask",
        "beat",
        "budget",
        "delivered",
        "expires",
        "inbox",
        "left",
        "pin",
    )

    def __init__(self, inbox: bytes, ask: NextRequest, now: int) -> None:
        self.inbox = inbox
        self.ask = ask
        self.left = ask.batch  # may be 0 or less: clients see it so, and get one message
        self.budget = ask.max_bytes
        self.delivered = 0
        self.expires = now + ask.expires if ask.expires else 0
        self.beat = now + ask.idle_heartbeat if ask.idle_heartbeat > 0 else 0
        self.pin = ask.id

    def due(self) -> int:
        """When something happens to it by itself, 0 for never."""
        if self.beat and self.expires:
            return min(self.beat, self.expires)
        return self.beat or self.expires

    def got(self, count: int, now: int) -> None:
        self.delivered += count
        self.left -= count
        if self.beat:
            self.beat = now + self.ask.idle_heartbeat


class Waiting(deque[PullRequest]):
    """The requests of one consumer, in the order of their turns. Whoever may end some while walking through
    them walks through a copy."""

    __slots__ = ("_prioritized",)

    def __init__(self, prioritized: bool) -> None:
        super().__init__()
        self._prioritized = prioritized

    def add(self, request: PullRequest) -> None:
        if not self._prioritized:
            self.append(request)
            return
        priority = request.ask.priority
        at = next((i for i, it in enumerate(self) if it.ask.priority > priority), None)
        if at is None:
            self.append(request)
        else:
            self.insert(at, request)

    def turn(self) -> None:
        """The first one got a message: it goes behind those that wait like it."""
        if self._prioritized:
            self.add(self.popleft())
        else:
            self.rotate(-1)

    def wanted(self) -> int:
        """Messages that all of them still want."""
        return sum([max(1, request.left) for request in self])

    def common_inbox(self) -> bytes:
        """The inbox of all requests, if they have one and none counts bytes."""
        inbox = self[0].inbox
        for request in self:
            if request.inbox != inbox or request.ask.max_bytes:
                return b""
        return inbox

    def share_out(self, count: int, now: int) -> None:
        """So many messages went to the requests in turn."""
        if self._prioritized or len(self) > 1:
            while count:
                request = self[0]
                request.got(1, now)
                count -= 1
                if request.left > 0:
                    self.turn()
                else:
                    self.popleft()
            return
        request = self[0]
        request.got(count, now)
        if request.left <= 0:
            self.clear()

    def next_due(self) -> int:
        """When something happens to one of them by itself, 0 for never."""
        return min([due for request in self if (due := request.due())], default=0)
