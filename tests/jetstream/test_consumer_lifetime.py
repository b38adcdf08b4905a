"""When consumers end: by inactivity, with their stream, and how many there may be."""

from __future__ import annotations

import time

import pytest

from tests.jetstream.pulling import ADVISORY, advisories, consumer, no_advisories
from tests.jetstream.pushing import (
    HEARTBEAT,
    MILLISECOND,
    Subscriber,
    bound,
    consumer_info,
    gone,
)
from tests.jetstream.pushing import consumer as ephemeral
from tests.jetstream.support import SECOND, JetStream, Json, scenario

SHORT = 100 * MILLISECOND


def deleted(js: JetStream, name: str = "C") -> Json:
    """The advisory that the consumer is gone."""
    (message,) = advisories(js, 1)
    assert message.subject == f"{ADVISORY}DELETED.S.{name}"
    assert message.json["action"] == "delete"
    return message.json


@scenario("CON-075", "DLV-017")
def test_an_unused_ephemeral_goes(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + "DELETED.>")
    start = time.monotonic()
    ephemeral(js, "S", "C", ack_policy="explicit", inactive_threshold=SHORT)
    deleted(js)
    assert time.monotonic() - start > 0.08
    gone(js, "S", "C")
    js.settled("S", consumer_count=0)
    assert js.request("$JS.API.CONSUMER.MSG.NEXT.S.C").status == "503"


@scenario("CON-003", "CON-004")
def test_a_name_by_chance(js: JetStream) -> None:
    js.create("S")
    answer = js.ask("CONSUMER.CREATE.S", {"stream_name": "S", "config": {}})
    assert len(answer["name"]) == 8
    assert "name" not in answer["config"]
    assert answer["config"]["inactive_threshold"] == 5 * SECOND
    assert js.ask("CONSUMER.NAMES.S")["consumers"] == [answer["name"]]


@scenario("CON-076", "DLV-017")
def test_an_unused_durable_goes_if_told(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + "DELETED.>")
    consumer(js, "Stays")
    consumer(js, inactive_threshold=SHORT)
    deleted(js)
    gone(js, "S", "C")
    assert js.ok("CONSUMER.NAMES.S")["consumers"] == ["Stays"]


@scenario("CON-077")
def test_an_open_pull_keeps_it(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + "DELETED.>")
    it = consumer(js, inactive_threshold=3 * SHORT)
    pull = it.pull({"expires": 5 * SHORT, "batch": 1})
    assert pull.status().startswith("408")
    it.info()
    deleted(js)


@scenario("CON-077")
def test_a_lost_pull_does_not_keep_it(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + "DELETED.>")
    it = consumer(js, inactive_threshold=SHORT)
    pull = it.pull({"expires": 30 * SECOND})
    pull.leave()
    deleted(js)


@scenario("CON-077")
def test_pulls_and_acks_put_it_off(js: JetStream) -> None:
    js.create("S")
    js.publish_all(*["S"] * 4)
    js.listen(ADVISORY + "DELETED.>")
    it = consumer(js, inactive_threshold=4 * SHORT)
    start = time.monotonic()
    with Subscriber(js, "hb") as clock:
        ephemeral(
            js, "S", "H", deliver_subject="hb", idle_heartbeat=HEARTBEAT, deliver_policy="new"
        )
        for _ in range(4):
            clock.heartbeat()
            clock.heartbeat()
            (message,) = it.fetch()
            it.ack(message)
    deleted(js)
    assert time.monotonic() - start > 1


@scenario("CON-075", "DLV-007")
def test_push_goes_when_its_subscriber_does(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + "DELETED.>")
    with Subscriber(js, "d") as it:
        ephemeral(js, "S", "C", deliver_subject="d", inactive_threshold=SHORT, idle_heartbeat=SHORT)
        for _ in range(3):
            it.heartbeat()
        consumer_info(js, "S", "C")
        it.unsubscribe()
        deleted(js)
    gone(js, "S", "C")


@scenario("CON-075")
def test_push_that_nobody_ever_heard(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + "DELETED.>")
    ephemeral(js, "S", "C", deliver_subject="d", inactive_threshold=SHORT)
    deleted(js)


@scenario("CON-075", "CON-076")
def test_a_subscriber_in_time_saves_it(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + "DELETED.>")
    ephemeral(js, "S", "C", deliver_subject="d", inactive_threshold=3 * SHORT, idle_heartbeat=SHORT)
    with Subscriber(js, "d") as it:
        bound(js, "S", "C")
        for _ in range(4):
            it.heartbeat()
        no_advisories(js)
    deleted(js)


@scenario("CON-076")
def test_the_threshold_changes(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + "DELETED.>")
    it = consumer(js)
    assert it.update(inactive_threshold=SHORT)["config"]["inactive_threshold"] == SHORT
    deleted(js)


@scenario("CON-075", "DLV-013")
def test_interest_goes_with_the_consumer(js: JetStream) -> None:
    js.create("S", retention="interest")
    ephemeral(js, "S", "C", ack_policy="explicit", inactive_threshold=SHORT)
    js.publish("S")
    gone(js, "S", "C")
    js.settled("S", messages=0, consumer_count=0)


@scenario("DLV-017", "PULL-019")
def test_deleted_with_the_stream(js: JetStream) -> None:
    """The stream's advisory is not listened to: under load nats-server may not get it out."""
    js.create("S")
    js.listen(ADVISORY + "DELETED.>")
    it = consumer(js)
    pull, other = it.waits(), it.waits(idle_heartbeat=SECOND)
    js.delete("S")
    assert pull.status() == "409 Consumer Deleted"
    assert other.status() == "409 Consumer Deleted"
    deleted(js)
    js.refused("CONSUMER.INFO.S.C")
    js.refused("CONSUMER.DELETE.S.C")
    assert js.request("$JS.API.CONSUMER.MSG.NEXT.S.C").status == "503"


@scenario("PULL-019", "CON-069")
def test_deleted_while_pulls_wait(js: JetStream) -> None:
    js.create("S")
    it = consumer(js)
    pulls = [it.waits(), it.waits(batch=5), it.waits(max_bytes=500)]
    it.delete()
    assert [pull.status() for pull in pulls] == ["409 Consumer Deleted"] * 3
    js.refused("CONSUMER.DELETE.S.C")
    assert js.request("$JS.API.CONSUMER.MSG.NEXT.S.C").status == "503"
    js.publish("S")
    again = consumer(js)
    assert again.fetch()[0].reply.startswith("$JS.ACK.S.C.1.1.1.")


@scenario("CON-069", "DLV-007")
def test_a_deleted_push_consumer_is_silent(js: JetStream) -> None:
    js.create("S")
    with Subscriber(js, "d") as it:
        consumer(js, deliver_subject="d", idle_heartbeat=SHORT)
        it.heartbeat()
        js.ok("CONSUMER.DELETE.S.C")
        js.publish("S")
        js.fence()
        it.nothing()


@scenario("CON-070")
def test_max_consumers(js: JetStream) -> None:
    js.create("S", max_consumers=2)
    consumer(js, "A")
    it = consumer(js, "B")
    consumer(js, "B", description="changed")
    body = {"stream_name": "S", "config": {"durable_name": "C", "ack_policy": "explicit"}}
    assert js.refused("CONSUMER.CREATE.S.C", body)["err_code"] == 10026
    assert js.refused("CONSUMER.DURABLE.CREATE.S.C", body)["err_code"] == 10026
    js.refused("CONSUMER.CREATE.S", {"stream_name": "S", "config": {}})
    it.delete()
    consumer(js)
    js.update("S", max_consumers=3)
    consumer(js, "D")


@pytest.mark.parametrize("durable", [False, True], ids=["ephemeral", "durable"])
@scenario("CON-071")
def test_limits_of_the_stream(js: JetStream, durable: bool) -> None:
    js.create("S", consumer_limits={"inactive_threshold": 10 * SECOND, "max_ack_pending": 7})
    config: Json = {"ack_policy": "explicit", "name": "C"}
    if durable:
        config["durable_name"] = "C"
    body: Json = {"stream_name": "S", "config": config}
    created = js.ok("CONSUMER.CREATE.S.C", body)["config"]
    assert (created["inactive_threshold"], created["max_ack_pending"]) == (10 * SECOND, 7)
    for name, value, code in [
        ("inactive_threshold", 11 * SECOND, 10153),
        ("max_ack_pending", 8, 10121),
    ]:
        config[name] = value
        assert js.refused("CONSUMER.CREATE.S.C", body)["err_code"] == code
        del config[name]
