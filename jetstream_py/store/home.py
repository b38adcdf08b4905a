"""What the file streams of a store share: the read snapshot, the caches, the list of who has news.

The loop thread owns it. The snapshot is the read transaction that came with the last commit's report, so
it always is of the same generation as the directories: a block that the next group merges away is still
there for whoever finds it in a directory.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import lmdb

from jetstream_py import limits

from .checksum import Extend
from .summary import Block

if TYPE_CHECKING:
    from .file_stream import FileStream


class Databases(NamedTuple):
    """Handles of the databases, named as in `keys.DATABASES`."""

    meta: lmdb._Database
    blk: lmdb._Database
    dir: lmdb._Database
    log: lmdb._Database
    sub: lmdb._Database
    fat: lmdb._Database


class Lru:
    """Blocks of which something is kept decoded, the longest unused go first. Bounded in bytes."""

    __slots__ = ("_evict", "_limit", "_sizes", "_used")

    def __init__(self, limit: int, evict: Callable[[Block], None]) -> None:
        self._limit, self._evict = limit, evict
        self._sizes: OrderedDict[Block, int] = OrderedDict()
        self._used = 0

    def add(self, block: Block, size: int) -> None:
        self._used += size - self._sizes.get(block, 0)
        self._sizes[block] = size
        while self._used > self._limit:
            old, size = self._sizes.popitem(last=False)
            self._used -= size
            self._evict(old)

    def touch(self, block: Block) -> None:
        if block in self._sizes:
            self._sizes.move_to_end(block)

    def discard(self, block: Block) -> None:
        self._used -= self._sizes.pop(block, 0)
        self._evict(block)


def _drop_view(block: Block) -> None:
    block.view = None


def _drop_page(block: Block) -> None:
    block.page = None


class Home:
    """Shared by the streams of one store."""

    def __init__(self, databases: Databases, extend: Extend, snapshot: lmdb.Transaction) -> None:
        self.databases = databases
        self.extend = extend
        self.snapshot = snapshot
        self.views = Lru(limits.VIEW_CACHE, _drop_view)
        self.pages = Lru(limits.PAGE_CACHE, _drop_page)
        self.touched: list[FileStream] = []  # they have something for the next LMDB commit ...
        self.fresh: list[FileStream] = []  # ... and these something that is nowhere on the disk yet
        self.staged = 0  # bytes of messages that no LMDB commit has taken yet ...
        self.logged = 0  # ... and how many of them are in the write-ahead log
        self.deep = False  # there is something to do that the log is not for
        self.busy = False
        self.scrub = False  # the next group removes something that must be nowhere in the file
        self.bad_records = 0
        self.complaints: deque[str] = deque(maxlen=limits.COMPLAINTS)
        self.warn: Callable[[str], None] | None = None

    def complain(self, text: str, records: int = 1) -> None:
        self.bad_records += records
        self.complaints.append(text)
        if self.warn is not None:
            self.warn(text)

    def forget(self, block: Block) -> None:
        """The block left the directory."""
        self.views.discard(block)
        self.pages.discard(block)
