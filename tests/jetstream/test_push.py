"""Push consumers: to whom they deliver."""

from __future__ import annotations

import re

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
    durable_refused,
    feed,
    positions,
    stream_seq,
    unbound,
)
from tests.jetstream.support import SECOND, JetStream, scenario

ACK = re.compile(r"\$JS\.ACK\.S\.C\.(\d+)\.(\d+)\.(\d+)\.\d{19}\.(\d+)")


@scenario("DLV-001", "DLV-023")
def test_stored_subject_and_ack_subject(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    js.publish("s.before.1", b"1")
    with Subscriber(js, "deliver.here") as it:
        info = durable(js, "S", "C", deliver_subject="deliver.here", ack_policy="explicit")
        assert info["config"]["deliver_subject"] == "deliver.here"
        first = it.next()
        js.publish("s.2", b"", {"A": "b"})
        second = it.next()
        assert (first.subject, first.data, first.headers) == ("s.before.1", b"1", b"")
        assert (second.subject, second.data) == ("s.2", b"")
        assert second.headers == b"NATS/1.0\r\nA: b\r\n\r\n"
        for message, expected in [(first, "1 1 1 0"), (second, "1 2 2 0")]:
            match = ACK.fullmatch(message.reply)
            assert match
            assert " ".join(match.groups()) == expected
        answer(js, first)
        info = consumer_info(js, "S", "C")
        assert positions(info) == (2, 2, 1, 1)
        assert (info["num_ack_pending"], info["num_waiting"], info["push_bound"]) == (1, 0, True)
        answer(js, second)
        answer(js, second)
        assert positions(consumer_info(js, "S", "C")) == (2, 2, 2, 2)
        it.nothing()


@scenario("DLV-001")
def test_pending_counts_down_in_the_reply(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 4)
    with Subscriber(js, "d") as it:
        consumer(js, "S", "C", deliver_subject="d")
        left = [message.reply.rsplit(".", 1)[1] for message in it.take(4)]
        assert left == ["3", "2", "1", "0"]


@scenario("DLV-007", "DLV-032")
def test_no_delivery_without_interest(js: JetStream) -> None:
    js.create("S")
    js.publish_all("S", "S")
    info = durable(js, "S", "C", deliver_subject="d", ack_policy="explicit")
    assert "push_bound" not in info
    feed(js, "S")
    info = consumer_info(js, "S", "C")
    assert positions(info) == (0, 0, 0, 0)
    assert (info["num_pending"], "push_bound" in info) == (3, False)
    with Subscriber(js, "d") as it:
        assert [stream_seq(message) for message in it.take(3)] == [1, 2, 3]
        assert bound(js, "S", "C")["num_pending"] == 0


@scenario("DLV-007", "DLV-032")
def test_interest_comes_and_goes(js: JetStream) -> None:
    js.create("S")
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="explicit")
        bound(js, "S", "C")
        js.publish("S", b"1")
        answer(js, it.next())
        it.unsubscribe()
        unbound(js, "S", "C")
        feed(js, "S", "S")
        info = consumer_info(js, "S", "C")
        assert positions(info) == (1, 1, 1, 1)
        assert (info["num_pending"], info["num_ack_pending"]) == (2, 0)
        it.nothing()
        it.subscribe("d")
        assert [stream_seq(message) for message in it.take(2)] == [2, 3]
        bound(js, "S", "C")


@scenario("DLV-007", "DLV-032")
def test_another_connection_goes_on(js: JetStream) -> None:
    js.create("S")
    durable(js, "S", "C", deliver_subject="d", ack_policy="explicit")
    with Subscriber(js, "d") as it:
        bound(js, "S", "C")
        js.publish("S", b"1")
        it.next()
        it.vanish()
    unbound(js, "S", "C")
    feed(js, "S")
    with Subscriber(js, "d") as it:
        assert stream_seq(it.next()) == 2
        info = bound(js, "S", "C")
        assert (positions(info), info["num_ack_pending"]) == ((2, 2, 0, 0), 2)
        it.nothing()


@scenario("DLV-032")
def test_redelivery_waits_for_interest(js: JetStream) -> None:
    js.create("S")
    js.publish("S", b"1")
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="explicit", ack_wait=50 * MILLISECOND)
        assert deliveries(it.next()) == 1
        assert deliveries(it.next()) == 2
    js.until(lambda: "push_bound" not in js.ask("CONSUMER.INFO.S.C"))
    before = js.ask("CONSUMER.INFO.S.C")["delivered"]["consumer_seq"]
    # Another consumer's heartbeat tells that more than ack_wait has passed.
    with Subscriber(js, "hb") as clock:
        consumer(js, "S", "H", deliver_subject="hb", idle_heartbeat=HEARTBEAT, deliver_policy="new")
        clock.heartbeat()
    assert js.ask("CONSUMER.INFO.S.C")["delivered"]["consumer_seq"] == before
    with Subscriber(js, "d") as it:
        message = it.frame()
        assert (message.data, deliveries(message)) == (b"1", before + 1)


@scenario("DLV-001")
def test_two_subscribers_both_hear(js: JetStream) -> None:
    js.create("S", subjects=["s"])
    with Subscriber(js, "d.1") as one, Subscriber(js, "d.*") as other:
        consumer(js, "S", "C", deliver_subject="d.1")
        js.publish("s", b"x")
        assert one.next() == other.next()


@scenario("DLV-007")
def test_wildcards_hear_but_are_no_interest(js: JetStream) -> None:
    js.create("S")
    with Subscriber(js, "d.>") as it:
        durable(js, "S", "C", deliver_subject="d.1")
        feed(js, "S")
        info = consumer_info(js, "S", "C")
        assert (info["num_pending"], "push_bound" in info) == (1, False)
        it.nothing()
        literal = it.subscribe("d.1")
        assert {it.frame().sid, it.frame().sid} == {1, literal}


@scenario("DLV-031")
def test_queue_group(js: JetStream) -> None:
    """Twenty messages to two members: one of them goes without once in half a million times."""
    js.create("S")
    with Subscriber(js) as it:
        sids = {it.subscribe("d", "q"), it.subscribe("d", "q")}
        durable(js, "S", "C", deliver_subject="d", deliver_group="q")
        bound(js, "S", "C")
        heard = it.each(*["S"] * 20)
        assert {message.sid for message in heard} == sids
        assert [stream_seq(message) for message in heard] == list(range(1, 21))
        it.nothing()


@scenario("DLV-031")
def test_only_the_right_group_counts(js: JetStream) -> None:
    js.create("S")
    with Subscriber(js) as it:
        plain = it.subscribe("d")
        wrong = it.subscribe("d", "other")
        assert "push_bound" not in durable(
            js, "S", "C", deliver_subject="d", deliver_group="q", ack_policy="explicit"
        )
        feed(js, "S")
        info = consumer_info(js, "S", "C")
        assert (info["num_pending"], "push_bound" in info) == (1, False)
        it.nothing()
        right = it.subscribe("d", "q")
        bound(js, "S", "C")
        js.publish("S", b"2")
        heard = [it.frame() for _ in range(6)]
        assert {(message.sid, stream_seq(message)) for message in heard} == {
            (sid, seq) for sid in (plain, wrong, right) for seq in (1, 2)
        }


@scenario("DLV-031")
def test_group_subscriber_of_a_consumer_without_group(js: JetStream) -> None:
    js.create("S")
    with Subscriber(js, "d", queue="q") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="explicit")
        feed(js, "S")
        info = consumer_info(js, "S", "C")
        assert (info["num_pending"], "push_bound" in info) == (1, False)
        it.nothing()
        it.subscribe("d")
        assert it.next().data == b"x"


@scenario("CON-072", "CON-073")
def test_durable_moves_to_another_subject(js: JetStream) -> None:
    js.create("S")
    js.publish("S", b"1")
    config = {"ack_policy": "explicit"}
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", **config)
        it.next()
        bound(js, "S", "C")
        assert durable(js, "S", "C", deliver_subject="d", **config)["push_bound"] is True
        error = durable_refused(js, "S", "C", deliver_subject="e", **config)
        assert error["err_code"] == 10013
        assert durable_refused(js, "S", "C", deliver_subject="e")["err_code"] == 10012
    unbound(js, "S", "C")
    with Subscriber(js, "e") as it:
        moved = durable(js, "S", "C", deliver_subject="e", **config)
        assert moved["config"]["deliver_subject"] == "e"
        again = it.next()
        assert (stream_seq(again), deliveries(again)) == (1, 2)
        info = bound(js, "S", "C")
        assert (positions(info), info["num_ack_pending"]) == ((2, 1, 0, 0), 1)
        js.publish("S", b"2")
        assert stream_seq(it.next()) == 2


@scenario("CON-072", "CON-061")
def test_changes_of_a_bound_consumer(js: JetStream) -> None:
    js.create("S")
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", deliver_subject="d", ack_policy="explicit")
        bound(js, "S", "C")
        base = {"deliver_subject": "d", "ack_policy": "explicit"}
        assert durable(js, "S", "C", **base, description="other")["push_bound"] is True
        durable_refused(js, "S", "C", ack_policy="explicit")
        durable_refused(js, "S", "C", **base, idle_heartbeat=SECOND)
        durable_refused(js, "S", "C", **base, flow_control=True, idle_heartbeat=SECOND)
        durable(js, "S", "C", **base, rate_limit_bps=8_000_000)
        js.publish("S", b"1")
        it.next()


@scenario("PULL-020")
def test_pull_from_a_push_consumer(js: JetStream) -> None:
    js.create("S")
    durable(js, "S", "C", deliver_subject="d")
    assert js.request("$JS.API.CONSUMER.MSG.NEXT.S.C").status == "409 Consumer is push based"
