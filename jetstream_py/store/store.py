"""The store: all streams of a server, and the one place where they become durable.

The loop thread owns it. Changes are staged by the streams and by the methods here; `commit` takes all of
them as one group. It must not be called while `busy`. While a group is on its way the next one gathers, so
the longer the disk takes, the larger the groups: throughput adapts, latency stays one or two syncs.

A small group is durable as soon as the write-ahead log has it (`wal`) and goes on to wait for LMDB, where a
large one goes at once, with all that waits. What only LMDB can do (streams that come, change and go,
checkpoints, erasing, dropping blocks when space is short) makes any group one for LMDB.

A store that is `lazy` lets its groups grow: it is only `dirty` when `sync_next` was called or a stream is
being deleted, so whoever commits when it is dirty commits then. Each commit is as synced as ever
(`committer` says why nothing less will do); what is lost when the process dies is the group that had not
been taken, and nothing else can be. Who calls `sync_next`, and when, is the engine's business.

Memory streams live here, too, but never make the store dirty. Without a directory all streams are such.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import lmdb

from jetstream_py import limits

from . import failpoints, keys, opening, recovery, redo, wal
from .checksum import unseal
from .committer import Committer, Result
from .file_stream import FileStream
from .group import Group
from .home import Home
from .memory import MemoryStream
from .types import StoreError, StreamStore
from .wal import Wal

Wake = Callable[[Callable[[], None]], object]

_COUNTED = 64  # groups without looking at the disk
MEMORY_SIDS = 1 << 31  # ids of memory streams begin here: those on disk are never used again


def _nothing() -> None:
    return None


class Store:
    """Opens, recovers and commits. `wake` runs a function in the loop thread, from any thread."""

    def __init__(
        self,
        path: str | None,
        wake: Wake,
        *,
        limit: int = limits.STORE_LIMIT,
        reserve: int = limits.STORE_RESERVE,
        inline: int = limits.STORE_INLINE,
        record: int = limits.WAL_RECORD,
        ahead: int = 0,
        lazy: bool = False,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """Raises `StoreError`. It uses up to `limit` bytes. Groups up to `record` are for the write-ahead
        log, others for LMDB: up to `inline` committed here, larger ones in the writer's thread. LMDB's file
        grows by `ahead`, if that is given."""
        self.busy = False
        self.failed = ""
        self.commits = 0
        self.on_commit: Callable[[], None] = _nothing
        self.lazy = lazy
        self._due = False  # a lazy store must commit now
        self._wake = wake
        self._limit, self._reserve = limit, reserve
        self._inline, self._record = inline, record
        self._ahead = ahead or limits.STORE_AHEAD
        self._memory: dict[int, MemoryStream] = {}
        self._files: dict[int, FileStream] = {}
        self._found: dict[int, tuple[bytes, StreamStore]] = {}
        self._next_memory = MEMORY_SIDS
        self._next_sid = 1
        self._meta: dict[bytes, bytes] = {}  # the engine's records
        self._staged: dict[bytes, bytes | None] = {}  # keys in `meta` and their new values
        self._records: dict[
            bytes, bytes | None
        ] = {}  # those of the engine that are nowhere on disk
        self._doomed: list[int] = []
        self._used = 0
        self._counted = 0  # groups since that was measured
        self._allowance = 0
        self._path = path
        self._file = ""
        self._lock = -1
        self._waiting: list[Callable[[], None]] = []
        self._result: Callable[[], None] | None = None  # what to do with a thread's report
        self._home: Home | None = None
        if path is not None:
            self._path = os.path.abspath(path)
            self._open(self._path, warn)

    # -- open --------------------------------------------------------------------------------------
    def _open(self, path: str, warn: Callable[[str], None] | None) -> None:
        file = self._file = os.path.join(path, opening.FILE)
        try:
            opening.make_directory(path)
            self._lock = opening.lock(path)
            if not os.path.exists(file):
                opening.create(path)
            else:
                opening.check_whole(file)
            wal.make(path)
            opening.sync_directory(path)  # always: a cut may have come before an earlier one
            self._env = opening.open_file(file)
        except (OSError, lmdb.Error) as error:
            self._unlock()
            raise StoreError(f"cannot open the store in {path}: {error}") from error
        except StoreError:
            self._unlock()
            raise
        try:
            databases, extend = opening.open_databases(self._env)
            self._home = Home(databases, extend, self._env.begin(buffers=True))
            self._home.warn = warn
            opening.upgrade(self._env, databases)
            self._recover(self._home)
            taken = recovery.taken(self._home)
            self._wal = Wal(path, extend, taken)
            self._committer = Committer(self._env, databases, extend, file, self._wal, self._ahead)
            failpoints.hit("open.recovered")
            self._replay(self._home, path, taken)
        except (OSError, lmdb.Error) as error:
            self._abandon()
            raise StoreError(f"cannot read the store in {path}: {error}") from error
        except StoreError as error:
            self._abandon()
            raise StoreError(f"{path}: {error}") from error

    def _recover(self, home: Home) -> None:
        txn = home.snapshot
        self._doomed = recovery.doomed(txn, home)
        for sid, (config, stream) in recovery.recover_all(home).items():
            self._found[sid] = (config, stream)
            self._files[sid] = stream
        self._meta = recovery.records(home)
        data = txn.get(keys.NEXT_SID, db=home.databases.meta)
        body = None if data is None else unseal(home.extend, bytes(data))
        known = [*self._files, *self._doomed, 0]
        self._next_sid = max(int.from_bytes(body or b"", "big"), max(known) + 1)
        for database in home.databases:
            stat = txn.stat(database)
            pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
            self._used += pages * stat["psize"]
        self._look_at_disk()

    def _replay(self, home: Home, path: str, taken: int) -> None:
        """Stage what only the write-ahead log has, and commit it."""
        bodies, complaint = wal.read(path, home.extend, taken)
        if complaint:
            home.complain(complaint)
        for body in bodies:
            changes, records = redo.unpack(body)
            for change in changes:
                stream = self._files.get(change.sid)
                if stream is not None:
                    redo.apply(change, stream)
                else:
                    home.complain(f"stream {change.sid}: the write-ahead log has changes of it", 0)
            for key, value in records.items():
                self.put_meta(key, value)
        if bodies:
            failpoints.hit("wal.replayed")
            self._wal.found()
            self._commit_here(home)
            if self.failed:
                raise StoreError(self.failed)

    def _commit_here(self, home: Home) -> None:
        self.busy = home.busy = True
        self._finish(self._committer.run(self._take(home)), lambda _: None)
        self._finish_all()

    def _look_at_disk(self, full: bool = False) -> None:
        """How much publishes may stage until the next commit."""
        assert self._path is not None
        found = os.statvfs(self._path)
        free = 0 if full else found.f_bavail * found.f_frsize
        inside = os.stat(self._file).st_blocks * 512 - self._used  # pages that removals gave back
        self._allowance = min(self._limit - self._used, free + max(0, inside)) - self._reserve

    # -- streams -----------------------------------------------------------------------------------
    def streams(self) -> dict[int, tuple[bytes, StreamStore]]:
        """File streams found when the store was opened: configuration and messages."""
        return self._found

    def create(self, config: bytes, memory: bool) -> StreamStore:
        if memory or self._home is None:
            made = MemoryStream(self._next_memory)
            self._memory[made.sid] = made
            self._next_memory += 1
            return made
        sid = self._next_sid
        self._next_sid += 1
        stream = self._files[sid] = FileStream(sid, self._home)
        self._due = self._home.deep = True
        self._staged[keys.NEXT_SID] = self._next_sid.to_bytes(8, "big")
        self._staged[keys.config_key(sid)] = config
        return stream

    def save(self, sid: int, config: bytes) -> None:
        """Replace a stream's configuration."""
        if sid in self._files and self._home is not None:
            self._due = self._home.deep = True
            self._staged[keys.config_key(sid)] = config

    def delete(self, sid: int) -> None:
        if self._memory.pop(sid, None) is not None:
            return
        stream = self._files.pop(sid)
        self._found.pop(sid, None)
        stream.closed = True
        if self._home is not None:
            for waiting in (self._home.touched, self._home.fresh):
                if stream in waiting:
                    waiting.remove(stream)
        self._staged[keys.config_key(sid)] = None
        self._staged[keys.checkpoint_key(sid)] = None
        self._staged[keys.doomed_key(sid)] = b""
        self._doomed.append(sid)
        for block in stream.directory.blocks:
            stream.home.forget(block)

    # -- the engine's records ----------------------------------------------------------------------
    def put_meta(self, key: bytes, value: bytes | None) -> None:
        """Stage a record; None removes it. Without a directory it is only remembered."""
        if len(key) > limits.META_KEY:
            raise StoreError("the key of a record is too long")
        if value is None:
            self._meta.pop(key, None)
        else:
            self._meta[key] = value
        if self._home is not None:
            self._staged[keys.user_key(key)] = self._records[key] = value
            self._home.staged += len(value or b"")

    def get_meta(self, key: bytes) -> bytes | None:
        return self._meta.get(key)

    def meta_items(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        return sorted((key, value) for key, value in self._meta.items() if key.startswith(prefix))

    # -- commit ------------------------------------------------------------------------------------
    @property
    def dirty(self) -> bool:
        """Something is staged that no commit has taken yet, and must not wait."""
        if self.lazy and not self._due:
            return bool(self._doomed)
        home = self._home  # asked for every answer: `staged` without the call
        return home is not None and bool(home.fresh or self._records or home.deep or self._doomed)

    @property
    def staged(self) -> bool:
        """Something is staged that no commit has taken yet."""
        home = self._home
        return home is not None and bool(home.fresh or self._records or home.deep or self._doomed)

    @property
    def staged_bytes(self) -> int:
        """About how much the next group will write."""
        return self._home.staged - self._home.logged if self._home is not None else 0

    def sync_next(self) -> None:
        """What is staged may not wait any longer."""
        self._due = True

    def commit(self, done: Callable[[str], None]) -> None:
        """Take everything staged; `done` gets "" or what went wrong, in the loop thread, maybe at once."""
        assert not self.busy, "one commit at a time"
        home = self._home
        if home is None or self.failed:
            done(self.failed)
            return
        if self._loggable(home) and self._log(home, done):
            return
        group = self._take(home)
        self.busy = home.busy = True
        if group.size <= self._inline and not group.heavy:
            self._finish(self._committer.run(group), done)
            return

        self._committer.start(group, self._later(lambda result: self._finish(result, done)))

    def _loggable(self, home: Home) -> bool:
        """Is it a small group, and nothing in it that LMDB had better see to at once?"""
        return (
            home.staged - home.logged <= self._record
            and not (home.deep or home.scrub or self._doomed)
            and self._allowance >= limits.STORE_RESERVE
            and not any(stream.behind for stream in home.fresh)
        )

    def _log(self, home: Home, done: Callable[[str], None]) -> bool:
        """Make it durable in the write-ahead log, if that has room. It stays staged for LMDB."""
        try:
            self._committer.on_write()
            failpoints.hit("commit.begin")
            if not self._wal.append(redo.pack(home.fresh, self._records)):
                return False
        except Exception as error:
            self._committer.failed = f"the store stopped: the write-ahead log failed: {error}"
            self._conclude(self._committer.failed, done)
            return True
        for stream in home.fresh:
            stream.logged()
        home.fresh, home.logged = [], home.staged
        self._records = {}
        self._due = False
        self._conclude("", done)
        return True

    def _later(self, action: Callable[[Result], None]) -> Callable[[Result], None]:
        """For the writer's thread: have the loop act on the result."""

        def report(result: Result) -> None:
            self._result = lambda: action(result)
            try:
                self._wake(self._collect)
            except RuntimeError:
                pass  # the loop is gone; `close` collects

        return report

    def _take(self, home: Home) -> Group:
        if not self._wal.empty:
            self._staged[keys.TAKEN] = self._wal.generation.to_bytes(8, "big")
        group = Group(
            meta=self._staged, doomed=self._doomed[:1], size=home.staged, scrub=home.scrub
        )
        home.scrub = False
        touched, home.touched, home.fresh = home.touched, [], []
        self._staged, self._records = {}, {}
        self._due = home.deep = False
        home.staged = home.logged = 0
        copied = 0
        for stream in touched:
            work = stream.take()
            group.works.append(work)
            copied += sum(block.live_bytes for job in work.jobs for block in job.sources)
            if work.runs or len(work.drops) > 16 or len(work.dead) > 4096:
                group.heavy = True
        group.heavy = group.heavy or bool(group.doomed) or copied > limits.COPY_INLINE
        # What is used and what is free costs as much to find out as a small commit without its sync.
        # So while there is plenty a small group is only counted, up to 64 times.
        self._counted += 1
        group.measure = (
            group.heavy
            or group.size > limits.STORE_INLINE
            or self._allowance < limits.STORE_RESERVE
            or self._counted >= _COUNTED
        )
        return group

    def _collect(self) -> None:
        """The writer thread has reported. (Or `close` was faster.)"""
        if self._result is not None:
            action, self._result = self._result, None
            action()

    def _finish(self, result: Result, done: Callable[[str], None]) -> None:
        report, snapshot, error = result
        home = self._home
        assert home is not None
        home.busy = False
        if report is None or snapshot is None:
            self._conclude(error, done)
            return
        self._wal.taken()
        home.snapshot.abort()
        home.snapshot = snapshot
        for outcome in report.outcomes:
            stream = self._files.get(outcome.sid)
            if stream is not None:
                stream.install(outcome)
        self._doomed = [sid for sid in self._doomed if sid not in report.gone]
        if report.used >= 0:
            self._used = report.used
            self._counted = 0
            self._look_at_disk(self._committer.full)
        else:
            # More than it can have used.
            self._allowance -= limits.STORE_INLINE + limits.COPY_INLINE
            if self._committer.full:
                self._look_at_disk(full=True)
        if report.scrub and self._renew(home):
            self._committer.start(None, self._later(lambda result: self._scrubbed(result, done)))
            return
        self._conclude(self.failed, done)

    def _conclude(self, error: str, done: Callable[[str], None]) -> None:
        self.busy = False
        self.failed = error
        self.commits += 1
        self.on_commit()
        done(error)
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()

    def when_idle(self, action: Callable[[], None]) -> None:
        """Call it when the commit that runs is over."""
        self._waiting.append(action)

    def _renew(self, home: Home) -> bool:
        """Open the environment anew: it keeps buffers that hold what is to be erased."""
        home.snapshot.abort()
        self._env.close()
        try:
            self._env = opening.open_file(self._file)
            home.databases, _ = opening.open_databases(self._env)
            home.snapshot = self._env.begin(buffers=True)
        except (OSError, lmdb.Error, StoreError) as error:
            self.failed = f"the store stopped: it cannot be opened again: {error}"
            return False
        self._committer.adopt(self._env, home.databases)
        return True

    def _scrubbed(self, result: Result, done: Callable[[str], None]) -> None:
        failed = self._committer.failed
        if result[2] and not failed and self._home is not None:
            self._home.complain(result[2], 0)
        self._conclude(failed, done)

    # -- room --------------------------------------------------------------------------------------
    def used_bytes(self) -> int:
        """Bytes of the pages in use, and what is staged."""
        return self._used + (self._home.staged if self._home is not None else 0)

    def free_bytes(self) -> int:
        """What publishes may still use; 0 when the reserve is reached."""
        if self._home is None:
            return 0
        return max(0, self._allowance - self._home.staged)

    def room(self, coming: int = 0) -> bool:
        """May messages (of so many bytes) be stored? Removals always may: the reserve is theirs."""
        return self._home is None or self._home.staged + coming < self._allowance

    @property
    def bad_records(self) -> int:
        return self._home.bad_records if self._home is not None else 0

    @property
    def complaints(self) -> list[str]:
        """The latest texts about damage."""
        return list(self._home.complaints) if self._home is not None else []

    # -- end ---------------------------------------------------------------------------------------
    def checkpoint(self) -> None:
        """Stage a checkpoint of every stream that has changed since its last one."""
        for stream in self._files.values():
            if stream.checkpointer.debt or stream.checkpointer.changes:
                stream.checkpointer.force = True
                stream.press()

    def tidy(self) -> bool:
        """Begin such a checkpoint, in slices: `dirty` until all is written. False: nothing to do."""
        behind = [
            stream
            for stream in self._files.values()
            if stream.checkpointer.debt or stream.checkpointer.changes
        ]
        for stream in behind:
            stream.checkpointer.wanted = True
            stream.press()
        if self._home is not None and (self._home.touched or self._staged):
            self._home.deep = True  # what is in the write-ahead log goes where it belongs
        found = self._home is not None and self._home.deep
        self._due = self._due or found
        return found

    def close(self) -> None:
        """Finish what runs, write a checkpoint, stop the thread."""
        home = self._home
        if home is None:
            return
        self._finish_all()
        if not self.failed:
            failpoints.hit("close.checkpoint")
            self.checkpoint()
            self._due = True
            if self.dirty or home.touched or self._staged:
                self._commit_here(home)
            if not self.failed:
                self._wal.clear()
        self._abandon()

    def on_write(self, action: Callable[[], None]) -> None:
        """Call this before each write of a group, in the thread that writes it: a slow disk, or, if it
        raises, one that fails. A store without a directory has no disk."""
        if self._home is not None:
            self._committer.on_write = action

    def abandon(self) -> None:
        """The end as by `kill -9`: what no commit has taken is lost, nobody hears of the one under way."""
        if self._home is not None:
            self._abandon()
            self._result = None

    def _finish_all(self) -> None:
        while self.busy:  # `done` may have started the next one
            self._committer.stop()
            self._collect()

    def _abandon(self) -> None:
        """Let go of the files as they are; also what a test does to a store that "crashes"."""
        home, self._home = self._home, None
        if hasattr(self, "_committer"):
            self._committer.close()
        if hasattr(self, "_wal"):
            self._wal.close()
        if home is not None:
            home.snapshot.abort()
        self._env.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
