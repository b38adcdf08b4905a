"""Paused consumers, seen by pull requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.jetstream.pulling import (
    ADVISORY,
    LONG,
    MS,
    NAK,
    advisories,
    consumer,
    deliveries,
    elapsed,
    no_advisories,
    sequences,
    stream,
)
from tests.jetstream.support import ZERO_TIME, JetStream, scenario


def later(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@scenario("PULL-046", "PULL-047", "PULL-048", "PULL-049", "DLV-021")
def test_pause(js: JetStream) -> None:
    stream(js, 2)
    js.listen(ADVISORY + "PAUSE.>")
    c = consumer(js)
    answer = js.ok("CONSUMER.PAUSE.S.C", {"pause_until": later(3600)})
    assert list(answer)[1:] == ["paused", "pause_until", "pause_remaining"]
    assert 3500 < answer["pause_remaining"] / 1e9 <= 3600
    (advisory,) = advisories(js, 1)
    assert list(advisory.json)[3:] == ["stream", "consumer", "paused", "pause_until"]
    info = c.info()
    assert info["paused"] is True
    assert 3500 < info["pause_remaining"] / 1e9 <= 3600
    assert list(info)[-3:] == ["paused", "pause_remaining", "ts"]
    assert c.pull({"no_wait": True}).status() == "404 No Messages"
    assert c.pull({"expires": 100 * MS, "batch": 2}).status() == "408 Request Timeout"
    waiting = c.waits()
    c.info()
    waiting.nothing()
    resumed = js.ok("CONSUMER.PAUSE.S.C")
    assert (resumed["paused"], resumed["pause_until"]) == (False, ZERO_TIME)
    # nats-server does not look at waiting requests until the next one comes.
    nudge = c.pull({"expires": LONG})
    assert sequences([*waiting.messages(1), *nudge.messages(1)]) == [1, 2]
    (advisory,) = advisories(js, 1)
    assert advisory.json["paused"] is False
    assert "paused" not in c.info()
    assert js.refused("CONSUMER.PAUSE.S.X")["err_code"] == 10014
    assert js.refused("CONSUMER.PAUSE.X.C")["err_code"] == 10059


@scenario("PULL-046")
def test_pause_ends_by_itself(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js)
    js.listen(ADVISORY + "PAUSE.>")
    js.ok("CONSUMER.PAUSE.S.C", {"pause_until": later(0.4)})
    waiting = c.pull({"expires": LONG})
    assert elapsed(lambda: waiting.messages(1)) > 0.2
    advisories(js, 2)
    info = c.info()
    js.note("pause_until" in info["config"])


@scenario("PULL-046")
def test_odd_pauses(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js)
    js.listen(ADVISORY + "PAUSE.>")
    for body in (
        {"pause_until": "2020-01-01T00:00:00Z"},
        {"pause_until": ZERO_TIME},
        {},
        None,
        b"text",
        b"{bad",
        {"pause_until": "soon"},
        {"pause_until": 5},
        {"bogus": 1},
    ):
        js.api("CONSUMER.PAUSE.S.C", body)
    advisories(js, 2)
    no_advisories(js)
    c.info()
    c.fetch()


@scenario("PULL-046", "CON-058")
def test_created_paused(js: JetStream) -> None:
    stream(js, 1)
    until = later(3600)
    js.listen(ADVISORY + ">")
    c = consumer(js, pause_until=until)
    advisories(js, 2)
    assert c.info()["paused"] is True
    consumer(js, pause_until=later(7200))
    assert c.info()["config"]["pause_until"][:19] == until[:19]
    c.waits()
    consumer(js)
    c.info()
    js.ok("CONSUMER.PAUSE.S.C", {"pause_until": later(9000)})
    advisories(js, 3)
    no_advisories(js)
    c.info()


@scenario("PULL-046", "PULL-026")
def test_acks_while_paused(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    first, second = c.fetch(2)
    js.ok("CONSUMER.PAUSE.S.C", {"pause_until": later(3600)})
    c.ack(first)
    assert c.info()["num_ack_pending"] == 1
    c.ack(second, NAK)
    assert c.pull({"no_wait": True}).status() == "404 No Messages"
    js.ok("CONSUMER.PAUSE.S.C")
    assert deliveries(c.fetch()) == [(2, 2)]
    c.info()


@scenario("PULL-046", "PULL-023")
def test_ack_wait_passes_while_paused(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, ack_wait=100 * MS)
    c.fetch()
    js.ok("CONSUMER.PAUSE.S.C", {"pause_until": later(0.5)})
    waiting = c.pull({"expires": LONG})
    assert elapsed(lambda: waiting.messages(1)) > 0.3
    c.info()
