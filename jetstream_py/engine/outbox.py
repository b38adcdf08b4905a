"""Nothing leaves before what it speaks of is on disk.

The engine changes its state in memory at once and answers from that state; every answer (PubAck, API
answer, advisory) goes through the outbox. While something is staged that no commit has taken, or a
commit is under way, answers wait: those given before a commit started leave when it has succeeded. So
a client never sees a sequence, a count or a message that a power cut could take back, and a request
after another sees its effect without waiting for the disk in between.

Groups form by themselves: a commit takes everything staged so far, and whatever arrives while it runs
makes the next one. The slower the disk, the larger the group. Before it starts, the loop is let turn as long
as each turn brings more (four times at most): a client fills its window in pieces. Where nothing came, as
with one message at a time, the next seven commits do not wait.

When a commit fails nothing that waited is sent, ever: the store is fail-stop, and `broken` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, Protocol

if TYPE_CHECKING:
    from jetstream_py.store import Store


P = ParamSpec("P")

GATHER = 4  # turns of the loop to wait for more
SKIP = 7  # commits that do not, after one that waited in vain


class Letter(NamedTuple):
    """One message."""

    subject: bytes
    data: bytes
    reply: bytes
    headers: bytes


class Acks(NamedTuple):
    """The PubAcks of a run: `start`, a sequence that counts up from `first`, `end`."""

    replies: Sequence[bytes]
    start: bytes
    first: int
    end: bytes


class Publisher(Protocol):
    """What the engine needs from core NATS."""

    def publish(
        self, subject: bytes, data: bytes, reply: bytes = b"", headers: bytes = b""
    ) -> object: ...

    def publish_series(
        self, subjects: Sequence[bytes], start: bytes, first: int, end: bytes
    ) -> None:
        """Messages whose payloads are `start`, a number that counts up from `first`, and `end`."""
        ...

    def publish_all(
        self, subjects: Sequence[bytes], headers: Sequence[bytes], datas: Sequence[bytes]
    ) -> None:
        """Messages with headers, each to its own subject."""
        ...

    def flush(self) -> None:
        """Write now."""
        ...

    def has_interest(self, subject: bytes) -> bool: ...


class Outbox:
    """The way out of the engine, shared by all streams of a store."""

    def __init__(
        self,
        store: Store,
        soon: Callable[[Callable[[], None]], object],
        failed: Callable[[str], None],
    ) -> None:
        self._store = store
        self._soon = soon
        self._failed = failed
        self.committing: Callable[[], None] = _nothing  # called when a commit begins ...
        self.committed: Callable[[], None] = _nothing  # ... and when its answers have left
        self._held: list[tuple[Publisher, Letter | Acks]] = []  # for the next commit
        self._flying: list[tuple[Publisher, Letter | Acks]] = []  # for the one under way
        self._scheduled = False
        self._wanted = False  # another commit, when the one under way is done
        self._gathered = 0  # answers that waited when the loop last turned ...
        self._turns = 0  # ... and how often it was let turn
        self._skip = 0  # commits that are not to wait

    def send(
        self,
        publisher: Publisher,
        subject: bytes,
        data: bytes,
        reply: bytes = b"",
        headers: bytes = b"",
    ) -> None:
        store = self._store
        if self._held or store.busy or store.dirty:
            self._send(publisher, Letter(subject, data, reply, headers))
        else:
            publisher.publish(subject, data, reply, headers)

    def send_all(
        self,
        publisher: Publisher,
        subjects: Sequence[bytes],
        headers: Sequence[bytes],
        datas: Sequence[bytes],
    ) -> None:
        """`send` for many, all with headers."""
        store = self._store
        if not (self._held or store.busy or store.dirty):
            publisher.publish_all(subjects, headers, datas)
            return
        for subject, block, data in zip(subjects, headers, datas, strict=True):
            self._send(publisher, Letter(subject, data, b"", block))

    def send_acks(
        self, publisher: Publisher, replies: Sequence[bytes], start: bytes, first: int, end: bytes
    ) -> None:
        """PubAcks for messages of consecutive sequences: one entry, whatever their number."""
        self._send(publisher, Acks(replies, start, first, end))

    def _send(self, publisher: Publisher, what: Letter | Acks) -> None:
        store = self._store
        if store.failed:
            _deliver(publisher, what)  # there are only refusals left to send
        elif store.dirty or self._held:  # nor may an answer overtake one that waits
            self._held.append((publisher, what))
            self.commit_soon()
        elif store.busy:
            self._flying.append((publisher, what))
        else:
            _deliver(publisher, what)

    def commit_soon(self) -> None:
        """Something was staged: commit at the end of this tick, or after the commit under way."""
        if not self._scheduled:
            self._scheduled = True
            self._soon(self._commit)

    @property
    def idle(self) -> bool:
        """Nothing waits for a commit."""
        return not (self._scheduled or self._held or self._flying)

    def _commit(self) -> None:
        if not self._skip and len(self._held) > self._gathered and self._turns < GATHER:
            self._gathered = len(self._held)
            self._turns += 1
            self._soon(self._commit)
            return
        if self._skip:
            self._skip -= 1
        elif self._turns < 2:
            self._skip = SKIP  # nothing came
        self._gathered = self._turns = 0
        self._scheduled = False
        store = self._store
        if store.busy or store.failed:
            self._wanted = True
            return
        self._flying, self._held = self._held, []
        self.committing()
        if store.dirty:
            store.commit(self._done)
        else:
            self._release()

    def _done(self, error: str) -> None:
        if error:
            self._flying.clear()
            self._held.clear()
            self._failed(error)
            return
        self._release()
        # News may wait for it even if nothing was staged. And a deleted stream goes in slices: the store may
        # have more to do without being told.
        if self._wanted or self._held or self._store.dirty:
            self._wanted = False
            self.commit_soon()

    def _release(self) -> None:
        released, self._flying = self._flying, []
        for publisher, what in released:
            self._safely(_deliver, publisher, what)
        self._safely(self.committed)
        if released:
            released[-1][0].flush()  # they have waited long enough

    def _safely(self, step: Callable[P, object], *args: P.args, **more: P.kwargs) -> None:
        """A bug on one way out is told to the loop, and costs nobody else an answer."""
        try:
            step(*args, **more)
        except Exception as error:
            self._soon(partial(_raise, error))


def _raise(error: Exception) -> None:
    raise error


def _deliver(publisher: Publisher, what: Letter | Acks) -> None:
    if isinstance(what, Acks):
        publisher.publish_series(*what)
    else:
        publisher.publish(*what)


def _nothing() -> None:
    return None
