"""What ends redelivery: max_deliver, and messages that are gone."""

from __future__ import annotations

from tests.jetstream.pulling import (
    ADVISORY,
    LONG,
    MS,
    NAK,
    TERM,
    advisories,
    consumer,
    deliveries,
    no_advisories,
    sequences,
    stream,
)
from tests.jetstream.support import STORAGES, JetStream, Message, scenario

WAIT = 150 * MS
DELETED = "Unacknowledged message was deleted"


@scenario("PULL-054", "PULL-055", "DLV-020")
def test_max_deliver(js: JetStream) -> None:
    stream(js, 2)
    js.listen(ADVISORY + "MAX_DELIVERIES.>")
    c = consumer(js, ack_wait=WAIT, max_deliver=2)
    c.fetch(1)
    assert deliveries(c.pull({"batch": 2, "expires": LONG}).messages(2)) == [(2, 1), (1, 2)]
    c.info()
    again = c.pull({"batch": 5, "expires": LONG})
    assert deliveries(again.messages(1)) == [(2, 2)]
    (first, second) = advisories(js, 2)
    assert [it.json["stream_seq"] for it in (first, second)] == [1, 2]
    assert list(first.json)[3:] == ["stream", "consumer", "stream_seq", "deliveries"]
    assert first.json["deliveries"] == 2
    info = c.settled(num_ack_pending=0)
    assert js.state("S")["messages"] == 2
    js.note(info["num_redelivered"])
    js.publish("s.3")
    again.messages(1)
    no_advisories(js)


@scenario("PULL-054")
def test_max_deliver_without_a_request(js: JetStream) -> None:
    stream(js, 1)
    js.listen(ADVISORY + "MAX_DELIVERIES.>")
    c = consumer(js, ack_wait=WAIT, max_deliver=1)
    c.fetch()
    other = consumer(js, "D", filter_subject="none")
    other.pause(300)
    info = c.info()
    assert (info["num_ack_pending"], info["num_redelivered"]) == (0, 0)
    advisories(js, 1)
    assert c.pull({"no_wait": True}).status() == "404 No Messages"
    no_advisories(js)
    c.info()


@scenario("PULL-055")
def test_late_ack_after_max_deliver(js: JetStream) -> None:
    stream(js, 2)
    js.listen(ADVISORY + "MAX_DELIVERIES.>")
    c = consumer(js, ack_wait=WAIT, max_deliver=1)
    first, second = c.fetch(2)
    pull = c.pull({"expires": LONG})
    advisories(js, 2, by_sequence=True)
    c.settled(num_ack_pending=0)
    c.ack(second)
    c.info()
    c.ack(first)
    c.info()
    c.ack(first, NAK)
    js.publish("s.3")
    assert sequences(pull.messages(1)) == [3]
    c.info()


@scenario("PULL-055", "PULL-026")
def test_nak_of_the_last_delivery(js: JetStream) -> None:
    stream(js, 2)
    js.listen(ADVISORY + ">")
    c = consumer(js, max_deliver=2)
    advisories(js, 1)
    (message,) = c.fetch()
    c.ack(message, NAK)
    (message,) = c.fetch()
    c.ack(message, NAK)
    advisories(js, 2)
    no_advisories(js)
    assert c.info()["num_ack_pending"] == 1
    assert sequences(c.fetch()) == [2]
    (advisory,) = advisories(js, 1)
    assert advisory.subject == ADVISORY + "MAX_DELIVERIES.S.C"
    c.info()


@scenario("PULL-028")
def test_term(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js, ack_wait=WAIT)
    first, second = c.fetch(2)
    c.ack(first, TERM)
    assert deliveries(c.fetch()) == [(2, 2)]
    c.ack(second, TERM)
    c.pause(300)
    info = c.info()
    assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (0, 2)
    assert js.state("S")["messages"] == 2


@STORAGES
@scenario("DLV-040")
def test_deleted_while_pending(js: JetStream, storage: str) -> None:
    stream(js, 4, storage=storage)
    js.listen(ADVISORY + "MSG_TERMINATED.>")
    c = consumer(js, ack_wait=WAIT)
    c.fetch(3)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 2})
    c.settled(num_ack_pending=2)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 4})
    c.settled(num_pending=0)
    assert deliveries(c.fetch(2)) == [(1, 2), (3, 2)]
    (advisory,) = advisories(js, 1)
    assert advisory.json["reason"] == DELETED
    no_advisories(js)
    c.info()


@scenario("DLV-040")
def test_naked_and_deleted(js: JetStream) -> None:
    stream(js, 3)
    js.listen(ADVISORY + "MSG_TERMINATED.>")
    c = consumer(js)
    first, second, third = c.fetch(3)
    for message in (first, second, third):
        c.ack(message, NAK)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 2})
    c.settled(num_ack_pending=2)
    assert deliveries(c.drain()) == [(1, 2), (3, 2)]
    advisories(js, 1)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 1})
    c.settled(num_ack_pending=1)
    advisories(js, 1)
    js.ok("STREAM.PURGE.S")
    c.settled(num_ack_pending=0)
    no_advisories(js)


@scenario("DLV-040")
def test_limits_remove_what_is_pending(js: JetStream) -> None:
    stream(js, 3, max_msgs=3)
    js.listen(ADVISORY + "MSG_TERMINATED.>")
    c = consumer(js)
    c.fetch(3)
    js.publish("s.4")
    c.settled(num_ack_pending=2)
    advisories(js, 1)
    assert sequences(c.drain()) == [4]
    c.info()


@scenario("PULL-055")
def test_floor_stays_below(js: JetStream) -> None:
    """What was delivered too often is never acked, and the floor waits for it."""
    stream(js, 3)
    js.listen(ADVISORY + "MAX_DELIVERIES.>")
    c = consumer(js, max_deliver=1, ack_wait=WAIT)
    messages = c.fetch(3)
    c.ack(messages[0])
    c.ack(messages[2])
    advisories(js, 1)
    c.settled(num_ack_pending=0)
    js.publish("s.4")
    c.ack(c.fetch()[0])
    c.info()


@scenario("PULL-055", "PULL-026")
def test_acks_after_the_last_nak(js: JetStream) -> None:
    stream(js, 3)
    js.listen(ADVISORY + "MAX_DELIVERIES.>")
    c = consumer(js, max_deliver=1)
    messages = c.fetch(3)
    c.ack(messages[0])
    c.ack(messages[1], NAK)
    assert c.drain() == []
    advisories(js, 1)
    c.info()
    c.ack(messages[2])
    c.info()
    c.ack(messages[1])
    c.info()


@scenario("CON-058", "PULL-055")
def test_update_of_max_deliver(js: JetStream) -> None:
    stream(js, 1)
    js.listen(ADVISORY + "MAX_DELIVERIES.>")
    c = consumer(js, max_deliver=1)
    c.ack(c.fetch()[0], NAK)
    c.update(max_deliver=3)
    assert deliveries(c.fetch()) == [(1, 2)]
    c.update(max_deliver=2)
    c.ack(Message("", b"", reply="$JS.ACK.S.C.2.1.2.1.0"), NAK)
    assert c.drain() == []
    advisories(js, 1)
    c.info()
