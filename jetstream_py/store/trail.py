"""Trails: where a filter of few subjects found matches, so that the next seek need not search again.

A rare subject may have its next message thousands of blocks away. Bloom filters make passing a block cheap,
but not free, and every consumer with the same filter walks the same way. So a walk leaves a trail: for each
block with a match, the sequences of its first and last one. Within [start, end) every match lies in one of
these ranges. That stays true whatever happens: messages below `end` only vanish, and a rewritten block keeps
its sequences, so a trail knows no blocks and needs no news of them.

A walk from inside the trail jumps from range to range and goes on searching at its end. One that begins far
behind the end leaves no trail, one that begins before its start begins it anew. A filter that finds matches
nearly everywhere gets none. All of them together are bounded; they are forgotten when there are too many.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jetstream_py import limits

from .subjects import Filter
from .summary import Block

if TYPE_CHECKING:
    from .file_stream import FileStream

_NEAR = 64  # blocks that a walk goes through additionally in order to prolong the trail
_JUDGED = (
    64  # blocks after which a filter is judged: with matches in most of them it needs no trail
)


class Trail:
    """Of one pattern. Ranges [low, high] rise and do not overlap."""

    __slots__ = ("dense", "end", "highs", "lows", "searched", "start")

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.lows: list[int] = []
        self.highs: list[int] = []
        self.searched = 0  # blocks
        self.dense = False


class Trails:
    """Of one stream, by pattern."""

    __slots__ = ("_noted", "_stream", "_trails")

    def __init__(self, stream: FileStream) -> None:
        self._stream = stream
        self._trails: dict[bytes, Trail] = {}
        self._noted = 0

    def blocks(self, seq: int, wanted: Filter | None) -> Iterator[Block]:
        """The live blocks that may hold a match from `seq` on, in order."""
        directory = self._stream.directory
        blocks, k = directory.blocks, directory.at(seq)
        trail = None
        if wanted is not None and wanted.hashes is not None:
            trail = self._trail(wanted.pattern, seq, k)
        if wanted is None or trail is None:
            for j in range(k, len(blocks)):
                if blocks[j].live:
                    yield blocks[j]
            return
        for i in range(bisect_left(trail.highs, seq), len(trail.highs)):
            k = max(k, directory.at(trail.lows[i]))
            while k < len(blocks) and blocks[k].first <= trail.highs[i]:
                if blocks[k].live:
                    yield blocks[k]
                k += 1
        for j in range(directory.at(trail.end), len(blocks)):
            if self._search(blocks[j], wanted, trail) and j >= k:
                yield blocks[j]

    def _trail(self, pattern: bytes, seq: int, k: int) -> Trail | None:
        """The one to follow from `seq`, which is in block `k`; None: there is none that helps."""
        trail = self._trails.get(pattern)
        if trail is None or seq < trail.start:
            if len(self._trails) >= limits.TRAILS or self._noted >= limits.TRAIL_RANGES:
                self._trails.clear()
                self._noted = 0
            if trail is not None and trail.dense:
                return None
            trail = self._trails[pattern] = Trail(seq)
        elif trail.dense or k - self._stream.directory.at(trail.end) > _NEAR:
            return None
        return trail

    def _search(self, block: Block, wanted: Filter, trail: Trail) -> bool:
        """Prolong the trail by a block. A match that is dead by now does no harm."""
        directory = self._stream.directory
        # Blocks that the trail has been through may have been merged with new ones.
        start = directory.position(block, trail.end)
        mask = self._stream.search.mask(block, wanted) if block.live else b""
        low = (start if start < block.n else -1) if mask is None else mask.find(1, start)
        trail.end = max(trail.end, block.last + 1)
        trail.searched += 1
        if low >= 0:
            high = block.n - 1 if mask is None else mask.rfind(1)
            trail.lows.append(directory.seq(block, low))
            trail.highs.append(directory.seq(block, high))
            self._noted += 1
        if trail.searched >= _JUDGED and 2 * len(trail.lows) > trail.searched:
            trail.dense = True
            self._noted -= len(trail.lows)
            trail.lows, trail.highs = [], []
        return low >= 0
