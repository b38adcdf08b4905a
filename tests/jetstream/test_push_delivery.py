"""Push consumers: what they deliver, when, and what acknowledgements do."""

from __future__ import annotations

import time

import pytest

from tests.jetstream.pushing import (
    HEARTBEAT,
    MILLISECOND,
    Subscriber,
    answer,
    bound,
    consumer,
    consumer_info,
    deliveries,
    durable,
    positions,
    settled_consumer,
    stored_at,
    stream_seq,
)
from tests.jetstream.support import SECOND, JetStream, scenario


@scenario("DLV-033")
def test_ack_none_moves_the_floor(js: JetStream) -> None:
    js.create("S")
    js.publish_all("S", "S")
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d")
        first, _ = it.take(2)
        info = settled_consumer(js, "S", "C", lambda info: info["ack_floor"]["stream_seq"] == 2)
        assert (positions(info), info["num_ack_pending"]) == ((2, 2, 2, 2), 0)
        assert not {"max_ack_pending", "ack_wait"} & info["config"].keys()
        assert js.request(first.reply, b"-NAK").status == "503"
        it.nothing()


@scenario("DLV-001")
def test_ack_all(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 5)
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="all")
        heard = it.take(5)
        answer(js, heard[2])
        info = consumer_info(js, "S", "C")
        assert (positions(info), info["num_ack_pending"]) == ((5, 5, 3, 3), 2)
        answer(js, heard[0])
        answer(js, heard[3], b"-NAK")
        again = it.next()
        assert (stream_seq(again), deliveries(again)) == (4, 2)
        answer(js, again)
        assert positions(consumer_info(js, "S", "C")) == (6, 5, 6, 4)
        # The floor is at the consumer sequence 6 already, so the ack of 5 says nothing new.
        answer(js, heard[4])
        assert consumer_info(js, "S", "C")["num_ack_pending"] == 1


@scenario("DLV-001")
def test_redelivery_words(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 4)
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="explicit", ack_wait=20 * SECOND)
        first, second, third, fourth = it.take(4)
        answer(js, second, b"-NAK")
        assert stream_seq(it.next()) == 2
        answer(js, first, b'-NAK {"delay": 50000000}')
        again = it.next()
        assert (stream_seq(again), deliveries(again), again.reply.split(".")[6]) == (1, 2, "6")
        answer(js, third, b"+TERM")
        answer(js, fourth, b"+WPI")
        info = consumer_info(js, "S", "C")
        assert (info["num_ack_pending"], info["num_redelivered"]) == (3, 2)
        it.nothing()


@scenario("DLV-001")
def test_unanswered_comes_again_until_max_deliver(js: JetStream) -> None:
    js.create("S")
    js.publish_all("S", "S")
    with Subscriber(js, "d") as it:
        durable(
            js, "S", "C", deliver_subject="d", ack_policy="explicit", max_deliver=2,
            ack_wait=100 * MILLISECOND,
        )  # fmt: skip
        assert [(stream_seq(m), deliveries(m)) for m in it.take(4)] == [
            (1, 1), (2, 1), (1, 2), (2, 2),
        ]  # fmt: skip
        info = settled_consumer(js, "S", "C", lambda info: info["num_ack_pending"] == 0)
        assert positions(info) == (4, 2, 0, 0)
        it.nothing()


@scenario("DLV-001")
def test_headers_only(js: JetStream) -> None:
    js.create("S")
    js.publish("S", b"twelve bytes")
    js.publish("S", b"", {"A": "b"})
    js.publish("S", b"xyz", {"A": "b", "Nats-Msg-Size": "7"})
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", headers_only=True)
        heard = it.take(3)
        assert [message.data for message in heard] == [b"", b"", b""]
        assert heard[0].headers == b"NATS/1.0\r\nNats-Msg-Size: 12\r\n\r\n"
        assert heard[1].headers == b"NATS/1.0\r\nA: b\r\nNats-Msg-Size: 0\r\n\r\n"


@scenario("DLV-001")
def test_max_ack_pending(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 5)
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="explicit", max_ack_pending=2)
        first, second = it.take(2)
        info = consumer_info(js, "S", "C")
        assert (info["num_ack_pending"], info["num_pending"]) == (2, 3)
        it.nothing()
        answer(js, second)
        third = it.next()
        answer(js, third, b"-NAK")
        assert stream_seq(it.next()) == 3
        answer(js, first, b"+TERM")
        assert stream_seq(it.next()) == 4
        it.nothing()


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"deliver_policy": "all"}, [1, 2, 3, 4, 5]),
        ({"deliver_policy": "last"}, [4, 5]),
        ({"deliver_policy": "new"}, [5]),
        ({"deliver_policy": "by_start_sequence", "opt_start_seq": 3}, [3, 4, 5]),
        ({"deliver_policy": "last_per_subject", "filter_subject": "s.*"}, [3, 4, 5]),
        ({"filter_subject": "s.1"}, [1, 3]),
        ({"filter_subjects": ["s.1", "s.2"]}, [1, 2, 3, 4]),
        ({"filter_subjects": ["s.1", "t"], "deliver_policy": "last"}, [3]),
    ],
    ids=["all", "last", "new", "seq", "per-subject", "filter", "filters", "last-of-filters"],
)
@scenario("DLV-008", "DLV-009", "DLV-026", "DLV-028", "DLV-034")
def test_positions(js: JetStream, policy: dict[str, object], expected: list[int]) -> None:
    js.create("S", subjects=["s.*"])
    js.publish_all("s.1", "s.2", "s.1", "s.2")
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="explicit", **policy)
        bound(js, "S", "C")
        later = [sequence for sequence in expected if sequence == 5]
        heard = it.take(len(expected) - len(later))
        js.publish("s.3", b"x")
        heard += it.take(len(later))
        assert [stream_seq(message) for message in heard] == expected
        consumer_info(js, "S", "C")
        it.nothing()


@scenario("DLV-035")
def test_filter_changes_while_bound(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", filter_subject="s.1")
        it.each("s.1")
        js.publish("s.2", b"x")
        it.each("s.1")
        durable(js, "S", "C", deliver_subject="d", filter_subject="s.2")
        js.publish("s.1", b"x")
        assert stream_seq(it.each("s.2")[0]) == 5
        consumer_info(js, "S", "C")
        it.nothing()


@scenario("DLV-030")
def test_rate_limit(js: JetStream) -> None:
    """Ten kilobytes a second, a burst of one message: four more kilobytes take 0.4 s."""
    js.create("S", max_msg_size=1100)
    js.publish_all(*["S"] * 5, data=b"x" * 1000)
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", rate_limit_bps=80_000)
        it.next()
        start = time.monotonic()
        it.take(4)
        assert 0.3 < time.monotonic() - start < 3


@scenario("DLV-029")
def test_replay_original(js: JetStream) -> None:
    js.create("S", subjects=["s"])
    js.create("Clock")
    js.publish("s", b"1")
    with Subscriber(js, "hb") as clock:
        consumer(js, "Clock", "H", deliver_subject="hb", idle_heartbeat=HEARTBEAT)
        clock.heartbeat()
        clock.heartbeat()
    js.publish("s", b"2")
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", replay_policy="original")
        first = it.next()
        start = time.monotonic()
        second = it.next()
        gap = (stored_at(second) - stored_at(first)) / 1e9
        assert time.monotonic() - start > gap / 2 > 0.05
        js.publish("s", b"3")
        it.next()
