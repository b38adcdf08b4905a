"""The short way from an origin to its copy: both are streams of one account, so messages need no consumer.

The feed reads the origin's store in slices and hands them to the intake; each slice waits for the commit of
the one before, so a copy never stages more than that, however long the origin is. At the end it sleeps: the
origin wakes it, like its consumers, after a commit with something new. Like them it sees what is on disk
only, so a copy never has what its origin could lose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jetstream_py import limits

if TYPE_CHECKING:
    from jetstream_py.engine.link import Link
    from jetstream_py.engine.stream import Stream

HEARTBEAT: Final = 1_000_000_000  # ns: as often an origin is heard of, if it has nothing to say


class LocalFeed:
    """Reads one origin for one mirror or source. See `consumers.Follower`."""

    def __init__(self, link: Link, origin: Stream) -> None:
        self._link = link
        self._origin = origin
        self._shared = link.shared
        self._pattern = link.origin.pattern
        self._since = self._heard = self._shared.now()
        self._waits = False  # for a commit, or for room
        self._refused = False
        self._closed = False
        link.intake.meet(origin.identity)
        self._next = link.start(origin.store)
        link.intake.begin_after(self._next - 1)
        origin.consumers.followers.append(self)
        self.serve()
        if origin.store.last_seq > origin.visible_seq:
            self._shared.after_commit(self.serve)  # announced before anybody listened

    def serve(self) -> None:
        """Take a slice, if there is one and the last one is done."""
        up_to = self._origin.visible_seq
        if self._waits or self._closed or self._next > up_to:
            return
        run = self._origin.store.run(self._next, self._most(), self._pattern, up_to)
        if not run:
            self._next = up_to + 1
            return
        self._heard = self._shared.now()
        taken = self._link.intake.take(run)
        if taken:
            self._next = run.seqs[taken - 1] + 1
        self._waits = True
        self._refused = taken < len(run)
        if self._refused:
            self._link.later(limits.FEED_RETRY, self._go_on)
        else:
            self._shared.after_commit(self._go_on)

    def _most(self) -> int:
        """Messages of a slice: fewer if they are large."""
        store = self._origin.store
        size = store.bytes // store.messages if store.messages else 1
        return max(1, min(limits.FEED_RUN, limits.FEED_BYTES // max(size, 1)))

    def _go_on(self) -> None:
        self._waits = self._refused = False
        self.serve()

    def dismissed(self) -> None:
        self._closed = True
        self._link.lost()

    def close(self, deleted: bool) -> None:
        self._closed = True
        if self in self._origin.consumers.followers:
            self._origin.consumers.followers.remove(self)

    # -- what info says ----------------------------------------------------------------------------

    @property
    def lag(self) -> int:
        """As nats-server counts: of the message under way it says that it is there already."""
        if self._next > self._origin.visible_seq:
            return 0
        ahead = self._origin.store.count(self._pattern, self._next)
        return max(0, ahead - (2 if self._refused else 1))

    @property
    def heard(self) -> int:
        """When the origin was last heard of."""
        now = self._shared.now()
        return max(self._heard, now - (now - self._since) % HEARTBEAT)
