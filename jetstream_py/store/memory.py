"""A stream in memory: the dummy twin of the file stream, and a product of its own.

Messages are in a dict by sequence. Order is kept in `Seqs`, ascending lists from which the dead are
cleaned out lazily: one for the stream, one per subject. Each costs amortised O(1) per append and remove
and O(log n) per seek, whatever the order of removal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from itertools import repeat

from jetstream_py import limits

from .columns import Columns
from .subjects import SubjectTable
from .types import Message

OVERHEAD = 16  # of a message in the stream's `bytes`


class Seqs:
    """Ascending sequences of which some may be dead; `alive` is who lives."""

    __slots__ = ("_alive", "_head", "_items", "live")

    def __init__(self, alive: Container[int]) -> None:
        self._alive = alive
        self._items: list[int] = []
        self._head = 0
        self.live = 0

    def append(self, seq: int) -> None:
        self._items.append(seq)
        self.live += 1

    def extend(self, seqs: Sequence[int]) -> None:
        self._items.extend(seqs)
        self.live += len(seqs)

    def died(self) -> None:
        """One of the items is no longer in `alive`."""
        self.live -= 1
        if len(self._items) - self._head > 2 * self.live + 64:
            self._items = [seq for seq in self._items if seq in self._alive]
            self._head = 0

    def first(self) -> int:
        """The smallest living one; 0 if there is none."""
        items, alive = self._items, self._alive
        head, end = self._head, len(items)
        while head < end and items[head] not in alive:
            head += 1
        if head > 1024 and head > end // 2:
            del items[:head]
            head, end = 0, len(items)
        self._head = head
        return items[head] if head < end else 0

    def last(self, up_to: int = 0) -> int:
        """The largest living one, or the largest not above `up_to`."""
        items, alive = self._items, self._alive
        if not up_to:
            while items and items[-1] not in alive:
                items.pop()
            self._head = min(self._head, len(items))  # what is appended next lives
            return items[-1] if items else 0
        at = bisect_left(items, up_to + 1, self._head) - 1
        while at >= self._head and items[at] not in alive:
            at -= 1
        return items[at] if at >= self._head else 0

    def at(self, seq: int) -> int:
        """The first living one that is not below `seq`; 0 if there is none."""
        items, alive = self._items, self._alive
        at, end = bisect_left(items, seq, self._head), len(items)
        while at < end and items[at] not in alive:
            at += 1
        return items[at] if at < end else 0

    def since(self, seq: int) -> Iterator[int]:
        """Living ones from `seq` on. The list must not change meanwhile."""
        items, alive = self._items, self._alive
        for at in range(bisect_left(items, seq, self._head), len(items)):
            if items[at] in alive:
                yield items[at]

    def search(self, reached: Callable[[int], bool]) -> int:
        """The first living one that has `reached` something that all later ones have, too; 0 if none."""
        items, alive = self._items, self._alive
        low, high = self._head, len(items)
        while low < high:
            middle = probe = (low + high) // 2
            while probe < high and items[probe] not in alive:
                probe += 1
            if probe == high or reached(items[probe]):
                high = middle
            else:
                low = probe + 1
        return self.at(items[low]) if low < len(items) else 0

    def __iter__(self) -> Iterator[int]:
        return self.since(0)


class MemoryStream:
    """See `StreamStore`."""

    def __init__(self, sid: int) -> None:
        self.sid = sid
        self.first_seq = self.last_seq = self.messages = self.bytes = self.last_ts = 0
        self.removed: list[int] | None = None
        self._all: dict[int, Message] = {}
        self._order = Seqs(self._all)
        self._table = SubjectTable()
        self._by: dict[bytes, Seqs] = {}

    @property
    def first_ts(self) -> int:
        return self._all[self.first_seq].ts if self.messages else 0

    @property
    def durable_seq(self) -> int:
        return self.last_seq  # as durable as it gets

    @property
    def num_subjects(self) -> int:
        return len(self._by)

    def size(self, subject: bytes, headers: bytes, data: bytes) -> int:
        return OVERHEAD + len(subject) + len(headers) + len(data)

    # -- changes -----------------------------------------------------------------------------------
    def append(self, subject: bytes, headers: bytes, data: bytes, ts: int, seq: int = 0) -> int:
        if not seq:
            seq = self.last_seq + 1
        elif seq <= self.last_seq:
            raise ValueError("sequences only rise")
        if not self.messages:
            self.first_seq = seq
        self._all[seq] = Message(seq, ts, subject, headers, data)
        self._order.append(seq)
        self._seqs_of(subject).append(seq)
        self._table.add(subject, seq)
        self.last_seq, self.last_ts = seq, ts
        self.messages += 1
        self.bytes += OVERHEAD + len(subject) + len(headers) + len(data)
        return seq

    def append_run(
        self,
        subjects: Sequence[bytes],
        datas: Sequence[bytes],
        ts: int,
        headers: Sequence[bytes] = (),
    ) -> tuple[int, Collection[bytes]]:
        first, n = self.last_seq + 1, len(datas)
        seqs = range(first, first + n)
        rows = zip(seqs, repeat(ts), subjects, headers or repeat(b""), datas, strict=False)
        self._all.update(zip(seqs, map(Message._make, rows), strict=True))
        self._order.extend(seqs)
        names = self._table.add_run(subjects, seqs)
        if len(names) == 1:
            self._seqs_of(subjects[0]).extend(seqs)
        else:
            for seq, subject in zip(seqs, subjects, strict=True):
                self._seqs_of(subject).append(seq)
        if not self.messages:
            self.first_seq = first
        self.last_seq, self.last_ts = first + n - 1, ts
        self.messages += n
        self.bytes += self.run_size(subjects, datas, headers)
        return first, names

    def append_columns(self, run: Columns) -> None:
        for seq, ts, subject, headers, data in run.messages():
            self.append(subject, headers, data, ts, seq)

    def replace(self, subject: bytes, headers: bytes, data: bytes, ts: int) -> int:
        before = list(self._by.get(subject, ()))
        seq = self.append(subject, headers, data, ts)
        self._remove_all(before)
        return seq

    def replace_run(
        self,
        subjects: Sequence[bytes],
        datas: Sequence[bytes],
        ts: int,
        headers: Sequence[bytes] = (),
    ) -> int:
        first, names = self.append_run(subjects, datas, ts, headers)
        by, gone = self._by, list[int]()
        for name in names:
            seqs = by[name]
            if seqs.live > 1:
                gone += list(seqs)[:-1]
        self._remove_all(gone)
        return first

    def _seqs_of(self, subject: bytes) -> Seqs:
        seqs = self._by.get(subject)
        if seqs is None:
            seqs = self._by[subject] = Seqs(self._all)
        return seqs

    def run_size(
        self, subjects: Sequence[bytes], datas: Sequence[bytes], headers: Sequence[bytes] = ()
    ) -> int:
        lengths = sum(map(len, subjects)) + sum(map(len, headers)) + sum(map(len, datas))
        return OVERHEAD * len(datas) + lengths

    def skip(self, count: int = 1) -> int:
        self.last_seq += count
        if not self.messages:
            self.first_seq = self.last_seq + 1
        return self.last_seq

    def start_at(self, first_seq: int) -> None:
        if self.messages or first_seq <= self.last_seq:
            raise ValueError("the stream has begun already")
        self.first_seq, self.last_seq = first_seq, first_seq - 1

    def _drop(self, message: Message) -> None:
        subject = message.subject
        del self._all[message.seq]
        self._order.died()
        self._by[subject].died()
        if not self._by[subject].live:
            del self._by[subject]
        self._table.drop(subject)
        if self.removed is not None:
            self.removed.append(message.seq)
        self.messages -= 1
        self.bytes -= OVERHEAD + len(subject) + len(message.headers) + len(message.data)

    def _settle(self) -> None:
        """Find the new head."""
        if self.messages:
            self.first_seq = self._order.first()
        elif self.last_seq or self.first_seq:
            self.first_seq = self.last_seq + 1

    def remove(self, seq: int, erase: bool = False) -> Message | None:
        message = self._all.get(seq)
        if message is not None:
            self._drop(message)
            if seq == self.first_seq:
                self._settle()
        return message

    def discard(self, seq: int) -> bool:
        return self.remove(seq) is not None

    def discard_all(self, seqs: Iterable[int]) -> int:
        return self._remove_all([seq for seq in sorted(set(seqs)) if seq in self._all])

    def trim(self, before: int) -> int:
        return self._remove_all(self._below(self._order, before))

    def shrink(self, messages: int, bytes_: int) -> None:
        while self.messages > messages or self.bytes > bytes_:
            self.remove(self.first_seq)

    def _below(self, seqs: Iterable[int], before: int) -> list[int]:
        found = []
        for seq in seqs:
            if seq >= before:
                break
            found.append(seq)
        return found

    def _remove_all(self, seqs: list[int]) -> int:
        for seq in seqs:
            self._drop(self._all[seq])
        if seqs:
            self._settle()
        return len(seqs)

    def purge(self, pattern: bytes = b"", before: int = 0, keep: int = 0) -> int:
        return self._remove_all(self._matches(pattern, before, keep))

    def _matches(self, pattern: bytes, before: int, keep: int) -> list[int]:
        everything = pattern in (b"", b">")
        names = [] if everything else list(self._table.matching(pattern))
        seqs = (
            list(self._order) if everything else sorted(s for name in names for s in self._by[name])
        )
        if before:
            seqs = self._below(seqs, before)
        return seqs[:-keep] if keep else seqs

    def begin_purge(self, pattern: bytes, before: int, keep: int) -> MemoryPurge:
        return MemoryPurge(self, self._matches(pattern, before, keep))

    def drop_those_left(self, seqs: list[int]) -> int:
        return self._remove_all([seq for seq in seqs if seq in self._all])

    # -- reads -------------------------------------------------------------------------------------
    def get(self, seq: int) -> Message | None:
        return self._all.get(seq)

    def newest(self, subject: bytes) -> Message | None:
        seqs = self._by.get(subject)
        return self._all.get(seqs.last()) if seqs is not None else None

    def seq_at(self, ts: int) -> int:
        return self._order.search(lambda seq: self._all[seq].ts >= ts) or self.last_seq + 1

    def next(self, seq: int, pattern: bytes = b"") -> Message | None:
        if pattern in (b"", b">"):
            message = self._all.get(seq)
            return message if message is not None else self._all.get(self._order.at(seq))
        wanted = self._table.filter(pattern)
        if wanted.everything:
            return self._all.get(self._order.at(seq))
        if wanted.hashes is not None:
            found = [self._by[name].at(seq) for name in wanted.names if name in self._by]
            return self._all.get(min((at for at in found if at), default=0))
        names = wanted.names
        return next(
            (self._all[at] for at in self._order.since(seq) if self._all[at].subject in names), None
        )

    def run(self, seq: int, most: int, pattern: bytes, up_to: int) -> Columns:
        found = Columns()
        while len(found) < most and seq <= up_to:
            message = self.next(seq, pattern)
            if message is None or message.seq > up_to:
                break
            found.append(*message)
            seq = message.seq + 1
        return found

    def last(self, pattern: bytes, up_to: int = 0) -> int:
        if pattern in (b"", b">"):
            return self._order.last(up_to)
        return max(
            (self._by[name].last(up_to) for name in self._table.matching(pattern)), default=0
        )

    def lasts(self, pattern: bytes, since: int, up_to: int) -> list[int]:
        found = [self._by[name].last(up_to) for name in self._table.matching(pattern)]
        return sorted(seq for seq in found if seq and seq >= since)

    def expect_oldest(self) -> None:
        """Nothing to prepare: `oldest` is always cheap."""

    def oldest(self, subject: bytes) -> int:
        seqs = self._by.get(subject)
        return seqs.first() if seqs is not None else 0

    def count(self, pattern: bytes = b"", since: int = 0) -> int:
        if since <= self.first_seq:
            if pattern in (b"", b">"):
                return self.messages
            return self._table.count_of(pattern, self.messages)
        if pattern in (b"", b">"):
            return sum(1 for _ in self._order.since(since))
        return sum(1 for name in self._table.matching(pattern) for _ in self._by[name].since(since))

    def subjects(self, pattern: bytes = b"") -> dict[bytes, int]:
        return self._table.counts(pattern)

    def deleted(self) -> list[int]:
        if not self.messages:
            return []
        return [seq for seq in range(self.first_seq, self.last_seq + 1) if seq not in self._all]

    def num_deleted(self) -> int:
        return self.last_seq - self.first_seq + 1 - self.messages if self.messages else 0

    def tail_headers(self, since_ts: int) -> Iterator[Message]:
        for seq in self._order.since(self.seq_at(since_ts)):
            message = self._all[seq]
            if message.headers:
                yield message

    def headed(self, seq: int, up_to: int) -> Iterator[Message]:
        for at in self._order.since(seq):
            if at > up_to:
                return
            message = self._all[at]
            if message.headers:
                yield message


class MemoryPurge:
    """See `Purge`. Finding what is to go is quick, dropping it is not."""

    __slots__ = ("_at", "_seqs", "_stream", "done")

    def __init__(self, stream: MemoryStream, seqs: list[int]) -> None:
        self._stream, self._seqs, self._at = stream, seqs, 0
        self.done = not seqs

    def step(self) -> int:
        at = self._at
        self._at += limits.PURGE_RECORDS
        self.done = self._at >= len(self._seqs)
        return self._stream.drop_those_left(self._seqs[at : self._at])
