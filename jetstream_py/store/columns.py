"""Messages as columns: five lists of one length, in order of sequence.

Publishes come by the hundred and are written by the hundred. As columns they get there with a few C-level
list operations; a `Message` is only made for somebody who asks for one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import compress, repeat

from .types import Message


class Columns:
    """A run of messages; it only grows at its end."""

    __slots__ = ("datas", "headers", "seqs", "subjects", "times")

    def __init__(self) -> None:
        self.seqs: list[int] = []
        self.times: list[int] = []
        self.subjects: list[bytes] = []
        self.headers: list[bytes] = []
        self.datas: list[bytes] = []

    def __len__(self) -> int:
        return len(self.seqs)

    def append(self, seq: int, ts: int, subject: bytes, headers: bytes, data: bytes) -> None:
        self.seqs.append(seq)
        self.times.append(ts)
        self.subjects.append(subject)
        self.headers.append(headers)
        self.datas.append(data)

    def extend(
        self,
        first: int,
        ts: int,
        subjects: Sequence[bytes],
        headers: Sequence[bytes],
        datas: Sequence[bytes],
    ) -> None:
        """Messages of one time, numbered from `first` on; `headers` may be empty if nobody has any."""
        n = len(datas)
        self.seqs.extend(range(first, first + n))
        self.times.extend(repeat(ts, n))
        self.subjects.extend(subjects)
        self.headers.extend(headers or repeat(b"", n))
        self.datas.extend(datas)

    def fill(
        self,
        seqs: Iterable[int],
        times: Iterable[int],
        subjects: Iterable[bytes],
        headers: Iterable[bytes],
        datas: Iterable[bytes],
    ) -> Columns:
        """Add whole columns."""
        self.seqs.extend(seqs)
        self.times.extend(times)
        self.subjects.extend(subjects)
        self.headers.extend(headers)
        self.datas.extend(datas)
        return self

    def join(self, other: Columns) -> None:
        self.fill(other.seqs, other.times, other.subjects, other.headers, other.datas)

    def joined(self, other: Columns) -> Columns:
        """Both, in new columns."""
        made = Columns()
        made.join(self)
        made.join(other)
        return made

    def part(self, start: int, end: int) -> Columns:
        """Messages from position `start` to before `end`; the whole is not copied."""
        if start == 0 and end == len(self.seqs):
            return self
        made = Columns()
        made.seqs = self.seqs[start:end]
        made.times = self.times[start:end]
        made.subjects = self.subjects[start:end]
        made.headers = self.headers[start:end]
        made.datas = self.datas[start:end]
        return made

    def chosen(self, keep: Sequence[bool]) -> Columns:
        """Those for which `keep` is true."""
        return Columns().fill(
            compress(self.seqs, keep),
            compress(self.times, keep),
            compress(self.subjects, keep),
            compress(self.headers, keep),
            compress(self.datas, keep),
        )

    def position(self, seq: int) -> int:
        """Where the first message at or after `seq` is."""
        seqs = self.seqs
        if not seqs or seq <= seqs[0]:
            return 0
        if seqs[-1] - seqs[0] == len(seqs) - 1:
            return min(seq - seqs[0], len(seqs))
        return bisect_left(seqs, seq)

    def picked(self, positions: Sequence[int]) -> Columns:
        """The messages at these positions."""
        return Columns().fill(
            [self.seqs[i] for i in positions],
            [self.times[i] for i in positions],
            [self.subjects[i] for i in positions],
            [self.headers[i] for i in positions],
            [self.datas[i] for i in positions],
        )

    def messages(self) -> list[Message]:
        rows = zip(self.seqs, self.times, self.subjects, self.headers, self.datas, strict=True)
        return list(map(Message._make, rows))

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Columns:
        made = cls()
        for message in messages:
            made.append(*message)
        return made

    def message(self, i: int) -> Message:
        # As `Message(...)` does it, without the call in between.
        return tuple.__new__(
            Message, (self.seqs[i], self.times[i], self.subjects[i], self.headers[i], self.datas[i])
        )
