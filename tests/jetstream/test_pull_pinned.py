"""Priority groups with a pinned client."""

from __future__ import annotations

from tests.jetstream.pulling import (
    ADVISORY,
    LONG,
    MS,
    NAK,
    Consumer,
    advisories,
    arrivals,
    consumer,
    no_advisories,
    stream,
)
from tests.jetstream.support import JetStream, Json, Message, scenario


def pin_of(message: Message) -> str:
    pin = message.header("Nats-Pin-Id")
    assert pin is not None
    assert len(pin) == 22
    return pin


def group_of(info: Json) -> Json:
    (group,) = info["priority_groups"]
    assert isinstance(group, dict)
    return group


def pinned(js: JetStream, timeout: int = LONG) -> Consumer:
    return consumer(
        js, priority_policy="pinned_client", priority_groups=["g"], priority_timeout=timeout
    )


@scenario("PULL-036", "DLV-022")
def test_pin(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    js.publish("s.1", b"plain")
    js.publish("s.2", b"headed", {"A": "b"})
    js.publish_all("s.3", "s.4")
    js.listen(ADVISORY + "PINNED.>", ADVISORY + "UNPINNED.>")
    c = pinned(js)
    assert "pinned_client_id" not in group_of(c.info())
    taken = c.fetch(2, group="g")
    pin = pin_of(taken[0])
    assert pin_of(taken[1]) == pin
    assert taken[0].headers == f"NATS/1.0\r\nNats-Pin-Id: {pin}\r\n\r\n".encode()
    (advisory,) = advisories(js, 1)
    assert list(advisory.json)[3:] == ["account", "stream", "consumer", "group", "pinned_id"]
    assert advisory.json["pinned_id"] == pin
    assert group_of(c.info())["pinned_client_id"] == pin
    (third,) = c.fetch(group="g", id=pin)
    assert pin_of(third) == pin
    foreign = c.pull({"group": "g", "id": "x" * 22, "expires": LONG})
    assert foreign.status() == "423 Nats-Pin-Id mismatch"
    waiting = c.waits(group="g")
    c.info()
    (fourth,) = c.fetch(group="g", id=pin)
    assert pin_of(fourth) == pin
    waiting.nothing()
    no_advisories(js)


@scenario("PULL-036")
def test_no_wait_and_the_pin(js: JetStream) -> None:
    stream(js, 4)
    c = pinned(js)
    (first,) = c.pull({"group": "g", "no_wait": True}).messages(1)
    pin = pin_of(first)
    js.note(c.pull({"group": "g", "no_wait": True}).next().status)
    c.pull({"group": "g", "no_wait": True, "id": pin}).messages(1)
    c.settled(num_ack_pending=2)


@scenario("PULL-036")
def test_body_without_json_and_the_pin(js: JetStream) -> None:
    stream(js, 4)
    c = pinned(js)
    bare = c.pull(b"").next()
    js.note(bare.header("Nats-Pin-Id") is not None)
    c.info()


@scenario("PULL-037")
def test_foreign_id_before_any_pin(js: JetStream) -> None:
    stream(js, 2)
    c = pinned(js)
    foreign = c.pull({"group": "g", "id": "x" * 22, "expires": LONG})
    foreign.next()
    c.settled(num_waiting=0)


@scenario("PULL-038", "PULL-039", "DLV-022")
def test_pin_times_out(js: JetStream) -> None:
    stream(js, 3)
    js.listen(ADVISORY + "PINNED.>", ADVISORY + "UNPINNED.>")
    c = pinned(js, timeout=300 * MS)
    (first,) = c.fetch(group="g")
    advisories(js, 1)
    next_one = c.pull({"group": "g", "expires": LONG, "batch": 2})
    (second,) = next_one.messages(1)
    assert pin_of(second) != pin_of(first)
    gone, new = advisories(js, 2)
    assert list(gone.json)[3:] == ["account", "stream", "consumer", "group", "reason"]
    assert gone.json["reason"] == "timeout"
    assert new.json["pinned_id"] == pin_of(second)
    stale = c.pull({"group": "g", "id": pin_of(first), "expires": LONG})
    assert stale.next().status.startswith("423")


@scenario("PULL-040", "DLV-022")
def test_unpin(js: JetStream) -> None:
    stream(js, 3)
    js.listen(ADVISORY + "PINNED.>", ADVISORY + "UNPINNED.>")
    c = pinned(js)
    (first,) = c.fetch(group="g")
    advisories(js, 1)
    other = c.waits(group="g")
    js.ok("CONSUMER.UNPIN.S.C", {"group": "g"})
    (second,) = other.messages(1)
    assert pin_of(second) != pin_of(first)
    gone, new = advisories(js, 2)
    assert (gone.json["reason"], new.json["pinned_id"]) == ("admin", pin_of(second))
    assert group_of(c.info())["pinned_client_id"] == pin_of(second)


@scenario("PULL-040")
def test_unpin_when_nobody_is_pinned(js: JetStream) -> None:
    stream(js)
    c = pinned(js)
    js.listen(ADVISORY + "UNPINNED.>")
    js.ok("CONSUMER.UNPIN.S.C", {"group": "g"})
    advisories(js, 1)
    c.info()


@scenario("PULL-038")
def test_waiting_request_of_the_unpinned(js: JetStream) -> None:
    stream(js, 1)
    c = pinned(js)
    (first,) = c.fetch(group="g")
    mine = c.waits(group="g", id=pin_of(first), batch=3, max_bytes=1000)
    js.ok("CONSUMER.UNPIN.S.C", {"group": "g"})
    js.publish("s.2")
    end = mine.next()
    assert end.status == "423 Nats-Wrong-Pin-Id"
    assert end.header("Nats-Pending-Messages") == "3"
    c.settled(num_waiting=0)


@scenario("PULL-041", "PULL-042")
def test_unpin_errors(js: JetStream) -> None:
    stream(js)
    pinned(js)
    bodies: list[object] = [
        {"group": "h"}, {"group": ""}, None, {}, b"{bad", {"group": "a b"}, {"group": 5},
        {"group": "g", "bogus": 1}, {"group": "x" * 17},
    ]  # fmt: skip
    for body in bodies:
        js.api("CONSUMER.UNPIN.S.C", body)
    assert js.refused("CONSUMER.UNPIN.S.C", {"group": "h"})["err_code"] == 10160
    assert js.refused("CONSUMER.UNPIN.S.C", {"group": ""})["err_code"] == 10025
    js.refused("CONSUMER.UNPIN.S.X", {"group": "g"})
    js.refused("CONSUMER.UNPIN.X.C", {"group": "g"})
    consumer(js, "N")
    js.refused("CONSUMER.UNPIN.S.N", {"group": "g"})
    consumer(js, "O", priority_policy="overflow", priority_groups=["g"])
    js.api("CONSUMER.UNPIN.S.O", {"group": "g"})


@scenario("PULL-036", "PULL-026")
def test_redelivery_to_the_pinned(js: JetStream) -> None:
    stream(js, 2)
    c = pinned(js)
    (first,) = c.fetch(group="g")
    c.ack(first, NAK)
    (again,) = c.fetch(group="g", id=pin_of(first))
    assert pin_of(again) == pin_of(first)
    c.info()


@scenario("PULL-036")
def test_two_wait_for_the_pin(js: JetStream) -> None:
    stream(js)
    c = pinned(js)
    pulls = [c.waits(group="g", batch=2), c.waits(group="g", batch=2)]
    for _ in range(2):
        js.publish("s.1")
        (message,) = arrivals(1, *pulls)
        assert message.sid == pulls[0].sid
    js.publish("s.1")
    c.settled(num_pending=1, num_waiting=1)
    pulls[1].nothing()
