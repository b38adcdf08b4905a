"""A purge takes its turns: one slice, then everybody else, then the next slice.

A small one is over before the request has returned. A large one goes on, a slice per commit, until nothing
is left; what it has dropped so far is visible. It is answered when its last slice is on disk. Publishes
and other requests go on meanwhile; messages that were published after it began are not its business. A
crash leaves a stream from which a part is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Purge

PurgeDone = Callable[[int | None], None]


def run_purge(stream: Stream, purge: Purge, done: PurgeDone) -> None:
    """Run the first step now, the others in turns; `done` gets the sum, or None: the stream is gone."""
    count = 0

    def turn() -> None:
        nonlocal count
        shared = stream.shared
        if shared.store.failed:
            return  # nobody is answered any more
        if stream.closed:
            done(None)
            return
        if not purge.done:
            count += purge.step()
        if purge.done:
            done(count)
            return
        shared.outbox.commit_soon()
        if shared.store.busy:
            shared.store.when_idle(turn)  # what dies during a commit costs twice
        else:
            shared.soon(turn)

    turn()
