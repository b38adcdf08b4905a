"""Pull requests and limits: of the consumer, of bytes, of waiting requests, of unacked messages."""

from __future__ import annotations

from tests.jetstream.pulling import LONG, MS, NAK, arrivals, consumer, deliveries, sequences, stream
from tests.jetstream.support import JetStream, Json, scenario


@scenario("PULL-010", "PULL-011", "PULL-012")
def test_limits_of_the_consumer(js: JetStream) -> None:
    stream(js, 9)
    c = consumer(js, max_batch=5, max_expires=5000 * MS, max_bytes=1000)
    requests: list[tuple[Json, str]] = [
        ({"batch": 6}, "409 Exceeded MaxRequestBatch of 5"),
        ({"batch": 1, "expires": 5001 * MS}, "409 Exceeded MaxRequestExpires of 5s"),
        ({"batch": 1, "max_bytes": 1001}, "409 Exceeded MaxRequestMaxBytes of 1000"),
        ({"batch": 6, "expires": LONG, "max_bytes": 2000}, "409 Exceeded MaxRequestBatch of 5"),
    ]
    for body, status in requests:
        assert c.pull(body).status() == status
    assert sequences(c.pull({"batch": 5, "expires": 5000 * MS}).messages(5)) == [1, 2, 3, 4, 5]
    c.pull({"batch": 1, "expires": 5000 * MS, "max_bytes": 1000}).messages(1)
    c.pull({"batch": 1}).messages(1)
    for limit in (1 * MS, 1500 * MS, 90_000 * MS, 3_661_001 * MS):
        c.update(max_expires=limit)
        c.pull({"expires": limit + 100 * MS}).status()
    c.settled(num_waiting=0)


@scenario("PULL-013")
def test_api_level(js: JetStream) -> None:
    stream(js, 3)
    c = consumer(js)
    for level in ("6", "x", "-1", "", "99999999999999999999"):
        c.pull(b"", {"Nats-Required-Api-Level": level}).next()
    high = c.pull(b"", {"Nats-Required-Api-Level": "100"}).next()
    assert (high.status, high.data) == ("412 Required Api Level", b"")
    c.pull(b"", {"Nats-Required-Api-Level": "5"}).messages(1)


@scenario("PULL-015", "PULL-016")
def test_max_waiting(js: JetStream) -> None:
    stream(js)
    c = consumer(js, max_waiting=2)
    first, second = c.waits(), c.waits()
    assert c.pull({"expires": LONG}).status() == "409 Exceeded MaxWaiting"
    assert c.pull().status() == "409 Exceeded MaxWaiting"
    assert c.pull({"no_wait": True}).next()
    beating = c.pull({"expires": LONG, "idle_heartbeat": 10_000 * MS})
    assert c.pull({"expires": LONG}).status() == "409 Exceeded MaxWaiting"
    beating.nothing()
    assert c.settled(num_waiting=2)["num_waiting"] == 2
    js.publish("s.1")
    first.messages(1)
    third = c.waits()
    for pull in (second, third):
        js.publish("s.2")
        pull.messages(1)
    beating.nothing()


@scenario("PULL-017", "PULL-018")
def test_max_bytes(js: JetStream) -> None:
    stream(js)
    c = consumer(js)
    for _ in range(4):
        js.publish("s.1", b"x" * 100)
    small = c.pull({"batch": 2, "max_bytes": 10}).next()
    assert small.status == "409 Message Size Exceeds MaxBytes"
    assert small.header("Nats-Pending-Messages") == "2"
    assert small.header("Nats-Pending-Bytes") == "10"
    assert c.settled(num_waiting=0)["num_ack_pending"] == 0
    done = c.pull({"batch": 1, "max_bytes": 1000, "expires": LONG})
    (message,) = done.messages(1)
    size = len(message.subject) + len(message.reply) + 100
    end = done.next()
    assert end.status == "409 Batch Completed"
    assert end.header("Nats-Pending-Messages") == "0"
    assert end.header("Nats-Pending-Bytes") == str(1000 - size)
    exact = c.pull({"batch": 1, "max_bytes": size, "expires": LONG})
    exact.messages(1)
    short = c.pull({"batch": 1, "max_bytes": size - 1, "expires": LONG})
    assert short.status() == "409 Message Size Exceeds MaxBytes"
    part = c.pull({"batch": 5, "max_bytes": size + 5, "expires": LONG})
    part.messages(1)
    assert part.status() == "409 Message Size Exceeds MaxBytes"
    exact.nothing()
    c.settled(num_waiting=0)


@scenario("PULL-017")
def test_max_bytes_without_batch(js: JetStream) -> None:
    stream(js)
    c = consumer(js)
    for _ in range(5):
        js.publish("s.1", b"x" * 100, {"A": "b"})
    c.pull({"max_bytes": 10_000, "no_wait": True}).until_status()
    c.pull({"max_bytes": 300, "batch": 10, "no_wait": True}).until_status()
    c.pull({"max_bytes": 10_000, "batch": 10, "no_wait": True}).until_status()
    c.settled(num_waiting=0)


@scenario("PULL-061")
def test_requests_pending(js: JetStream) -> None:
    stream(js, 3)
    c = consumer(js, max_ack_pending=1)
    c.fetch()
    c.waits(batch=5)
    c.pull({"no_wait": True, "batch": 1}).next()
    c.settled(num_waiting=1)


@scenario("PULL-017")
def test_too_large_for_the_first(js: JetStream) -> None:
    """The status comes before the message that the next request gets."""
    stream(js)
    c = consumer(js)
    small, large = c.waits(batch=2, max_bytes=50), c.waits(batch=2)
    js.publish("s.1", b"x" * 100)
    first, second = arrivals(2, small, large)
    assert (first.sid, second.sid) == (small.sid, large.sid)
    assert first.status == "409 Message Size Exceeds MaxBytes"
    c.settled(num_waiting=1)


@scenario("PULL-017", "PULL-026")
def test_redelivery_too_large(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    js.publish("s.1", b"x" * 100)
    js.publish("s.2", b"y")
    c = consumer(js)
    c.ack(c.fetch()[0], NAK)
    assert c.pull({"batch": 2, "max_bytes": 60}).status() == "409 Message Size Exceeds MaxBytes"
    c.settled(num_waiting=0)
    assert deliveries(c.drain()) == [(1, 2), (2, 1)]
    c.info()


@scenario("PULL-015", "PULL-062")
def test_waiting_without_interest(js: JetStream) -> None:
    """A request that nobody reads counts once more before it is dropped."""
    stream(js)
    c = consumer(js, max_waiting=1)
    c.waits().leave()
    assert c.pull({"expires": LONG}).status() == "409 Exceeded MaxWaiting"
    c.settled(num_waiting=0)
    last = c.waits()
    js.publish("s.1")
    last.messages(1)


@scenario("PULL-021", "PULL-022")
def test_max_ack_pending(js: JetStream) -> None:
    stream(js, 5)
    c = consumer(js, max_ack_pending=2)
    pull = c.pull({"batch": 5, "expires": LONG})
    first, second = pull.messages(2)
    info = c.settled(num_waiting=1)
    assert (info["num_ack_pending"], info["num_pending"]) == (2, 3)
    c.ack(second)
    assert sequences(pull.messages(1)) == [3]
    c.ack(first, NAK)
    assert deliveries(pull.messages(1)) == [(1, 2)]
    c.info()
    c.update(max_ack_pending=3)
    assert sequences(pull.messages(1)) == [4]
    c.settled(num_waiting=0)


@scenario("PULL-022")
def test_stuck_no_wait(js: JetStream) -> None:
    stream(js, 4)
    c = consumer(js, max_ack_pending=1)
    (first,) = c.fetch()
    stuck = c.pull({"no_wait": True, "batch": 2})
    c.settled(num_waiting=1)
    c.ack(first)
    (second,) = stuck.messages(1)
    c.info()
    c.ack(second)
    stuck.messages(1)
    c.settled(num_waiting=0)
    partly = consumer(js, "D", max_ack_pending=2)
    pull = partly.pull({"no_wait": True, "batch": 3})
    taken = pull.messages(2)
    partly.settled(num_waiting=1)
    partly.ack(taken[0])
    pull.messages(1)
    partly.settled(num_waiting=0)


@scenario("PULL-021")
def test_redeliveries_are_not_limited(js: JetStream) -> None:
    stream(js, 4)
    c = consumer(js, max_ack_pending=2, ack_wait=150 * MS)
    c.fetch(2)
    assert deliveries(c.fetch(2)) == [(1, 2), (2, 2)]
    c.info()
