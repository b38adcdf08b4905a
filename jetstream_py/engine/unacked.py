"""Messages that were delivered and not acked: what is owed, since when, and what must go out again.

Everything is kept as ints in dicts by stream sequence, and filled a run at a time by calls that loop in C:
a consumer may owe a million acks. First deliveries happen in rising order of sequence, so `_order`, from
whose head the acked are dropped lazily, tells the oldest one in O(1) amortised.

Deadlines are a heap of runs: messages that left together are due together. A run is a hint to look; whether
a message is late is decided by the time of its last delivery alone, so acks and extensions need not find
their place in the heap. It is made anew when most of it is history.

Times are nanoseconds of the monotonic clock.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Sequence

_SLACK = 4096  # history that the heap may hold beyond what is owed


class Unacked:
    """The deliveries of one consumer that are not settled."""

    __slots__ = (
        "_again",
        "_backoff",
        "_due",
        "_hinted",
        "_order",
        "_queued",
        "_runs",
        "_tickets",
        "_wait",
        "dseq",
        "redeliveries",
        "since",
        "touched",
    )

    def __init__(self, wait: int, backoff: Sequence[int]) -> None:
        self.dseq: dict[int, int] = {}  # the consumer's sequence of the first delivery
        self.since: dict[int, int] = {}  # when it was delivered last
        self.redeliveries: dict[int, int] = {}  # may outlive the debt: see max_deliver
        self.touched: set[int] = set()  # what the journal has not seen yet
        self._order: deque[int] = deque()
        self._due: list[tuple[int, int, Collection[int]]] = []  # deadline, tie breaker, run
        self._hinted = 0
        self._again: deque[tuple[int, int]] = deque()  # ticket and sequence, in order ...
        self._queued: dict[int, int] = {}  # ... and the ticket that counts
        self._tickets = 0
        self.configure(wait, backoff)

    def configure(self, wait: int, backoff: Sequence[int]) -> None:
        self._wait, self._backoff = wait, backoff
        self._rebuild()

    def __len__(self) -> int:
        return len(self.dseq)

    def __contains__(self, seq: int) -> bool:
        return seq in self.dseq

    def oldest(self) -> int:
        """The smallest sequence that is owed, 0 if none is."""
        order, owed = self._order, self.dseq
        while order and order[0] not in owed:
            order.popleft()
        return order[0] if order else 0

    def wait(self, seq: int) -> int:
        """How long an ack may take this time; 0: for ever."""
        if self._backoff:
            return self._backoff[min(self.redeliveries.get(seq, 0), len(self._backoff) - 1)]
        return self._wait

    # -- deliveries --------------------------------------------------------------------------------

    def deliver(self, seqs: Sequence[int], first_dseq: int, now: int) -> None:
        """First deliveries, in rising order."""
        if len(seqs) == 1:
            (seq,) = seqs
            self.dseq[seq] = first_dseq
            self.since[seq] = now
            self._order.append(seq)
            self.touched.add(seq)
        else:
            self.dseq.update(zip(seqs, range(first_dseq, first_dseq + len(seqs)), strict=True))
            self.since.update(dict.fromkeys(seqs, now))
            self._order.extend(seqs)
            self.touched.update(seqs)
        first = self._backoff[0] if self._backoff else self._wait
        if first:
            self._hint(now + first, seqs)

    def redelivered(self, seq: int, now: int) -> None:
        self._begin_anew(seq, now)

    def _begin_anew(self, seq: int, now: int) -> None:
        """The time for its ack begins now, if there is an end to it."""
        self.since[seq] = now
        self.touched.add(seq)
        if wait := self.wait(seq):
            self._hint(now + wait, (seq,))

    def restore(self, seq: int, dseq: int, since: int) -> None:
        """What a journal says, in rising order."""
        self.dseq[seq] = dseq
        self.since[seq] = since
        self._order.append(seq)

    def restored(self) -> None:
        self._rebuild()

    # -- the end of a debt -------------------------------------------------------------------------

    def settle(self, seq: int) -> int:
        """Acked, terminated or gone. Returns the consumer's sequence, 0 if nothing was owed."""
        dseq = self.dseq.pop(seq, 0)
        if dseq:
            del self.since[seq]
            self.touched.add(seq)
        if self.redeliveries:
            if self.redeliveries.pop(seq, 0):
                self.touched.add(seq)
            self._queued.pop(seq, None)
        elif self._queued:
            self._queued.pop(seq, None)
        return dseq

    @property
    def repeated(self) -> bool:
        """Was anything that is remembered delivered twice, or is it about to be?"""
        return bool(self.redeliveries or self._queued)

    def settle_run(self, seqs: list[int]) -> list[int]:
        """`settle` for many, when nothing is `repeated`. The consumer's sequences of what was owed."""
        take, forget = self.dseq.pop, self.since.pop
        dseqs = [dseq for seq in seqs if (dseq := take(seq, 0))]
        for seq in seqs:
            forget(seq, 0)
        self.touched.update(seqs)
        return dseqs

    def settle_upto(self, seq: int) -> list[int]:
        """Everything up to a sequence; what was owed."""
        settled = []
        while (oldest := self.oldest()) and oldest <= seq:
            self.settle(oldest)
            settled.append(oldest)
        return settled

    def give_up(self, seq: int) -> None:
        """Delivered too often: it is owed no more, but remembered, because it was never acked."""
        if self.dseq.pop(seq, 0):
            del self.since[seq]
        self.redeliveries.setdefault(seq, 1)
        self.touched.add(seq)

    def forget_before(self, first_seq: int) -> None:
        """What the stream has lost need not be remembered."""
        redeliveries = self.redeliveries
        if redeliveries and next(iter(redeliveries)) < first_seq:
            for seq in [seq for seq in redeliveries if seq < first_seq]:
                del redeliveries[seq]
                self.touched.add(seq)

    def clear(self) -> None:
        self.touched.update(self.dseq, self.redeliveries)
        self.dseq.clear()
        self.since.clear()
        self.redeliveries.clear()
        self._order.clear()
        self._again.clear()
        self._queued.clear()
        self._due, self._hinted = [], 0

    # -- again -------------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """Something is to be delivered again."""
        return bool(self._queued)

    @property
    def queued(self) -> int:
        return len(self._queued)

    def nak(self, seq: int, delay: int, now: int) -> None:
        """The client wants it again: now, or after the delay."""
        if delay:
            self.since[seq] = now + delay - self.wait(seq)
            self.touched.add(seq)
            self._hint(now + delay, (seq,))
            self._queued.pop(seq, None)
        else:
            self.queue(seq)

    def extend(self, seq: int, now: int) -> None:
        """The client is still at it."""
        self._begin_anew(seq, now)

    def queue(self, seq: int) -> None:
        """It goes out again, after those that are queued."""
        if seq in self._queued:
            return
        self._tickets += 1
        self._queued[seq] = self._tickets
        self._again.append((self._tickets, seq))
        if len(self._again) > 2 * len(self._queued) + _SLACK:
            self._again = deque((ticket, seq) for seq, ticket in self._queued.items())

    def late(self, now: int) -> list[int]:
        """Everything whose ack is overdue, oldest first: to be queued, or given up."""
        due, late = self._due, set()
        while due and due[0][0] <= now:
            _, _, seqs = heapq.heappop(due)
            self._hinted -= len(seqs)
            for seq in seqs:
                since = self.since.get(seq)
                if since is None or seq in self._queued:
                    continue
                if since + self.wait(seq) <= now:
                    late.add(seq)
        return sorted(late)

    def next_again(self) -> int:
        """Take the next one to be delivered again, 0 if there is none."""
        again, queued = self._again, self._queued
        while queued:
            ticket, seq = again.popleft()
            if queued.get(seq) == ticket:
                del queued[seq]
                return seq
        again.clear()
        return 0

    def put_back(self, seq: int) -> None:
        """It could not be delivered after all: it stays the next one."""
        self._queued[seq] = 0
        self._again.appendleft((0, seq))

    def next_due(self) -> int:
        """When to look for late ones, 0 for never."""
        return self._due[0][0] if self._due else 0

    def _hint(self, deadline: int, seqs: Collection[int]) -> None:
        self._runs += 1
        heapq.heappush(self._due, (deadline, self._runs, seqs))
        self._hinted += len(seqs)
        if self._hinted > 2 * len(self.dseq) + _SLACK:
            self._rebuild()

    def _rebuild(self) -> None:
        runs: dict[int, list[int]] = {}
        for seq, since in self.since.items():
            if self._wait and seq not in self._queued:
                runs.setdefault(since + self.wait(seq), []).append(seq)
        self._due = [(due, i, runs[due]) for i, due in enumerate(sorted(runs))]
        self._runs = len(runs)
        self._hinted = len(self.since)
