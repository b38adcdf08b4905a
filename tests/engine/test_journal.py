"""The journal brings back what was written last, whatever happened before, and stays small."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetstream_py import limits
from jetstream_py.clock import ManualClock
from jetstream_py.engine.journal import Delta, Journal
from jetstream_py.engine.unacked import Unacked

KEY_SIZE = len(b"c%08x%08x" % (1, 1))
WEIGHT = 400  # so that the whole state is written now and then


class Shelf:
    """What a journal sees of the server: a place for records, a clock that stands still."""

    def __init__(self) -> None:
        self.records: dict[bytes, bytes] = {}
        self.clock = ManualClock()
        self.store = self.outbox = self.timers = self
        self.armed: list[Any] = []

    def put_meta(self, key: bytes, raw: bytes | None) -> None:
        if raw is None:
            self.records.pop(key, None)
        else:
            self.records[key] = raw

    def commit_soon(self) -> None:
        """Every record is there at once."""

    def call_later(self, delay: float, call: Any) -> Any:
        self.armed.append(call)
        return SimpleNamespace(cancel=lambda: None)

    def now(self) -> int:
        return int(self.clock.monotonic() * 1e9)

    def deltas(self) -> list[bytes]:
        return [raw for key, raw in sorted(self.records.items()) if len(key) > KEY_SIZE]


class Owner:
    """What a journal sees of a consumer."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.journal = Journal(cast(Any, shelf), 1, 1)
        self.position = SimpleNamespace(next_seq=1, resume=0)
        self.unacked = Unacked(1_000, ())
        self.next_dseq = 1
        self.floor_seq = self.floor_stream_seq = 0
        self.found: tuple[object, ...] = ()

    def write(self) -> None:
        self.journal.write(cast(Any, self))

    def state(self) -> tuple[object, ...]:
        unacked, offset = self.unacked, self.shelf.clock.now_ns() - self.shelf.now()
        owed = {seq: (dseq, unacked.since[seq] + offset) for seq, dseq in unacked.dseq.items()}
        return self._place(), owed, dict(unacked.redeliveries)

    def _place(self) -> tuple[int, ...]:
        floor = self.floor_seq, self.floor_stream_seq
        return self.position.next_seq, self.next_dseq, *floor, self.position.resume

    def restore(
        self, delta: Delta, owed: dict[int, tuple[int, int]], redeliveries: dict[int, int]
    ) -> None:
        place = delta.next_seq, delta.next_dseq, delta.floor_seq, delta.floor_stream_seq
        self.found = (*place, delta.resume), owed, redeliveries

    def reread(self) -> None:
        """As after a restart: a new journal goes on with the records."""
        self.journal = Journal(cast(Any, self.shelf), 1, 1)
        self.journal.restore(cast(Any, self), self.shelf.deltas())

    # -- what happens ------------------------------------------------------------------------------

    def deliver(self, number: int) -> None:
        seqs = list(range(self.position.next_seq, self.position.next_seq + number))
        self.unacked.deliver(seqs, self.next_dseq, self.shelf.now())
        self.position.next_seq += number
        self.next_dseq += number
        self.shelf.clock.advance(0.25)

    def settle(self, number: int) -> None:
        for seq in list(self.unacked.dseq)[:number]:
            self.unacked.settle(seq)
            self.floor_stream_seq = max(self.floor_stream_seq, seq)

    def settle_last(self, number: int) -> None:
        self.unacked.settle_run(list(self.unacked.dseq)[-number:]) if not self.repeated else None

    @property
    def repeated(self) -> bool:
        return self.unacked.repeated

    def again(self, number: int) -> None:
        for seq in list(self.unacked.dseq)[::number]:
            self.unacked.redeliveries[seq] = self.unacked.redeliveries.get(seq, 0) + 1
            self.unacked.redelivered(seq, self.shelf.now())
            self.next_dseq += 1

    def delay(self, number: int) -> None:
        for seq in list(self.unacked.dseq)[::number]:
            self.unacked.nak(seq, number * 1_000, self.shelf.now())

    def progress(self, number: int) -> None:
        self.shelf.clock.advance(0.25)
        for seq in list(self.unacked.dseq)[::number]:
            self.unacked.extend(seq, self.shelf.now())

    def give_up(self, number: int) -> None:
        for seq in list(self.unacked.dseq)[:number]:
            self.unacked.give_up(seq)

    def forget(self, number: int) -> None:
        """Messages that were given up leave the stream."""
        for seq in list(self.unacked.redeliveries)[:number]:
            self.unacked.settle(seq)

    def clear(self, number: int) -> None:
        if number == 1:
            self.unacked.clear()
            self.next_dseq = 1


STEPS = {
    name: getattr(Owner, name)
    for name in (
        "deliver",
        "settle",
        "settle_last",
        "again",
        "delay",
        "progress",
        "give_up",
        "forget",
        "clear",
    )
}


@pytest.fixture(autouse=True, scope="module")
def small() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "JOURNAL_WEIGHT", WEIGHT)
        yield


@settings(max_examples=200, deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(1, 9)), max_size=40),
    writes=st.integers(1, 4),
    reread=st.integers(0, 5),
)
def test_any_history_is_brought_back(
    steps: list[tuple[str, int]], writes: int, reread: int
) -> None:
    owner = Owner(Shelf())
    owner.write()
    for at, (name, number) in enumerate(steps):
        STEPS[name](owner, number)
        if at % writes == 0:
            owner.write()
            reader = Owner(owner.shelf)
            reader.reread()
            assert reader.found == owner.state()
            if reread and at % reread == 0:
                owner.reread()


def test_a_written_state_needs_no_more_than_twice_its_size() -> None:
    """However long it lives, restarts or not; and however few its debts are, the records are few."""
    owner = Owner(Shelf())
    owner.write()
    for at in range(3_000):
        owner.deliver(1 + at % 3)
        owner.settle(1 + at % 4)
        owner.write()
        if at % 97 == 0:
            owner.reread()
        deltas = owner.shelf.deltas()
        base, rest = len(deltas[0]), sum(map(len, deltas[1:]))
        assert rest <= max(base, WEIGHT) + 200
        assert len(deltas) < WEIGHT / 10
    assert owner.state() == (owner.reread(), owner.found)[1]


def test_a_deleted_consumer_leaves_nothing() -> None:
    shelf = Shelf()
    owner = Owner(shelf)
    for _ in range(50):
        owner.deliver(3)
        owner.settle(2)
        owner.write()
    owner.reread()
    assert shelf.records
    owner.journal.delete()
    assert not shelf.records


def test_changes_wait_for_one_timer_and_many_do_not_wait() -> None:
    shelf = Shelf()
    owner = Owner(shelf)
    owner.deliver(1)
    for _ in range(5):
        owner.journal.changed(cast(Any, owner))
    assert (len(shelf.armed), shelf.deltas()) == (1, [])
    shelf.armed[0]()
    assert len(shelf.deltas()) == 1
    owner.deliver(limits.JOURNAL_CHANGES + 1)
    owner.journal.changed(cast(Any, owner))
    assert len(shelf.deltas()) == 2
