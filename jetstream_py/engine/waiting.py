"""Pull requests that wait: who is next, who has waited long enough.

Requests are served in turn, one message each. With the priority policy `prioritized` the turn is taken
within the smallest priority that waits. There are at most `max_waiting` of them, so looking at all is
cheap; only the way of a message (`first`, `turn`) must not.

Times are nanoseconds of the monotonic clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jetstream_py.api.next_request import NextRequest
    from jetstream_py.engine.shared import Item


class PullRequest:
    """One MSG.NEXT, as long as it waits."""

    __slots__ = (
        "ask",
        "beat",
        "budget",
        "delivered",
        "expires",
        "inbox",
        "items",
        "left",
        "pin",
        "since",
    )

    def __init__(self, inbox: bytes, ask: NextRequest, now: int) -> None:
        self.inbox = inbox
        self.ask = ask
        self.left = ask.batch  # may be 0 or less: clients see it so, and get one message
        self.budget = ask.max_bytes
        self.delivered = 0
        self.since = now
        self.expires = now + ask.expires if ask.expires else 0
        self.beat = now + ask.idle_heartbeat if ask.idle_heartbeat > 0 else 0
        self.pin = ask.id
        self.items: list[Item] = []  # what leaves with the run that is being sent

    def due(self) -> int:
        """When something happens to it by itself, 0 for never."""
        if self.beat and self.expires:
            return min(self.beat, self.expires)
        return self.beat or self.expires

    @property
    def done(self) -> bool:
        return self.delivered > 0 and self.left <= 0


class Waiting:
    """The requests of one consumer, in the order of their turns."""

    __slots__ = ("_prioritized", "_queue", "_wanted")

    def __init__(self, prioritized: bool) -> None:
        self._queue: deque[PullRequest] = deque()
        self._prioritized = prioritized

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[PullRequest]:
        return iter(list(self._queue))

    def add(self, request: PullRequest) -> None:
        if not self._prioritized:
            self._queue.append(request)
            return
        priority = request.ask.priority
        at = next((i for i, it in enumerate(self._queue) if it.ask.priority > priority), None)
        if at is None:
            self._queue.append(request)
        else:
            self._queue.insert(at, request)

    def first(self) -> PullRequest:
        return self._queue[0]

    def turn(self) -> None:
        """The first one got a message: it goes behind those that wait like it."""
        if self._prioritized:
            self.add(self._queue.popleft())
        else:
            self._queue.rotate(-1)

    def remove(self, request: PullRequest) -> None:
        if self._queue and self._queue[0] is request:
            self._queue.popleft()
        else:
            self._queue.remove(request)

    def clear(self) -> list[PullRequest]:
        gone = list(self._queue)
        self._queue.clear()
        return gone

    def wanted(self) -> int:
        """Messages that all of them still want."""
        return sum([max(1, request.left) for request in self._queue])

    def next_due(self) -> int | None:
        return min([due for request in self._queue if (due := request.due())], default=None)
