"""Advisories and metrics of consumers: when, to which subject, and with which fields.

The fields are those of the published schemas, in the order in which nats-server writes them. Where
the two differ nats-server wins: its pinned and unpinned advisories have no `server`, and sequences
are numbers throughout.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.jetstream.pulling import (
    ADVISORY,
    TERM,
    Consumer,
    advisories,
    consumer,
    no_advisories,
    sequences,
)
from tests.jetstream.pushing import MILLISECOND, Subscriber, feed, settled_consumer
from tests.jetstream.support import SECOND, JetStream, Json, Message, scenario
from tests.jetstream.test_advisories import NUID
from tests.jetstream.test_consumer_pause import ahead

HEAD = {"type": str, "id": str, "timestamp": str}
WHO = {"stream": str, "consumer": str}
COUNTS = {"consumer_seq": int, "stream_seq": int, "deliveries": int}
GROUP = {"account": str, **WHO, "group": str}
FIELDS: dict[str, dict[str, type]] = {
    "consumer_action": {**WHO, "action": str},
    "consumer_pause": {**WHO, "paused": bool, "pause_until": str},
    "max_deliver": {**WHO, "stream_seq": int, "deliveries": int},
    "nak": {**WHO, **COUNTS},
    "terminated": {**WHO, **COUNTS, "reason": str},
    "consumer_group_pinned": {**GROUP, "pinned_id": str},
    "consumer_group_unpinned": {**GROUP, "reason": str},
    "consumer_ack": {
        **WHO, "consumer_seq": int, "stream_seq": int, "ack_time": int, "deliveries": int,
    },
}  # fmt: skip
OPTIONAL = {"reason"}


def check(message: Message, subject: str, kind: str) -> Json:
    """That it is this advisory or metric, with the fields it should have; its JSON."""
    assert message.subject == subject
    assert (message.reply, message.headers) == ("", b"")
    body = message.json
    family = "metric" if kind == "consumer_ack" else "advisory"
    assert body["type"] == f"io.nats.jetstream.{family}.v1.{kind}"
    assert NUID.fullmatch(body["id"])
    fields = {**HEAD, **FIELDS[kind]}
    expected = [name for name in fields if name in body or name not in OPTIONAL]
    assert list(body) == expected
    assert all(type(body[name]) is fields[name] for name in body)
    return body


def heard(js: JetStream, word: str, kind: str, name: str = "C") -> Json:
    (message,) = advisories(js, 1)
    return check(message, f"{ADVISORY}{word}.S.{name}", kind)


def ready(js: JetStream, count: int = 3, **config: Any) -> Consumer:
    """A consumer with messages, and an ear for its advisories."""
    js.create("S", subjects=["s.*"])
    it = consumer(js, **config)
    feed(js, *["s.1"] * count)
    js.listen(ADVISORY + ">")
    return it


@scenario("DLV-017")
def test_created_and_deleted(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + ">")
    it = consumer(js)
    assert heard(js, "CREATED", "consumer_action")["action"] == "create"
    consumer(js)
    it.update(description="changed")
    js.refused("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"durable_name": "D"}})
    no_advisories(js)
    it.delete()
    assert heard(js, "DELETED", "consumer_action")["action"] == "delete"
    js.refused("CONSUMER.DELETE.S.C")
    no_advisories(js)


@scenario("DLV-017")
def test_push_and_named(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + ">")
    js.ok(
        "CONSUMER.CREATE.S.E",
        {"stream_name": "S", "config": {"name": "E", "deliver_subject": "d"}},
    )
    heard(js, "CREATED", "consumer_action", "E")
    js.ok("CONSUMER.DELETE.S.E")
    heard(js, "DELETED", "consumer_action", "E")


@scenario("DLV-018")
def test_naked(js: JetStream) -> None:
    it = ready(js)
    first, second, _ = it.fetch(3)
    it.ack(second, b"-NAK")
    body = heard(js, "MSG_NAKED", "nak")
    assert (body["consumer_seq"], body["stream_seq"], body["deliveries"]) == (2, 2, 1)
    (again,) = it.fetch()
    it.ack(again, b"-NAK")
    body = heard(js, "MSG_NAKED", "nak")
    assert (body["consumer_seq"], body["stream_seq"], body["deliveries"]) == (4, 2, 2)
    it.ack(first, b'-NAK {"delay": 30000000000}')
    heard(js, "MSG_NAKED", "nak")
    it.ack(first)
    it.ack(first, b"-NAK")
    no_advisories(js)


@scenario("DLV-019", "PULL-029")
def test_terminated_by_the_client(js: JetStream) -> None:
    it = ready(js)
    first, second, third = it.fetch(3)
    it.ack(first, TERM)
    body = heard(js, "MSG_TERMINATED", "terminated")
    assert "reason" not in body
    it.ack(second, TERM + b' no "such" <thing>')
    body = heard(js, "MSG_TERMINATED", "terminated")
    assert body["reason"] == 'no "such" <thing>'
    assert (body["consumer_seq"], body["stream_seq"], body["deliveries"]) == (2, 2, 1)
    it.ack(first, TERM)  # again, and it is told again
    assert heard(js, "MSG_TERMINATED", "terminated")["stream_seq"] == 1
    it.ack(third, TERM + b"   ")
    body = heard(js, "MSG_TERMINATED", "terminated")
    assert (body["stream_seq"], "reason" in body) == (3, False)


@pytest.mark.parametrize("erase", [False, True], ids=["erase", "no-erase"])
@scenario("DLV-040")
def test_terminated_by_deletion(js: JetStream, erase: bool) -> None:
    it = ready(js)
    it.fetch(2)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 2, "no_erase": erase})
    body = heard(js, "MSG_TERMINATED", "terminated")
    assert body["reason"] == "Unacknowledged message was deleted"
    assert (body["consumer_seq"], body["stream_seq"], body["deliveries"]) == (2, 2, 1)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 3})
    it.reached(num_pending=0)
    no_advisories(js)


@scenario("DLV-040")
def test_terminated_by_purge(js: JetStream) -> None:
    it = ready(js)
    it.fetch(2)
    js.ok("STREAM.PURGE.S")
    it.reached(num_ack_pending=0)
    no_advisories(js)


@scenario("DLV-040")
def test_terminated_by_purge_of_a_subject(js: JetStream) -> None:
    it = ready(js)
    it.fetch(2)
    js.ok("STREAM.PURGE.S", {"filter": "s.1"})
    it.reached(num_ack_pending=0)
    no_advisories(js)


@pytest.mark.parametrize(
    "limits", [{"max_msgs": 2}, {"max_msgs_per_subject": 2}], ids=["msgs", "per-subject"]
)
@scenario("DLV-040")
def test_terminated_by_limits(js: JetStream, limits: Json) -> None:
    js.create("S", **limits)
    it = consumer(js)
    feed(js, "S", "S")
    it.fetch(1)
    js.listen(ADVISORY + ">")
    js.publish("S", b"x")
    body = heard(js, "MSG_TERMINATED", "terminated")
    assert body["reason"] == "Unacknowledged message was deleted"
    it.settled(num_ack_pending=0)


@scenario("DLV-040")
def test_terminated_by_age(js: JetStream) -> None:
    js.create("S", max_age=200 * MILLISECOND, duplicate_window=100 * MILLISECOND)
    it = consumer(js)
    js.listen(ADVISORY + ">")
    js.publish("S", b"x")
    it.fetch(1)
    body = heard(js, "MSG_TERMINATED", "terminated")
    assert body["reason"] == "Unacknowledged message was deleted"


@scenario("DLV-020", "PULL-054")
def test_max_deliver_by_timeout(js: JetStream) -> None:
    it = ready(js, 1, max_deliver=2, ack_wait=50 * MILLISECOND)
    it.fetch()
    it.fetch()
    pull = it.pull({"expires": 10 * SECOND})
    body = heard(js, "MAX_DELIVERIES", "max_deliver")
    assert (body["stream_seq"], body["deliveries"]) == (1, 2)
    pull.nothing()
    it.settled(num_ack_pending=0)
    no_advisories(js)


@scenario("DLV-020", "DLV-018")
def test_max_deliver_by_nak(js: JetStream) -> None:
    it = ready(js, 1, max_deliver=1)
    (message,) = it.fetch()
    it.ack(message, b"-NAK")
    heard(js, "MSG_NAKED", "nak")
    it.pull({"expires": 10 * SECOND})
    body = heard(js, "MAX_DELIVERIES", "max_deliver")
    assert (body["stream_seq"], body["deliveries"]) == (1, 1)


@scenario("DLV-020")
def test_max_deliver_on_push(js: JetStream) -> None:
    js.create("S")
    js.publish("S", b"x")
    js.listen(ADVISORY + "MAX_DELIVERIES.>")
    with Subscriber(js, "d") as it:
        consumer(js, deliver_subject="d", max_deliver=2, ack_wait=50 * MILLISECOND)
        it.take(2)
        assert heard(js, "MAX_DELIVERIES", "max_deliver")["deliveries"] == 2
        settled_consumer(js, "S", "C", lambda info: info["num_ack_pending"] == 0)
        it.nothing()


@scenario("DLV-021")
def test_paused(js: JetStream) -> None:
    it = ready(js, 1)
    paused = js.ok("CONSUMER.PAUSE.S.C", {"pause_until": ahead(60)})
    body = heard(js, "PAUSE", "consumer_pause")
    assert (body["paused"], body["pause_until"]) == (True, paused["pause_until"])
    js.ok("CONSUMER.PAUSE.S.C")
    body = heard(js, "PAUSE", "consumer_pause")
    assert body["paused"] is False
    js.ok("CONSUMER.PAUSE.S.C")
    no_advisories(js)
    assert sequences(it.fetch()) == [1]


@scenario("DLV-022", "PULL-040")
def test_pinned(js: JetStream) -> None:
    it = ready(
        js,
        priority_policy="pinned_client",
        priority_groups=["g"],
        priority_timeout=300 * MILLISECOND,
    )
    (message,) = it.fetch(group="g")
    body = heard(js, "PINNED", "consumer_group_pinned")
    assert (body["group"], body["pinned_id"]) == ("g", message.header("Nats-Pin-Id"))
    js.ok("CONSUMER.UNPIN.S.C", {"group": "g"})
    assert heard(js, "UNPINNED", "consumer_group_unpinned")["reason"] == "admin"
    it.fetch(group="g")
    heard(js, "PINNED", "consumer_group_pinned")
    assert heard(js, "UNPINNED", "consumer_group_unpinned")["reason"] == "timeout"
