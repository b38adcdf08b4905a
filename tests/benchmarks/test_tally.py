"""Answers are counted right however the reads are cut, and wrong sums are noticed."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import pytest

from benchmarks import wire
from benchmarks.tally import AckForm, AckLengths, EqualLengths, Marks, Tally, reply_length


def ack(sequence: int) -> bytes:
    payload = b'{"stream":"BENCH","seq":%d}' % sequence
    return wire.msg(wire.INBOX + b".abcd0123", wire.SUB_SID, payload)


def feed(tally: Tally, data: bytes, step: int) -> list[int]:
    return [tally.took(memoryview(data)[at : at + step]) for at in range(0, len(data), step)]


def form(sequence: int) -> AckForm:
    return AckForm.learned(b'{"stream":"BENCH","seq":%d}' % sequence)


def test_an_ack_is_learned_from_one_with_or_without_a_space() -> None:
    for text in (b'{"stream":"BENCH","seq":12}', b'{"stream":"BENCH", "seq":12}'):
        learned = AckForm.learned(text)
        assert learned.sequence == 12
        assert learned.length(345) == reply_length(len(text) + 1)


@pytest.mark.parametrize("text", [b'{"error":{"code":503},"stream":"","seq":0}', b"NATS/1.0 503"])
def test_what_is_no_ack_teaches_nothing(text: bytes) -> None:
    with pytest.raises(ValueError, match="not a PubAck"):
        AckForm.learned(text)


@pytest.mark.parametrize("first", [1, 9, 10, 95, 99_990, 100_000_001])
@pytest.mark.parametrize("count", [0, 1, 4, 5, 8, 9, 10, 1200])
def test_the_bytes_of_acks_are_known_beforehand(first: int, count: int) -> None:
    data = b"".join(ack(first + 1 + i) for i in range(count))
    tally = AckLengths(form(first))
    assert tally.due(count) == len(data)
    feed(tally, data, 1000)
    assert tally.settle(wire.PONG, count) == 0


@pytest.mark.parametrize("step", [1, 7, 61, 100_000])
def test_acks_are_counted_across_the_digits_of_their_sequences(step: int) -> None:
    frames = [ack(2 + i) for i in range(1500)]
    ends = list(accumulate(len(frame) for frame in frames))
    data = b"".join(frames)
    seen = feed(AckLengths(form(1)), data, step)
    cuts = [min(at + step, len(data)) for at in range(0, len(data), step)]
    assert seen == [bisect_right(ends, cut) for cut in cuts]


def test_a_missing_ack_and_an_error_are_noticed() -> None:
    for wrong in (b"", ack(4).replace(b'"seq":4', b'"error":{}')):
        tally = AckLengths(form(1))
        feed(tally, ack(2) + ack(3) + wrong, 50)
        with pytest.raises(ValueError, match="were due"):
            tally.settle(wire.PONG, 3)


def test_pings_of_the_server_are_told_apart() -> None:
    tally = AckLengths(form(1))
    feed(tally, ack(2) + wire.PING + ack(3), 10)
    assert tally.settle(wire.PING + wire.PONG, 2) == 2
    same = EqualLengths(len(ack(2)))
    assert feed(same, ack(2) * 3, 1000) == [3]
    assert same.settle(wire.PING + wire.PONG, 3) == 1


@pytest.mark.parametrize("step", [1, 3, 10, 1000])
def test_marks_are_counted_however_the_reads_are_cut(step: int) -> None:
    data = b'x"data":"abc""data":"""data:"data":"' * 5
    tally = Marks(b'"data":"')
    assert feed(tally, data, step)[-1] == data.count(b'"data":"')
    with pytest.raises(ValueError, match="15 good answers where 16"):
        tally.settle(wire.PONG, 16)
    assert tally.settle(wire.PING + wire.PONG, 15) == 1
