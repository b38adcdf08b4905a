"""What the rest of the server sees of a store: messages, streams, one kind of error.

`StreamStore` is the seam with two twins: `FileStream` (LMDB) and `MemoryStream`. One test class runs
on both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from .columns import Columns

Octets = bytes  # the type, where `bytes` is a stream's counter


class StoreError(Exception):
    """Something is wrong with the store; the text is for people."""


class StoreLocked(StoreError):
    """Somebody else has the directory."""


class Message(NamedTuple):
    """One stored message. `ts` is in nanoseconds since the epoch, no headers are `b""`."""

    seq: int
    ts: int
    subject: bytes
    headers: bytes
    data: bytes


class Purge(Protocol):
    """A purge in steps, of what was there when it began. Anything may happen between two of them."""

    done: bool

    def step(self) -> int:
        """Drop some, return how many."""
        ...


class StreamStore(Protocol):
    """The messages of one stream. Changes are visible at once and durable after the next commit.

    A new stream has `first_seq` 0 and `last_seq` 0; when every message is gone `first_seq` is
    `last_seq + 1`. `first_ts` is 0 without a message, `last_ts` keeps its value.
    """

    sid: int
    first_seq: int
    last_seq: int
    messages: int
    bytes: int
    last_ts: int

    @property
    def first_ts(self) -> int: ...

    @property
    def num_subjects(self) -> int: ...

    def size(self, subject: Octets, headers: Octets, data: Octets) -> int:
        """What such a message adds to `bytes`."""
        ...

    def append(self, subject: Octets, headers: Octets, data: Octets, ts: int, seq: int = 0) -> int:
        """Store a message, return its sequence; a given `seq` beyond the next one makes a gap."""
        ...

    def append_run(
        self,
        subjects: Sequence[Octets],
        datas: Sequence[Octets],
        ts: int,
        headers: Sequence[Octets] = (),
    ) -> tuple[int, Collection[Octets]]:
        """`append` for many messages, without headers unless they are given; returns the first one's
        sequence (the others follow without a gap) and the distinct subjects."""
        ...

    def append_columns(self, run: Columns) -> None:
        """`append` for many messages that have their sequences, which rise, and times."""
        ...

    def replace(self, subject: Octets, headers: Octets, data: Octets, ts: int) -> int:
        """`append`, and what the subject had before goes."""
        ...

    def replace_run(
        self,
        subjects: Sequence[Octets],
        datas: Sequence[Octets],
        ts: int,
        headers: Sequence[Octets] = (),
    ) -> int:
        """`replace` for many messages; returns the first one's sequence."""
        ...

    def run_size(
        self, subjects: Sequence[Octets], datas: Sequence[Octets], headers: Sequence[Octets] = ()
    ) -> int:
        """What such messages add to `bytes`."""
        ...

    def shrink(self, messages: int, bytes_: int) -> None:
        """Drop the oldest until no more than so many messages and bytes are left."""
        ...

    def skip(self, count: int = 1) -> int:
        """Use up sequences without a message, return the new last one."""
        ...

    def start_at(self, first_seq: int) -> None:
        """Let an empty stream begin with this sequence."""
        ...

    removed: list[int] | None  # sequences removed one by one, while somebody wants to know

    @property
    def durable_seq(self) -> int:
        """What a power cut cannot take back ends here."""
        ...

    def get(self, seq: int) -> Message | None: ...

    def newest(self, subject: Octets) -> Message | None:
        """The newest message of a literal subject."""
        ...

    def run(self, seq: int, most: int, pattern: Octets, up_to: int) -> Columns:
        """The first matches from `seq` to `up_to`, at most so many."""
        ...

    def remove(self, seq: int, erase: bool = False) -> Message | None:
        """Delete a message and return it; None when there is none."""
        ...

    def discard(self, seq: int) -> bool:
        """`remove` for those who do not want to see the message: cheaper, its payload is not read."""
        ...

    def discard_all(self, seqs: Iterable[int]) -> int:
        """`discard` for many; returns how many there were."""
        ...

    def trim(self, before: int) -> int:
        """Drop everything with a smaller sequence, return how many."""
        ...

    def purge(self, pattern: Octets = b"", before: int = 0, keep: int = 0) -> int:
        """Drop what matches (and is older than `before`), but leave the newest `keep` of it."""
        ...

    def begin_purge(self, pattern: Octets, before: int, keep: int) -> Purge:
        """`purge` for the caller to run step by step."""
        ...

    def seq_at(self, ts: int) -> int:
        """The first live sequence stored at or after `ts`; `last_seq + 1` if there is none."""
        ...

    def next(self, seq: int, pattern: Octets = b"") -> Message | None:
        """The first live message at or after `seq` that matches."""
        ...

    def last(self, pattern: Octets, up_to: int = 0) -> int:
        """The newest live match (not newer than `up_to`), 0 if there is none."""
        ...

    def lasts(self, pattern: Octets, since: int, up_to: int) -> list[int]:
        """The newest live sequence up to `up_to` of each matching subject, if it is not below `since`;
        in order."""
        ...

    def expect_oldest(self) -> None:
        """`oldest` will be asked for again and again."""
        ...

    def oldest(self, subject: Octets) -> int:
        """The oldest live sequence of a literal subject, 0 if there is none."""
        ...

    def count(self, pattern: Octets = b"", since: int = 0) -> int:
        """Live matches with a sequence of at least `since`."""
        ...

    def subjects(self, pattern: Octets = b"") -> dict[Octets, int]:
        """Live messages per matching subject."""
        ...

    def deleted(self) -> list[int]:
        """Sequences between `first_seq` and `last_seq` that are gone."""
        ...

    def num_deleted(self) -> int: ...

    def tail_headers(self, since_ts: int) -> Iterator[Message]:
        """Messages with headers stored at or after `since_ts`, oldest first; `data` may be empty."""
        ...

    def headed(self, seq: int, up_to: int) -> Iterator[Message]:
        """Messages with headers from `seq` to `up_to`; `data` may be empty."""
        ...
