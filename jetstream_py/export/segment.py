"""Messages become segments: where they are cut, what is known of each.

A segment ends with so many messages, so many bytes (as they are in memory, so the cut is the same for
every source), or a UTC day. It is written by row groups while the next one is read, so memory holds two of
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from typing import Final, Protocol

import pyarrow as pa

from jetstream_py import limits
from jetstream_py.export import layout
from jetstream_py.export.layout import Origin, Segment
from jetstream_py.export.table import to_table
from jetstream_py.store.columns import Columns

DAY_NS: Final = 86_400 * 10**9


class Sink(Protocol):
    """Where segments go. Called one after the other, not from the loop's thread."""

    def group(self, table: pa.Table) -> None:
        """One more row group of the segment at hand."""
        ...

    def finish(self, segment: Segment) -> None:
        """The segment is complete: make it durable and known."""
        ...

    def abort(self) -> None:
        """Drop what is not finished."""
        ...


class Cutter:
    """Cuts what comes into segments of a sink."""

    def __init__(self, origin: Origin, next_seq: int, sink: Sink) -> None:
        self._origin, self._sink = origin, sink
        self._from = next_seq  # what the segment at hand covers begins here
        self._group = Columns()
        self._group_bytes = 0
        self._day = -1
        self._bytes = 0
        self._facts: Segment | None = None
        self._under_way: asyncio.Future[None] | None = None

    @property
    def pending(self) -> bool:
        """Are there messages that are in no segment yet?"""
        return self._facts is not None

    async def add(self, rows: Columns) -> AsyncIterator[Segment]:
        """Take messages; yields the segments that are complete now."""
        at, n = 0, len(rows)
        while at < n:
            end = self._fit(rows, at)
            if end == at:
                yield await self.close()
                continue
            self._take(rows.part(at, end))
            at = end
            if len(self._group) >= limits.EXPORT_GROUP or self._group_bytes >= limits.EXPORT_BYTES:
                await self._write()

    def _fit(self, rows: Columns, at: int) -> int:
        """Up to which position messages belong to the segment and the row group at hand."""
        facts, times = self._facts, rows.times
        day = times[at] // DAY_NS
        if facts is not None and day != self._day:
            return at
        self._day = day
        room = limits.EXPORT_SEGMENT - (facts.count if facts else 0)
        if not room:
            return at
        end = min(len(rows), at + room, at + limits.EXPORT_GROUP - len(self._group))
        if any(ts // DAY_NS != day for ts in (min(times[at:end]), max(times[at:end]))):
            end = next(i for i in range(at, end) if times[i] // DAY_NS != day)
        space = limits.EXPORT_BYTES - self._bytes
        if _size(rows, at, end) > space:
            sizes = (len(rows.headers[i]) + len(rows.datas[i]) for i in range(at, end))
            end = at + sum(1 for total in accumulate(sizes) if total <= space)
            if end == at and facts is None:
                end = at + 1  # larger than a segment: alone in its own
        return end

    def _take(self, rows: Columns) -> None:
        seqs, times = rows.seqs, rows.times
        facts = self._facts
        if facts is None:
            origin = self._origin
            deleted: list[tuple[int, int]] | None = None if origin.subject else []
            facts = self._facts = Segment(
                layout.VERSION,
                origin.stream,
                origin.created_ns,
                "",
                self._from,
                seqs[0],
                self._from - 1,
                0,
                times[0],
                times[0],
                deleted,
            )
        if facts.deleted is not None:
            facts.deleted += _missing(facts.last_seq, seqs)
        facts.last_seq = seqs[-1]
        facts.count += len(seqs)
        facts.min_time_ns = min(facts.min_time_ns, min(times))
        facts.max_time_ns = max(facts.max_time_ns, max(times))
        size = _size(rows, 0, len(rows))
        self._bytes += size
        self._group_bytes += size
        self._group.join(rows)

    async def _write(self) -> None:
        """Hand the row group over, when the one before is written."""
        await self._settled()
        group, self._group, self._group_bytes = self._group, Columns(), 0
        table = to_table(self._origin.stream, group)
        self._under_way = asyncio.ensure_future(asyncio.to_thread(self._sink.group, table))

    async def _settled(self) -> None:
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            await under_way

    async def close(self) -> Segment:
        """End the segment at hand."""
        facts = self._facts
        assert facts is not None
        if len(self._group):
            await self._write()
        await self._settled()
        date = datetime.fromtimestamp(self._day * 86_400, UTC).date().isoformat()
        facts.path = layout.segment_path(date, facts.first_seq, facts.last_seq)
        await asyncio.to_thread(self._sink.finish, facts)
        self._from = facts.last_seq + 1
        self._facts, self._bytes = None, 0
        return facts

    async def abort(self) -> None:
        """Something failed: leave what is complete, drop the rest."""
        try:
            await self._settled()
        finally:
            self._sink.abort()


def _size(rows: Columns, start: int, end: int) -> int:
    return sum(map(len, rows.datas[start:end])) + sum(map(len, rows.headers[start:end]))


def _missing(before: int, seqs: list[int]) -> list[tuple[int, int]]:
    """Ranges without a message from behind `before` to the last of `seqs`."""
    if seqs[-1] - before == len(seqs):
        return []
    steps = pairwise((before, *seqs))
    return [(low + 1, high - 1) for low, high in steps if high - low > 1]
