"""Seeks with a filter: which block may hold a match, and where in it.

A block is asked in rising order of cost: its one name, its Bloom filter (up to 16 subjects), its names,
and then its subject column, as a byte per record that says whether it matches. That mask depends on block
and pattern only, so a consumer pays for it once per block; `find` in it runs in C.
"""

from __future__ import annotations

from collections.abc import Callable

from .block import View
from .subjects import Filter
from .summary import Block

Mask = bytes | None  # None: every record; empty: none


class Search:
    """Looks for matches in the blocks of one stream."""

    __slots__ = ("_view",)

    def __init__(self, view: Callable[[Block], View | None]) -> None:
        self._view = view

    def mask(self, block: Block, wanted: Filter | None) -> Mask:
        """Which records match."""
        if wanted is None:
            return None
        if block.name is not None:
            return None if block.name in wanted.names else b""
        if wanted.hashes is not None and not block.may_hold(wanted.hashes):
            return b""
        view = self._view(block)
        return b"" if view is None else view.mask(wanted.pattern, wanted.names)

    def first(self, block: Block, start: int, wanted: Filter | None) -> int:
        """Position of the first live match from `start` on, or -1."""
        mask = self.mask(block, wanted)
        dead = block.dead  # after the mask: reading may find damage and kill records
        if mask is None:
            if dead is None:
                return start if start < block.n else -1
            return dead.find(0, start)
        i = mask.find(1, start)
        if dead is not None:
            while i >= 0 and dead[i]:
                i = mask.find(1, i + 1)
        return i

    def last(self, block: Block, end: int, wanted: Filter | None) -> int:
        """Position of the last live match before `end`, or -1."""
        mask = self.mask(block, wanted)
        dead = block.dead
        if mask is None:
            return end - 1 if dead is None else dead.rfind(0, 0, end)
        i = mask.rfind(1, 0, end)
        if dead is not None:
            while i >= 0 and dead[i]:
                i = mask.rfind(1, 0, i)
        return i

    def count(self, block: Block, start: int, wanted: Filter | None) -> int:
        """Live matches from `start` on."""
        mask = self.mask(block, wanted)
        dead = block.dead
        if mask is None:
            return block.n - start if dead is None else dead.count(0, start)
        if dead is None or not mask:
            return mask.count(1, start)
        return (
            int.from_bytes(mask[start:], "big") & ~int.from_bytes(dead[start:], "big")
        ).bit_count()

    def positions(self, block: Block, wanted: Filter | None) -> list[int]:
        """All live matches."""
        mask = self.mask(block, wanted)
        dead = block.dead
        if mask is None:
            return (
                list(range(block.n))
                if dead is None
                else [i for i, gone in enumerate(dead) if not gone]
            )
        if dead is None:
            return [i for i, hit in enumerate(mask) if hit]
        return [i for i, hit in enumerate(mask) if hit and not dead[i]]
