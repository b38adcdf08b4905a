"""Idle heartbeats and flow control of push consumers.

A subscriber that answers flow control only once delivery has stalled sees the same bytes each time;
one that answers at once races with what is still under way.
"""

from __future__ import annotations

import time

from tests.jetstream.pushing import (
    HEARTBEAT,
    Subscriber,
    answer,
    bound,
    consumer,
    consumer_info,
    durable,
    positions,
    stream_seq,
    unbound,
)
from tests.jetstream.support import JetStream, Message, scenario
from tests.support.raw import TIMEOUT

LARGE = 200_000
REQUEST = "100 FlowControl Request"
STALLED = "Nats-Consumer-Stalled"


def idle(consumer_sequence: int, stream_sequence: int) -> bytes:
    return (
        f"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: {consumer_sequence}\r\n"
        f"Nats-Last-Stream: {stream_sequence}\r\n\r\n"
    ).encode()


def until_stalled(it: Subscriber) -> tuple[list[str], Message]:
    """What comes until delivery stalls, and the heartbeat that says so."""
    heard: list[str] = []
    deadline = time.monotonic() + TIMEOUT
    while STALLED.encode() not in (message := it.frame()).headers:
        assert time.monotonic() < deadline, "it never stalled"
        if message.status == REQUEST:
            assert (message.subject, message.data) == ("d", b"")
            assert message.headers == b"NATS/1.0 100 FlowControl Request\r\n\r\n"
            heard.append("request")
        elif not message.status:
            heard.append(str(stream_seq(message)))
    it.js.note(heard)
    return heard, message


def stall_subject(heartbeat: Message) -> str:
    subject = heartbeat.header(STALLED)
    assert subject
    return subject


# -- heartbeats --------------------------------------------------------------------------------------


@scenario("DLV-002")
def test_heartbeats(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    with Subscriber(js, "d") as it:
        consumer(js, "S", "C", deliver_subject="d", idle_heartbeat=HEARTBEAT, filter_subject="s.1")
        beat = it.heartbeat()
        assert (beat.subject, beat.reply, beat.data) == ("d", "", b"")
        assert beat.headers == idle(0, 0)
        js.publish_all("s.2", "s.2", "s.1")
        assert stream_seq(it.next()) == 3
        assert it.heartbeat().headers == idle(1, 3)
        js.publish_all("s.2", "s.2")
        it.after_heartbeats(lambda message: message.headers == idle(1, 5))
        # It tells how far the consumer has looked; the info tells what it has delivered.
        assert positions(consumer_info(js, "S", "C")) == (1, 3, 1, 3)


@scenario("DLV-002")
def test_heartbeats_while_acks_are_missing(js: JetStream) -> None:
    js.create("S")
    js.publish_all("S", "S", "S")
    with Subscriber(js, "d") as it:
        durable(
            js, "S", "C", deliver_subject="d", idle_heartbeat=HEARTBEAT, ack_policy="explicit",
            max_ack_pending=2,
        )  # fmt: skip
        first, _ = it.take(2)
        assert it.heartbeat().headers == idle(2, 2)
        answer(js, first, b"-NAK")
        it.next()
        assert it.heartbeat().headers == idle(3, 2)


@scenario("DLV-002", "DLV-032")
def test_no_heartbeat_without_interest(js: JetStream) -> None:
    js.create("S")
    durable(js, "S", "C", deliver_subject="d", idle_heartbeat=HEARTBEAT)
    with Subscriber(js, "d") as it:
        it.heartbeat()
        it.unsubscribe()
        unbound(js, "S", "C")
        it.nothing()
        with Subscriber(js, "e") as other:
            consumer(js, "S", "D", deliver_subject="e", idle_heartbeat=HEARTBEAT)
            other.heartbeat()
            other.heartbeat()
        it._exchange(b"")
        assert it.waiting == []
        it.subscribe("d")
        assert it.heartbeat().headers == idle(0, 0)


@scenario("DLV-002")
def test_a_message_puts_the_heartbeat_off(js: JetStream) -> None:
    js.create("S")
    with Subscriber(js, "d") as it:
        consumer(js, "S", "C", deliver_subject="d", idle_heartbeat=3 * HEARTBEAT)
        bound(js, "S", "C")
        for _ in range(3):
            js.publish("S")
            start = time.monotonic()
            it.next()
        it.heartbeat()
        assert time.monotonic() - start > 0.2


@scenario("DLV-002", "DLV-031")
def test_one_member_of_a_group_gets_the_heartbeat(js: JetStream) -> None:
    js.create("S")
    with Subscriber(js) as it:
        it.subscribe("d", "q")
        it.subscribe("d", "q")
        consumer(js, "S", "C", deliver_subject="d", deliver_group="q", idle_heartbeat=HEARTBEAT)
        start = time.monotonic()
        for _ in range(3):
            it.heartbeat()
        assert time.monotonic() - start > 0.2


# -- flow control ------------------------------------------------------------------------------------


@scenario("DLV-003", "DLV-004", "DLV-005", "DLV-006")
def test_the_window_grows(js: JetStream) -> None:
    js.create("S")
    for _ in range(70):
        js.publish("S", b"x" * LARGE)
    with Subscriber(js, "d") as it:
        consumer(js, "S", "C", deliver_subject="d", idle_heartbeat=HEARTBEAT, flow_control=True)
        for last in ("11", "27", "59"):
            heard, beat = until_stalled(it)
            assert heard.count("request") == 1
            assert beat.header("Nats-Last-Stream") == last
            it.send(stall_subject(beat))


@scenario("DLV-003")
def test_an_open_request_is_called_a_stall(js: JetStream) -> None:
    js.create("S")
    for _ in range(8):
        js.publish("S", b"x" * LARGE)
    with Subscriber(js, "d") as it:
        consumer(js, "S", "C", deliver_subject="d", idle_heartbeat=HEARTBEAT, flow_control=True)
        heard = [it.next() for _ in range(9)]
        assert [message.status for message in heard].index(REQUEST) == 6
        # Nothing is left to deliver, and still.
        assert it.heartbeat().header(STALLED) == heard[6].reply
        it.send(heard[6].reply)
        it.after_heartbeats(lambda message: message.headers == idle(8, 8))


@scenario("DLV-006")
def test_answers_that_do_not_count(js: JetStream) -> None:
    js.create("S")
    for _ in range(14):
        js.publish("S", b"x" * LARGE)
    with Subscriber(js, "d") as it:
        consumer(js, "S", "C", deliver_subject="d", idle_heartbeat=HEARTBEAT, flow_control=True)
        _, beat = until_stalled(it)
        subject = stall_subject(beat)
        it.send(subject[:-4] + "0000")
        it.send("d")
        assert it.frame().subject == "d"
        assert until_stalled(it)[0] == []
        it.send(subject, b"any words")
        for _ in range(3):
            it.next()
        assert consumer_info(js, "S", "C")["num_pending"] == 0


@scenario("DLV-004")
def test_small_messages_need_no_request(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 50)
    with Subscriber(js, "d") as it:
        consumer(js, "S", "C", deliver_subject="d", idle_heartbeat=HEARTBEAT, flow_control=True)
        assert [stream_seq(message) for message in it.take(50)] == list(range(1, 51))
        assert it.heartbeat().headers == idle(50, 50)
