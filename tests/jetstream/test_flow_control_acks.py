"""The ack policy flow_control: answers to flow-control requests say how far the client is."""

from __future__ import annotations

import pytest

from tests.jetstream.pushing import (
    Subscriber,
    consumer_info,
    consumer_refused,
    durable,
    positions,
    settled_consumer,
)
from tests.jetstream.support import SECOND, JetStream, Json, Message, frame_of, scenario
from tests.jetstream.test_flow_control import REQUEST, STALLED, idle

ACKS = {"deliver_subject": "d", "ack_policy": "flow_control"}


@scenario("DLV-042", "CON-046")
def test_acks_by_flow_control(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 12)
    with Subscriber(js, "d") as it:
        config = durable(js, "S", "C", **ACKS, max_ack_pending=5)["config"]
        assert (config["idle_heartbeat"], config["flow_control"]) == (SECOND, True)
        it.take(5)
        request = it.next()
        assert request.status == REQUEST
        info = consumer_info(js, "S", "C")
        assert (positions(info), info["num_ack_pending"]) == ((5, 5, 0, 0), 5)
        confirm(js, request, 2, 2)
        it.take(2)
        request = it.next()
        info = consumer_info(js, "S", "C")
        assert (positions(info), info["num_ack_pending"]) == ((7, 7, 2, 2), 5)
        confirm(js, request, 7, 7)
        it.take(5)
        request = it.next()
        assert it.frame().header(STALLED) == request.reply
        confirm(js, request, 12, 12)
        settled_consumer(js, "S", "C", lambda info: info["num_ack_pending"] == 0)


@scenario("DLV-042")
def test_an_answer_without_positions_acks_nothing(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 3)
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", **ACKS, max_ack_pending=2)
        it.take(2)
        request = it.next()
        it.send(request.reply)
        assert it.heartbeat().headers == idle(2, 2)
        again = it.next()
        assert again.status == REQUEST
        assert again.reply != request.reply
        assert consumer_info(js, "S", "C")["num_ack_pending"] == 2


@scenario("DLV-042")
def test_a_request_comes_with_the_heartbeat(js: JetStream) -> None:
    js.create("S")
    js.publish_all("S", "S")
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", **ACKS)
        it.take(2)
        it.any()
        request = it.any()
        confirm(js, request, 2, 2)
        info = settled_consumer(js, "S", "C", lambda info: info["num_ack_pending"] == 0)
        assert positions(info) == (2, 2, 2, 2)


def confirm(js: JetStream, request: Message, consumer_sequence: int, stream_sequence: int) -> None:
    assert request.status == REQUEST
    positions = {
        "Nats-Last-Consumer": str(consumer_sequence), "Nats-Last-Stream": str(stream_sequence),
    }  # fmt: skip
    js.client.send(frame_of(request.reply, b"", positions, b""))


@scenario("DLV-042")
def test_plain_acks_mean_nothing(js: JetStream) -> None:
    js.create("S")
    js.publish("S", b"1")
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", **ACKS)
        message = it.next()
        assert js.request(message.reply, b"+ACK").status == "503"
        consumer_info(js, "S", "C")


@pytest.mark.parametrize("retention", ["interest", "workqueue"])
@scenario("DLV-042", "DLV-011", "DLV-036")
def test_flow_control_acks_remove(js: JetStream, retention: str) -> None:
    js.create("S", retention=retention)
    with Subscriber(js, "d") as it:
        durable(js, "S", "C", **ACKS, max_ack_pending=2)
        it.each("S", "S")
        confirm(js, it.next(), 1, 1)
        js.settled("S", messages=1)


@scenario("DLV-042", "CON-045")
def test_refusals(js: JetStream) -> None:
    js.create("S")
    refusals: list[tuple[Json, int]] = [
        ({"max_deliver": 3}, 10222),
        ({"ack_wait": SECOND}, 10221),
        ({"backoff": [1]}, 10221),
        ({"max_ack_pending": -1}, 10220),
    ]
    for config, code in refusals:
        assert consumer_refused(js, "S", "C", **ACKS, **config)["err_code"] == code
    assert consumer_refused(js, "S", "C", ack_policy="flow_control")["err_code"] == 10218
    body = {"stream_name": "S", "pedantic": True, "config": {"name": "C", **ACKS}}
    assert js.refused("CONSUMER.CREATE.S.C", body)["err_code"] == 10219
    body["config"] = {"name": "C", **ACKS, "flow_control": True, "idle_heartbeat": 2 * SECOND}
    js.refused("CONSUMER.CREATE.S.C", body)
