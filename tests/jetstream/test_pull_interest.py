"""Whom pull requests serve: several at once, on several connections, and inboxes without interest."""

from __future__ import annotations

import signal

import pytest

from tests.jetstream.pulling import (
    LONG,
    MS,
    NAK,
    Consumer,
    Pull,
    another,
    arrivals,
    consumer,
    sequences,
    stream,
)
from tests.jetstream.support import API, JetStream, OwnServer, own_server, scenario


@scenario("PULL-014")
def test_unknown_consumer(js: JetStream) -> None:
    stream(js, 1)
    for name in ("S.X", "X.C", "S", "S.C.D"):
        pull = Pull(js).send(f"{API}CONSUMER.MSG.NEXT.{name}")
        if name in ("S.X", "X.C"):
            assert pull.next().status == "503"
    c = consumer(js)
    c.fetch()
    c.delete()
    js.fence()
    assert c.pull().status() == "503"


@scenario("PULL-019")
@pytest.mark.parametrize("act", ["consumer", "stream"])
def test_deleted_while_waiting(js: JetStream, act: str) -> None:
    stream(js)
    c = consumer(js)
    pulls = [c.waits(), c.waits(batch=5, max_bytes=100), c.waits(idle_heartbeat=LONG // 3)]
    if act == "consumer":
        c.delete()
    else:
        js.delete("S")
    for pull in pulls:
        assert pull.next().headers == b"NATS/1.0 409 Consumer Deleted\r\n\r\n"


@scenario("PULL-020")
def test_push_consumer(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, deliver_subject="d")
    for body in (b"", b"{bad", {"no_wait": True}):
        assert c.pull(body).next().headers == b"NATS/1.0 409 Consumer is push based\r\n\r\n"


@scenario("PULL-059")
def test_round_robin(js: JetStream) -> None:
    stream(js)
    c = consumer(js)
    pulls = [c.waits(batch=3), c.waits(batch=1), c.waits(batch=2)]
    names = {pull.sid: name for pull, name in zip(pulls, "abc", strict=True)}
    order = ""
    for _ in range(6):
        js.publish("s.1")
        order += names[arrivals(1, *pulls)[0].sid]
    assert order == "abcaca"
    c.settled(num_waiting=0)


@scenario("PULL-062", "PULL-068")
def test_lost_interest(js: JetStream) -> None:
    stream(js)
    c = consumer(js)
    gone, stays = c.waits(batch=5), c.waits(batch=2)
    assert c.info()["num_waiting"] == 2
    gone.leave()
    for sequence in (1, 2):
        js.publish("s.1")
        assert sequences(stays.messages(1)) == [sequence]
    assert c.settled(num_waiting=0, num_pending=0)["num_ack_pending"] == 2
    gone.nothing()


@scenario("PULL-062")
def test_interest_for_a_few(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    few = Pull(js)
    few.leave(after=2)
    few.send(c.subject, {"batch": 3, "expires": LONG})
    few.messages(2)
    more = c.pull({"expires": LONG})
    js.publish("s.3")
    assert sequences(more.messages(1)) == [3]
    c.settled(num_waiting=0)


@scenario("PULL-062")
def test_the_other_connection_leaves(js: JetStream) -> None:
    stream(js)
    c = consumer(js)
    with another(js) as other:
        Consumer(other).waits(batch=5)
        js.publish("s.1")
        c.reached(delivered=1)
    mine = c.pull({"expires": LONG})
    js.publish("s.2")
    assert sequences(mine.messages(1)) == [2]
    c.settled(num_waiting=0)


@scenario("PULL-059")
def test_two_connections(js: JetStream) -> None:
    stream(js, 3)
    c = consumer(js)
    with another(js) as other:
        theirs = Consumer(other)
        assert sequences(theirs.fetch(2)) == [1, 2]
        assert sequences(c.fetch()) == [3]
        waiting = theirs.waits()
        js.publish("s.4")
        waiting.messages(1)
        c.settled(num_waiting=0)


@scenario("PULL-001")
def test_two_requests_on_one_inbox(js: JetStream) -> None:
    stream(js)
    c = consumer(js)
    pull = c.waits(batch=2)
    pull.send(c.subject, {"batch": 2, "expires": LONG})
    c.reached(num_waiting=2)
    for sequence in (1, 2, 3, 4):
        js.publish("s.1")
        assert sequences(pull.messages(1)) == [sequence]
    c.settled(num_waiting=0)


@scenario("PULL-001")
def test_no_reply(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    js.cast(c.subject)
    js.cast(c.subject, b'{"batch":2}')
    assert sequences(c.fetch()) == [1]
    c.settled(num_waiting=0)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
@own_server("PULL-064")
def test_server_stops(js: OwnServer, how: signal.Signals) -> None:
    stream(js, 1)
    c = consumer(js)
    c.fetch()
    pulls = [c.waits(batch=3), c.waits(max_bytes=100), c.waits(idle_heartbeat=LONG // 3)]
    js.server.signal(how)
    for pull in pulls:
        assert pull.status() == "409 Server Shutdown"
    js.server.wait()


@scenario("PULL-006")
def test_order_of_expiry(js: JetStream) -> None:
    stream(js)
    c = consumer(js)
    last = c.pull({"expires": 400 * MS})
    first = c.pull({"expires": 150 * MS})
    second = c.pull({"expires": 250 * MS, "batch": 2})
    order = [message.sid for message in arrivals(3, last, first, second)]
    assert order == [first.sid, second.sid, last.sid]
    c.settled(num_waiting=0)


@scenario("PULL-059", "PULL-026")
def test_round_robin_with_redelivery(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    messages = c.fetch(2)
    pulls = [c.waits(batch=3), c.waits(batch=3)]
    for _ in range(3):
        js.publish("s.1")
        arrivals(1, *pulls)
    c.ack(messages[0], NAK)
    (again,) = arrivals(1, *pulls)
    assert again.sid == pulls[1].sid
    c.info()
