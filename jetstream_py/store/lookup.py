"""Reading a stream on disk: by sequence, by subject, in runs.

The tail is asked first or last, whichever is likelier; blocks through the directory; filters through the
subject table, which often knows that there is nothing to look for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .columns import Columns
from .newest import lasts
from .scan import NOTHING
from .subjects import Filter, is_name
from .types import Message

if TYPE_CHECKING:
    from .file_stream import FileStream

_NOTHING = Filter(b"", {})


class Lookup:
    """The reads of one stream."""

    __slots__ = ("_stream",)

    def __init__(self, stream: FileStream) -> None:
        self._stream = stream

    def is_live(self, seq: int) -> bool:
        stream = self._stream
        return seq in stream.tail or stream.directory.find(seq) is not None

    def get(self, seq: int) -> Message | None:
        stream = self._stream
        found = stream.directory.find(seq)
        if found is None:
            return stream.tail.get(seq)
        block, i = found
        if block.page is not None:
            return block.page.message(i)
        return stream.read(block, i, stream.reader.message)

    def newest(self, subject: bytes) -> Message | None:
        stream = self._stream
        seq = stream.table.last.get(subject, 0)
        found = stream.directory.find(seq)
        if found is not None and found[0].page is not None:
            return found[0].page.message(found[1])
        message = self.get(seq)
        if message is None:  # there is none, or it was removed and the one before is not known
            seq = self._last_of(subject, 0)
            message = self.get(seq) if seq else None
        return message

    def next(self, seq: int, pattern: bytes = b"") -> Message | None:
        stream = self._stream
        if seq < stream.first_seq:
            seq = stream.first_seq
        wanted = None
        if pattern in (b"", b">"):
            found = stream.directory.find(seq)
            if found is not None and found[0].page is not None:
                return found[0].page.message(found[1])
        else:
            if pattern not in stream.table.last and is_name(pattern):
                return None
            wanted = self._wanted(pattern, seq)
            if wanted is _NOTHING:
                return None
        for block in stream.scan.trails.blocks(seq, wanted):
            start = stream.directory.position(block, seq)
            while (i := stream.search.first(block, start, wanted)) >= 0:
                message = stream.read(block, i, stream.reader.scan)
                if message is not None:
                    return message  # else it is damaged, and dead by now
        return stream.tail.first(seq, wanted)

    def _wanted(self, pattern: bytes, seq: int) -> Filter | None:
        """What to look for from `seq` on: None for everything, `_NOTHING` if that is all there is."""
        stream = self._stream
        wanted = stream.table.filter(pattern)
        if wanted.everything:
            return None
        if wanted.hashes is not None:
            # Few subjects: if none has a message that late there is nothing to look for.
            newest = stream.table.last
            if all(newest.get(name, 0) < seq for name in wanted.names):
                return _NOTHING
        return wanted

    def run(self, seq: int, most: int, pattern: bytes, up_to: int) -> Columns:
        stream = self._stream
        if seq < stream.first_seq:
            seq = stream.first_seq
        wanted = None
        if pattern not in (b"", b">"):
            if pattern not in stream.table.last and is_name(pattern):
                return NOTHING
            wanted = self._wanted(pattern, seq)
            if wanted is _NOTHING:
                return NOTHING
        return stream.scan.run(seq, most, wanted, up_to)

    def last(self, pattern: bytes, up_to: int = 0) -> int:
        stream = self._stream
        if pattern in (b"", b">"):
            return stream.scan.last(min(up_to or stream.last_seq, stream.last_seq), None)
        if is_name(pattern):
            return self._last_of(pattern, up_to)
        if up_to:
            return stream.scan.last(min(up_to, stream.last_seq), stream.table.filter(pattern))
        newest = 0
        bounds = sorted(
            ((stream.table.last[name], name) for name in stream.table.matching(pattern)),
            reverse=True,
        )
        for bound, name in bounds:
            if bound <= newest:
                break
            newest = max(newest, self._last_of(name, 0))
        return newest

    def lasts(self, pattern: bytes, since: int, up_to: int) -> list[int]:
        stream = self._stream
        return lasts(stream, pattern, since, up_to)

    def _last_of(self, subject: bytes, up_to: int) -> int:
        stream = self._stream
        bound = stream.table.last.get(subject, 0)
        if not bound:
            return 0
        if up_to and bound > up_to:
            return stream.scan.last(up_to, stream.table.filter(subject))
        if not self.is_live(bound):
            bound = stream.scan.last(bound, stream.table.filter(subject))
            if bound:
                stream.table.last[subject] = bound
        return bound

    def expect_oldest(self) -> None:
        stream = self._stream
        stream.queues.active = True

    def oldest(self, subject: bytes) -> int:
        stream = self._stream
        count = stream.table.count(subject)
        if count < 2:
            return self._last_of(subject, 0) if count else 0
        queues = stream.queues
        queues.active = True
        seq = queues.peek(subject)
        if seq and self.is_live(seq):
            return seq
        seqs = stream.scan.seqs_of(subject, count)
        queues.forget(subject)
        queues.fill(subject, seqs)
        return seqs[0] if seqs else 0

    def count(self, pattern: bytes = b"", since: int = 0) -> int:
        stream = self._stream
        everything = pattern in (b"", b">")
        if since <= stream.first_seq:
            return (
                stream.messages if everything else stream.table.count_of(pattern, stream.messages)
            )
        return stream.scan.count(since, None if everything else stream.table.filter(pattern))

    def subjects(self, pattern: bytes = b"") -> dict[bytes, int]:
        stream = self._stream
        return stream.table.counts(pattern)

    def seq_at(self, ts: int) -> int:
        stream = self._stream
        return stream.scan.seq_at(ts)

    def deleted(self) -> list[int]:
        stream = self._stream
        return stream.scan.deleted()

    def tail_headers(self, since_ts: int) -> Iterator[Message]:
        stream = self._stream
        return stream.scan.with_headers(self.seq_at(since_ts), stream.last_seq, since_ts)

    def headed(self, seq: int, up_to: int) -> Iterator[Message]:
        stream = self._stream
        return stream.scan.with_headers(seq, up_to)
