"""Which blocks are written anew: small ones at the tail, and those with the most garbage.

Groups of a few messages make tiny blocks; when 64 of them or a block's worth of bytes are at the tail
they are merged. Dead records are only marked; when a stream has more dead than live bytes (and 4 MiB) its
emptiest blocks are copied without them, together with small or half-dead neighbours. The step is 64 KiB of
live bytes a group and grows with the backlog, so a group never waits long and garbage stays bounded.

Planned in the loop, which knows who lives; copied by the writer; swapped when the report arrives. Damaged
blocks and fat ones are left alone.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from jetstream_py import limits

from .group import Job
from .summary import Block

if TYPE_CHECKING:
    from .file_stream import FileStream

_MOST_JOBS = 64  # per group, however empty the blocks are


def _usable(block: Block) -> bool:
    return not block.bad and not block.fat and block.live > 0


def _worn(block: Block) -> bool:
    return 4 * block.live <= 3 * block.n


def _small(block: Block) -> bool:
    return block.size < limits.SMALL_BLOCK and block.n < limits.BLOCK_RECORDS // 2


class Plan:
    """What one stream would like to have rewritten."""

    __slots__ = ("_candidates", "_small_bytes", "_small_count")

    def __init__(self) -> None:
        self._candidates: list[Block] = []  # the emptiest last
        self._small_count = limits.SMALL_RUN  # small blocks at the tail since the last look, about
        self._small_bytes = 0

    def added(self, block: Block) -> None:
        """A block was written behind all others."""
        if _small(block):
            self._small_count += 1
            self._small_bytes += block.size
        else:
            self._small_count = self._small_bytes = 0

    def jobs(self, stream: FileStream) -> list[Job]:
        """The work for the next group. No block is in two jobs."""
        taken: set[Block] = set()
        jobs: list[Job] = []
        if stream.erase:
            jobs += self._erasures(stream, taken)
        if self._small_count >= limits.SMALL_RUN or self._small_bytes >= limits.BLOCK_BYTES:
            jobs += self._merge(stream.directory.blocks, taken)
        line = stream.bytes + limits.GARBAGE_FLOOR
        if stream.garbage > line:
            jobs += self._collect(stream, stream.garbage / line, taken)
        else:
            self._candidates.clear()
        return jobs

    def _job(self, blocks: list[Block], taken: set[Block]) -> Job:
        taken.update(blocks)
        return Job(blocks, [None if block.dead is None else bytes(block.dead) for block in blocks])

    def _erasures(self, stream: FileStream, taken: set[Block]) -> list[Job]:
        wanted = {block for block in stream.erase if _usable(block)}
        stream.erase.clear()
        return [self._job([block], taken) for block in stream.directory.blocks if block in wanted]

    def _merge(self, blocks: list[Block], taken: set[Block]) -> list[Job]:
        at, size = len(blocks), 0
        least = max(0, at - limits.SMALL_RUN)
        while at > least and size < limits.BLOCK_BYTES:
            block = blocks[at - 1]
            if not _small(block) or not _usable(block) or block in taken:
                break
            size += block.size
            at -= 1
        count = len(blocks) - at
        self._small_count, self._small_bytes = count, size
        if count >= limits.SMALL_RUN or (size >= limits.BLOCK_BYTES and count > 1):
            self._small_count = self._small_bytes = 0
            return [self._job(blocks[at:], taken)]
        return []

    def _collect(self, stream: FileStream, over: float, taken: set[Block]) -> list[Job]:
        factor = 1 if over < 1.1 else 2 if over < 1.25 else 4 if over < 1.5 else 8
        budget = limits.COMPACT_STEP * factor
        if not self._candidates:
            found = [block for block in stream.directory.blocks if _usable(block) and _worn(block)]
            found.sort(key=lambda block: block.live_bytes / (block.all_bytes or 1), reverse=True)
            self._candidates = found
        jobs: list[Job] = []
        blocks, starts = stream.directory.blocks, stream.directory.starts
        while budget > 0 and self._candidates and len(jobs) < _MOST_JOBS:
            block = self._candidates.pop()
            k = bisect_left(starts, block.first)
            if k == len(blocks) or blocks[k] is not block or block in taken or not _usable(block):
                continue
            low, high = self._widen(blocks, k, taken)
            job = self._job(blocks[low:high], taken)
            budget -= max(4096, sum(source.live_bytes for source in job.sources))
            jobs.append(job)
        return jobs

    def _widen(self, blocks: list[Block], k: int, taken: set[Block]) -> tuple[int, int]:
        """Neighbours that fit into the same output."""
        low, high, size = k, k + 1, blocks[k].live_bytes
        while high < len(blocks) and self._joins(blocks[high], size, taken):
            size += blocks[high].live_bytes
            high += 1
        while low > 0 and self._joins(blocks[low - 1], size, taken):
            low -= 1
            size += blocks[low].live_bytes
        return low, high

    def _joins(self, block: Block, size: int, taken: set[Block]) -> bool:
        fits = size + block.live_bytes <= limits.BLOCK_BYTES
        return fits and block not in taken and _usable(block) and (_worn(block) or _small(block))
