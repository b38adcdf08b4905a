"""Pinned client: one of several clients gets all messages, the others stand by.

The client whose request is served first gets a pin id with its messages; from then on only requests that
carry the id are served. If none comes for `priority_timeout`, or an operator unpins it, the next one that
waits is pinned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py.engine import statuses

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer
    from jetstream_py.engine.waiting import PullRequest, Waiting


class Pinned:
    """Who is pinned."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.id = ""
        self.since_ns = 0  # wall clock, for people
        self.due = 0  # when the pin is lost, unless its owner shows up

    def seen(self, pin_id: str, now: int) -> None:
        if pin_id and pin_id == self.id:
            self._extend(now)

    def choose(self, waiting: Waiting) -> PullRequest | None:
        """The request that may have the next message."""
        chosen = None
        for request in list(waiting):
            if not request.ask.json or (self.id and request.pin == self.id):
                return request  # one that says nothing about groups is served as it comes
            if request.pin:
                self._consumer.pull.finish(request, statuses.WRONG_PIN_ID)
            elif chosen is None:
                chosen = request
        if self.id or chosen is None:
            return None
        self._pin(chosen)
        return chosen

    def _pin(self, request: PullRequest) -> None:
        shared = self._consumer.shared
        self.id = request.pin = shared.new_id()
        self.since_ns = shared.clock.now_ns()
        self._extend(shared.now())
        shared.events.pinned(*self._consumer.names, self._group, self.id)

    def unpin(self, reason: str) -> None:
        if self.id:
            self.id, self.since_ns, self.due = "", 0, 0
            self._consumer.shared.events.unpinned(*self._consumer.names, self._group, reason)

    def tick(self, now: int) -> None:
        if self.due and self.due <= now:
            self.unpin("timeout")

    def _extend(self, now: int) -> None:
        self.due = now + self._consumer.config.priority_timeout

    @property
    def _group(self) -> str:
        return self._consumer.config.priority_groups[0]
