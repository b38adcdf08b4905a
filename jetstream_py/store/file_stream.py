"""A stream on disk, as the loop sees it: counters, directory, subjects, and what the next group will say.

A sequence is live if it is in the tail or in a block and not dead there; nothing else says so. Every change
is made here first, at once, and noted for the next group: messages in the tail, tombstones in `_dead`,
changes of counts in `_deltas`, the `floor` below which all is gone. `take` hands the notes to the writer,
`install` takes its report.

While a commit runs the loop goes on. What dies meanwhile may be in a block that the writer is making: it is
kept in `_late` (and in `floor`) and marked again in the new block when the report arrives.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from . import compact
from .block import OVERHEAD, Damaged, View, message_size
from .bulk import Bulk
from .checkpoint import Checkpointer
from .columns import Columns
from .directory import Directory
from .group import Outcome, Work
from .home import Home
from .newest import lasts
from .oldest import OldestQueues
from .purge import FilePurge
from .reader import Reader
from .scan import NOTHING, Scan
from .search import Search
from .subjects import Filter, SubjectTable, is_name
from .summary import Block
from .tail import Tail
from .types import Message

_NOTHING = Filter(b"", {})


class FileStream:
    """See `StreamStore`."""

    def __init__(self, sid: int, home: Home, ready: bool = True) -> None:
        self.sid = sid
        self.first_seq = self.last_seq = self.messages = self.bytes = self.last_ts = 0
        self.durable_seq = self._flying_seq = 0
        self.removed: list[int] | None = None
        self.home = home
        self.table = SubjectTable()
        self.directory = Directory(self.view)
        self.tail = Tail()
        self.reader = Reader(home, sid)
        self.search = Search(self.view)
        self.checkpointer = Checkpointer()
        self.plan = compact.Plan()
        self.floor = 0
        self.lsn = 0  # of the last group
        self.garbage = 0  # bytes of dead records in blocks
        self.empty: set[Block] = set()  # blocks without a live record, dropped with the next group
        self.erase: set[Block] = set()  # blocks to be rewritten in the next group
        self.scan = Scan(self)
        self._bulk = Bulk(self)
        self.queues = OldestQueues()
        self._dead: list[tuple[int, int]] = []
        self._deltas: defaultdict[bytes, int] = defaultdict(int)
        self._log_due = False
        self._late: dict[int, int] = {}
        self._late_erase: set[int] = set()
        self._queued = False
        self._first_ts = (0, 0)
        self.closed = False
        self.ready = ready  # False while start-up still counts

    # -- state -------------------------------------------------------------------------------------
    @property
    def first_ts(self) -> int:
        if not self.messages:
            return 0
        if self._first_ts[0] != self.first_seq:
            found = self.get_ts(self.first_seq)
            if found is None:
                return 0
            self._first_ts = (self.first_seq, found)
        return self._first_ts[1]

    def get_ts(self, seq: int) -> int | None:
        message = self.tail.get(seq)
        if message is not None:
            return message.ts
        found = self.directory.find(seq)
        view = self.view(found[0]) if found else None
        return view.ts(found[1]) if found and view else None

    @property
    def num_subjects(self) -> int:
        return len(self.table)

    size = staticmethod(message_size)

    def num_deleted(self) -> int:
        return self.last_seq - self.first_seq + 1 - self.messages if self.messages else 0

    # -- changes -----------------------------------------------------------------------------------
    def touch(self) -> None:
        if not self._queued and not self.closed:
            self._queued = True
            self.home.touched.append(self)

    def append(self, subject: bytes, headers: bytes, data: bytes, ts: int, seq: int = 0) -> int:
        if not seq:
            seq = self.last_seq + 1
        elif seq <= self.last_seq:
            raise ValueError("sequences only rise")
        self.tail.staged.append(seq, ts, subject, headers, data)
        if not self.messages:
            self.first_seq = seq
        self.messages += 1
        self.last_seq, self.last_ts = seq, ts
        size = 30 + len(subject) + len(data)
        if headers:
            size += 4 + len(headers)
        self.bytes += size
        self.home.staged += size
        table = self.table
        previous = table.last.get(subject, 0)
        if previous:
            table.extra[subject] = table.extra.get(subject, 0) + 1
        else:
            table.note(subject)
        table.last[subject] = seq
        if self.queues.active:
            self.queues.appended(table, subject, previous, seq)
        if not self._queued:
            self.touch()
        return seq

    def append_run(
        self, subjects: Sequence[bytes], datas: Sequence[bytes], ts: int
    ) -> tuple[int, Collection[bytes]]:
        first, n = self.last_seq + 1, len(datas)
        self.tail.staged.extend(first, ts, subjects, datas)
        self.grown(first, first + n - 1, n, self.run_size(subjects, datas), ts)
        if not self.queues.active:
            return first, self.table.add_run(subjects, first)
        table, oldest = self.table, self.queues
        for seq, subject in enumerate(subjects, first):
            previous = table.last.get(subject, 0)
            table.add(subject, seq)
            oldest.appended(table, subject, previous, seq)
        return first, set(subjects)

    def replace(self, subject: bytes, headers: bytes, data: bytes, ts: int) -> int:
        return self._bulk.replace_one(subject, headers, data, ts)

    def replace_run(self, subjects: Sequence[bytes], datas: Sequence[bytes], ts: int) -> int:
        return self._bulk.replace(subjects, datas, ts)

    def grown(self, first: int, last: int, count: int, size: int, ts: int) -> None:
        """So many messages were staged."""
        if not self.messages:
            self.first_seq = first
        self.messages += count
        self.last_seq, self.last_ts = last, ts
        self.bytes += size
        self.home.staged += size
        self.touch()

    def run_size(self, subjects: Sequence[bytes], datas: Sequence[bytes]) -> int:
        return OVERHEAD * len(datas) + sum(map(len, subjects)) + sum(map(len, datas))

    def skip(self, count: int = 1) -> int:
        self.last_seq += count
        if not self.messages:
            self.first_seq = self.last_seq + 1
        self._log_due = True
        self.touch()
        return self.last_seq

    def start_at(self, first_seq: int) -> None:
        if self.messages or first_seq <= self.last_seq:
            raise ValueError("the stream has begun already")
        self.first_seq = self.floor = first_seq
        self.last_seq = first_seq - 1
        self._log_due = True
        self.touch()

    def remove(self, seq: int, erase: bool = False) -> Message | None:
        message = self.tail.get(seq)
        if message is not None:
            if self._remove_tail(message) and erase:
                self._late_erase.add(seq)
        else:
            found = self.directory.find(seq)
            if found is None:
                return None
            block, i = found
            message = self.read(block, i, self.reader.scan)
            if message is None:
                return None
            size = message_size(message.subject, message.headers, message.data)
            self._kill(block, i, seq, message.subject, size)
            if erase:
                self.erase.add(block)
                self.home.scrub = True
        if seq == self.first_seq:
            self._settle()
        self.touch()
        return message

    def discard(self, seq: int) -> bool:
        """`remove` for those who do not want to see the message; its payload is not read."""
        message = self.tail.get(seq)
        if message is not None:
            self._remove_tail(message)
        else:
            found = self.directory.find(seq)
            view = self.view(found[0]) if found else None
            if found is None or view is None:
                return False
            block, i = found
            size = block.live_bytes if block.fat else view.size(i)
            self._kill(block, i, seq, view.subject(i), size)
        if seq == self.first_seq:
            self._settle()
        self.touch()
        return True

    def discard_all(self, seqs: Iterable[int]) -> int:
        return self._bulk.discard(seqs)

    def _remove_tail(self, message: Message) -> bool:
        """True when the message is on its way to the disk."""
        self._uncount(message.seq, message.subject, self.bury_tail(message))
        return message.seq in self._late

    def bury_tail(self, message: Message) -> int:
        """A message dies that is in no block yet. Returns its size."""
        seq, subject = message.seq, message.subject
        size = message_size(subject, message.headers, message.data)
        if self.tail.remove(seq):
            self._dead.append((seq, size))
            self._deltas[subject] -= 1
            self._late[seq] = size
        else:
            self._log_due = True  # the sequence is used up, though no block will say so
        return size

    def noted_dead(self, seqs: list[int], sizes: list[int], names: list[bytes]) -> None:
        """These died in their blocks: what the next group says about that."""
        self._dead += zip(seqs, sizes, strict=True)
        deltas = self._deltas
        for name in names:
            deltas[name] -= 1
        if self.home.busy:
            self._late.update(zip(seqs, sizes, strict=True))

    def shrunk(self, seqs: Sequence[int], size: int) -> None:
        """These are no longer there, wherever they were."""
        if self.removed is not None:
            self.removed += seqs
        self.messages -= len(seqs)
        self.bytes -= size
        self.checkpointer.changes += len(seqs)

    def _kill(self, block: Block, i: int, seq: int, subject: bytes, size: int) -> None:
        """A live record in a block dies."""
        self._mark(block, i, seq, subject, size)
        self._uncount(seq, subject, size)

    def _mark(self, block: Block, i: int, seq: int, subject: bytes, size: int) -> None:
        block.kill(i, size)
        self.garbage += size
        self._dead.append((seq, size))
        self._deltas[subject] -= 1
        if self.home.busy:
            self._late[seq] = size
        if not block.live:
            self.empty.add(block)

    def _uncount(self, seq: int, subject: bytes, size: int) -> None:
        self.table.drop(subject)
        if self.queues.active:
            self.queues.removed(subject, seq)
        self.shrunk((seq,), size)

    def displaced(self, seq: int, subject: bytes) -> bool:
        """A message dies whose subject gets another one at once, so that the table need not change."""
        message = self.tail.get(seq)
        if message is not None:
            size = self.bury_tail(message)
        else:
            found = self.directory.find(seq)
            view = self.view(found[0]) if found else None
            if found is None or view is None:
                return False
            block, i = found
            size = block.live_bytes if block.fat else view.size(i)
            self._mark(block, i, seq, subject, size)
        self.shrunk((seq,), size)
        return True

    def _settle(self) -> None:
        """Find the new head."""
        if not self.messages:
            if self.last_seq or self.first_seq:
                self.first_seq = self.last_seq + 1
            return
        seq = max(self.first_seq, self.floor)
        if self.directory.find(seq + 1) is not None and self.directory.find(seq) is None:
            self.first_seq = seq + 1  # the usual case: the head has gone, and nothing else
            return
        found = self.scan.first(seq, None)
        assert found is not None
        self.first_seq = found

    def trim(self, before: int) -> int:
        before = min(before, self.last_seq + 1)
        if before <= self.first_seq or not self.messages:
            return 0
        was = self.messages
        blocks = self.directory.blocks
        for k in range(self.directory.at(self.first_seq), len(blocks)):
            if blocks[k].first >= before:
                break
            if blocks[k].live:
                self._trim_block(blocks[k], before)
        for message in self.tail.upto(before):
            self._remove_tail(message)
        self.floor = before
        self._log_due = True
        self._settle()
        self.touch()
        return was - self.messages

    def shrink(self, messages: int, bytes_: int) -> None:
        if self.messages > messages or self.bytes > bytes_:
            self.trim(self.scan.end_of_excess(messages, bytes_))

    def _trim_block(self, block: Block, before: int) -> None:
        view = None if block.name is not None and block.last < before else self.view(block)
        end = block.n if block.last < before else self.directory.position(block, before)
        if not block.live:
            return  # damaged
        start = block.dead.find(0) if block.dead else 0
        gone = [i for i in range(start, end) if not (block.dead and block.dead[i])] if view else []
        if view is None:
            assert block.name is not None
            names = {block.name: block.live}
        else:
            names = Counter([view.subject(i) for i in gone])
        if end == block.n:
            size, count = block.live_bytes, block.live
        else:
            assert view is not None
            size, count = sum([view.size(i) for i in gone]), len(gone)
        if block.dead is None:
            block.dead = bytearray(block.n)
        block.dead[start:end] = b"\1" * (end - start)
        block.dirty = True
        block.live -= count
        block.live_bytes -= size
        self.garbage += size
        if not block.live:
            self.empty.add(block)
        for name, number in names.items():
            self._deltas[name] -= number
            self.table.drop(name, number)
            if self.queues.active:
                self.queues.trimmed(name, before)
        self.messages -= count
        self.bytes -= size
        self.checkpointer.changes += count

    def purge(self, pattern: bytes = b"", before: int = 0, keep: int = 0) -> int:
        purge, count = FilePurge(self, pattern, before, keep), 0
        while not purge.done:
            count += purge.step()
        return count

    def begin_purge(self, pattern: bytes, before: int, keep: int) -> FilePurge:
        return FilePurge(self, pattern, before, keep)

    def kill_matches(self, block: Block, wanted: Filter, since: int, end: int) -> None:
        """Live matches of a block in [since, end) die; the caller settles the head."""
        positions = self.search.positions(block, wanted)
        view = self.view(block) if positions else None
        if view is None:
            return
        for i in positions:
            seq = view.seq(i)
            if since <= seq < end:
                size = block.live_bytes if block.fat else view.size(i)
                self._kill(block, i, seq, view.subject(i), size)

    def drop_tail(self, wanted: Filter, since: int, end: int) -> None:
        """The same for messages that are in no block yet."""
        for message in self.tail.upto(end):
            if message.seq >= since and message.subject in wanted.names:
                self._remove_tail(message)

    def settle_head(self) -> None:
        self._settle()
        self.touch()

    # -- damage ------------------------------------------------------------------------------------
    def read(self, block: Block, i: int, how: Callable[[Block, int], Message]) -> Message | None:
        """A record, or None when it is damaged: then it is reported and counts as removed."""
        try:
            return how(block, i)
        except Damaged as error:
            if self.view(block) is not None:
                try:
                    return self.reader.message(block, i)  # another record of the block is damaged
                except Damaged:
                    self.lose(block, [i], str(error))
            return None

    def view(self, block: Block) -> View | None:
        """A block's columns, or None when they are damaged: then the block is reported and lost."""
        try:
            return self.reader.view(block)
        except Damaged as error:
            self.lose(block, None, str(error))
            return None

    def lose(self, block: Block, positions: list[int] | None, why: str) -> None:
        """Records are damaged. They die, the block is kept for a doctor, its neighbours live."""
        block.bad = True
        if positions is None:
            self._lose_all(block, why)
            if not self.ready:
                return
        else:
            view = block.view
            assert view is not None
            for i in positions:
                if block.dead is None or not block.dead[i]:
                    seq = view.seq(i)
                    self.home.complain(f"stream {self.sid}, message {seq}: {why}")
                    size = block.live_bytes if block.fat else view.size(i)
                    self._kill(block, i, seq, view.subject(i), size)
        if self.messages == 0 or not self.is_live(self.first_seq):
            self._settle()
        self.touch()

    def _lose_all(self, block: Block, why: str) -> None:
        """Nobody can say whose messages these were, so the subjects are counted anew."""
        if not block.live:
            return
        text = f"stream {self.sid}, messages {block.first} to {block.last}: {why}"
        self.home.complain(text, block.live)
        if self.ready:
            self.messages -= block.live
            self.bytes -= block.live_bytes
            self.garbage += block.live_bytes
        block.dead = bytearray(b"\1") * block.n
        block.live = block.live_bytes = 0
        block.dirty = True
        if self.ready:
            self.count_anew()

    def count_anew(self) -> None:
        """Make the subject table from the blocks; what is on disk about it is worthless."""
        self.table.clear()
        self.queues.clear()
        for block in list(self.directory.blocks):
            view = self.view(block) if block.live else None
            if view is not None:
                for i in self.directory.live_positions(block):
                    self.table.add(view.subject(i), view.seq(i))
        for message in self.tail.since(0):
            self.table.add(message.subject, message.seq)
        self.checkpointer.anew = True
        self.touch()

    # -- reads -------------------------------------------------------------------------------------
    def is_live(self, seq: int) -> bool:
        return seq in self.tail or self.directory.find(seq) is not None

    def get(self, seq: int) -> Message | None:
        found = self.directory.find(seq)
        if found is None:
            return self.tail.get(seq)
        block, i = found
        if block.page is not None:
            return block.page.message(i)
        return self.read(block, i, self.reader.message)

    def newest(self, subject: bytes) -> Message | None:
        seq = self.table.last.get(subject, 0)
        found = self.directory.find(seq)
        if found is not None and found[0].page is not None:
            return found[0].page.message(found[1])
        message = self.get(seq)
        if message is None:  # there is none, or it was removed and the one before is not known
            seq = self._last_of(subject, 0)
            message = self.get(seq) if seq else None
        return message

    def next(self, seq: int, pattern: bytes = b"") -> Message | None:
        if seq < self.first_seq:
            seq = self.first_seq
        wanted = None
        if pattern in (b"", b">"):
            found = self.directory.find(seq)
            if found is not None and found[0].page is not None:
                return found[0].page.message(found[1])
        else:
            if pattern not in self.table.last and is_name(pattern):
                return None
            wanted = self._wanted(pattern, seq)
            if wanted is _NOTHING:
                return None
        for block in self.scan.trails.blocks(seq, wanted):
            start = self.directory.position(block, seq)
            while (i := self.search.first(block, start, wanted)) >= 0:
                message = self.read(block, i, self.reader.scan)
                if message is not None:
                    return message  # else it is damaged, and dead by now
        return self.tail.first(seq, wanted)

    def _wanted(self, pattern: bytes, seq: int) -> Filter | None:
        """What to look for from `seq` on: None for everything, `_NOTHING` if that is all there is."""
        wanted = self.table.filter(pattern)
        if wanted.everything:
            return None
        if wanted.hashes is not None:
            # Few subjects: if none has a message that late there is nothing to look for.
            newest = self.table.last
            if all(newest.get(name, 0) < seq for name in wanted.names):
                return _NOTHING
        return wanted

    def run(self, seq: int, most: int, pattern: bytes, up_to: int) -> Columns:
        if seq < self.first_seq:
            seq = self.first_seq
        wanted = None
        if pattern not in (b"", b">"):
            if pattern not in self.table.last and is_name(pattern):
                return NOTHING
            wanted = self._wanted(pattern, seq)
            if wanted is _NOTHING:
                return NOTHING
        return self.scan.run(seq, most, wanted, up_to)

    def last(self, pattern: bytes, up_to: int = 0) -> int:
        if pattern in (b"", b">"):
            return self.scan.last(min(up_to or self.last_seq, self.last_seq), None)
        if is_name(pattern):
            return self._last_of(pattern, up_to)
        if up_to:
            return self.scan.last(min(up_to, self.last_seq), self.table.filter(pattern))
        newest = 0
        bounds = sorted(
            ((self.table.last[name], name) for name in self.table.matching(pattern)), reverse=True
        )
        for bound, name in bounds:
            if bound <= newest:
                break
            newest = max(newest, self._last_of(name, 0))
        return newest

    def lasts(self, pattern: bytes, since: int, up_to: int) -> list[int]:
        return lasts(self, pattern, since, up_to)

    def _last_of(self, subject: bytes, up_to: int) -> int:
        bound = self.table.last.get(subject, 0)
        if not bound:
            return 0
        if up_to and bound > up_to:
            return self.scan.last(up_to, self.table.filter(subject))
        if not self.is_live(bound):
            bound = self.scan.last(bound, self.table.filter(subject))
            if bound:
                self.table.last[subject] = bound
        return bound

    def expect_oldest(self) -> None:
        self.queues.active = True

    def oldest(self, subject: bytes) -> int:
        count = self.table.count(subject)
        if count < 2:
            return self._last_of(subject, 0) if count else 0
        queues = self.queues
        queues.active = True
        seq = queues.peek(subject)
        if seq and self.is_live(seq):
            return seq
        seqs = self.scan.seqs_of(subject, count)
        queues.forget(subject)
        queues.fill(subject, seqs)
        return seqs[0] if seqs else 0

    def count(self, pattern: bytes = b"", since: int = 0) -> int:
        everything = pattern in (b"", b">")
        if since <= self.first_seq:
            return self.messages if everything else self.table.count_of(pattern, self.messages)
        return self.scan.count(since, None if everything else self.table.filter(pattern))

    def subjects(self, pattern: bytes = b"") -> dict[bytes, int]:
        return self.table.counts(pattern)

    def seq_at(self, ts: int) -> int:
        return self.scan.seq_at(ts)

    def deleted(self) -> list[int]:
        return self.scan.deleted()

    def tail_headers(self, since_ts: int) -> Iterator[Message]:
        return self.scan.with_headers(self.seq_at(since_ts), self.last_seq, since_ts)

    def headed(self, seq: int, up_to: int) -> Iterator[Message]:
        return self.scan.with_headers(seq, up_to)

    # -- groups ------------------------------------------------------------------------------------
    def take(self) -> Work:
        """Everything that changed since the last group."""
        self._queued = False
        work = Work(self.sid)
        self.lsn += 1
        work.messages = self.tail.take()
        work.lsn, work.log, work.floor = self.lsn, self._log_due, self.floor
        self._flying_seq = self.last_seq
        work.last_seq, work.last_ts = self.last_seq, self.last_ts
        work.dead, work.deltas = self._dead, self._deltas
        work.ck_seq = self.checkpointer.ck_seq
        self._dead, self._deltas, self._log_due = [], defaultdict(int), False
        self._late.clear()
        drops = {block for block in self.empty if not block.bad or block.last < self.floor}
        self.empty -= drops
        if drops:
            work.drops = sorted(drops, key=lambda block: block.first)
            self.directory.remove(drops)
            for block in drops:
                self.garbage -= block.all_bytes - block.live_bytes
                self.home.forget(block)
        work.jobs = self.plan.jobs(self)
        changed = self.checkpointer.changed
        changed.update(work.messages.subjects, work.deltas)
        self.checkpointer.changes += len(work.messages)
        self.checkpointer.step(self, work)
        return work

    def install(self, outcome: Outcome) -> None:
        """The group is on disk: its blocks take the place of the tail and of those they replace."""
        views, pages = self.home.views, self.home.pages
        made = outcome.fresh.copy()
        self.durable_seq = self._flying_seq
        for block in outcome.fresh:
            self.directory.add(block)
            self.plan.added(block)
        self.tail.settle()
        for job, blocks in outcome.swaps:
            self.directory.swap(job.sources, blocks)
            for old in job.sources:
                self.garbage -= old.all_bytes - old.live_bytes
                self.empty.discard(old)
                if old in self.erase:  # asked for while the writer copied it
                    self.erase.discard(old)
                    self.erase.update(blocks)
                self.home.forget(old)
            made += blocks
        self.checkpointer.blocks += len(made)
        for block in made:
            if block.view is not None:
                views.add(block, block.view.heap_off * 2 + 500)
            if block.page is not None:
                pages.add(block, block.size + 200 * block.n)
        self._bury(set(made))
        if self.checkpointer.wanted:
            self.touch()  # the next slice
        for block, positions in outcome.bad:
            if self.view(block) is not None and positions:
                self.lose(block, positions, "found damaged while rewriting its block")

    def _bury(self, made: set[Block]) -> None:
        """Mark in new blocks what died while they were written."""
        for seq, size in self._late.items():
            found = self.directory.find(seq)
            if found is not None and found[0] in made:
                found[0].kill(found[1], size)
                if seq in self._late_erase:
                    self.erase.add(found[0])
                    self.home.scrub = True
        self._late_erase.clear()
        if self.floor:
            for block in made:
                if block.first < self.floor:
                    self.cut_below(block)
        for block in made:
            self.garbage += block.all_bytes - block.live_bytes
            if not block.live:
                self.empty.add(block)

    def cut_below(self, block: Block) -> None:
        """Kill what is below the floor."""
        view = None if block.fat else self.view(block)
        for i in list(self.directory.live_positions(block)):
            if view is None:
                block.kill(i, block.live_bytes)
            elif view.seq(i) < self.floor:
                block.kill(i, view.size(i))
