"""Metrics and advisories on acks."""

from __future__ import annotations

import pytest

from tests.jetstream.pulling import (
    ADVISORY,
    METRIC,
    NAK,
    TERM,
    WPI,
    Pull,
    advisories,
    consumer,
    no_advisories,
    stream,
)
from tests.jetstream.support import JetStream, scenario


@scenario("DLV-015")
def test_metrics(js: JetStream) -> None:
    stream(js, 6)
    js.listen(METRIC + ">")
    c = consumer(js, sample_freq="100%")
    messages = c.fetch(5)
    c.ack(messages[1])
    (metric,) = advisories(js, 1)
    assert metric.subject == METRIC + "S.C"
    assert metric.json["type"] == "io.nats.jetstream.metric.v1.consumer_ack"
    assert (metric.json["stream_seq"], metric.json["consumer_seq"]) == (2, 2)
    assert metric.json["deliveries"] == 1
    assert 0 < metric.json["ack_time"] < 60_000_000_000
    c.ack(messages[0], NAK)
    c.ack(messages[2], TERM)
    c.ack(messages[3], WPI)
    c.ack(messages[1])
    no_advisories(js)
    (again,) = c.fetch()
    c.ack(again)
    assert advisories(js, 1)[0].json["deliveries"] == 2
    Pull(js).send(messages[3].reply, b"+NXT").messages(1)
    advisories(js, 1)


@scenario("DLV-015")
@pytest.mark.parametrize("freq", ["0", "0%", "100", "150%", ""])
def test_sample_frequencies(js: JetStream, freq: str) -> None:
    stream(js, 3)
    js.listen(METRIC + ">")
    c = consumer(js, sample_freq=freq)
    for message in c.fetch(3):
        c.ack(message)
    if freq.startswith("1"):
        advisories(js, 3)
    no_advisories(js)


@scenario("DLV-015", "PULL-058")
def test_metrics_of_ack_all(js: JetStream) -> None:
    stream(js, 4)
    js.listen(METRIC + ">")
    c = consumer(js, ack_policy="all", sample_freq="100")
    messages = c.fetch(4)
    c.ack(messages[2])
    js.fence()
    js.note(sorted(it.json["stream_seq"] for it in js.kept))
    js.kept.clear()
    c.ack(messages[3])
    js.fence()
    js.note(sorted(it.json["stream_seq"] for it in js.kept))


@scenario("DLV-018", "DLV-019", "PULL-029")
def test_advisories(js: JetStream) -> None:
    stream(js, 4)
    js.listen(ADVISORY + ">")
    c = consumer(js)
    messages = c.fetch(4)
    advisories(js, 1)
    c.ack(messages[0], NAK)
    (naked,) = advisories(js, 1)
    assert naked.subject == ADVISORY + "MSG_NAKED.S.C"
    assert list(naked.json)[3:] == [
        "stream", "consumer", "consumer_seq", "stream_seq", "deliveries",
    ]  # fmt: skip
    c.ack(messages[1], TERM)
    (ended,) = advisories(js, 1)
    assert ended.subject == ADVISORY + "MSG_TERMINATED.S.C"
    assert "reason" not in ended.json
    c.ack(messages[2], b"+TERM  two  words ")
    (ended,) = advisories(js, 1)
    js.note(repr(ended.json["reason"]))
    c.ack(messages[1], TERM)
    (repeated,) = advisories(js, 1)
    assert repeated.subject == ADVISORY + "MSG_TERMINATED.S.C"
    c.ack(messages[3], b'-NAK {"delay":1000000000000}')
    advisories(js, 1)
    c.ack(messages[2], NAK)
    c.ack(messages[3])
    no_advisories(js)
    c.ack(messages[3], TERM)
    (last,) = advisories(js, 1)
    assert last.subject == ADVISORY + "MSG_TERMINATED.S.C"
