"""A store's directory as a source: read through LMDB's snapshots, while a server writes or without one.

What is acked is in LMDB or in the write-ahead log before it, so a snapshot is both: a transaction, and the
log's records that it has not got. If LMDB takes these meanwhile, the log begins again over them; then both
are read anew.

A snapshot is left after a million messages: as long as it is held, the server cannot use pages again. A
server that erases a deleted message overwrites free pages without regard to readers it does not know, so
whatever looks damaged is read again from a new snapshot before it is believed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from typing import Any

import lmdb
import msgspec

from jetstream_py import limits
from jetstream_py.export.errors import ExportError
from jetstream_py.export.source import Facts
from jetstream_py.store import StoreError, keys, opening, recovery, redo, wal
from jetstream_py.store.checksum import unseal
from jetstream_py.store.columns import Columns
from jetstream_py.store.file_stream import FileStream
from jetstream_py.store.home import Home
from jetstream_py.store.recovery import Recovery
from jetstream_py.store.redo import Change

TRIES = 10  # to get a snapshot while LMDB takes what the log has, which takes turns with us
POLL = 0.5  # seconds between two looks for new messages


class Record(msgspec.Struct):
    """What matters here of a stream's record."""

    created: int
    config: dict[str, Any]
    account: str = "$G"
    restoring: bool = False


class Snapshot:
    """The store at one moment."""

    def __init__(self, home: Home, changes: list[Change]) -> None:
        self.home = home
        self._changes = changes  # that only the write-ahead log has
        self._streams: dict[int, FileStream] = {}

    def stream(self, sid: int) -> FileStream:
        if sid not in self._streams:
            stream = self._streams[sid] = Recovery(self.home, sid).run()
            for change in self._changes:
                if change.sid == sid:
                    redo.apply(change, stream)
        return self._streams[sid]

    def close(self) -> None:
        self.home.snapshot.abort()


class StoreFile:
    """A store, opened to be read."""

    def __init__(self, directory: str) -> None:
        """Raises `ExportError`."""
        inner = os.path.join(directory, "jetstream")
        path = self._path = inner if os.path.isdir(inner) else directory
        file = os.path.join(path, opening.FILE)
        if not os.path.exists(file):
            raise ExportError(f"there is no store in {directory}")
        try:
            opening.check_whole(file)
            self._env = opening.open_file(file, readonly=True)
            self._databases, self._extend = opening.open_databases(self._env)
        except (StoreError, lmdb.Error) as error:
            raise ExportError(str(error)) from error

    def close(self) -> None:
        self._env.close()

    def snapshot(self) -> Snapshot:
        """Raises `ExportError`."""
        try:
            for again in reversed(range(TRIES)):
                home = Home(self._databases, self._extend, self._env.begin(buffers=True))
                taken = recovery.taken(home)
                bodies, complaint = wal.read(self._path, self._extend, taken)
                if not complaint and self._taken() == taken:
                    changes = [change for body in bodies for change in redo.unpack(body)[0]]
                    return Snapshot(home, changes)
                if again:
                    home.snapshot.abort()
            # what LMDB has is whole, too: only the newest messages are missing
            if complaint and self._taken() == taken:
                home.complain(complaint)
            return Snapshot(home, [])
        except (lmdb.Error, OSError, StoreError) as error:
            raise ExportError(f"cannot read the store: {error}") from error

    def _taken(self) -> int:
        with self._env.begin(buffers=True) as txn:
            return recovery.taken(Home(self._databases, self._extend, txn))

    def streams(self, account: str) -> dict[str, tuple[int, Record]]:
        """Ids and records of an account's streams, by name."""
        found = {}
        snapshot = self.snapshot()
        home = snapshot.home
        with home.snapshot.cursor(db=home.databases.meta) as cursor:
            ok = cursor.set_range(b"S")
            while ok and (key := bytes(cursor.key()))[:1] == b"S":
                raw = unseal(home.extend, bytes(cursor.value())) if len(key) == 5 else None
                if raw is not None:
                    record = msgspec.json.decode(raw, type=Record)
                    if record.account == account and not record.restoring:
                        found[record.config["name"]] = (keys.sid_of(key), record)
                ok = cursor.next()
        snapshot.close()
        return found


class StoreSource:
    """One stream of a store."""

    def __init__(self, store: StoreFile, account: str, name: str) -> None:
        """Raises `ExportError`."""
        streams = store.streams(account)
        if name not in streams:
            text = "streams in memory are exported from a running server"
            raise ExportError(f"there is no stream {name} in the store ({text})")
        self._store, self._account, self._name = store, account, name
        self._sid, self._record = streams[name]
        self._snapshot: Snapshot | None = None
        self.warnings: list[str] = []

    def _stream(self) -> FileStream:
        """The stream in the snapshot at hand, or in a new one."""
        if self._snapshot is None:
            self._snapshot = self._store.snapshot()
        return self._snapshot.stream(self._sid)

    def _leave(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    async def facts(self) -> Facts:
        stream, record = self._stream(), self._record
        return Facts(self._name, record.created, record.config, stream.messages, stream.last_seq)

    async def seq_at(self, time_ns: int) -> int:
        return self._stream().seq_at(time_ns)

    async def read(self, seq: int, last: int, subject: str) -> AsyncGenerator[Columns, None]:
        pattern, done = subject.encode(), 0
        try:
            while seq <= last and len(rows := self._run(seq, last, pattern)):
                seq = rows.seqs[-1] + 1
                done += len(rows)
                yield rows
                if done >= limits.EXPORT_SNAPSHOT:
                    self._leave()
                    done = 0
        finally:
            self._leave()

    async def follow(self, seq: int, subject: str) -> AsyncGenerator[Columns, None]:
        while True:
            async for rows in self.read(seq, (1 << 63) - 1, subject):
                seq = rows.seqs[-1] + 1
                yield rows
            await asyncio.sleep(POLL)
            found = self._store.streams(self._account).get(self._name)
            if found is None or found[0] != self._sid:
                raise ExportError(f"the stream {self._name} was deleted")
            yield Columns()

    def _run(self, seq: int, last: int, pattern: bytes) -> Columns:
        """The next messages. What looks damaged is looked at again through another snapshot."""
        for again in (True, False):
            stream = self._stream()
            try:
                rows = stream.run(seq, limits.EXPORT_RUN, pattern, last)
            except lmdb.Error as error:
                if not again:
                    raise ExportError(f"cannot read the store: {error}") from error
            else:
                complaints = stream.home.complaints
                if not (complaints and again):
                    self.warnings += complaints
                    complaints.clear()
                    break
            self._leave()
        return rows
