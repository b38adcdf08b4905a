"""Metrics of acknowledgements."""

from __future__ import annotations

import pytest

from tests.jetstream.pulling import (
    METRIC,
    TERM,
    advisories,
    consumer,
    no_advisories,
)
from tests.jetstream.pushing import feed
from tests.jetstream.support import SECOND, JetStream, scenario
from tests.jetstream.test_consumer_advisories import check


@scenario("DLV-015")
def test_ack_metrics(js: JetStream) -> None:
    js.create("S")
    it = consumer(js, sample_freq="100")
    feed(js, *["S"] * 4)
    js.listen(METRIC + ">")
    first, second, third, _ = it.fetch(4)
    it.ack(second)
    (metric,) = advisories(js, 1)
    body = check(metric, METRIC + "S.C", "consumer_ack")
    assert (body["consumer_seq"], body["stream_seq"], body["deliveries"]) == (2, 2, 1)
    assert 0 < body["ack_time"] < 10 * SECOND
    it.ack(first, b"-NAK")
    (again,) = it.fetch()
    it.ack(again)
    (metric,) = advisories(js, 1)
    assert metric.json["deliveries"] == 2
    it.ack(third, TERM)
    it.ack(third)
    it.ack(second)
    no_advisories(js)


@pytest.mark.parametrize("frequency", ["0", "0%", ""])
@scenario("DLV-015")
def test_no_metrics(js: JetStream, frequency: str) -> None:
    js.create("S")
    it = consumer(js, sample_freq=frequency)
    feed(js, "S")
    js.listen(METRIC + ">")
    it.ack(it.fetch()[0])
    no_advisories(js)


@scenario("DLV-015")
def test_no_metrics_of_ack_all(js: JetStream) -> None:
    js.create("S")
    it = consumer(js, ack_policy="all", sample_freq="100%")
    feed(js, *["S"] * 3)
    js.listen(METRIC + ">")
    it.ack(it.fetch(3)[2])
    no_advisories(js)
