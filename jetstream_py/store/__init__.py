"""Durable streams: LMDB and memory behind one seam. See `store` for the whole, `types` for the seam.

types, keys, checksum     the seam, the key layout, the checksum
block, summary, oplog     what is written: blocks, their index entries, the log of removals
subjects, directory, tail, search, scan, trail, oldest, newest    what the loop knows, how it looks things up
home, reader              the shared read snapshot, caches, reading through them
file_stream, memory       the two streams; doctor: what damage means
bulk, purge               many removals at once; millions of them, in slices
group, writer, committer  the way to the disk
wal, redo                 the short way for small groups: the write-ahead log, what its records say
compact, checkpoint, recovery, opening, verify     housekeeping and start-up
pages, scrub              LMDB's file behind its back: is it whole, and erasing what is free
"""

from .columns import Columns
from .opening import compact as compact_file
from .store import Store
from .types import Message, Purge, StoreError, StoreLocked, StreamStore
from .verify import verify

__all__ = [
    "Columns",
    "Message",
    "Purge",
    "Store",
    "StoreError",
    "StoreLocked",
    "StreamStore",
    "compact_file",
    "verify",
]
