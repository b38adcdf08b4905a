"""Uses of push consumers: ordered readers, several at once, into another stream, backoff."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from tests.jetstream.pushing import (
    HEARTBEAT,
    MILLISECOND,
    Subscriber,
    answer,
    bound,
    consumer,
    consumer_info,
    consumer_refused,
    deliveries,
    durable,
    is_heartbeat,
    positions,
    settled_consumer,
    stored_at,
    stream_seq,
)
from tests.jetstream.support import SECOND, JetStream, Json, scenario

ORDERED: Json = {
    "deliver_subject": "d", "ack_policy": "none", "max_deliver": 1, "mem_storage": True,
    "flow_control": True, "idle_heartbeat": 5 * SECOND, "ack_wait": 22 * 3600 * SECOND,
    "inactive_threshold": 300 * SECOND, "num_replicas": 1,
}  # fmt: skip


@scenario("DLV-001", "DLV-026")
def test_an_ordered_reader(js: JetStream) -> None:
    """What clients do: read in order, and begin again behind the last message after a gap."""
    js.create("S")
    js.publish_all(*["S"] * 3)
    with Subscriber(js, "d") as it:
        config = consumer(js, "S", "O1", **ORDERED)["config"]
        assert (config["mem_storage"], config["max_deliver"]) == (True, 1)
        assert [message.reply.split(".")[6] for message in it.take(3)] == ["1", "2", "3"]
        js.ok("CONSUMER.DELETE.S.O1")
        again = {**ORDERED, "deliver_policy": "by_start_sequence", "opt_start_seq": 3}
        info = consumer(js, "S", "O2", **again)
        assert positions(info) == (0, 2, 0, 2)
        (third,) = it.take(1)
        assert third.reply.split(".")[3:7] == ["O2", "1", "3", "1"]
        it.each("S", "S")
        consumer_info(js, "S", "O2")


@scenario("DLV-026", "DLV-028")
def test_a_start_in_the_future(js: JetStream) -> None:
    js.create("S")
    js.publish("S", b"1")
    with Subscriber(js, "d") as it:
        durable(
            js, "S", "C", deliver_subject="d", deliver_policy="by_start_sequence", opt_start_seq=4
        )
        bound(js, "S", "C")
        js.publish_all("S", "S", "S")
        # Off the record: nats-server counts the two messages before it as still to come.
        assert stream_seq(it.frame()) == 4
        it.nothing()


@scenario("DLV-027")
def test_a_start_time(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 3)
    with Subscriber(js, "d") as it:
        consumer(js, "S", "A", deliver_subject="d")
        second = it.take(3)[1]
        js.ok("CONSUMER.DELETE.S.A")
        whole, rest = divmod(stored_at(second), SECOND)
        start = f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
        durable(
            js, "S", "C", deliver_subject="d", deliver_policy="by_start_time", opt_start_time=start
        )
        assert [stream_seq(message) for message in it.take(2)] == [2, 3]


@scenario("DLV-001")
def test_two_consumers_on_one_subject(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    with Subscriber(js, "d") as it:
        for name, subject in [("A", "s.1"), ("B", "s.2")]:
            durable(js, "S", name, deliver_subject="d", filter_subject=subject)
            bound(js, "S", name)
        heard = it.each("s.2", "s.1", "s.2")
        assert [message.reply.split(".")[3] for message in heard] == ["B", "A", "B"]


@scenario("DLV-001", "DLV-007")
def test_into_another_stream(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    js.create("T", subjects=["d"])
    js.publish("s.1", b"one", {"A": "b"})
    js.publish("s.2", b"two")
    info = durable(js, "S", "C", deliver_subject="d")
    assert info["push_bound"] is True
    js.settled("T", messages=2)
    assert js.subjects("T") == {"s.1": 1, "s.2": 1}
    assert js.message("T", seq=1)["subject"] == "s.1"
    settled_consumer(js, "S", "C", lambda info: info["delivered"]["stream_seq"] == 2)


@scenario("CON-018")
def test_cycles(js: JetStream) -> None:
    js.create("S", subjects=["s.*", "t.>"])
    for subject in ("s.1", "t.1.2"):
        assert consumer_refused(js, "S", "C", deliver_subject=subject)["err_code"] == 10081
    durable(js, "S", "C", deliver_subject="s")


@scenario("DLV-001")
def test_backoff(js: JetStream) -> None:
    js.create("S")
    js.publish("S", b"x")
    with Subscriber(js, "d") as it:
        durable(
            js, "S", "C", deliver_subject="d", ack_policy="explicit", max_deliver=4,
            backoff=[50 * MILLISECOND, 150 * MILLISECOND],
        )  # fmt: skip
        start = time.monotonic()
        assert [deliveries(message) for message in it.take(4)] == [1, 2, 3, 4]
        assert 0.3 < time.monotonic() - start < 3
        settled_consumer(js, "S", "C", lambda info: info["num_ack_pending"] == 0)


@scenario("DLV-001")
def test_ack_all_with_max_ack_pending(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 6)
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="all", max_ack_pending=2)
        _, second = it.take(2)
        answer(js, second)
        third, fourth = it.take(2)
        answer(js, third)
        it.next()
        answer(js, fourth)
        it.next()
        info = consumer_info(js, "S", "C")
        assert (positions(info), info["num_ack_pending"]) == ((6, 6, 4, 4), 2)


@scenario("DLV-001")
def test_a_larger_max_ack_pending(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 4)
    base: Json = {"deliver_subject": "d", "ack_policy": "explicit"}
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", **base, max_ack_pending=1)
        first = it.next()
        it.nothing()
        durable(js, "S", "C", **base, max_ack_pending=3)
        it.take(2)
        durable(js, "S", "C", **base, max_ack_pending=1)
        answer(js, first)
        info = consumer_info(js, "S", "C")
        assert (info["num_ack_pending"], info["num_pending"]) == (2, 1)
        it.nothing()


@scenario("MSG-021", "DLV-001")
def test_purge_while_bound(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 4)
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="explicit", max_ack_pending=2)
        first, _ = it.take(2)
        js.ok("STREAM.PURGE.S")
        settled_consumer(js, "S", "C", lambda info: info["num_ack_pending"] == 0)
        answer(js, first)
        assert stream_seq(it.each("S")[0]) == 5
        assert positions(consumer_info(js, "S", "C")) == (3, 5, 2, 4)


@scenario("DLV-001")
def test_a_redelivery_comes_before_new_messages(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 4)
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="explicit", max_ack_pending=2)
        first, second = it.take(2)
        answer(js, first, b"-NAK")
        assert stream_seq(it.next()) == 1
        answer(js, second, b'-NAK {"delay": 100000000}')
        it.nothing()
        again = it.next()
        assert (stream_seq(again), deliveries(again)) == (2, 2)
        answer(js, again)
        assert stream_seq(it.next()) == 3


@scenario("DLV-009")
def test_last_per_subject_while_it_changes(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    js.publish_all("s.1", "s.2", "s.1", "s.3", "s.2")
    with Subscriber(js, "d") as it:
        durable(
            js, "S", "C", deliver_subject="d", deliver_policy="last_per_subject",
            filter_subjects=["s.1", "s.2"], ack_policy="explicit", max_ack_pending=1,
        )  # fmt: skip
        first = it.next()
        assert (stream_seq(first), first.reply.rsplit(".", 1)[1]) == (3, "1")
        consumer_info(js, "S", "C")
        answer(js, first)
        answer(js, it.next())
        answer(js, it.each("s.1")[0])
        assert stream_seq(it.each("s.2")[0]) == 7


@scenario("DLV-002", "DLV-007")
def test_each_subscription_is_enough(js: JetStream) -> None:
    """The first to leave does not end it while another stays."""
    js.create("S")
    with Subscriber(js, "d") as one, Subscriber(js, "d") as other:
        durable(js, "S", "C", deliver_subject="d", idle_heartbeat=HEARTBEAT)
        bound(js, "S", "C")
        one.unsubscribe()
        js.publish("S", b"1")
        assert stream_seq(other.next()) == 1
        assert is_heartbeat(other.any())
        bound(js, "S", "C")
