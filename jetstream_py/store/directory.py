"""The directory: a stream's blocks in order, found by bisection, and what is staged behind them.

Blocks leave it only when a group is made (`take_empty`), never while a commit runs: whatever the writer
rewrites is still there when its report arrives, and gets swapped in place.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from .block import View
from .summary import Block


class Directory:
    """Blocks of one stream. `view` gives a block's columns, or None when they are damaged."""

    __slots__ = ("_view", "blocks", "starts")

    def __init__(self, view: Callable[[Block], View | None]) -> None:
        self.starts: list[int] = []
        self.blocks: list[Block] = []
        self._view = view

    def add(self, block: Block) -> None:
        """Behind all others."""
        assert not self.blocks or self.blocks[-1].last < block.first
        self.starts.append(block.first)
        self.blocks.append(block)

    def swap(self, old: list[Block], new: list[Block]) -> None:
        """Replace neighbouring blocks."""
        at = bisect_left(self.starts, old[0].first)
        end = at + len(old)
        assert self.blocks[at:end] == old
        self.blocks[at:end] = new
        self.starts[at:end] = [block.first for block in new]

    def remove(self, gone: set[Block]) -> None:
        if len(gone) <= 4:
            for block in gone:
                at = bisect_left(self.starts, block.first)
                del self.starts[at], self.blocks[at]
            return
        self.blocks = [block for block in self.blocks if block not in gone]
        self.starts = [block.first for block in self.blocks]

    def at(self, seq: int) -> int:
        """Number of the block that holds `seq`, or of the first one behind it."""
        k = bisect_right(self.starts, seq) - 1
        return k if k >= 0 and self.blocks[k].last >= seq else k + 1

    def position(self, block: Block, seq: int) -> int:
        """Where in the block the first record at or after `seq` is."""
        if seq <= block.first:
            return 0
        if not block.gaps:
            return min(seq - block.first, block.n)
        seqs = self._seqs(block)
        return block.n if seqs is None else bisect_left(seqs, seq)

    def _seqs(self, block: Block) -> array[int] | None:
        """Sequences of a block with gaps; None when it is damaged."""
        if block.seqs is None:
            view = self._view(block)
            if view is not None:
                block.seqs = array("Q", view.seqs())
        return block.seqs

    def find(self, seq: int) -> tuple[Block, int] | None:
        """Block and position of a live record."""
        k = bisect_right(self.starts, seq) - 1
        if k < 0 or (block := self.blocks[k]).last < seq:
            return None
        if block.gaps and seq != block.first:
            i = self.position(block, seq)
            if i >= block.n or block.seqs is None or block.seqs[i] != seq:
                return None
        else:
            i = seq - block.first
        return None if block.dead is not None and block.dead[i] else (block, i)

    def live_among(self, block: Block, seqs: Sequence[int]) -> list[int]:
        """Positions of the live ones among sequences between the block's first and last."""
        if block.gaps:
            known = self._seqs(block) or ()
            found = [i for seq in seqs if known[i := bisect_right(known, seq) - 1] == seq]
        else:
            first = block.first
            found = [seq - first for seq in seqs]
        dead = block.dead
        return found if dead is None else [i for i in found if not dead[i]]

    def seq(self, block: Block, i: int) -> int:
        if not block.gaps or not i:
            return block.first + i
        if block.seqs is None:
            self.position(block, block.last)
        return block.seqs[i] if block.seqs is not None else block.last

    def live_positions(self, block: Block, start: int = 0) -> Iterator[int]:
        dead = block.dead
        if dead is None:
            return iter(range(start, block.n))
        return (i for i in range(start, block.n) if not dead[i])
