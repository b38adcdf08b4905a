"""Named places on the way to the disk where a test may make something go wrong.

A place calls `hit("name")`. Nothing happens unless a test has armed it with a function: to raise an
error as the disk would, to kill the process as a power cut would, or to look at the files just then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

NAMES: Final = frozenset(
    {
        "open.made",  # a new store's file is written under its temporary name
        "open.named",  # ... and renamed, the directory not yet synced
        "open.recovered",  # an existing store was read, nothing written yet
        "commit.begin",  # a group was taken, for LMDB or for the write-ahead log
        "commit.blocks",  # its blocks are in the transaction
        "commit.compact",  # so are rewritten blocks
        "commit.checkpoint",  # so are the checkpoint's parts
        "commit.before",  # all is in the transaction, or in the record
        "commit.after",  # committed and synced, the loop not told yet
        "wal.replayed",  # a start has staged what the log holds, nothing written yet
        "scrub",  # a commit that erased something is synced, its freed pages not yet overwritten
        "extend",  # the file is about to be extended
        "close.checkpoint",  # the last commit is about to run
    }
)
# the same for exports, which are no part of a store's life
EXPORT: Final = frozenset(
    {
        "export.group",  # a row group is written
        "export.written",  # a segment is written and synced under its temporary name
        "export.named",  # ... and renamed
        "export.entry",  # its entry is written under a temporary name
        "export.done",  # ... and renamed: the segment is known
    }
)

_armed: dict[str, Callable[[], None]] = {}


def arm(name: str, action: Callable[[], None]) -> None:
    if name not in NAMES | EXPORT:
        raise KeyError(name)
    _armed[name] = action


def disarm(name: str = "") -> None:
    """Forget one place, or all."""
    if name:
        _armed.pop(name, None)
    else:
        _armed.clear()


def hit(name: str) -> None:
    if _armed and name in _armed:
        _armed[name]()
