"""Purges in slices, so that dropping millions of messages never stops the loop for long.

Each step drops about `limits.PURGE_RECORDS` messages, or looks at `limits.PURGE_BLOCKS` blocks without
finding as many, and says how many it dropped. Between two steps
anything may happen: publishes, other removals, commits that swap blocks. So what it is about is fixed
when it begins, as sequences: everything that matches below `end`; and each step seeks its place anew.
Every step leaves a consistent stream, so a crash in between leaves a part of the purge undone, no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py import limits

from .subjects import Filter

if TYPE_CHECKING:
    from .file_stream import FileStream


class FilePurge:
    """See `Purge`."""

    __slots__ = ("_end", "_pattern", "_seq", "_stream", "done")

    def __init__(self, stream: FileStream, pattern: bytes, before: int, keep: int) -> None:
        self._stream = stream
        self._pattern = b"" if pattern == b">" else pattern
        self._seq = 0
        end = min(before or stream.last_seq + 1, stream.last_seq + 1)
        if keep and not self._pattern:
            end = stream.scan.keep_from(end, keep)
        elif keep:
            end = _keep_from(stream, stream.table.filter(pattern), end, keep)
        self._end = end
        self.done = not stream.messages or end <= stream.first_seq

    def step(self) -> int:
        stream = self._stream
        if self._pattern:
            wanted = stream.table.filter(self._pattern)
            self._seq, dropped = _slice(stream, wanted, self._seq, self._end)
            self.done = self._seq >= self._end
        else:
            starts = stream.directory.starts
            k = stream.directory.at(stream.first_seq) + limits.PURGE_BLOCKS
            dropped = stream.trim(min(self._end, starts[k]) if k < len(starts) else self._end)
            self.done = stream.first_seq >= self._end
        self.done = self.done or not stream.messages
        return dropped


def _slice(stream: FileStream, wanted: Filter, seq: int, end: int) -> tuple[int, int]:
    """Drop matches from `seq` on; how far it came, and how many."""
    was = stream.messages
    blocks = stream.directory.blocks
    k = stream.directory.at(max(seq, stream.first_seq))
    for block in blocks[k : k + limits.PURGE_BLOCKS]:
        if block.first >= end:
            seq = end
            break
        if block.live:
            stream.kill_matches(block, wanted, seq, end)
        seq = block.last + 1
        if was - stream.messages >= limits.PURGE_RECORDS:
            break
    else:
        if k + limits.PURGE_BLOCKS >= len(blocks):
            stream.drop_tail(wanted, seq, end)
            seq = end
    dropped = was - stream.messages
    if dropped:
        stream.settle_head()
    return seq, dropped


def _keep_from(stream: FileStream, wanted: Filter, end: int, keep: int) -> int:
    """Where the newest `keep` matches below `end` begin; 0 when there are no more than that."""
    staged = [m.seq for m in stream.tail.upto(end) if m.subject in wanted.names]
    if len(staged) >= keep:
        return staged[-keep]
    keep -= len(staged)
    directory = stream.directory
    for block in reversed(directory.blocks[: directory.at(end - 1) + 1]):
        if not block.live or block.first >= end:
            continue
        whole = block.last < end
        if whole and (count := stream.search.count(block, 0, wanted)) < keep:
            keep -= count
            continue
        below = block.n if whole else directory.position(block, end)
        found = [i for i in stream.search.positions(block, wanted) if i < below]
        if len(found) >= keep:
            return directory.seq(block, found[-keep])
        keep -= len(found)
    return 0
