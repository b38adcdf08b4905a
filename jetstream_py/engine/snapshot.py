"""The archive of a stream, made piece by piece while the stream goes on.

A piece is what one block of the store holds, so nothing is locked and no transaction of the store outlives
its turn. The archive is of the moment when it began: its state and its consumers are taken then, and messages
up to the last sequence of then. What is removed meanwhile, before its turn has come, cannot be in it. If
nothing was, it is exactly the stream of that moment.

If something was, a newer message may have taken its place (the new value of a key), and an archive with
neither would have lost the key. So then newer messages follow, until the end of the stream is reached: every
message that is there at that moment is in the archive, and some that are not there any more, which limits
remove again when it is restored. Who publishes faster than we read cannot hold us for ever: it
is tried a few times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py import limits
from jetstream_py.backup import archive
from jetstream_py.backup.archive import Entry
from jetstream_py.engine import consumer_record

if TYPE_CHECKING:
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Columns


class StreamArchive:
    """One archive that is being made."""

    def __init__(self, stream: Stream, state: bytes, consumers: bool) -> None:
        self._store = store = stream.store
        now = stream.shared.clock.now_ns()
        head = [archive.MAGIC, archive.encode(Entry(archive.STATE, now, data=state))]
        if consumers:
            stream.consumers.settle()
            head += [
                archive.encode(Entry(archive.CONSUMERS + each.tokens[1], now, data=record))
                for each in stream.consumers.shown()
                for record in (consumer_record.write(each),)
            ]
        self._head = b"".join(head)
        self._next = store.first_seq
        self._last = store.last_seq
        self._expected = store.messages
        self._written = 0
        self._further = 0
        self.done = False

    def take(self) -> bytes:
        """The next piece."""
        if self._head:
            head, self._head = self._head, b""
            return head
        run = self._store.run(self._next, limits.SNAPSHOT_RUN, b"", self._last)
        if len(run):
            self._next = run.seqs[-1] + 1
            self._written += len(run)
            return b"".join([archive.encode(Entry(*each)) for each in _rows(run)])
        if self._goes_on():
            return b""
        self.done = True
        return archive.END

    def _goes_on(self) -> bool:
        """Is there more, because something is missing?"""
        if self._written >= self._expected or self._further >= limits.SNAPSHOT_FURTHER:
            return False
        self._next, before = self._last + 1, self._last
        self._last = self._store.last_seq
        self._further += 1
        return self._last > before


def _rows(run: Columns) -> zip[tuple[bytes, int, int, bytes, bytes]]:
    return zip(run.subjects, run.times, run.seqs, run.headers, run.datas, strict=True)
