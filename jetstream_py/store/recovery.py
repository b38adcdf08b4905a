"""Start-up: directory, subjects and counters from what the checkpoint and the log say.

1. `dir` becomes the directory, dead bitmaps included. 2. `sub` becomes the subject table, as far as `K`
says that it counts. 3. Blocks with records above `ck_seq`: from their columns, one more message for each
of these. 4. The log above `ck_lsn`, in order: mark the dead (one that is not found was compacted away),
add the changes of counts, raise the floor.

No message is read. If an index entry is damaged it is made again from its block; if the subject table is,
it is counted anew from the blocks' columns.
"""

from __future__ import annotations

import lmdb

from . import checkpoint, keys, oplog, summary
from .block import FAT, OVERHEAD, Damaged, fat_length
from .checkpoint import CHANGES, Mark
from .checksum import unseal
from .file_stream import FileStream
from .home import Home
from .reader import open_view
from .summary import Block
from .types import StoreError


def recover_all(home: Home) -> dict[int, tuple[bytes, FileStream]]:
    """The streams of a store, with their configurations."""
    txn, databases = home.snapshot, home.databases
    found: dict[int, tuple[bytes, FileStream]] = {}
    with txn.cursor(db=databases.meta) as cursor:
        ok = cursor.set_range(b"S")
        while ok and (key := bytes(cursor.key()))[:1] == b"S":
            config = unseal(home.extend, bytes(cursor.value()))
            if len(key) == 5:
                sid = keys.sid_of(key)
                if config is None:
                    home.complain(
                        f"stream {sid}: its configuration is damaged, the stream is left alone", 0
                    )
                else:
                    found[sid] = (config, Recovery(home, sid).run())
            ok = cursor.next()
    return found


def records(home: Home) -> dict[bytes, bytes]:
    """The engine's records."""
    found: dict[bytes, bytes] = {}
    with home.snapshot.cursor(db=home.databases.meta) as cursor:
        ok = cursor.set_range(b"u")
        while ok and (key := bytes(cursor.key()))[:1] == b"u":
            value = unseal(home.extend, bytes(cursor.value()))
            if value is None:
                home.complain(f"the record {key[1:]!r} is damaged")
            else:
                found[key[1:]] = value
            ok = cursor.next()
    return found


class Recovery:
    """Builds one stream."""

    def __init__(self, home: Home, sid: int) -> None:
        self._home = home
        self._txn = home.snapshot
        self._dbs = home.databases
        self._stream = FileStream(sid, home, ready=False)
        self._sid = sid
        self._anew = False  # the subject table cannot be trusted
        self._deltas: dict[bytes, int] = {}
        self._added: dict[bytes, int] = {}
        self._newest: dict[bytes, int] = {}

    def run(self) -> FileStream:
        stream = self._stream
        mark = self._mark()
        self._directory()
        if mark is not None:
            stream.last_seq, stream.last_ts, stream.floor = mark.last_seq, mark.last_ts, mark.floor
            stream.lsn = mark.ck_lsn
            ck = stream.checkpointer
            ck.ck_seq, ck.gen = mark.ck_seq, mark.gen
            ck.full_runs, ck.change_runs = mark.full_runs, mark.change_runs
            self._subjects(mark)
        self._fresh_blocks()
        self._log()
        self._counts()
        for block in stream.directory.blocks:
            if block.first < stream.floor and block.live:
                stream.cut_below(block)
            stream.messages += block.live
            stream.bytes += block.live_bytes
            stream.garbage += block.all_bytes - block.live_bytes
            if not block.live:
                stream.empty.add(block)
        self._settle(mark)
        return stream

    def _mark(self) -> Mark | None:
        data = self._txn.get(keys.checkpoint_key(self._sid), db=self._dbs.meta)
        if data is None:
            return None
        mark = checkpoint.unpack_mark(bytes(data), self._home.extend)
        if mark is None:
            self._home.complain(f"stream {self._sid}: its checkpoint is damaged", 0)
            self._anew = True
        return mark

    def _directory(self) -> None:
        prefix = keys.prefix(self._sid)
        directory, extend = self._stream.directory, self._home.extend
        with self._txn.cursor(db=self._dbs.dir) as cursor:
            ok = cursor.set_range(prefix)
            while ok and (key := bytes(cursor.key()))[:4] == prefix:
                first = keys.seq_unkey(key)[1]
                block = summary.unpack(first, bytes(cursor.value()), extend) or self._remake(first)
                if block is not None:
                    directory.add(block)
                ok = cursor.next()

    def _remake(self, first: int) -> Block | None:
        """A damaged index entry: who died before the checkpoint is forgotten, who lives is not."""
        self._anew = True
        value = self._txn.get(keys.seq_key(self._sid, first), db=self._dbs.blk)
        self._home.complain(f"stream {self._sid}: the index of the block at {first} is damaged", 0)
        try:
            if not isinstance(value, memoryview) or len(value) < 40:
                raise Damaged("the block is missing")
            probe = Block(first, first, int.from_bytes(value[4:6], "little"), len(value))
            view = open_view(value, probe, self._home.extend)
            fat = 0
            if view.flags & FAT:
                length, _ = fat_length(view.record(value, 0))
                head = view.header_len(0)
                fat = OVERHEAD + len(view.names[0]) + length + (4 if head else 0)
            return summary.summarize(len(value), view, fat)
        except Damaged as error:
            self._home.complain(f"stream {self._sid}, block at {first}: {error}")
            return None

    def _subjects(self, mark: Mark) -> None:
        table, extend = self._stream.table, self._home.extend
        numbers = [*range(mark.full_runs), *range(CHANGES, CHANGES + mark.change_runs)]
        for number in numbers:
            data = self._txn.get(keys.run_key(self._sid, mark.gen, number), db=self._dbs.sub)
            run = None if data is None else checkpoint.unpack_run(bytes(data), extend)
            if run is None:
                self._home.complain(f"stream {self._sid}: its subject table is damaged", 0)
                self._anew = True
                return
            names, last, counts = run
            if number < CHANGES:
                table.last.update(zip(names, last, strict=True))
                table.extra.update(
                    (name, n - 1) for name, n in zip(names, counts, strict=True) if n > 1
                )
            else:
                for name, newest, count in zip(names, last, counts, strict=True):
                    table.set(name, count, newest)
                self._stream.checkpointer.run_names += len(names)

    def _fresh_blocks(self) -> None:
        stream = self._stream
        ck_seq = stream.checkpointer.ck_seq
        blocks = stream.directory.blocks
        added = self._added
        for k in range(stream.directory.at(ck_seq + 1), len(blocks)):
            view = stream.view(blocks[k])
            if view is None:
                continue
            stream.checkpointer.blocks += 1
            for seq, name in zip(view.seqs(), view.subjects(), strict=True):
                if seq > ck_seq:
                    added[name] = added.get(name, 0) + 1
                    self._newest[name] = seq
                    stream.checkpointer.changes += 1
        if blocks:
            stream.last_seq = max(stream.last_seq, blocks[-1].last)
            stream.last_ts = max(stream.last_ts, blocks[-1].ts_last)
        stream.checkpointer.changed.update(added)

    def _log(self) -> None:
        stream = self._stream
        directory = stream.directory
        prefix = keys.prefix(self._sid)
        with self._txn.cursor(db=self._dbs.log) as cursor:
            ok = cursor.set_range(keys.seq_key(self._sid, stream.lsn + 1))
            while ok and (key := bytes(cursor.key()))[:4] == prefix:
                stream.lsn = keys.seq_unkey(key)[1]
                entry = oplog.unpack(bytes(cursor.value()), self._home.extend)
                if entry is None:
                    self._home.complain(
                        f"stream {self._sid}: record {stream.lsn} of its log is damaged", 0
                    )
                    self._anew = True
                else:
                    stream.floor = max(stream.floor, entry.floor)
                    stream.last_seq = max(stream.last_seq, entry.last_seq)
                    stream.last_ts = max(stream.last_ts, entry.last_ts)
                    for seq, size in entry.dead:
                        hit = directory.find(seq)
                        if hit is not None:
                            hit[0].kill(hit[1], size)
                    for name, delta in entry.deltas.items():
                        self._deltas[name] = self._deltas.get(name, 0) + delta
                    stream.checkpointer.changes += len(entry.dead)
                    stream.checkpointer.changed.update(entry.deltas)
                ok = cursor.next()

    def _counts(self) -> None:
        """Table = checkpoint + added + deltas."""
        table, added, deltas = self._stream.table, self._added, self._deltas
        for name in added.keys() | deltas.keys():
            count = table.count(name) + added.get(name, 0) + deltas.get(name, 0)
            if count < 0:
                self._anew = True
            newest = self._newest.get(name) or table.last.get(name, 0)
            table.set(name, max(count, 0), newest)

    def _settle(self, mark: Mark | None) -> None:
        stream = self._stream
        stream.ready = True
        stream.durable_seq = stream.last_seq
        if self._anew or any(block.bad for block in stream.directory.blocks):
            stream.count_anew()
        if stream.messages:
            first = next((block for block in stream.directory.blocks if block.live), None)
            assert first is not None
            stream.first_seq = stream.directory.seq(first, first.dead.find(0) if first.dead else 0)
        elif stream.last_seq or stream.floor:
            stream.first_seq = stream.last_seq + 1
        if stream.empty or stream.checkpointer.due():
            stream.press()
        stream.checkpointer.debt = bool(self._added or self._deltas or mark is None)


def doomed(txn: lmdb.Transaction, home: Home) -> list[int]:
    """Deleted streams that a cut left half removed."""
    found = []
    with txn.cursor(db=home.databases.meta) as cursor:
        ok = cursor.set_range(b"D")
        while ok and (key := bytes(cursor.key()))[:1] == b"D":
            found.append(keys.sid_of(key))
            ok = cursor.next()
    return found


def taken(home: Home) -> int:
    """The last generation of the write-ahead log that is in LMDB."""
    sealed = home.snapshot.get(keys.TAKEN, db=home.databases.meta)
    if sealed is None:
        return 0
    body = unseal(home.extend, bytes(sealed))
    if body is None:
        raise StoreError("the record that says where the write-ahead log begins is damaged")
    return int.from_bytes(body, "big")
