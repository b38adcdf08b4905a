"""`Unacked` against a twin that keeps a list and looks at all of it every time."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from jetstream_py.engine.unacked import Unacked

WAIT = 100
BACKOFF = (30, 70)


@dataclass
class Entry:
    dseq: int
    since: int
    redeliveries: int = 0


class Twin:
    """The same, obviously."""

    def __init__(self, wait: int, backoff: tuple[int, ...]) -> None:
        self.wait, self.backoff = wait, backoff
        self.owed: dict[int, Entry] = {}
        self.given_up: dict[int, int] = {}
        self.again: list[int] = []

    def deliver(self, seqs: list[int], first_dseq: int, now: int) -> None:
        for at, seq in enumerate(seqs):
            self.owed[seq] = Entry(first_dseq + at, now)

    def patience(self, seq: int) -> int:
        if not self.backoff:
            return self.wait
        return self.backoff[min(self.owed[seq].redeliveries, len(self.backoff) - 1)]

    def settle(self, seq: int) -> int:
        self.given_up.pop(seq, None)
        if seq in self.again:
            self.again.remove(seq)
        entry = self.owed.pop(seq, None)
        return entry.dseq if entry else 0

    def nak(self, seq: int, delay: int, now: int) -> None:
        if delay:
            self.owed[seq].since = now + delay - self.patience(seq)
            if seq in self.again:
                self.again.remove(seq)
        elif seq not in self.again:
            self.again.append(seq)

    def late(self, now: int) -> list[int]:
        return [
            seq
            for seq in sorted(self.owed)
            if self.owed[seq].since + self.patience(seq) <= now and seq not in self.again
        ]

    def give_up(self, seq: int) -> None:
        self.given_up[seq] = max(1, self.owed.pop(seq).redeliveries)


class Pair:
    """Both, and the clock."""

    def __init__(self, backoff: tuple[int, ...], most: int) -> None:
        self.real, self.twin = Unacked(WAIT, backoff), Twin(WAIT, backoff)
        self.most = most  # deliveries
        self.next_seq = self.next_dseq = 1
        self.now = 1_000

    def deliver(self, number: int) -> None:
        """Some new ones, with gaps between them."""
        seqs = list(range(self.next_seq, self.next_seq + number * 2, 2))
        self.real.deliver(seqs, self.next_dseq, self.now)
        self.twin.deliver(seqs, self.next_dseq, self.now)
        self.next_seq = seqs[-1] + 1
        self.next_dseq += number

    def settle(self, number: int) -> None:
        seq = number % self.next_seq
        assert self.real.settle(seq) == self.twin.settle(seq)

    def settle_run(self, number: int) -> None:
        if not self.real.repeated:
            seqs = [*range(1, self.next_seq, number % 3 + 1), 1]
            expected = [dseq for seq in seqs if (dseq := self.twin.settle(seq))]
            assert self.real.settle_run(seqs) == expected

    def settle_upto(self, number: int) -> None:
        seq = number % self.next_seq
        settled = self.real.settle_upto(seq)
        assert settled == sorted(each for each in self.twin.owed if each <= seq)
        for each in settled:
            self.twin.settle(each)

    def owed(self, number: int) -> int:
        seqs = sorted(self.twin.owed)
        return seqs[number % len(seqs)] if seqs else 0

    def nak(self, number: int) -> None:
        if seq := self.owed(number):
            delay = number % 4 * 25
            self.real.nak(seq, delay, self.now)
            self.twin.nak(seq, delay, self.now)

    def extend(self, number: int) -> None:
        if seq := self.owed(number):
            self.real.extend(seq, self.now)
            self.twin.owed[seq].since = self.now

    def again(self, number: int) -> None:
        """Deliver some again."""
        for _ in range(number):
            seq = self.real.next_again()
            assert seq == (self.twin.again.pop(0) if self.twin.again else 0)
            if not seq:
                return
            entry = self.twin.owed[seq]
            entry.redeliveries += 1
            entry.since = self.now
            self.real.redeliveries[seq] = entry.redeliveries
            self.real.redelivered(seq, self.now)
            self.next_dseq += 1

    def put_back(self, number: int) -> None:
        """Nobody took it."""
        seq = self.real.next_again()
        assert seq == (self.twin.again[0] if self.twin.again else 0)
        if seq:
            self.real.put_back(seq)

    def pass_time(self, number: int) -> None:
        self.now += number * 10
        due = [entry.since + self.twin.patience(seq) for seq, entry in self.waiting()]
        if due:  # the alarm may ring too early, never too late
            told = self.real.next_due()
            assert told > 0
            assert told <= min(due)
        late = self.real.late(self.now)
        assert late == self.twin.late(self.now)
        for seq in late:
            if 0 < self.most <= self.twin.owed[seq].redeliveries + 1:
                self.real.give_up(seq)
                self.twin.give_up(seq)
            else:
                self.real.queue(seq)
                self.twin.again.append(seq)

    def waiting(self) -> list[tuple[int, Entry]]:
        return [(seq, entry) for seq, entry in self.twin.owed.items() if seq not in self.twin.again]

    def configure(self, number: int) -> None:
        self.twin.wait, self.twin.backoff = WAIT + number, BACKOFF[: number % 3]
        self.real.configure(self.twin.wait, self.twin.backoff)

    def clear(self, number: int) -> None:
        if number == 0:
            self.real.clear()
            self.twin = Twin(self.twin.wait, self.twin.backoff)

    def check(self) -> None:
        real, twin = self.real, self.twin
        assert real.dseq == {seq: entry.dseq for seq, entry in twin.owed.items()}
        assert real.since == {seq: entry.since for seq, entry in twin.owed.items()}
        again = {seq: e.redeliveries for seq, e in twin.owed.items() if e.redeliveries}
        assert real.redeliveries == again | twin.given_up
        assert real.oldest() == min(twin.owed, default=0)
        assert (len(real), real.queued, real.waiting) == (
            len(twin.owed),
            len(twin.again),
            bool(twin.again),
        )


STEPS = {
    name: getattr(Pair, name)
    for name in (
        "deliver",
        "settle",
        "settle_run",
        "settle_upto",
        "nak",
        "extend",
        "again",
        "put_back",
        "pass_time",
        "configure",
        "clear",
    )
}


@settings(max_examples=300, deadline=None)
@given(
    backoff=st.sampled_from([(), BACKOFF]),
    most=st.sampled_from([-1, 1, 2, 3]),
    steps=st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(1, 12)), max_size=40),
)
def test_equals_the_twin(backoff: tuple[int, ...], most: int, steps: list[tuple[str, int]]) -> None:
    pair = Pair(backoff, most)
    pair.deliver(3)
    for name, number in steps:
        STEPS[name](pair, number)
        pair.check()


def test_nothing_is_left_of_what_is_over() -> None:
    """A client that asks again and acks, for ever, makes nothing grow."""
    unacked = Unacked(WAIT, ())
    for seq in range(1, 20_001):
        unacked.deliver([seq], seq, seq)
        unacked.nak(seq, 0, seq)
        unacked.nak(seq, 50, seq)
        unacked.extend(seq, seq)
        unacked.nak(seq, 0, seq)
        unacked.settle(seq)
        unacked.oldest()
    assert len(unacked) == 0
    assert not unacked.waiting
    held = [len(getattr(unacked, name)) for name in ("_order", "_again", "_queued", "_due")]
    assert max(held) < 10_000, held


def test_a_client_that_changes_its_mind_makes_nothing_grow() -> None:
    unacked = Unacked(WAIT, ())
    unacked.deliver([1, 2], 1, 0)
    for now in range(20_000):
        unacked.nak(1, 0, now)
        unacked.nak(1, 50, now)
    assert len(unacked._again) < 10_000
    unacked.nak(2, 0, 20_000)
    unacked.nak(1, 0, 20_000)
    assert [unacked.next_again(), unacked.next_again(), unacked.next_again()] == [2, 1, 0]
