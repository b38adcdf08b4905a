"""Group commit: one transaction for everything staged, synced by LMDB's own default commit.

LMDB is opened with all its syncs on (no `sync=False`, `metasync=False` or `writemap`: each of them lost
acknowledged data when the power was cut). A small group is committed in the caller's thread, a large one in
the writer thread; never two at once. After the commit a read transaction is opened and goes back with the
report, so directory and snapshot change together.

A failed commit or sync is the end: the kernel may have dropped the dirty pages, and LMDB would report later
commits as fine. Nothing is written any more until the store is opened again.

The file is extended ahead of need, so that a full disk shows here, as `full`, and not inside a commit.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

import lmdb

from . import failpoints
from .checksum import Extend
from .group import Group, Report
from .home import Databases
from .pages import PageError
from .scrub import Scrubber
from .wal import Wal
from .writer import Writer

_TREES = 64 * 1024  # pages of the trees that a small group may touch
_WHATEVER = 1 << 62  # a size that needs no extension: LMDB extends the file itself

Result = tuple[Report | None, lmdb.Transaction | None, str]


def _nothing() -> None:
    return None


class Committer:
    """Runs groups, here or in its thread."""

    def __init__(
        self,
        env: lmdb.Environment,
        databases: Databases,
        extend: Extend,
        file: str,
        wal: Wal,
        ahead: int,
    ) -> None:
        """The file grows by `ahead` bytes at a time."""
        self._ahead = ahead
        self._env = env
        self._databases = databases
        self._extend = extend
        self._wal = wal
        self._fd = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        self._size = os.fstat(self._fd).st_size
        self._page = env.stat()["psize"]
        self._scrubber = Scrubber(self._fd)
        self._guess = self._size  # how far into the file pages are used, at most
        self._queue: SimpleQueue[tuple[Group | None, Callable[[Result], None]] | None] = (
            SimpleQueue()
        )
        self._thread: threading.Thread | None = None
        if not hasattr(os, "posix_fallocate"):
            self._size = _WHATEVER
        self.full = False  # the disk has no room to extend the file
        self.failed = ""
        self.on_write: Callable[[], None] = _nothing

    def run(self, group: Group) -> Result:
        """Write the group; the result has a report or says why there is none."""
        if self.failed:
            return None, None, self.failed
        try:
            self.on_write()
            failpoints.hit("commit.begin")
            self._extend_file(group.size, group.heavy)
            txn = self._env.begin(write=True, buffers=True)
            try:
                report = Writer(txn, self._databases, self._extend).apply(group)
                failpoints.hit("commit.before")
            except BaseException:
                txn.abort()
                raise
            txn.commit()
            failpoints.hit("commit.after")
            report.scrub = group.scrub
            return report, self._env.begin(buffers=True), ""
        except Exception as error:
            self.failed = f"the store stopped: a commit failed: {error}"
            return None, None, self.failed

    def adopt(self, env: lmdb.Environment, databases: Databases) -> None:
        """The environment was opened anew."""
        self._env, self._databases = env, databases

    def scrub(self) -> Result:
        """See `scrub`. A disk that fails here is as bad as one that fails in a commit."""
        try:
            failpoints.hit("scrub")
            self._wal.wipe()
            self._scrubber.run()
        except PageError as error:
            return None, None, f"deleted messages could not be erased: {error}"
        except Exception as error:
            self.failed = f"the store stopped: free pages could not be erased: {error}"
            return None, None, self.failed
        return None, None, ""

    def _extend_file(self, coming: int, heavy: bool) -> None:
        """Small groups are counted generously, and the file is asked when that is not enough."""
        self._guess += coming * 5 // 4 + _TREES
        if not heavy and self._guess + self._ahead // 4 < self._size:
            return
        used = self._guess = (self._env.info()["last_pgno"] + 1) * self._page
        if used + coming * 5 // 4 + self._ahead // 4 < self._size:
            return
        try:
            failpoints.hit("extend")
            step = self._ahead + coming * 5 // 4
            os.posix_fallocate(self._fd, self._size, step)
            self._size += step
            self.full = False
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                self.full = True
            elif error.errno in (errno.EOPNOTSUPP, errno.EINVAL):
                self._size = _WHATEVER  # this file system cannot
            else:
                raise

    # -- thread ------------------------------------------------------------------------------------
    def start(self, group: Group | None, done: Callable[[Result], None]) -> None:
        """Write the group in the thread, which then calls `done`; without a group, scrub."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
            self._thread.start()
        self._queue.put((group, done))

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            group, done = item
            done(self.run(group) if group is not None else self.scrub())

    def stop(self) -> None:
        """Finish what runs and end the thread."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def close(self) -> None:
        self.stop()
        os.close(self._fd)
