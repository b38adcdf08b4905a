"""A purge takes its turns: one slice, then everybody else, then the next slice.

A small one is over before the request has returned. A large one goes on, a slice per commit, until nothing
is left; what it has dropped so far is visible. It is answered when its last slice is on disk. Publishes
and other requests go on meanwhile; messages that were published after it began are not its business. A
crash leaves a stream from which a part is gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py import limits
from jetstream_py.api.errors import error

if TYPE_CHECKING:
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Purge

PurgeDone = Callable[[int | None], None]


class Purges:
    """The purges of one stream, one at a time: those that wait hold nothing but what was asked."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._asked: deque[tuple[Callable[[], Purge], PurgeDone]] = deque()
        self._purge: Purge | None = None
        self._count = 0

    def run(self, begin: Callable[[], Purge], done: PurgeDone) -> None:
        """Run the first step now, if none is under way; `done` gets the sum, None: the stream is gone."""
        if len(self._asked) >= limits.PURGE_QUEUE:
            raise error(10023)
        self._asked.append((begin, done))
        if len(self._asked) == 1:
            self._turn()

    def _turn(self) -> None:
        stream = self._stream
        if stream.shared.store.failed:
            return  # nobody is answered any more
        begin, done = self._asked[0]
        if self._purge is None and not stream.closed:
            self._purge, self._count = begin(), 0
        purge = self._purge
        if purge is not None and not purge.done and not stream.closed:
            self._count += purge.step()
        if stream.closed or purge is None or purge.done:
            self._purge = None
            done(None if stream.closed else self._count)
            self._asked.popleft()
        if self._asked:
            self._again(stream)

    def _again(self, stream: Stream) -> None:
        stream.shared.outbox.commit_soon()
        if stream.shared.store.busy:
            stream.shared.store.when_idle(self._turn)  # what dies during a commit costs twice
        else:
            stream.shared.soon(self._turn)
