"""A stream that comes back, chunk by chunk, each of them a request.

A chunk is acked when what is in it is on disk, so a client that waits for acks never fills more than its own
window, and one that does not is cut off. It is unpacked in turns with everybody else. If something is wrong
with the archive the client hears of it at the end, as from nats-server; until then chunks are acked and
passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from jetstream_py import limits
from jetstream_py.api import responses as r
from jetstream_py.api.errors import ApiError, E, error
from jetstream_py.api.reservation import exceeded, most_bytes
from jetstream_py.backup import s2
from jetstream_py.backup.archive import Entry
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.backup.files import Item
from jetstream_py.backup.unpack import AnyUnpacker
from jetstream_py.engine.restore import Restoration
from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.api.advisories import BackupEvents
    from jetstream_py.api.backups import Backups
    from jetstream_py.api.types import StreamConfig
    from jetstream_py.engine.shared import Bus


class _Acks:
    """Acks of chunks leave through the outbox, in the form that nats-server writes them."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.publish_series = bus.publish_series
        self.flush = bus.flush
        self.has_interest = bus.has_interest

    def publish(
        self, subject: bytes, data: bytes, reply: bytes = b"", headers: bytes = b""
    ) -> object:
        return self._bus.announce(subject, data, headers)


class Restore:
    """One archive on its way from a client."""

    def __init__(
        self,
        backups: Backups,
        config: StreamConfig,
        events: BackupEvents,
        finish: Callable[[Restoration], bytes],
    ) -> None:
        """`finish` opens the stream and gives the answer. It raises `ApiError` or `ArchiveError`."""
        self._backups = backups
        self._js = js = backups.js
        self.config = config
        self._events = events
        self._finish = finish
        self._acks = _Acks(js.bus)
        self._unframer = s2.Unframer()
        self._unpacker = AnyUnpacker()
        self._restoration: Restoration | None = Restoration(js, config)
        self._fault: ApiError | None = None
        self._queue: deque[tuple[bytes, bytes]] = deque()  # data and reply
        self._backlog = 0
        self._size = 0
        self._work: Iterator[Item] | None = None  # what is left of the first in the queue
        self._scheduled = False
        self._timer: Timer | None = None
        name = b"$JS.SNAPSHOT.RESTORE.%b.%b"
        self.subject = name % (config.name.encode(), js.new_id().encode())
        self._sub = js.bus.subscribe(self.subject, self._arrived)
        backups.running.add(self)
        self._wait()

    def staged(self, storage: str) -> int:
        if self._restoration is None or storage != self.config.storage:
            return 0
        return self._restoration.store.bytes

    def _wait(self) -> None:
        self._timer = self._js.shared.timers.call_later(limits.RESTORE_TIME, self.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arrived(
        self, subject: bytes, reply: bytes, headers: bytes, data: bytes, caller: object
    ) -> None:
        self._stop_waiting()
        self._backlog += len(data)
        if not reply or self._backlog > limits.RESTORE_BACKLOG:
            self.close()
            self._events.ended(self._size)
            return
        self._queue.append((data, reply))
        self._soon()

    def _soon(self) -> None:
        """Between two commits: what is staged for one of them is no more than a turn's work."""
        if not self._scheduled:
            self._scheduled = True
            store = self._js.store
            (store.when_idle if store.busy else self._js.shared.soon)(self._turn)

    def _turn(self) -> None:
        """Unpack some of what has arrived."""
        self._scheduled = False
        if self not in self._backups.running:
            return
        budget = limits.RESTORE_TURN
        while self._queue and budget > 0:
            data, reply = self._queue[0]
            if not data:
                self._conclude(reply)
                return
            if self._work is None:
                self._work = self._unpack(data)
            budget = self._advance(budget)
            if self._work is None:
                self._queue.popleft()
                self._backlog -= len(data)
                self._size += len(data)
                self._check_room()
                self._js.outbox.send(self._acks, reply, b"")
        self._js.outbox.commit_soon()
        if self._queue:
            self._soon()
        else:
            self._wait()

    def _unpack(self, data: bytes) -> Iterator[Item]:
        for block in self._unframer.feed(data):
            yield None
            yield from self._unpacker.feed(block)

    def _advance(self, budget: int) -> int:
        """Go on with a chunk. What is left of the budget."""
        assert self._work is not None
        restoration = self._restoration
        if restoration is None:
            self._work = None  # it has failed before: the client hears of it at the end
            return budget
        try:
            for item in self._work:
                if item is None:
                    budget -= limits.RESTORE_BLOCK
                else:
                    restoration.take(item)
                    budget -= limits.RESTORE_ENTRY
                if isinstance(item, Entry):
                    budget -= len(item.data) + len(item.headers)
                if budget <= 0:
                    return budget
        except ArchiveError as fault:
            self._fail(error(E.STREAM_RESTORE, err=fault))
        self._work = None
        return budget

    def _check_room(self) -> None:
        js, kind = self._js, self.config.storage
        if self._restoration is None:
            return
        staged = self._backups.staged(kind)
        most, server = most_bytes(js.limits, kind), js.engine.most.get(kind, 0) or -1
        if (
            0 <= most < js.used(kind) + staged
            or 0 <= server < js.engine.used(kind) + staged
            or not js.store.room()
        ):
            self._fail(exceeded(kind))

    def _fail(self, fault: ApiError) -> None:
        """The rest of the archive is passed over."""
        self._fault = self._fault or fault
        restoration, self._restoration = self._restoration, None
        if restoration is not None:
            restoration.abandon()

    def _conclude(self, reply: bytes) -> None:
        """The client has sent all it has."""
        restoration = self._restoration
        answer = b""
        try:
            if restoration is not None:
                self._check_end()
                answer = self._finish(restoration)
                self._restoration = None  # it is a stream now
        except ArchiveError as fault:
            self._fail(error(E.STREAM_RESTORE, err=fault))
        except ApiError as fault:
            self._fail(fault)
        if self._fault is not None:
            answer = r.failure(r.StreamCreateResponse, self._fault)
        self.close()
        self._events.ended(self._size)
        self._js.outbox.send(self._js.bus, reply, answer)

    def _check_end(self) -> None:
        if not self._unframer.between:
            raise ArchiveError(s2.CORRUPT)
        if not self._unpacker.ended:
            raise ArchiveError("EOF" if self._unpacker.between else "unexpected EOF")

    def close(self) -> None:
        """It is over; what is not a stream by now goes."""
        self._stop_waiting()
        self._queue.clear()
        self._js.bus.unsubscribe(self._sub)
        self._backups.running.discard(self)
        restoration, self._restoration = self._restoration, None
        if restoration is not None:
            restoration.abandon()
