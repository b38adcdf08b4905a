"""Many messages at once: removing a list of them, and appends that take the place of what was there.

A work queue removes what is acked, a bucket removes the previous value with each put. One by one that is a
dozen calls per message. Here sequences are sorted, so that each block is found, opened and counted once, and
the head of the stream is looked for once, at the end.

A replacing append rests on `SubjectTable.last`: where a subject has one message that is it, so neither
counts nor names change and the table needs one update. `last` may be too high (it is an upper bound). Then
fewer messages die than should, and what was missed is looked for.

Opening a block may find it damaged, which changes counters and subjects. So all are opened before the first
message dies.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, repeat
from operator import eq
from typing import TYPE_CHECKING

from .block import View, message_size
from .summary import Block

if TYPE_CHECKING:
    from .file_stream import FileStream


class Bulk:
    """Changes of many messages of one stream."""

    __slots__ = ("_stream",)

    def __init__(self, stream: FileStream) -> None:
        self._stream = stream

    def discard(self, seqs: Iterable[int]) -> int:
        """Remove messages; how many there were."""
        stream = self._stream
        gone, names = self._kill(seqs)
        for name, count in Counter(names).items():
            stream.table.drop(name, count)
        queues = stream.queues
        if queues.active:
            for seq, name in zip(gone, names, strict=True):
                queues.removed(name, seq)
        self._settle(gone)
        return len(gone)

    def replace(
        self,
        subjects: Sequence[bytes],
        headers: Sequence[bytes],
        datas: Sequence[bytes],
        ts: int,
    ) -> int:
        """Append messages, each of which is the only one of its subject then; the first's sequence."""
        stream = self._stream
        first, n = stream.last_seq + 1, len(subjects)
        numbers = range(first, first + n)
        newest = dict(zip(subjects, numbers, strict=True))
        gone = self._clear(newest)
        staged = stream.tail.staged
        if len(newest) == n:
            staged.extend(first, ts, subjects, headers, datas)
        else:  # some are replaced before anybody can see them
            keep = list(map(eq, map(newest.__getitem__, subjects), numbers))
            subjects, datas = list(compress(subjects, keep)), list(compress(datas, keep))
            seqs, n = list(compress(numbers, keep)), len(newest)
            headers = list(compress(headers, keep))
            staged.fill(seqs, repeat(ts, n), subjects, headers or repeat(b"", n), datas)
            first = seqs[0]
        stream.grown(first, numbers[-1], n, stream.run_size(subjects, datas, headers), ts)
        stream.table.last.update(newest)
        self._settle(gone)
        return numbers[0]

    def replace_one(self, subject: bytes, headers: bytes, data: bytes, ts: int) -> int:
        """The same for one message, which may have headers."""
        stream = self._stream
        table, seq = stream.table, stream.last_seq + 1
        before = table.last.get(subject, 0)
        gone = [before] if before else []
        if not before:
            table.note(subject)
        elif subject in table.extra or not stream.displaced(before, subject):
            gone = self._clear({subject: seq})
        stream.tail.staged.append(seq, ts, subject, headers, data)
        stream.grown(seq, seq, 1, message_size(subject, headers, data), ts)
        table.last[subject] = seq
        self._settle(gone)
        return seq

    def _clear(self, newest: dict[bytes, int]) -> list[int]:
        """Everything of these subjects dies, but the table keeps them; who died."""
        stream = self._stream
        table, last = stream.table, stream.table.last
        crowded = table.extra.keys() & newest.keys() if table.extra else ()
        for name in crowded:
            stream.purge(name, keep=1)
        before = list(filter(None, map(last.get, newest)))
        gone, names = self._kill(before) if before else ([], [])
        if len(gone) < len(before):
            for name in (newest.keys() & last.keys()) - set(names):
                stream.discard(stream.last(name))
        if len(gone) < len(newest):
            for name in newest:
                if name not in last:
                    table.note(name)
        return gone

    def _settle(self, gone: list[int]) -> None:
        """The head may be among those that are gone."""
        stream = self._stream
        if gone and gone[0] <= stream.first_seq:
            stream.settle_head()
        stream.touch()

    # -- dying -------------------------------------------------------------------------------------
    def _kill(self, seqs: Iterable[int]) -> tuple[list[int], list[bytes]]:
        """Live messages die, in order; the caller sees to the subject table and the head."""
        stream = self._stream
        ordered = sorted(set(seqs))
        directory = stream.directory
        blocks = directory.blocks
        in_blocks = bisect_right(ordered, blocks[-1].last) if blocks else 0
        opened = list(self._open(ordered, in_blocks))
        gone: list[int] = []
        names: list[bytes] = []
        sizes: list[int] = []
        for block, view, wanted in opened:
            positions = directory.live_among(block, wanted)
            if positions:
                gone += map(view.seq, positions)
                named = view.subjects_at(positions)
                names += named
                sizes += self._bury(block, view, positions, named)
        stream.noted_dead(gone, sizes, names)
        for seq in ordered[in_blocks:]:
            message = stream.tail.get(seq)
            if message is not None:
                gone.append(seq)
                names.append(message.subject)
                sizes.append(stream.bury_tail(message))
        stream.shrunk(gone, sum(sizes))
        return gone, names

    def _open(self, ordered: list[int], end: int) -> Iterator[tuple[Block, View, list[int]]]:
        """The blocks that may hold them, with their columns."""
        stream = self._stream
        directory = stream.directory
        at = 0
        while at < end:
            k = bisect_right(directory.starts, ordered[at]) - 1
            block = directory.blocks[k]
            stop = bisect_right(ordered, block.last, at, end) if k >= 0 else at
            if stop > at and block.live:
                view = stream.view(block)
                if view is not None:
                    yield block, view, ordered[at:stop]
            at = max(stop, at + 1)

    def _bury(
        self, block: Block, view: View, positions: list[int], names: list[bytes]
    ) -> list[int]:
        """Records of a block die. Returns their sizes."""
        sizes = [block.live_bytes] if block.fat else view.sizes_at(positions, names)
        if block.dead is None:
            block.dead = bytearray(block.n)
        dead = block.dead
        for i in positions:
            dead[i] = 1
        size = sum(sizes)
        block.dirty = True
        block.live -= len(positions)
        block.live_bytes -= size
        self._stream.garbage += size
        if not block.live:
            self._stream.empty.add(block)
        return sizes
