"""Pull requests: their forms, whom they serve, and what ends them."""

from __future__ import annotations

import pytest

from tests.jetstream.pulling import (
    LONG,
    MS,
    ack_parts,
    consumer,
    elapsed,
    sequences,
    stream,
)
from tests.jetstream.support import STORAGES, JetStream, scenario

TIMEOUT = "408 Request Timeout"
EMPTY = "404 No Messages"

# The body of a request, and how many messages it is good for.
BODIES: list[tuple[bytes, int]] = [
    (b"", 1),
    (b"3", 3),
    (b" 3", 3),
    (b"3 ", 3),
    (b"0", 1),
    (b"-1", 1),
    (b"+2", 2),
    (b"02", 2),
    (b"1.5", 1),
    (b"2x", 1),
    (b"hello", 1),
    (b'"3"', 1),
    (b"[3]", 1),
    (b"null", 1),
    (b"true", 1),
    (b"{}", 1),
    (b'{"batch":2}', 2),
    (b'{"batch":0}', 1),
    (b'{"batch":-3}', 1),
    (b'{"batch":null}', 1),
    (b'{"BATCH":2}', 2),
    (b'{"batch":2,"bogus":7}', 2),
    (b'{"expires":0,"batch":2}', 2),
]


@pytest.mark.parametrize(("body", "count"), BODIES)
@scenario("PULL-001", "PULL-002")
def test_bodies(js: JetStream, body: bytes, count: int) -> None:
    stream(js, 5)
    c = consumer(js)
    first = c.pull(body)
    assert sequences(first.messages(count)) == list(range(1, count + 1))
    assert sequences(c.fetch()) == [count + 1]
    first.nothing()
    assert c.settled(num_waiting=0)["num_ack_pending"] == count + 1


BAD_BODIES = [
    b"{",
    b"{x",
    b" {",
    b'{"batch":"2"}',
    b'{"batch":1.5}',
    b'{"batch":2}x',
    b'{"expires":"1s"}',
    b'{"expires":-1}',
    b'{"no_wait":1}',
    b'{"max_bytes":"x"}',
    b'{"batch":99999999999999999999}',
    b'{"idle_heartbeat":-5}',
    b'{"group":7}',
]


@pytest.mark.parametrize("body", BAD_BODIES)
@scenario("PULL-009")
def test_bad_bodies(js: JetStream, body: bytes) -> None:
    stream(js, 5)
    c = consumer(js)
    c.pull(body).next()
    c.fetch()
    c.settled(num_waiting=0)


@STORAGES
@scenario("PULL-003", "PULL-004", "PULL-067", "DLV-023")
def test_what_a_message_looks_like(js: JetStream, storage: str) -> None:
    js.create("S", subjects=["s.>"], storage=storage)
    js.publish("s.a.b", b"plain")
    js.publish("s.c", b"body", {"A": "1", "B": "2"})
    js.publish("s.d", b"", {"A": "1"})
    js.publish("s.e")
    c = consumer(js)
    taken = c.fetch(4)
    assert [message.subject for message in taken] == ["s.a.b", "s.c", "s.d", "s.e"]
    for number, message in enumerate(taken, 1):
        name, durable, count, sequence, at, _, pending = ack_parts(message)
        assert (name, durable, count) == ("S", "C", 1)
        assert (sequence, at, pending) == (number, number, 4 - number)
    assert taken[1].headers == b"NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n"
    js.note(taken[0].sid == taken[3].sid)


@scenario("PULL-004")
def test_time_in_the_ack_subject(js: JetStream) -> None:
    stream(js, 1)
    (message,) = consumer(js).fetch()
    stored = js.message("S", seq=1)["time"]
    nanoseconds = str(ack_parts(message)[5])
    fraction = stored.rstrip("Z").partition(".")[2].ljust(9, "0")
    assert nanoseconds.endswith(fraction)


@scenario("PULL-005")
def test_no_wait(js: JetStream) -> None:
    stream(js)
    c = consumer(js)
    empty = c.pull({"no_wait": True}).next()
    assert (empty.headers, empty.data) == (b"NATS/1.0 404 No Messages\r\n\r\n", b"")
    assert (empty.subject, empty.reply) == (empty.subject, "")
    js.publish_all("s.1", "s.2", "s.3")
    assert sequences(c.pull({"no_wait": True}).messages(1)) == [1]
    rest = c.pull({"no_wait": True, "batch": 5}).until_status()
    assert (sequences(rest[:-1]), rest[-1].status) == ([2, 3], EMPTY)
    assert c.pull({"no_wait": True, "batch": 5}).status() == EMPTY
    js.publish_all("s.4", "s.5")
    exact = c.pull({"no_wait": True, "batch": 2})
    exact.messages(2)
    assert c.pull({"no_wait": True, "idle_heartbeat": 100 * MS}).status()
    exact.nothing()
    c.settled(num_waiting=0)


@scenario("PULL-060")
def test_no_wait_with_expires(js: JetStream) -> None:
    stream(js)
    c = consumer(js)
    late = c.pull({"no_wait": True, "expires": 100 * MS, "batch": 3})
    assert elapsed(late.status) >= 0.09
    waiting = c.waits(no_wait=True, batch=5)
    js.publish_all("s.1")
    taken = waiting.until_status()
    assert sequences(taken[:-1]) == [1]
    js.publish_all("s.2", "s.3")
    c.reached(num_pending=2)
    some = c.pull({"no_wait": True, "expires": LONG, "batch": 5}).until_status()
    assert sequences(some[:-1]) == [2, 3]
    js.publish_all("s.4", "s.5")
    c.pull({"no_wait": True, "expires": LONG, "batch": 2}).messages(2)
    c.settled(num_waiting=0)


@scenario("PULL-006")
def test_expires(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    pull = c.pull({"batch": 5, "expires": 100 * MS})
    pull.messages(2)
    end = pull.next()
    assert end.status == TIMEOUT
    assert end.header("Nats-Pending-Messages") == "3"
    assert end.header("Nats-Pending-Bytes") == "0"
    limited = c.pull({"batch": 5, "expires": 100 * MS, "max_bytes": 1000})
    end = limited.next()
    assert (end.header("Nats-Pending-Messages"), end.header("Nats-Pending-Bytes")) == ("5", "1000")
    js.publish("s.1", b"12345")
    limited = c.pull({"batch": 5, "expires": 100 * MS, "max_bytes": 1000})
    (message,) = limited.messages(1)
    left = 1000 - len(message.subject) - len(message.reply) - 5
    assert limited.next().header("Nats-Pending-Bytes") == str(left)
    assert c.settled(num_waiting=0)["num_ack_pending"] == 3


@scenario("PULL-007")
def test_heartbeats(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    pull = c.pull({"batch": 3, "expires": 500 * MS, "idle_heartbeat": 200 * MS})
    pull.messages(2)
    beat = pull.next()
    assert beat.headers == (
        b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 2\r\nNats-Last-Stream: 2\r\n\r\n"
    )
    assert pull.status() == "100 Idle Heartbeat"
    assert pull.status() == TIMEOUT
    quiet = c.pull({"expires": LONG, "idle_heartbeat": 200 * MS})
    quiet.status()
    js.publish("s.3")
    quiet.messages(1)
    c.settled(num_waiting=0)


@scenario("PULL-008")
def test_heartbeat_too_large(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js)
    bad = c.pull({"expires": 1000 * MS, "idle_heartbeat": 501 * MS})
    assert bad.status() == "400 Bad Request - heartbeat value too large"
    c.pull({"expires": 1000 * MS, "idle_heartbeat": 500 * MS}).messages(1)
    assert c.pull({"idle_heartbeat": 100 * MS, "no_wait": True}).next()
