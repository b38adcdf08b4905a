"""API requests have their turn, and so have all others.

A request is answered in the loop. Most are short; lists and infos of many streams are not, and a flood of
them would leave the loop no time for publishes. So requests get `limits.API_TURN` in each turn of the loop.
While that lasts, and nothing waits, a request is run as it comes: what a client sees then is done in the
order in which it was asked for. The rest waits in one of two lanes, like nats-server's: requests that only
ask, and those that change something, so the latter are not behind a flood of lists.

Answers wait for the commit that is under way. Requests are not run while too much of that waits: a disk
that stands still must not fill the memory with answers.

A lane that is full is emptied: whoever waits there has given up or will ask again. It is told in the log
and to `overflow`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py import limits

if TYPE_CHECKING:
    from jetstream_py.clock import Clock
    from jetstream_py.engine.settings import Settings
    from jetstream_py.store import Store

Job = Callable[[], None]


class Lane:
    """Requests of a kind."""

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.most = most
        self.jobs: deque[tuple[Job, int]] = deque()
        self.bytes = 0

    def add(self, job: Job, size: int) -> None:
        self.jobs.append((job, size))
        self.bytes += size

    def take(self) -> Job:
        job, size = self.jobs.popleft()
        self.bytes -= size
        return job

    @property
    def full(self) -> bool:
        return len(self.jobs) >= self.most or self.bytes > limits.API_QUEUE_BYTES

    def empty(self) -> int:
        """How many there were."""
        dropped = len(self.jobs)
        self.jobs.clear()
        self.bytes = 0
        return dropped


class RequestQueue:
    """The requests of all accounts."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        soon: Callable[[Job], object],
        warn: Callable[[str], None],
        settings: Settings,
    ) -> None:
        self._store = store
        self._clock = clock
        self._soon = soon
        self._warn = warn
        self._changes = Lane("", settings.request_queue_limit)
        self._questions = Lane("info ", settings.info_queue_limit)
        self._scheduled = False
        self._spent = 0.0  # seconds, in this turn of the loop
        self._answers = 0  # bytes that wait for the commit under way
        self.dropped = 0
        self.overflow: Callable[[int], None] = lambda dropped: None

    def put(self, job: Job, size: int, question: bool) -> None:
        """Run it now or later. `size` is what it holds meanwhile."""
        lane = self._questions if question else self._changes
        if not lane.jobs and self._spent < limits.API_TURN and not self._held_up:
            self._run(job)
            return
        lane.add(job, size)
        if lane.full:
            self._drop(lane)
        self._schedule()

    def answered(self, size: int) -> None:
        """An answer was given to the outbox."""
        if self._store.busy:
            self._answers += size

    def resume(self) -> None:
        """The answers that waited have left."""
        self._answers = 0
        if self._changes.jobs or self._questions.jobs:
            self._schedule()

    @property
    def _held_up(self) -> bool:
        return self._answers > limits.API_ANSWERS and not self._store.failed

    def _run(self, job: Job) -> None:
        began = self._clock.monotonic()
        job()
        self._spent += self._clock.monotonic() - began
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        for lane in (self._changes, self._questions):
            self._spent = 0.0
            while lane.jobs and self._spent < limits.API_TURN and not self._held_up:
                self._run(lane.take())
        self._spent = 0.0

    def _drop(self, lane: Lane) -> None:
        dropped = lane.empty()
        self.dropped += dropped
        self._warn(f"JetStream API {lane.name}queue limit reached, dropping {dropped} requests")
        self.overflow(dropped)
