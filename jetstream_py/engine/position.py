"""Where a consumer is in its stream, and how much lies ahead.

`next_seq` follows the last delivery. With a filter the next match may be far behind it; `_searched`
remembers how far a search in vain has come, so that it is not repeated. The number of matches ahead is
counted once and then kept: deliveries take from it, new messages are added when somebody asks, and
whatever removes messages ahead makes it unknown, so that it is counted anew. That is O(1) amortised per
message with any filter.

With `last_per_subject` a list of chosen sequences comes first: the newest message of each subject when the
consumer was made. What is newer than that follows as with everybody. Chosen ones that are removed before
their turn are noted in `_lost`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jetstream_py.store import Columns
from jetstream_py.subject import covers, matches, overlap

if TYPE_CHECKING:
    from jetstream_py.api.consumer_types import ConsumerConfig
    from jetstream_py.store import Message, StreamStore

_UNKNOWN = -1
NOTHING = Columns()


class Position:
    """One consumer's place in the messages of its stream."""

    __slots__ = (
        "_ahead",
        "_at",
        "_chosen",
        "_counted_first",
        "_counted_to",
        "_lost",
        "_searched",
        "_store",
        "filters",
        "next_seq",
        "pattern",
        "resume",
    )

    def __init__(self, store: StreamStore, filters: Sequence[str]) -> None:
        self._store = store
        self.next_seq = 1
        self._searched = 0
        self.resume = 0  # what is newer than this does not belong to the chosen ones
        self._chosen: list[int] = []
        self._at = 0  # how many of them had their turn
        self._lost: set[int] = set()
        self.filter(filters)

    def filter(self, filters: Sequence[str]) -> None:
        """Look for other subjects from here on."""
        self.filters = tuple(name.encode() for name in filters)
        self.pattern = b" ".join(self.filters)
        self._ahead = _UNKNOWN
        self._counted_to = self._counted_first = 0
        if self._chosen:
            left = [self._store.get(seq) for seq in self._chosen[self._at :]]
            self._keep([m.seq for m in left if m is not None and self.covers(m.subject)])

    def _keep(self, chosen: list[int]) -> None:
        self._chosen, self._at, self._lost = chosen, 0, set()

    def covers(self, subject: bytes) -> bool:
        return not self.filters or any(matches(subject, name) for name in self.filters)

    def within(self, pattern: bytes) -> bool:
        """Is everything that the consumer wants under the pattern?"""
        return bool(self.filters) and all(covers(pattern, name) for name in self.filters)

    def touches(self, pattern: bytes) -> bool:
        """Is anything that the consumer wants under the pattern?"""
        return not self.filters or any(overlap(pattern, name) for name in self.filters)

    # -- beginnings --------------------------------------------------------------------------------

    def start(self, config: ConsumerConfig) -> None:
        """Where a new consumer begins."""
        store = self._store
        first = max(store.first_seq, 1)
        match config.deliver_policy:
            case "all":
                self.next_seq = first
            case "new":
                self.next_seq = store.last_seq + 1
            case "last":
                self.next_seq = store.last(self.pattern) or first
            case "by_start_sequence":
                self.next_seq = max(first, config.opt_start_seq)
            case "by_start_time":
                self.next_seq = store.seq_at(config.start_ns or 0)
            case "last_per_subject":
                self.choose(first, store.last_seq)

    def choose(self, since: int, resume: int) -> None:
        """The newest message of each subject, as far as they are not older than `since`."""
        self._keep(self._store.lasts(self.pattern, since, resume))
        self.resume = resume
        self.next_seq = self._chosen[0] if self._chosen else max(resume, since)
        self._ahead = _UNKNOWN

    def move(self, seq: int) -> None:
        """Go to a sequence, forward or back."""
        self.next_seq = seq
        self._ahead = _UNKNOWN
        self._searched = 0
        self._pass(seq)

    def _pass(self, seq: int) -> None:
        """The chosen ones before `seq` have no turn any more."""
        if self._chosen:
            self._at = bisect_left(self._chosen, seq)
            self._lost = {lost for lost in self._lost if lost >= seq}
            if self._at == len(self._chosen):
                self._keep([])

    # -- reading -----------------------------------------------------------------------------------

    def read(self, most: int, up_to: int) -> Columns:
        """The next matches; the position moves when they were delivered, see `advance`."""
        if not self._chosen:
            since = max(self.next_seq, self._searched)
            if since > up_to:
                return NOTHING
            run = self._store.run(since, most, self.pattern, up_to)
            if not run:
                self._searched = up_to + 1
            return run
        found: list[Message] = []
        for seq in self._chosen[self._at : self._at + most]:
            message = self._store.get(seq)
            if message is not None:
                found.append(message)
            elif not found:
                self._pass(seq + 1)
                self._ahead = _UNKNOWN
            else:
                break
        if not found:
            if not self._chosen:
                self.next_seq = self.resume + 1
            return self.read(most, up_to)
        return Columns.of(found)

    def first(self, up_to: int) -> Message | None:
        """The next match alone, where it is easy to find."""
        since = self.next_seq
        if since < self._searched:
            since = self._searched
        if self._chosen or since > up_to:
            return None
        message = self._store.next(since, self.pattern)
        if message is None or message.seq > up_to:
            self._searched = up_to + 1
            return None
        return message

    def advance(self, seqs: Sequence[int]) -> None:
        """These were delivered."""
        self.next_seq = seqs[-1] + 1
        if self._chosen:
            self._pass(self.next_seq)
        if self._ahead > 0:
            self._ahead -= len(seqs)

    @property
    def looked_at(self) -> int:
        """The last sequence that needs no other look."""
        return max(self.next_seq, self._searched) - 1

    # -- counting ----------------------------------------------------------------------------------

    def ahead(self) -> int:
        """Matches that were not delivered."""
        store = self._store
        last = store.last_seq
        if self._ahead == _UNKNOWN or store.first_seq > max(self._counted_first, self.next_seq):
            self._pass(max(store.first_seq, self.next_seq))
            since = self.resume + 1 if self._chosen else self.looked_at + 1
            left = len(self._chosen) - self._at - len(self._lost)
            self._ahead = left + store.count(self.pattern, since)
            self._counted_first = store.first_seq
        elif last > self._counted_to:
            self._ahead += store.count(self.pattern, max(self._counted_to + 1, self.next_seq))
        self._counted_to = last
        return self._ahead

    def recount(self) -> None:
        """Whatever was removed: count anew."""
        self._ahead = _UNKNOWN

    def removed(self, seqs: Sequence[int], newest: int) -> None:
        """Messages were removed one by one, `newest` being the last in the stream."""
        if newest >= self.next_seq:
            self._ahead = _UNKNOWN
            if self._chosen:
                self._lost.update([seq for seq in seqs if self._is_chosen(seq)])

    def _is_chosen(self, seq: int) -> bool:
        at = bisect_left(self._chosen, seq, self._at)
        return at < len(self._chosen) and self._chosen[at] == seq

    def waits_for(self, seq: int) -> bool:
        """Is the sequence still ahead?"""
        if self._chosen and seq <= self.resume:
            return self._is_chosen(seq)
        return seq >= self.next_seq
