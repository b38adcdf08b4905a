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
from collections.abc import Collection, Iterable, Sequence

from jetstream_py import limits

from . import compact, redo
from .block import message_size, run_size
from .bulk import Bulk
from .checkpoint import Checkpointer
from .columns import Columns
from .directory import Directory
from .doctor import Doctor
from .group import Outcome, Work
from .home import Home
from .lookup import Lookup
from .oldest import OldestQueues
from .purge import FilePurge
from .reader import Reader
from .redo import Change
from .scan import Scan
from .search import Search
from .subjects import Filter, SubjectTable
from .summary import Block
from .tail import Tail
from .types import Message


class FileStream:
    """See `StreamStore`."""

    def __init__(self, sid: int, home: Home, ready: bool = True) -> None:
        self.sid = sid
        self.first_seq = self.last_seq = self.messages = self.bytes = self.last_ts = 0
        self.durable_seq = self._flying_seq = 0
        self.removed: list[int] | None = None
        self.home = home
        self.table = SubjectTable()
        doctor = Doctor(self)
        self.read, self.view, self.lose = doctor.read, doctor.view, doctor.lose
        self.count_anew = doctor.count_anew
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
        self._serve_reads(Lookup(self))
        self._bulk = Bulk(self)
        self.queues = OldestQueues()
        self._dead: list[tuple[int, int]] = []
        self._deltas: defaultdict[bytes, int] = defaultdict(int)
        self._log_due = False
        self._late: dict[int, int] = {}
        self._late_erase: set[int] = set()
        self._unsaid: list[int] = []  # who died in the tail, though the write-ahead log has them
        self._said = 0  # how many of `_dead` the log knows
        self._queued = self._fresh = False
        self._first_ts = (0, 0)
        self.closed = False
        self.ready = ready  # False while start-up still counts

    def _serve_reads(self, lookup: Lookup) -> None:
        """The reads of the seam; as attributes they cost no second call."""
        self.is_live = lookup.is_live
        self.get = lookup.get
        self.newest = lookup.newest
        self.next = lookup.next
        self.run = lookup.run
        self.last = lookup.last
        self.lasts = lookup.lasts
        self.expect_oldest = lookup.expect_oldest
        self.oldest = lookup.oldest
        self.count = lookup.count
        self.subjects = lookup.subjects
        self.seq_at = lookup.seq_at
        self.deleted = lookup.deleted
        self.tail_headers = lookup.tail_headers
        self.headed = lookup.headed

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
        """There is something for the next group."""
        if self._fresh or self.closed:
            return
        self._fresh = True
        self.home.fresh.append(self)
        if not self._queued:
            self._queued = True
            self.home.touched.append(self)

    def press(self) -> None:
        """There is something that only LMDB can do, not the write-ahead log."""
        self.touch()
        self.home.deep = True

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
        if not self._fresh:
            self.touch()
        return seq

    def append_run(
        self,
        subjects: Sequence[bytes],
        datas: Sequence[bytes],
        ts: int,
        headers: Sequence[bytes] = (),
    ) -> tuple[int, Collection[bytes]]:
        first, n = self.last_seq + 1, len(datas)
        self.tail.staged.extend(first, ts, subjects, headers, datas)
        self.grown(first, first + n - 1, n, self.run_size(subjects, datas, headers), ts)
        if not self.queues.active:
            return first, self.table.add_run(subjects, range(first, first + n))
        table, oldest = self.table, self.queues
        for seq, subject in enumerate(subjects, first):
            previous = table.last.get(subject, 0)
            table.add(subject, seq)
            oldest.appended(table, subject, previous, seq)
        return first, set(subjects)

    def append_columns(self, run: Columns) -> None:
        seqs, subjects = run.seqs, run.subjects
        if seqs[0] <= self.last_seq:
            raise ValueError("sequences only rise")
        self.tail.staged.join(run)
        size = self.run_size(subjects, run.datas, run.headers)
        self.grown(seqs[0], seqs[-1], len(seqs), size, run.times[-1])
        if not self.queues.active:
            self.table.add_run(subjects, seqs)
            return
        table, oldest = self.table, self.queues
        for seq, subject in zip(seqs, subjects, strict=True):
            previous = table.last.get(subject, 0)
            table.add(subject, seq)
            oldest.appended(table, subject, previous, seq)

    def replace(self, subject: bytes, headers: bytes, data: bytes, ts: int) -> int:
        return self._bulk.replace_one(subject, headers, data, ts)

    def replace_run(
        self,
        subjects: Sequence[bytes],
        datas: Sequence[bytes],
        ts: int,
        headers: Sequence[bytes] = (),
    ) -> int:
        return self._bulk.replace(subjects, headers, datas, ts)

    def grown(self, first: int, last: int, count: int, size: int, ts: int) -> None:
        """So many messages were staged."""
        if not self.messages:
            self.first_seq = first
        self.messages += count
        self.last_seq, self.last_ts = last, ts
        self.bytes += size
        self.home.staged += size
        self.touch()

    run_size = staticmethod(run_size)

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
            elif erase and seq <= self.durable_seq:
                self.home.scrub = True  # it is in the write-ahead log
        else:
            found = self.directory.find(seq)
            if found is None:
                return None
            block, i = found
            message = self.read(block, i, self.reader.scan)
            if message is None:
                return None
            size = message_size(message.subject, message.headers, message.data)
            self.kill(block, i, seq, message.subject, size)
            if erase:
                self.erase.add(block)
                self.home.scrub = True
        if seq == self.first_seq:
            self.settle()
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
            self.kill(block, i, seq, view.subject(i), size)
        if seq == self.first_seq:
            self.settle()
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
            if seq <= self.durable_seq:
                self._unsaid.append(seq)
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

    def kill(self, block: Block, i: int, seq: int, subject: bytes, size: int) -> None:
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

    def settle(self) -> None:
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
        self.settle()
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
                self.kill(block, i, seq, view.subject(i), size)

    def drop_tail(self, wanted: Filter, since: int, end: int) -> None:
        """The same for messages that are in no block yet."""
        for message in self.tail.upto(end):
            if message.seq >= since and message.subject in wanted.names:
                self._remove_tail(message)

    def settle_head(self) -> None:
        self.settle()
        self.touch()

    def raise_floor(self, floor: int) -> None:
        """Everything below is gone, and that is remembered."""
        if floor > self.floor:
            self.trim(floor)
            self.floor = floor
            if not self.messages:
                self.first_seq = self.last_seq + 1
            self._log_due = True
            self.touch()

    # -- groups ------------------------------------------------------------------------------------
    def change(self) -> Change:
        """What the write-ahead log does not know yet."""
        gone = [seq for seq, _ in self._dead[self._said :]] + self._unsaid
        return redo.change(self, self.tail.unlogged(), gone)

    def logged(self) -> None:
        """Now it does."""
        self.tail.logged()
        self._said = len(self._dead)
        self._unsaid = []
        self._fresh = False
        self.durable_seq = self.last_seq

    @property
    def behind(self) -> bool:
        """Is there so much to tidy up that it cannot wait for the write-ahead log to be full?"""
        return (
            len(self.tail.staged) > limits.WAL_MESSAGES
            or len(self.empty) > 16
            or self.garbage > self.bytes + limits.GARBAGE_FLOOR
        )

    def take(self) -> Work:
        """Everything that changed since the last group."""
        self._queued = self._fresh = False
        self._said, self._unsaid = 0, []
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
            self.press()  # the next slice
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
