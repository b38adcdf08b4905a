"""Acks: what each payload does, what is confirmed, and what the counters say after each step."""

from __future__ import annotations

import pytest

from tests.jetstream.pulling import (
    ACK,
    LONG,
    MS,
    NAK,
    TERM,
    WPI,
    Consumer,
    another,
    consumer,
    deliveries,
    stream,
)
from tests.jetstream.support import STORAGES, JetStream, scenario

# Payloads that settle a message for good.
SETTLING = [b"", b"+ACK", b"+OK", b"+TERM", b"+TERM because"]
# Payloads that are confirmed and leave the message pending.
IDLE = [
    b"+WPI",
    b"hello",
    b"+ack",
    b"+ACKNOWLEDGED",
    b" +ACK",
    b"+ACK ",
    b"+WPI now",
    b"-nak",
    b"+",
]


@pytest.mark.parametrize("payload", SETTLING)
@scenario("PULL-024", "PULL-025", "PULL-028")
def test_settling(js: JetStream, payload: bytes) -> None:
    stream(js, 3)
    c = consumer(js)
    first, second, _ = c.fetch(3)
    c.ack(first, payload)
    info = c.info()
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (2, 1)
    c.ack(first, payload)
    c.info()
    c.cast(second, payload)
    info = c.settled(num_ack_pending=1)
    assert info["ack_floor"]["stream_seq"] == 2


@pytest.mark.parametrize("payload", IDLE)
@scenario("PULL-024", "PULL-027")
def test_idle(js: JetStream, payload: bytes) -> None:
    stream(js, 2)
    c = consumer(js)
    first, second = c.fetch(2)
    c.ack(first, payload)
    c.info()
    c.cast(second, payload)
    c.ack(second)
    assert c.info()["ack_floor"]["stream_seq"] in (0, 2)


@scenario("PULL-024")
def test_ack_with_headers(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    first, second = c.fetch(2)
    js.request(first.reply, b"+ACK", {"A": "b"})
    c.info()
    js.request(second.reply, b"", {"A": "b"})
    c.settled(num_ack_pending=0)


@scenario("PULL-024")
def test_out_of_order(js: JetStream) -> None:
    stream(js, 5)
    c = consumer(js)
    messages = c.fetch(5)
    floors = []
    for number in (3, 5, 1, 2, 4):
        c.ack(messages[number - 1])
        info = c.info()
        floors.append((info["ack_floor"]["consumer_seq"], info["ack_floor"]["stream_seq"]))
    assert floors == [(0, 0), (0, 0), (1, 1), (3, 3), (5, 5)]


@scenario("PULL-024")
def test_floor_over_gaps(js: JetStream) -> None:
    """The consumer's filter leaves sequences out."""
    js.create("S", subjects=["s.>"])
    js.publish_all("s.a", "s.b", "s.b", "s.a", "s.b", "s.a")
    c = consumer(js, filter_subject="s.a")
    one, four, six = c.fetch(3)
    for message in (four, one, six):
        c.ack(message)
        c.info()


@scenario("PULL-058")
def test_ack_all(js: JetStream) -> None:
    stream(js, 6)
    c = consumer(js, ack_policy="all")
    messages = c.fetch(5)
    c.ack(messages[2])
    info = c.info()
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (2, 3)
    c.ack(messages[0])
    c.info()
    c.ack(messages[2])
    c.info()
    c.ack(messages[3], TERM)
    c.info()
    c.ack(messages[4], NAK)
    c.info()
    assert deliveries(c.fetch(2)) == [(5, 2), (6, 1)]
    c.ack(messages[4], WPI)
    c.ack(messages[4])
    c.info()


@pytest.mark.parametrize("payload", [b"", b"+ACK", b"+TERM", b"+TERM because", b"+OK", NAK, WPI])
@scenario("PULL-058")
def test_what_is_below(js: JetStream, payload: bytes) -> None:
    stream(js, 5)
    c = consumer(js, ack_policy="all")
    messages = c.fetch(4)
    c.ack(messages[1], payload)
    settled = payload not in (NAK, WPI)
    assert c.info()["num_ack_pending"] == (2 if settled else 4)
    c.ack(messages[3], payload)
    assert c.info()["num_ack_pending"] == (0 if settled else 4)
    c.drain()
    c.info()


@scenario("PULL-058")
def test_ack_all_without_confirmation(js: JetStream) -> None:
    stream(js, 3)
    c = consumer(js, ack_policy="all")
    messages = c.fetch(3)
    c.cast(messages[1])
    c.settled(num_ack_pending=1)


@scenario("DLV-033")
def test_ack_none(js: JetStream) -> None:
    stream(js, 3)
    c = consumer(js, ack_policy="none")
    (first,) = c.fetch()
    info = c.info()
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (0, 1)
    c.fetch(2)
    info = c.info()
    assert info["ack_floor"]["stream_seq"] == info["delivered"]["stream_seq"]
    answer = js.request(first.reply, ACK)
    js.note(answer.status)
    js.request(first.reply, NAK)
    c.info()


@STORAGES
@scenario("PULL-066")
def test_removed_messages(js: JetStream, storage: str) -> None:
    stream(js, 4, storage=storage)
    c = consumer(js)
    messages = c.fetch(4)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 1})
    c.ack(messages[0])
    c.settled(floor=1)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 3})
    c.settled(num_ack_pending=2)
    c.ack(messages[2])
    c.ack(messages[1])
    c.info()
    js.ok("STREAM.PURGE.S")
    c.settled(num_ack_pending=0)
    c.ack(messages[3])
    c.info()


@scenario("PULL-024")
def test_another_connection_acks(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    first, second = c.fetch(2)
    with another(js) as other:
        theirs = Consumer(other)
        theirs.ack(first)
        assert c.info()["ack_floor"]["stream_seq"] == 1
        theirs.cast(second)
        c.settled(num_ack_pending=0)


@scenario("PULL-026")
def test_nak_of_what_is_not_pending(js: JetStream) -> None:
    stream(js, 3)
    c = consumer(js, ack_wait=LONG)
    first, second = c.fetch(2)
    c.ack(first)
    c.ack(first, NAK)
    c.ack(second, TERM)
    c.ack(second, NAK)
    assert deliveries(c.fetch()) == [(3, 1)]
    c.info()
    c.pull({"expires": 50 * MS}).status()
