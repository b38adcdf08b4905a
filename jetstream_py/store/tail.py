"""The tail: messages that are not in a block yet, staged or in the commit that runs.

They are visible at once. One that is removed while staged is never written; one that is removed while its
commit runs gets a tombstone in the next group (`late`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from .columns import Columns
from .subjects import Filter
from .types import Message


class Tail:
    """Messages behind the directory. Live are those in the columns that are not in `_gone`."""

    __slots__ = ("_flight", "_flight_end", "_gone", "_logged", "staged")

    def __init__(self) -> None:
        self.staged = Columns()
        self._flight = Columns()
        self._flight_end = 0  # the highest sequence in the running commit
        self._gone: set[int] = set()
        self._logged = 0  # how many of the staged ones are in the write-ahead log

    def _find(self, seq: int) -> tuple[Columns, int] | None:
        """Where a live message is."""
        part = self._flight if seq <= self._flight_end else self.staged
        seqs = part.seqs
        if not seqs or not seqs[0] <= seq <= seqs[-1] or seq in self._gone:
            return None
        i = part.position(seq)
        return (part, i) if seqs[i] == seq else None

    def __contains__(self, seq: int) -> bool:
        return self._find(seq) is not None

    def get(self, seq: int) -> Message | None:
        found = self._find(seq)
        return None if found is None else found[0].message(found[1])

    def remove(self, seq: int) -> bool:
        """True when the message was on its way to the disk already."""
        self._gone.add(seq)
        return seq <= self._flight_end

    def take(self) -> Columns:
        """What is to be written now."""
        taken = self.staged
        gone = self._gone
        if gone:
            taken = taken.chosen([seq not in gone for seq in taken.seqs])
            gone.clear()
        self.staged = Columns()
        self._logged = 0
        self._flight = taken
        self._flight_end = taken.seqs[-1] if taken.seqs else 0
        return taken

    def unlogged(self) -> Columns:
        """What is staged and not in the write-ahead log."""
        fresh = self.staged.part(self._logged, len(self.staged))
        gone = self._gone
        return fresh.chosen([seq not in gone for seq in fresh.seqs]) if gone else fresh

    def logged(self) -> None:
        """Now it is."""
        self._logged = len(self.staged)

    def settle(self) -> None:
        """The running commit's messages are in the directory."""
        if self._gone:
            self._gone = {seq for seq in self._gone if seq > self._flight_end}
        self._flight, self._flight_end = Columns(), 0

    def _since(self, seq: int) -> Iterator[tuple[Columns, int]]:
        gone = self._gone
        for part in (self._flight, self.staged):
            seqs = part.seqs
            for i in range(part.position(seq), len(seqs)):
                if seqs[i] not in gone:
                    yield part, i

    def run(self, seq: int, most: int, wanted: Filter | None, up_to: int) -> Columns:
        """The first matches from `seq` to `up_to`, at most so many."""
        found = Columns()
        gone, names = self._gone, None if wanted is None else wanted.names
        for part in (self._flight, self.staged):
            start, end = part.position(seq), part.position(up_to + 1)
            if names is None and not gone:
                found.join(part.part(start, min(end, start + most - len(found))))
            elif start < end:
                rows = range(start, end)
                seqs, subjects = part.seqs, part.subjects
                fits = (
                    i
                    for i in rows
                    if seqs[i] not in gone and (names is None or subjects[i] in names)
                )
                found.join(part.picked(list(islice(fits, most - len(found)))))
        return found

    def since(self, seq: int) -> Iterator[Message]:
        for part, i in self._since(seq):
            yield part.message(i)

    def first(self, seq: int, wanted: Filter | None) -> Message | None:
        for part, i in self._since(seq):
            if wanted is None or part.subjects[i] in wanted.names:
                return part.message(i)
        return None

    def last(self, up_to: int, wanted: Filter | None) -> int:
        gone = self._gone
        for part in (self.staged, self._flight):
            seqs, subjects = part.seqs, part.subjects
            for i in range(part.position(up_to + 1) - 1, -1, -1):
                if seqs[i] not in gone and (wanted is None or subjects[i] in wanted.names):
                    return seqs[i]
        return 0

    def count(self, seq: int, wanted: Filter | None) -> int:
        """Live matches from `seq` on."""
        if wanted is None:
            return sum(1 for _ in self._since(seq))
        names = wanted.names
        return sum(part.subjects[i] in names for part, i in self._since(seq))

    def upto(self, before: int) -> list[Message]:
        """Live messages with a smaller sequence."""
        found = []
        for part, i in self._since(0):
            if part.seqs[i] >= before:
                break
            found.append(part.message(i))
        return found
