"""Durable streams: LMDB and memory behind one seam. See `store` for the whole, `types` for the seam.

types, keys, checksum     the seam, the key layout, the checksum
block, summary, oplog     what is written: blocks, their index entries, the log of removals
subjects, directory, tail, search, scan, oldest    what the loop knows and how it looks things up
home, reader              the shared read snapshot, caches, reading through them
file_stream, memory       the two streams
group, writer, committer  the way to the disk
compact, checkpoint, recovery, opening, verify     housekeeping and start-up
"""

from .opening import compact as compact_file
from .store import Store
from .types import Message, StoreError, StreamStore
from .verify import verify

__all__ = ["Message", "Store", "StoreError", "StreamStore", "compact_file", "verify"]
