"""What a consumer delivers is found in any cut of the bytes, and nothing wrong passes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from benchmarks import wire
from benchmarks.deliveries import Content, Deliveries, WrongDelivery, acks, nothing
from benchmarks.nullconsumer import Frames

LOAD = wire.Load(16, 5)
COUNT = 200
HEARTBEAT = b"HMSG in 1 51 51\r\nNATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 3\r\n\r\n\r\n"
FLOW = b"HMSG in 1 $JS.FC.S.C.x 34 34\r\nNATS/1.0 100 FlowControl Request\r\n\r\n\r\n"
STALLED = (
    b"HMSG in 1 9 9\r\nNATS/1.0 100 Idle Heartbeat\r\nNats-Consumer-Stalled: $JS.FC.y\r\n\r\n\r\n"
)
TIMEOUT = b"HMSG in 1 81 81\r\nNATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 1\r\n\r\n\r\n"


def frame(sequence: int) -> bytes:
    return Frames(LOAD).between(sequence - 1, sequence)


def cuts(data: bytes) -> Iterator[list[bytes]]:
    """Whole, byte by byte, and in pieces of any length."""
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    rng = random.Random(7)
    for _ in range(20):
        marks = sorted(rng.sample(range(len(data)), 40))
        ends = [*marks, len(data)]
        yield [data[a:b] for a, b in zip([0, *marks], ends, strict=True)]


def fed(pieces: Sequence[bytes], keep: bool = False) -> Deliveries:
    deliveries = Deliveries(LOAD, keep)
    for piece in pieces:
        deliveries.feed(piece)
    return deliveries


def test_every_message_is_found_in_any_cut() -> None:
    data = Frames(LOAD).between(0, COUNT // 2) + HEARTBEAT + wire.PING + FLOW
    data += Frames(LOAD).between(COUNT // 2, COUNT) + wire.PONG + STALLED
    for pieces in cuts(data):
        deliveries = fed(pieces, keep=True)
        assert deliveries.flow_replies() == [b"$JS.FC.S.C.x", b"$JS.FC.y"]
        deliveries.prove(range(1, COUNT + 1))
        deliveries.prove_content(Content(LOAD, COUNT))


def test_other_statuses_than_heartbeats_are_errors() -> None:
    for pieces in cuts(frame(1) + TIMEOUT):
        with pytest.raises(WrongDelivery, match="408 Request Timeout"):
            fed(pieces).flow_replies()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (frame(1) + frame(3), "delivery 2 is message 3, due was 2"),
        (frame(1) + frame(2), "2 deliveries, 3 were due"),
        (frame(1) + frame(2) + frame(2) + frame(3), "delivery 3 is message 2"),
        (frame(1) + frame(2) + frame(3) + frame(3), "4 deliveries, 3 were due"),
        (frame(2) + frame(1) + frame(3), "delivery 1 is message 2"),
        (frame(1) + frame(2) + frame(3).replace(b".3.3.", b".3.4."), "gaps"),
        (frame(1) + frame(2).replace(b".1.2.2.", b".2.2.2.") + frame(3), "delivered again"),
        (frame(1).replace(wire.payloads(LOAD)[0], b"?" * 16) + frame(2) + frame(3), "0 of 1"),
    ],
)
def test_nothing_wrong_passes(data: bytes, said: str) -> None:
    with pytest.raises(WrongDelivery, match=said):
        fed([data]).prove([1, 2, 3])


def test_a_wrong_subject_or_payload_is_found_among_the_kept() -> None:
    for good, bad in ((b"MSG bench", b"MSG brnch"), (wire.payloads(LOAD)[1], b"?" * 16)):
        deliveries = fed([frame(1) + frame(2).replace(good, bad)], keep=True)
        deliveries.prove([1, 2])
        with pytest.raises(WrongDelivery, match="message 2 is not as published"):
            deliveries.prove_content(Content(LOAD, 2))


def test_a_part_has_to_ascend() -> None:
    assert fed([frame(1) + frame(4)]).prove_part() == [1, 4]
    for data in (frame(4) + frame(1), frame(1) + frame(1)):
        with pytest.raises(WrongDelivery):
            fed([data]).prove_part()


def test_acks_and_answers_are_one_write() -> None:
    assert acks([b"a", b"b"]) == b"PUB a 4\r\n+ACK\r\nPUB b 4\r\n+ACK\r\n"
    assert nothing([b"a", b"b"]) == b"PUB a 0\r\n\r\nPUB b 0\r\n\r\n"


def test_what_was_published_is_known_from_any_number_on() -> None:
    for load in (wire.Load(16, 200), wire.Load(16, 7, bucket=True), wire.Load(16, 3, rare=100)):
        names = wire.published_names(load, 0, 9_000)
        for first in (0, 1, 99, 100, 4_199, 8_000):
            assert wire.published_names(load, first, 500) == names[first : first + 500]
    assert Content(wire.Load(16, 3, rare=100), 300).matching(
        lambda name: name.startswith(b"bench.rare.")
    ) == [100, 200, 300]
