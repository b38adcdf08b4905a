"""Pausing consumers: until when, what rests meanwhile, and how it ends.

A time in the future is a minute away unless the scenario waits for it; a time to wait for is a
quarter of a second away, which no request takes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.jetstream.pulling import ADVISORY, advisories, consumer, no_advisories, sequences
from tests.jetstream.pushing import (
    HEARTBEAT,
    MILLISECOND,
    Subscriber,
    bound,
    feed,
    positions,
    stream_seq,
)
from tests.jetstream.support import SECOND, ZERO_TIME, JetStream, Json, scenario

LONG_PAST = "2020-01-01T00:00:00Z"


def ahead(seconds: float) -> str:
    time = datetime.now(UTC) + timedelta(seconds=seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def pause(js: JetStream, until: str | None) -> Json:
    body = None if until is None else {"pause_until": until}
    answer = js.ok("CONSUMER.PAUSE.S.C", body)
    assert answer["type"] == "io.nats.jetstream.api.v1.consumer_pause_response"
    return answer


@scenario("PULL-046", "PULL-048")
def test_pause_and_resume(js: JetStream) -> None:
    js.create("S")
    it = consumer(js)
    feed(js, "S")
    until = ahead(60)
    paused = pause(js, until)
    assert paused["paused"] is True
    assert 50 * SECOND < paused["pause_remaining"] < 60 * SECOND
    info = it.info()
    assert (info["paused"], info["config"]["pause_until"]) == (True, paused["pause_until"])
    assert 50 * SECOND < info["pause_remaining"] < 60 * SECOND
    resumed = pause(js, None)
    assert resumed["pause_until"] == ZERO_TIME
    assert (resumed["paused"], "pause_remaining" in resumed) == (False, False)
    info = it.info()
    assert not {"paused", "pause_remaining"} & info.keys()
    assert "pause_until" not in info["config"]
    assert sequences(it.fetch()) == [1]


@pytest.mark.parametrize("until", [LONG_PAST, ZERO_TIME])
@scenario("PULL-046", "PULL-048")
def test_a_time_that_is_over(js: JetStream, until: str) -> None:
    js.create("S")
    it = consumer(js)
    answer = pause(js, until)
    assert (answer["paused"], answer["pause_until"]) == (False, until)
    kept = None if until == ZERO_TIME else until
    assert it.info()["config"].get("pause_until") == kept
    pause(js, ahead(60))
    assert pause(js, until)["paused"] is False
    it.info()


@pytest.mark.parametrize(
    "body",
    [b"{}", b"null", b"[]", b"x", b'{"pause_until":"soon"}', b'{"pause_until":5}', b'{"other":1}',
     b'{"pause_until":"2020-01-01T00:00:00+02:00"}'],
    ids=["empty", "null", "list", "text", "word", "number", "unknown", "zone"],
)  # fmt: skip
@scenario("PULL-046")
def test_bodies(js: JetStream, body: bytes) -> None:
    js.create("S")
    consumer(js)
    js.api("CONSUMER.PAUSE.S.C", body)


@scenario("PULL-049")
def test_who_is_not_there(js: JetStream) -> None:
    js.create("S")
    body = {"pause_until": LONG_PAST}
    assert js.refused("CONSUMER.PAUSE.S.C", body)["err_code"] == 10014
    assert js.refused("CONSUMER.PAUSE.T.C", body)["err_code"] == 10059
    consumer(js, "C:D")
    js.refused("CONSUMER.PAUSE.S.C", body)


@scenario("PULL-046", "PULL-047")
def test_pulls_wait(js: JetStream) -> None:
    js.create("S")
    it = consumer(js)
    feed(js, "S", "S")
    pause(js, ahead(60))
    assert it.pull({"no_wait": True}).status() == "404 No Messages"
    waiting = it.waits()
    timed = it.pull({"expires": 400 * MILLISECOND, "idle_heartbeat": 160 * MILLISECOND})
    assert [timed.status(), timed.status()] == ["100 Idle Heartbeat"] * 2
    assert timed.status().startswith("408")
    info = it.info()
    assert (info["num_waiting"], info["num_pending"]) == (1, 2)
    pause(js, None)
    # nats-server wakes with the next request only.
    assert sequences(it.fetch() + waiting.messages(1)) == [2, 1]


@scenario("PULL-046")
def test_acks_count_while_paused(js: JetStream) -> None:
    js.create("S")
    it = consumer(js)
    feed(js, "S", "S")
    first, second = it.fetch(2)
    pause(js, ahead(60))
    it.ack(first)
    it.ack(second, b"-NAK")
    pull = it.waits()
    info = it.info()
    assert (positions(info), info["num_ack_pending"]) == ((2, 2, 1, 1), 1)
    pause(js, None)
    assert it.pull({"no_wait": True}).status() == "404 No Messages"
    assert sequences(pull.messages(1)) == [2]


@scenario("DLV-021", "PULL-046")
def test_the_end_comes_by_itself(js: JetStream) -> None:
    js.create("S")
    it = consumer(js)
    feed(js, "S")
    js.listen(ADVISORY + "PAUSE.>")
    pause(js, ahead(0.25))
    pull = it.pull({"expires": 10 * SECOND})
    assert sequences(pull.messages(1)) == [1]
    begin, end = advisories(js, 2)
    assert (begin.json["paused"], end.json["paused"]) == (True, False)
    info = it.info()
    assert not {"paused", "pause_remaining"} & info.keys()
    assert "pause_until" in info["config"]


@scenario("DLV-021", "PULL-046")
def test_a_shorter_and_a_longer_time(js: JetStream) -> None:
    js.create("S")
    it = consumer(js)
    feed(js, "S")
    js.listen(ADVISORY + "PAUSE.>")
    pause(js, ahead(60))
    advisories(js, 1)
    pause(js, ahead(0.25))
    advisories(js, 1)
    assert sequences(it.fetch()) == [1]
    (end,) = advisories(js, 1)
    assert end.json["paused"] is False
    pause(js, ahead(60))
    pause(js, ahead(120))
    assert [message.json["paused"] for message in advisories(js, 2)] == [True, True]


@scenario("PULL-046", "DLV-021")
def test_paused_from_the_start(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + ">")
    until = ahead(60)
    it = consumer(js, pause_until=until)
    heard = js.heard(2)
    assert [message.subject.split(".")[4] for message in heard] == ["CREATED", "PAUSE"]
    info = it.info()
    assert (info["paused"], info["config"]["pause_until"][:19]) == (True, until[:19])
    feed(js, "S", "S")
    pull = it.waits()
    pull.nothing()
    pause(js, None)
    assert sequences(it.fetch() + pull.messages(1)) == [2, 1]


@scenario("PULL-046")
def test_created_with_a_time_that_is_over(js: JetStream) -> None:
    js.create("S")
    js.listen(ADVISORY + "PAUSE.>")
    it = consumer(js, pause_until=LONG_PAST)
    assert it.info()["config"]["pause_until"] == LONG_PAST
    no_advisories(js)


@scenario("PULL-046")
def test_an_update_does_not_pause(js: JetStream) -> None:
    js.create("S")
    it = consumer(js)
    consumer(js, pause_until=ahead(60), description="other")
    info = it.info()
    assert (info.get("paused"), info["config"]["description"]) == (None, "other")
    until = pause(js, ahead(60))["pause_until"]
    consumer(js, description="third")
    assert it.info()["paused"] is True
    consumer(js, description="fourth", pause_until=ahead(120))
    assert it.info()["config"]["pause_until"] == until


@scenario("DLV-043", "PULL-046")
def test_push_with_heartbeats(js: JetStream) -> None:
    js.create("S")
    with Subscriber(js, "d") as it:
        pushed = consumer(js, deliver_subject="d", idle_heartbeat=HEARTBEAT)
        it.each("S")
        pause(js, ahead(60))
        js.publish("S", b"2")
        pushed.reached(num_pending=1)
        it.nothing()
        it.heartbeat()
        it.heartbeat()
        info = bound(js, "S", "C")
        assert (info["paused"], info["num_pending"]) == (True, 1)
        pause(js, None)
        assert stream_seq(it.next()) == 2


@scenario("DLV-043")
def test_push_resumes_by_itself(js: JetStream) -> None:
    js.create("S")
    js.publish("S", b"1")
    with Subscriber(js, "d") as it:
        consumer(js, deliver_subject="d", pause_until=ahead(0.25))
        assert stream_seq(it.next()) == 1
        bound(js, "S", "C")


@scenario("PULL-046", "CON-066")
def test_lists_tell(js: JetStream) -> None:
    js.create("S")
    consumer(js)
    pause(js, ahead(60))
    (info,) = js.ok("CONSUMER.LIST.S")["consumers"]
    assert info["paused"] is True
