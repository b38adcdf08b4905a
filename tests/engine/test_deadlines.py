"""The table of deadlines against a dict."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from jetstream_py import limits
from jetstream_py.engine.ttl import FAR, NEVER, SECOND, Deadlines, deadline_of, parse_ttl

START = 1_700_000_000 * SECOND
TTLS = st.one_of(st.integers(1, 3), st.integers(1, 3 * limits.TTL_NEAR), st.just(86_400))


class DeadlinesMachine(RuleBasedStateMachine):
    """Sequences come and go, time passes, the process ends: what is due is taken, nothing else is."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.live: dict[int, int] = {}
        self.last = 0
        self.table = Deadlines()
        self.stored: dict[int, int] = {}

    def read(self, chunk: int) -> list[tuple[int, int]]:
        return [it for it in sorted(self.live.items()) if it[0] >> limits.TTL_CHUNK == chunk]

    @rule(ttl=TTLS, skipped=st.sampled_from([0, 0, 0, 1, 400, 5_000]))
    def publish(self, ttl: int, skipped: int) -> None:
        self.last += skipped + 1
        self.live[self.last] = self.now + ttl * SECOND
        self.table.add(self.last, self.live[self.last], self.now)

    @rule(pick=st.integers(0, 1 << 20))
    def remove(self, pick: int) -> None:
        if self.live:
            del self.live[sorted(self.live)[pick % len(self.live)]]

    @rule()
    def trim(self) -> None:
        """The older half goes."""
        for seq in sorted(self.live)[: len(self.live) // 2]:
            del self.live[seq]
        self.table.forget_before(min(self.live, default=self.last + 1))

    @rule(seconds=st.sampled_from([1, 2, 60, limits.TTL_NEAR, 4_000]), most=st.sampled_from([1, 3]))
    def pass_time(self, seconds: int, most: int) -> None:
        self.now += seconds * SECOND
        while taken := self.table.take(self.now, most, self.read):
            assert taken == sorted(set(taken))
            for seq in taken:
                assert self.live.pop(seq, 0) <= self.now
        assert not [seq for seq, deadline in self.live.items() if deadline <= self.now]

    @rule()
    def shrink(self) -> None:
        self.table.shrink(lambda seq: min((it for it in self.live if it >= seq), default=0))
        assert len(self.table) == 0
        assert self.table.bounds.keys() <= {seq >> limits.TTL_CHUNK for seq in self.live}

    @rule()
    def restart(self) -> None:
        self.table = Deadlines()
        self.table.load(self.stored)

    @invariant()
    def what_is_stored_is_never_late(self) -> None:
        for chunk in self.table.changed:
            self.stored.pop(chunk, None)
            if chunk in self.table.bounds:
                self.stored[chunk] = self.table.bounds[chunk]
        self.table.changed.clear()
        assert self.stored == self.table.bounds
        for seq, deadline in self.live.items():
            assert self.stored[seq >> limits.TTL_CHUNK] <= deadline

    @invariant()
    def it_wakes_in_time(self) -> None:
        earliest = min(self.live.values(), default=0)
        assert not earliest or 0 < self.table.next_due() <= earliest


TestDeadlines = DeadlinesMachine.TestCase
TestDeadlines.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_a_million_far_deadlines_are_a_thousand_numbers() -> None:
    table = Deadlines()
    for seq in range(1, 1_000_001):
        table.add(seq, START + 3_600 * SECOND + seq, START + seq)
    assert len(table) == 0
    assert len(table.bounds) == 977


def test_a_chunk_is_read_once_in_a_while_whatever_is_in_it() -> None:
    """A thousand deadlines, one in each second: five minutes of them are taken from one look."""
    deadlines = {seq: START + (1_000 + seq) * SECOND for seq in range(1, 1_001)}
    table = Deadlines()
    for seq, deadline in deadlines.items():
        table.add(seq, deadline, START)
    looks = []

    def read(chunk: int) -> list[tuple[int, int]]:
        looks.append(chunk)
        return [it for it in deadlines.items() if it[0] not in taken]

    taken: list[int] = []
    for second in range(2_001):
        taken += table.take(START + second * SECOND, 100, read)
    assert taken == list(deadlines)
    assert len(looks) == 4
    assert (table.next_due(), table.bounds) == (0, {})


def test_numbers_about_removed_messages_are_the_minority() -> None:
    table = Deadlines()
    for seq in range(1, 100_001):  # one key, written again and again
        table.add(seq, START + 60 * SECOND, START)
        if table.crowded(messages=1):
            table.shrink(lambda at, newest=seq: newest if newest >= at else 0)  # type: ignore[misc]
        assert len(table) <= 2 + limits.TTL_SLACK
    assert len(table.bounds) <= 2


@pytest.mark.parametrize(
    ("value", "ttl"),
    [
        (b"1", 1),
        (b"1999ms", 1),
        (b"1h0m1s", 3601),
        (b"never", NEVER),
        (b"NeVeR", NEVER),
        (b"000", 0),
        (b"999ms", None),
        (b"0", None),
        (b"+5", None),
        (b"\xff", None),
        (b"9" * 5_000, None),
        (b"1" + b"0" * 5_000, 0),  # digits count modulo 64 bits
    ],
)
def test_ttls(value: bytes, ttl: int | None) -> None:
    assert parse_ttl(value) == ttl


@given(st.binary(max_size=20))
def test_any_header_is_read(value: bytes) -> None:
    ttl = parse_ttl(value)
    assert ttl is None or ttl >= NEVER
    assert START < deadline_of(START, b"NATS/1.0\r\nNats-TTL: %b\r\n\r\n" % value) <= FAR
