"""Erase what unused parts of the file still hold.

A deleted message that must be unreadable is first left out of its block, in a commit. But the bytes stay
in the pages that this commit freed; older copies are in pages freed before (small blocks that were merged
since, leaves that small blocks lived in) and in gaps of pages in use, because LMDB reuses the buffers of
written pages without cleaning them. So, before the delete is answered:

1. the environment is closed and opened again, which drops these buffers (the caller does that);
2. every free page is overwritten with zeros, and every gap that is not zero (`pages` finds them);
3. the file is synced.

Why that is safe: the commit is synced, so no crash brings the older version back; the loop has moved its
snapshot, so nobody reads it; and the next transaction has not begun, so nobody has taken a free page yet.
The caller sees to the last two: it scrubs between two commits. Gaps are read by nobody.

What it costs: pages freed since the last scrub are written once, and the trees (not the blocks) are read:
a millisecond for a small store, some fifty with ten million messages, in the writer's thread. The first
scrub after a start does not know what earlier ones did and writes all free pages of the file. Deletes
that arrive together share one.

What it cannot reach: copies that the file system or the drive keep on their own account.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from .pages import PageError, Pages

_STEP: Final = 256  # pages written at once, at most
_sync = getattr(os, "fdatasync", os.fsync)


class Scrubber:
    """Remembers up to which transaction free pages are clean."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._clean = 0

    def run(self) -> None:
        """Overwrite and sync. Raises OSError or `PageError`."""
        pages = Pages(self._fd)
        if os.fstat(self._fd).st_size < pages.length:
            raise PageError("the file is shorter than its last page")
        size = pages.page_size
        zeros = memoryview(bytes(_STEP * size))
        for numbers in list(pages.freed_since(self._clean)):
            for first, count in runs(numbers):
                self._write(zeros[: count * size], first * size)
        for at, data in pages.slack():
            if data.count(0) != len(data):
                self._write(zeros[: len(data)], at)
        _sync(self._fd)
        self._clean = pages.txn

    def _write(self, zeros: memoryview, at: int) -> None:
        if os.pwrite(self._fd, zeros, at) != len(zeros):
            raise OSError("the disk took only a part of a page")


def runs(numbers: Iterable[int], most: int = _STEP) -> Iterator[tuple[int, int]]:
    """Neighbours as (first, count)."""
    start = count = 0
    for number in sorted(numbers):
        if count and (number != start + count or count == most):
            yield start, count
            count = 0
        if not count:
            start = number
        count += 1
    if count:
        yield start, count
