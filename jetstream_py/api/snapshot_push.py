"""A snapshot on its way to a client.

Chunks are pushed to a subject, and each of them is acked: only so many are under way as the client's window
holds. It takes its turns with everybody else.

Two seconds it waits for somebody who listens to exactly that subject. A wildcard does not count: clients
have one for the answers to all their requests, and subscribe to the subject of a snapshot when they have its
answer. If such a listener goes again, that is the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py import limits
from jetstream_py.backup import s2
from jetstream_py.engine.snapshot import StreamArchive
from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.api.advisories import BackupEvents
    from jetstream_py.api.backups import Backups
    from jetstream_py.engine.stream import Stream

_ENDED = b"204"
_NO_INTEREST = b"408 No Interest"
_NO_ACKS = b"408 No Flow Response"
_DELETED = b"500 Stream Deleted"


class Snapshot:
    """One archive on its way to a client."""

    def __init__(
        self,
        backups: Backups,
        stream: Stream,
        archive: StreamArchive,
        subject: bytes,
        chunk: int,
        window: int,
        events: BackupEvents,
    ) -> None:
        self._backups = backups
        self._js = js = backups.js
        self._stream = stream
        self._archive = archive
        self._subject = subject
        self._chunk = chunk
        self._events = events
        self._window = max(1, window // chunk)
        self._free = self._window  # chunks that may leave before an ack comes
        self._sent = 0
        self._out = bytearray(s2.START)
        self._ready = False  # somebody listens, or nobody will
        self._bound = False  # somebody listened to exactly the subject
        self._timer: Timer | None = None
        self._reply = b"$JS.SNAPSHOT.ACK.%b.%b." % (stream.name, js.new_id().encode())
        self._acks = js.bus.subscribe(self._reply + b">", self._acked)
        js.bus.watch(subject, self._soon)
        backups.running.add(self)
        self._scheduled = False
        self._soon()

    def _soon(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._js.shared.soon(self._turn)

    def _acked(self, *message: object) -> None:
        """Any ack lets another chunk go; what it says does not matter, as with nats-server."""
        self._free = min(self._free + 1, self._window)
        self._soon()

    def _wait(self, seconds: float | None, then: Callable[[], None] | None = None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if seconds is not None and then is not None:
            self._timer = self._js.shared.timers.call_later(seconds, then)

    def _turn(self) -> None:
        """Send what may be sent, but not too much at once."""
        self._scheduled = False
        if self not in self._backups.running:
            return
        self._wait(None)
        bound = self._js.bus.bound(self._subject, b"")
        lost, self._bound = self._bound and not bound, bound
        self._ready = self._ready or bound
        if self._stream.closed:
            self._end(_DELETED)
        elif lost:
            self._end(_NO_INTEREST)
        elif not self._ready:
            self._wait(limits.SNAPSHOT_INTEREST_TIME, self._begin_anyway)
        elif self._send_some():
            self._end(_ENDED if self._sent else b"")
        elif self._free:
            self._soon()
        else:
            self._wait(limits.SNAPSHOT_ACK_TIME, lambda: self._end(_NO_ACKS))

    def _begin_anyway(self) -> None:
        self._ready = True
        self._turn()

    def _send_some(self) -> bool:
        """True: that was all."""
        made = 0
        while self._free and made < limits.SNAPSHOT_TURN:
            out = self._out
            while len(out) < self._chunk and not self._archive.done:
                out += s2.frame(self._archive.take())
            last = len(out) < self._chunk
            data = bytes(out[: self._chunk])
            del out[: self._chunk]
            if last:
                if data:
                    self._send(data)
                return True
            self._sent += 1
            self._send(data, reply=self._reply + b"%d.%d" % (len(data), self._sent))
            self._free -= 1
            made += len(data)
        return False

    def _send(self, data: bytes, reply: bytes = b"", headers: bytes = b"") -> None:
        self._js.outbox.send(self._js.bus, self._subject, data, reply, headers)

    def _end(self, status: bytes) -> None:
        self._send(b"", headers=b"NATS/1.0 %b\r\n\r\n" % status if status else b"")
        self.close()
        self._events.ended(error=status[4:].decode().lower())

    def staged(self, storage: str) -> int:
        return 0

    def close(self) -> None:
        self._wait(None)
        self._js.bus.unsubscribe(self._acks)
        self._js.bus.unwatch(self._subject, self._soon)
        self._backups.running.discard(self)
