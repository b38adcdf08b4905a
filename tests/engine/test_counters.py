"""Counters: sums of any length, sums of sums, and whole histories with restarts and crashes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from jetstream_py import headers as hdr
from jetstream_py.api.errors import ApiError
from jetstream_py.engine import counter
from tests.engine.histories import FAILURES, CrashingMachine, quick
from tests.engine.world import World

SUBJECTS = st.sampled_from(["s.a", "s.b", "s.c"])
# Beyond what `int` reads by itself, and with every way to write a number.
NUMBERS = st.one_of(
    st.integers(-5, 5).map(str),
    st.integers().map(str),
    st.integers(0, 1 << 70).map(lambda number: f"+{number}"),
    st.integers(1, 400).map(lambda size: "-" + "9" * size),
    st.integers(1, 9).map(lambda digit: f"000{digit}"),
)


def value(message: dict[str, Any]) -> int:
    total = json.loads(base64.b64decode(message["data"]))
    assert [*total] == ["val"]
    return int(total["val"])


class CounterMachine(CrashingMachine):
    """Publishers of increments, messages that go, a server that goes: the sums are those of the model."""

    def begin(self) -> None:
        self.histories: dict[str, list[tuple[int, int]]] = {}  # subject -> sequences and sums
        self.ids: dict[str, int] = {}
        self.seq = 0
        assert "error" not in self.world.create(allow_msg_counter=True)

    def total(self, subject: str) -> int:
        history = self.histories.get(subject)
        return history[-1][1] if history else 0

    def stored(self, subject: str, number: str) -> dict[str, object]:
        """The PubAck that is expected; the model has it stored."""
        self.seq += 1
        total = self.total(subject) + int(number)
        self.histories.setdefault(subject, []).append((self.seq, total))
        return {"stream": "S", "seq": self.seq, "val": str(total)}

    @rule(subject=SUBJECTS, number=NUMBERS)
    def add(self, subject: str, number: str) -> None:
        answer = self.world.ask(subject, b"", f"Nats-Incr: {number}")
        assert answer == self.stored(subject, number)

    @rule(steps=st.lists(st.tuples(SUBJECTS, NUMBERS), min_size=2, max_size=20))
    def add_many(self, steps: list[tuple[str, str]]) -> None:
        """Publishers that do not wait for each other: one read, one commit."""
        for subject, number in steps:
            self.world.send(subject, b"", f"Nats-Incr: {number}")
        self.world.settle()
        expected = [self.stored(subject, number) for subject, number in steps]
        assert self.world.answers() == expected

    @rule(subject=SUBJECTS, number=NUMBERS, msg_id=st.sampled_from("abc"))
    def add_once(self, subject: str, number: str, msg_id: str) -> None:
        answer = self.world.ask(subject, b"", f"Nats-Incr: {number}\r\nNats-Msg-Id: {msg_id}")
        if msg_id in self.ids:
            assert answer == {"stream": "S", "seq": self.ids[msg_id], "duplicate": True}
        else:
            assert answer == self.stored(subject, number)
            self.ids[msg_id] = self.seq

    @rule(subject=SUBJECTS, bad=st.sampled_from(["", "x", "1.5", "1 ", "0x1", "1e3"]))
    def refuse(self, subject: str, bad: str) -> None:
        assert "error" in self.world.ask(subject, b"", f"Nats-Incr: {bad}")

    @rule(subject=SUBJECTS)
    def delete_last(self, subject: str) -> None:
        if self.histories.get(subject):
            seq, _ = self.histories[subject].pop()
            self.world.ask("$JS.API.STREAM.MSG.DELETE.S", b'{"seq":%d}' % seq)

    @rule(subject=SUBJECTS)
    def purge(self, subject: str) -> None:
        self.histories.pop(subject, None)
        self.world.ask("$JS.API.STREAM.PURGE.S", json.dumps({"filter": subject}).encode())

    def recovered(self) -> None:
        """Ids are read from the messages that are there."""
        there = {seq for history in self.histories.values() for seq, _ in history}
        self.ids = {msg_id: seq for msg_id, seq in self.ids.items() if seq in there}

    @rule(subject=SUBJECTS, number=NUMBERS, point=st.sampled_from(sorted(FAILURES)))
    def fail(self, subject: str, number: str, point: str) -> None:
        with self.failing(point):
            self.world.send(subject, b"", f"Nats-Incr: {number}")
        if not self.world.failure:  # without need of that place
            assert self.world.answers() == [self.stored(subject, number)]
        else:
            assert self.world.answers() == []
            if FAILURES[point]:
                self.stored(subject, number)
        self.world.crash()
        self.start_again()

    @invariant()
    def sums(self) -> None:
        for subject, history in self.histories.items():
            if history:
                body = json.dumps({"last_by_subj": subject}).encode()
                message = self.world.ask("$JS.API.STREAM.MSG.GET.S", body)["message"]
                assert (message["seq"], value(message)) == history[-1]


CounterMachine.TestCase.settings = quick(10, 15)
TestCounters = CounterMachine.TestCase


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_sixty_thousand_digits(tmp_path: Path, storage: str) -> None:
    world = World(tmp_path)
    world.create(allow_msg_counter=True, storage=storage)
    number = "9" * 60_000
    assert world.ask("s.a", b"", f"Nats-Incr: {number}")["val"] == number
    assert world.ask("s.a", b"", "Nats-Incr: 1")["val"] == "1" + "0" * 60_000
    assert world.ask("s.a", b"", f"Nats-Incr: -{number}")["val"] == "1"
    world.close()


# -- sources ---------------------------------------------------------------------------------------


def block(*lines: str) -> bytes:
    return "\r\n".join(["NATS/1.0", *lines, "", ""]).encode()


def total_of(number: int) -> bytes:
    return b'{"val":"%d"}' % number


def test_what_a_source_adds() -> None:
    """As nats-server 2.15.1 does it."""
    headers, body = counter.merge_source(
        b"", b"", "A",
        block("Nats-Incr: +2", "Foo: 0", "Nats-Stream-Source: A 1 a.* t.$1 a.x 3JiUusW6"), total_of(2),
    )  # fmt: skip
    assert body == total_of(2)
    assert headers == block(
        "Nats-Incr: 2",
        "Foo: 0",
        "Nats-Stream-Source: A 1 a.* t.$1 a.x 3JiUusW6",
        'Nats-Counter-Sources: {"A":{"a.x":"2"}}',
    )
    headers, body = counter.merge_source(
        headers, body, "B",
        block("Nats-Incr: 5", "Nats-Stream-Source: B 1 > > b.x ueQoiZOF"), total_of(5),
    )  # fmt: skip
    assert body == total_of(7)
    assert hdr.get(headers, hdr.COUNTER_SOURCES) == b'{"A":{"a.x":"2"},"B":{"b.x":"5"}}'
    headers, body, total = counter.add(headers, body, block("Nats-Incr: 100"))
    assert (body, total) == (total_of(107), b"107")
    assert hdr.get(headers, hdr.COUNTER_SOURCES) == b'{"A":{"a.x":"2"},"B":{"b.x":"5"}}'


def test_a_source_that_lost_messages() -> None:
    """What it comes to counts, not what it says it added."""
    stored = block("Nats-Incr: 1", 'Nats-Counter-Sources: {"A":{"a.x":"7"},"B":{"b.x":"15"}}')
    source = block("Nats-Incr: 10", "Nats-Stream-Source: A 6 > > a.x RRdQRuYD")
    headers, body = counter.merge_source(stored, total_of(122), "A", source, total_of(16))
    assert body == total_of(131)
    assert hdr.get(headers, hdr.INCREMENT) == b"9"
    assert hdr.get(headers, hdr.COUNTER_SOURCES) == b'{"A":{"a.x":"16"},"B":{"b.x":"15"}}'


def test_sources_of_a_source_stay_there() -> None:
    source = block(
        "Nats-Incr: 5",
        'Nats-Counter-Sources: {"A":{"a.x":"6"}}',
        "Nats-Stream-Source: T 4 > > t.x tXRBCZsg",
    )
    headers, _ = counter.merge_source(b"", b"", "T", source, total_of(11))
    assert headers == block(
        "Nats-Incr: 11",
        'Nats-Counter-Sources: {"T":{"t.x":"11"}}',
        "Nats-Stream-Source: T 4 > > t.x tXRBCZsg",
    )


ORIGIN = "Nats-Stream-Source: A 1 > > a.x RRdQRuYD"


@pytest.mark.parametrize(
    ("stored", "source", "code"),
    [
        ((b"", b""), (block(ORIGIN), total_of(1)), 10169),
        ((b"", b""), (block("Nats-Incr: 1", ORIGIN), b""), 10169),
        ((b"", b""), (block("Nats-Incr: 1", ORIGIN), b"x"), 10172),
        ((b"", b""), (block("Nats-Incr: 1", ORIGIN), b'{"val":1}'), 10172),
        ((b"", b""), (block("Nats-Incr: 1", ORIGIN), b'{"val":"z"}'), 10172),
        ((b"", b""), (block("Nats-Incr: z", ORIGIN), total_of(1)), 10172),
        ((b"", b""), (block("Nats-Incr: 1"), total_of(1)), 10172),
        ((b"", b"x"), (block("Nats-Incr: 1", ORIGIN), total_of(1)), 10172),
        ((block("Nats-Counter-Sources: x"), b""), (block("Nats-Incr: 1", ORIGIN), total_of(1)), 10172),
    ],
)  # fmt: skip
def test_what_is_no_counter(
    stored: tuple[bytes, bytes], source: tuple[bytes, bytes], code: int
) -> None:
    with pytest.raises(ApiError) as refusal:
        counter.merge_source(*stored, "A", *source)
    assert refusal.value.body.err_code == code


@given(
    st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("xy"), st.integers(), st.booleans()))
)
def test_the_sum_of_sums(steps: list[tuple[str, str, int, bool]]) -> None:
    """Whatever is lost on the way, the sum is that of what the origins came to last."""
    origins: dict[tuple[str, str], int] = {}
    seen: dict[tuple[str, str], int] = {}
    headers = body = b""
    for stream, subject, number, lost in steps:
        total = origins[stream, subject] = origins.get((stream, subject), 0) + number
        if lost:
            continue
        seen[stream, subject] = total
        source = block(f"Nats-Incr: {number}", f"Nats-Stream-Source: {stream} 1 > > {subject} id")
        headers, body = counter.merge_source(headers, body, stream, source, total_of(total))
        assert body == total_of(sum(seen.values()))
