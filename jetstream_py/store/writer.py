"""A group becomes a transaction. Runs in the committer, with the write transaction in hand.

The order within the transaction matters in two places: bitmaps are refreshed before blocks are dropped or
rewritten (a bitmap must not bring back an entry), and the log comes after them: *a transaction that
removes records newer than the checkpoint for good adds one to the log's count of their subject for each*.
Start-up adds one for each such record it finds in a block and applies the log; without the rule a record
that was appended, removed and compacted away since the checkpoint would be subtracted but never added.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from operator import add

import lmdb

from jetstream_py import limits

from . import block as codec
from . import failpoints, keys, oplog, summary
from .block import Damaged, View
from .checksum import Extend, seal
from .columns import Columns
from .group import Group, Job, Outcome, Report, Work
from .home import Databases
from .reader import open_view
from .summary import Block
from .types import Message


def cut(messages: Columns) -> Iterator[tuple[Columns, bool]]:
    """Messages in block-sized pieces; true: a single fat one (which is larger than a block)."""
    seqs = messages.seqs
    sizes = map(len, messages.datas)
    if any(messages.headers):
        sizes = map(add, sizes, map(len, messages.headers))
    ends = list(accumulate([size + 16 for size in sizes]))
    n, start, done = len(seqs), 0, 0
    while start < n:
        most = min(start + limits.BLOCK_RECORDS, n)
        end = max(bisect_right(ends, done + limits.BLOCK_BYTES, start, most), start + 1)
        if seqs[end - 1] - seqs[start] >= 1 << 32:
            end = bisect_left(seqs, seqs[start] + (1 << 32), start, end)
        fat = end == start + 1 and ends[start] - done - 16 > limits.FAT_PAYLOAD
        yield messages.part(start, end), fat
        start, done = end, ends[end - 1]


class Writer:
    """Applies one group to one write transaction."""

    def __init__(self, txn: lmdb.Transaction, databases: Databases, extend: Extend) -> None:
        self._txn = txn
        self._dbs = databases
        self._extend = extend

    def apply(self, group: Group) -> Report:
        report = Report()
        for work in group.works:
            outcome = Outcome(work.sid)
            self._stream(work, outcome)
            report.outcomes.append(outcome)
        meta = self._dbs.meta
        for key, value in group.meta.items():
            if value is None:
                self._txn.delete(key, db=meta)
            else:
                self._txn.put(key, seal(self._extend, value), db=meta)
        for sid in group.doomed:
            if self._doom(sid):
                report.gone.append(sid)
        failpoints.hit("commit.checkpoint")
        if group.measure:
            report.used = self._used()
        return report

    def _used(self) -> int:
        page = 0
        for database in self._dbs:
            stat = self._txn.stat(database)
            page += stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
            size = stat["psize"]
        return page * size

    def _stream(self, work: Work, outcome: Outcome) -> None:
        txn, sid = self._txn, work.sid
        for first, entry in work.dirs:
            txn.put(keys.seq_key(sid, first), entry, db=self._dbs.dir)
        deltas: Mapping[bytes, int] = work.deltas
        vanished: dict[bytes, int] = {}
        for entry_ in work.drops:
            self._drop(sid, entry_, work.ck_seq, vanished)
        for job in work.jobs:
            self._rewrite(job, work, vanished, outcome)
        if work.jobs:
            failpoints.hit("commit.compact")
        for piece, fat in cut(work.messages):
            outcome.fresh.append(self._put(sid, piece, fat))
        failpoints.hit("commit.blocks")
        if vanished:
            deltas = {
                name: deltas.get(name, 0) + vanished.get(name, 0) for name in {*deltas, *vanished}
            }
        if (work.log or work.dead or deltas) and not work.checkpoint:
            entry = oplog.pack(
                oplog.Entry(work.floor, work.last_seq, work.last_ts, work.dead, deltas),
                self._extend,
            )
            txn.put(keys.seq_key(sid, work.lsn), entry, db=self._dbs.log)
        for key, run in work.runs:
            txn.put(key, run, db=self._dbs.sub)
        if work.checkpoint:
            txn.put(keys.checkpoint_key(sid), work.checkpoint, db=self._dbs.meta)
            self._delete_range(self._dbs.log, keys.seq_key(sid, 0), keys.seq_key(sid, work.lsn + 1))
            start, end = work.old_gens
            if start < end:
                self._delete_range(
                    self._dbs.sub, keys.run_key(sid, start, 0), keys.run_key(sid, end, 0)
                )

    # -- blocks ------------------------------------------------------------------------------------
    def _put(self, sid: int, piece: Columns, fat: bool) -> Block:
        value, start = codec.encode(piece, self._extend, fat)
        view = View(value[:start], self._extend, checked=True)
        made = summary.summarize(
            len(value), view, codec.message_size(*piece.message(0)[2:]) if fat else 0
        )
        key = keys.seq_key(sid, made.first)
        self._txn.put(key, value, db=self._dbs.blk)
        self._txn.put(key, summary.pack(made, self._extend), db=self._dbs.dir)
        if fat:
            self._put_fat(sid, piece.message(0))
        else:
            made.page = piece
        return made

    def _put_fat(self, sid: int, message: Message) -> None:
        record = message.headers + message.data
        step = limits.FAT_PART
        for part, at in enumerate(range(0, len(record), step)):
            self._txn.put(
                keys.part_key(sid, message.seq, part),
                seal(self._extend, record[at : at + step]),
                db=self._dbs.fat,
            )

    def _view(self, sid: int, entry: Block) -> tuple[View, memoryview]:
        value = self._txn.get(keys.seq_key(sid, entry.first), db=self._dbs.blk)
        if value is None:
            raise Damaged("the block is missing")
        assert isinstance(value, memoryview)
        return open_view(value, entry, self._extend), value

    def _delete(self, sid: int, entry: Block) -> None:
        key = keys.seq_key(sid, entry.first)
        self._txn.delete(key, db=self._dbs.blk)
        self._txn.delete(key, db=self._dbs.dir)

    def _drop(self, sid: int, entry: Block, ck_seq: int, vanished: dict[bytes, int]) -> None:
        if entry.last > ck_seq:
            try:
                view = entry.view or self._view(sid, entry)[0]
                count_vanished(
                    vanished,
                    [
                        name
                        for seq, name in zip(view.seqs(), view.subjects(), strict=True)
                        if seq > ck_seq
                    ],
                )
            except Damaged:
                pass  # the loop wrote a checkpoint when it found out, so no count depends on it
        self._delete(sid, entry)
        if entry.fat:
            start, end = keys.part_key(sid, entry.first, 0), keys.part_key(sid, entry.first + 1, 0)
            self._delete_range(self._dbs.fat, start, end)

    def _rewrite(self, job: Job, work: Work, vanished: dict[bytes, int], outcome: Outcome) -> None:
        kept = Columns()
        gone: list[bytes] = []
        for source, dead in zip(job.sources, job.dead, strict=True):
            # A block of a moment ago is still decoded. (The loop may let go of it at any time.)
            messages = source.page or self._read(work.sid, source, dead, outcome)
            if messages is None:
                return
            if dead is None:
                kept.join(messages)
                continue
            kept.join(messages.chosen([not is_gone for is_gone in dead]))
            gone += [
                subject
                for seq, subject, is_gone in zip(
                    messages.seqs, messages.subjects, dead, strict=True
                )
                if is_gone and seq > work.ck_seq
            ]
        count_vanished(vanished, gone)
        for source in job.sources:
            self._delete(work.sid, source)
        outcome.swaps.append((job, [self._put(work.sid, piece, fat) for piece, fat in cut(kept)]))

    def _read(
        self, sid: int, source: Block, dead: bytes | None, outcome: Outcome
    ) -> Columns | None:
        """All of a block; None when a live record is damaged."""
        try:
            view, value = self._view(sid, source)
        except Damaged:
            outcome.bad.append((source, None))
            return None
        try:
            return view.columns(value)
        except Damaged:
            lost = [i for i in range(view.n) if not (dead and dead[i]) and _is_bad(view, value, i)]
        if lost:
            outcome.bad.append((source, lost))
            return None
        messages = Columns()
        for i in range(view.n):
            record = b"" if dead and dead[i] else view.record(value, i)
            messages.append(*view.message(i, record))
        return messages

    # -- ranges ------------------------------------------------------------------------------------
    def _delete_range(
        self, database: lmdb._Database, start: bytes, end: bytes, most: int = 1 << 62
    ) -> int:
        """Delete keys in [start, end), at most so many; return how many."""
        count = 0
        with self._txn.cursor(db=database) as cursor:
            found = cursor.set_range(start)
            while found and count < most and b"" < bytes(cursor.key()) < end:
                found = cursor.delete()  # moves on to the next key, or off the end
                count += 1
        return count

    def _doom(self, sid: int) -> bool:
        """Remove a slice of a deleted stream; true when nothing is left."""
        left = limits.RANGE_DELETE
        start, end = keys.prefix(sid), keys.prefix(sid + 1)
        for database in self._dbs[1:]:
            left -= self._delete_range(database, start, end, left)
            if left <= 0:
                return False
        self._txn.delete(keys.doomed_key(sid), db=self._dbs.meta)
        return True


def count_vanished(counts: dict[bytes, int], names: list[bytes]) -> None:
    """The rule: whoever is removed for good, and is newer than the checkpoint, is added."""
    for name in names:
        counts[name] = counts.get(name, 0) + 1


def _is_bad(view: View, value: memoryview, i: int) -> bool:
    try:
        view.record(value, i)
    except Damaged:
        return True
    return False
