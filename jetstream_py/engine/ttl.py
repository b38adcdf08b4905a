"""Messages that say how long they live: the header, and a table of deadlines.

A stream may hold millions of messages with a TTL. To remember each of them costs memory, and after a
restart somebody would have to read them all. So the table is coarse where it can be:

* Sequences are taken together in chunks of 1,024. Of a chunk only a bound is known: nothing in it is due
  earlier. Bounds are what is stored, next to the messages and in the same commit, so a start reads one
  number for a thousand messages and opens nothing that is not due.
* When the time of a bound has come the chunk is opened: its headers are read, what is due within the next
  five minutes is remembered one by one, and the earliest of the rest is the new bound. A chunk is read at
  most once in five minutes, whatever the TTLs in it are.
* A message that is due within five minutes when it is published is remembered at once, and not read again.

Deadlines never move, and sequences are never used twice, so nobody tells the table that a message is gone:
a number about it is found out when its time comes. A bound may be too early, never too late. `shrink`
forgets when such numbers are the majority.

With a million TTLs of an hour the table holds a thousand bounds (0.1 MB, 10 KB on disk) instead of a million
deadlines (50 MB), and is back 2 ms after a restart; a list of all deadlines had to read every block of the
stream for that, which took 4 s.

Time is a parameter, and so is the way to read a chunk. All times are nanoseconds.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.config import durations
from jetstream_py.gotext import wire_text

SECOND: Final = 1_000_000_000
NEVER: Final = -1
FAR: Final = 1 << 63  # no clock gets there
_NEAR: Final = limits.TTL_NEAR * SECOND
_SHIFT: Final = 64
_LOW: Final = (1 << _SHIFT) - 1

# The messages of a chunk that have a TTL: sequence and deadline.
ReadChunk = Callable[[int], Iterable[tuple[int, int]]]


def ttl_of(headers: bytes) -> int | None:
    """Seconds; 0 without a TTL, `NEVER`, or None if the header says nothing sensible."""
    value = hdr.get(headers, hdr.TTL)
    return parse_ttl(value) if value else 0


@lru_cache(limits.TTL_CACHE)  # most messages of a stream have the same
def parse_ttl(value: bytes) -> int | None:
    """A Go duration of at least a second, digits that are seconds, or never."""
    if value.lower() == b"never":
        return NEVER
    try:
        ttl = durations.nanoseconds(wire_text(value))
    except ValueError:
        return _seconds(value)
    return ttl // SECOND if ttl >= SECOND else None


def _seconds(value: bytes) -> int | None:
    """Digits. They count modulo 64 bits, so only the last 64 of them matter."""
    if not value.isdigit():
        return None
    number = int(value[-64:]) & _LOW
    return number if number < FAR else None


def deadline_of(ts: int, headers: bytes) -> int:
    """When a stored message is due; `FAR` if its time never comes."""
    ttl = ttl_of(headers)
    return min(ts + ttl * SECOND, FAR) if ttl is not None and ttl > 0 else FAR


class Deadlines:
    """Which sequences are due when."""

    __slots__ = ("_chunks", "_closed", "_counts", "_near", "bounds", "changed")

    def __init__(self) -> None:
        self.bounds: dict[int, int] = {}  # chunk -> no message in it is due earlier; to be stored
        self.changed: set[int] = set()  # chunks whose bound is not the stored one
        self._near: list[int] = []  # a heap of deadline and sequence, as one number
        self._counts: dict[int, int] = {}  # chunk -> how many of these are about it
        self._closed: dict[int, int] = {}  # chunk -> the same, of messages that are not in `_near`
        self._chunks: list[
            int
        ] = []  # a heap of bound and chunk; stale unless `_closed` says the same

    def __len__(self) -> int:
        return len(self._near)

    def load(self, bounds: dict[int, int]) -> None:
        """What was stored."""
        self.bounds.update(bounds)
        for chunk, bound in bounds.items():
            self._close(chunk, bound)

    def add(self, seq: int, deadline: int, now: int) -> None:
        chunk = seq >> limits.TTL_CHUNK
        self._sort_in(chunk, seq, deadline, now)
        if deadline < self.bounds.get(chunk, FAR):
            self.bounds[chunk] = deadline
            self.changed.add(chunk)

    def _sort_in(self, chunk: int, seq: int, deadline: int, now: int) -> None:
        if deadline - now < _NEAR:
            heapq.heappush(self._near, deadline << _SHIFT | seq)
            self._counts[chunk] = self._counts.get(chunk, 0) + 1
        else:
            self._close(chunk, deadline)

    def _close(self, chunk: int, deadline: int) -> None:
        if deadline < self._closed.get(chunk, FAR):
            self._closed[chunk] = deadline
            heapq.heappush(self._chunks, deadline << _SHIFT | chunk)
            if len(self._chunks) > 2 * len(self._closed) + limits.TTL_SLACK:
                self._chunks = [due << _SHIFT | it for it, due in self._closed.items()]
                heapq.heapify(self._chunks)

    def next_due(self) -> int:
        """When there is something to do; 0 for never."""
        chunks = self._chunks
        while chunks and self._closed.get(chunks[0] & _LOW) != chunks[0] >> _SHIFT:
            heapq.heappop(chunks)
        heads = [heap[0] for heap in (self._near, chunks) if heap]
        return min(heads) >> _SHIFT if heads else 0

    def take(self, now: int, most: int, read: ReadChunk) -> list[int]:
        """Sequences that are due, in order. About `most` of them, and then there may be more."""
        due: set[int] = set()
        while len(due) < most and 0 < self.next_due() <= now:
            if self._near and self._near[0] >> _SHIFT <= now:
                seq = heapq.heappop(self._near) & _LOW
                due.add(seq)
                chunk = seq >> limits.TTL_CHUNK
                self._counts[chunk] -= 1
            else:  # only then: a slice opens no more chunks than it needs
                chunk = heapq.heappop(self._chunks) & _LOW
                del self._closed[chunk]
                for seq, deadline in read(chunk):
                    if deadline <= now:
                        due.add(seq)
                    else:
                        self._sort_in(chunk, seq, deadline, now)
            if not self._counts.get(chunk):
                self._counts.pop(chunk, None)
                self._rebound(chunk)
        return sorted(due)

    def _rebound(self, chunk: int) -> None:
        """No near deadline is left in it: what is known of the others is the bound. Whoever took the near
        ones removes those messages in the same commit that stores this."""
        bound = self._closed.get(chunk, FAR)
        if self.bounds.pop(chunk, FAR) != bound:
            self.changed.add(chunk)
        if bound < FAR:
            self.bounds[chunk] = bound

    # -- what is about messages that are gone ------------------------------------------------------

    def forget_before(self, seq: int) -> None:
        """The stream begins there."""
        first = seq >> limits.TTL_CHUNK
        gone = []
        for chunk in self.bounds:  # usually in order
            if chunk >= first:
                break
            gone.append(chunk)
        for chunk in gone:
            self._forget(chunk)

    def _forget(self, chunk: int) -> None:
        del self.bounds[chunk]
        self._closed.pop(chunk, None)
        self.changed.add(chunk)

    def crowded(self, messages: int) -> bool:
        """Is most of the table about messages that are gone, when so many are there?"""
        return max(len(self._near), len(self.bounds)) > 2 * messages + limits.TTL_SLACK

    def shrink(self, next_live: Callable[[int], int]) -> None:
        """Forget chunks without messages and close the others. `next_live` gives the first sequence from
        one on that is there, 0 if there is none."""
        near, self._near = self._near, []
        self._counts.clear()
        for number in near:
            self._close((number & _LOW) >> limits.TTL_CHUNK, number >> _SHIFT)
        live = -1
        for chunk in sorted(self.bounds):
            if live >> limits.TTL_CHUNK < chunk:
                live = next_live(chunk << limits.TTL_CHUNK) or FAR
            if live >> limits.TTL_CHUNK > chunk:
                self._forget(chunk)
