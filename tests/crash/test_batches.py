"""Batches, counters and TTLs under `kill -9`, in short; `make crash` is the long form."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jetstream_py.store import Message
from tests.crash.batches import run
from tests.crash.model import Broken
from tests.crash.publishers import Adding, Atomic, Expiring, Fast


def test_kills_in_the_middle_of_batches(tmp_path: Path) -> None:
    tally = run(cycles=3, seed=1, directory=tmp_path)
    assert tally.cycles == 3
    assert tally.heard > 900
    assert tally.kept > 1_000


def message(seq: int, data: bytes, headers: bytes = b"") -> Message:
    return Message(seq, 0, b"s", headers, data)


def test_batches_that_are_not_whole_are_noticed() -> None:
    atomic = Atomic("p", random.Random(1))
    atomic.acked = {1: (2, 2)}
    whole = [message(1, b"p:1:1:2"), message(2, b"p:1:2:2")]
    atomic.audit([*whole, message(3, b"other:1:1:1")])
    with pytest.raises(Broken, match="acked, and lost"):
        atomic.audit([])
    with pytest.raises(Broken, match="not whole"):
        atomic.audit(whole[:1])
    with pytest.raises(Broken, match="not in one piece"):
        atomic.audit([whole[0], message(3, b"p:1:2:2")])
    fast = Fast("p", random.Random(1))
    fast.acked = {1: 1}
    fast.audit(whole)
    with pytest.raises(Broken, match="1 of 1 acked, 0 there"):
        fast.audit([])
    with pytest.raises(Broken, match="gaps"):
        fast.audit(whole[1:])


def test_sums_and_lives_that_are_wrong_are_noticed() -> None:
    adding = Adding("p", random.Random(1))
    adding.acked = {1: (1, "5")}
    first = b"NATS/1.0\r\nX-Token: p:1:1:1\r\nNats-Incr: 5\r\n\r\n"
    adding.audit([message(1, b'{"val":"5"}', first)])
    for stored in ([], [message(2, b'{"val":"5"}', first)], [message(1, b'{"val":"6"}', first)]):
        with pytest.raises(Broken):
            adding.audit(stored)
    with pytest.raises(Broken, match="doubled"):
        adding.audit([message(1, b'{"val":"5"}', first), message(2, b'{"val":"10"}', first)])
    expiring = Expiring("p", random.Random(1))
    expiring.acked = {1: (1, ""), 2: (2, "")}
    expiring.audit([message(1, b"", b"NATS/1.0\r\nX-Token: p:1:1:1\r\n\r\n")])
    with pytest.raises(Broken):
        expiring.audit([message(2, b"", b"NATS/1.0\r\nX-Token: p:2:1:1\r\n\r\n")])
