"""Where streams and consumers meet at odd angles: filters that change, messages that vanish."""

from __future__ import annotations

import pytest

from tests.jetstream.pulling import consumer, sequences
from tests.jetstream.pushing import feed, positions
from tests.jetstream.support import STORAGES, JetStream, scenario
from tests.jetstream.test_retention import interest, left, queue


@scenario("DLV-012", "DLV-035")
def test_narrowing_drops_what_is_pending(js: JetStream) -> None:
    interest(js)
    it = consumer(js)
    feed(js, "s.1", "s.2", "s.1", "s.2")
    first, second = it.fetch(2)
    it.update(filter_subject="s.1")
    left(js, 1, 3)
    assert it.info()["num_ack_pending"] == 2
    it.ack(second)
    assert it.info()["num_ack_pending"] == 1
    it.ack(first)
    left(js, 3)
    assert positions(it.info()) == (2, 2, 2, 2)


@scenario("DLV-012", "DLV-035")
def test_narrowing_keeps_what_is_pending_on_a_workqueue(js: JetStream) -> None:
    queue(js)
    it = consumer(js)
    feed(js, "s.1", "s.2", "s.1", "s.2")
    _, second = it.fetch(2)
    it.update(filter_subject="s.1")
    left(js, 1, 2, 3, 4)
    it.ack(second)
    left(js, 1, 3, 4)
    it.info()


@scenario("DLV-012", "DLV-035")
def test_another_consumer_still_wants_it(js: JetStream) -> None:
    interest(js)
    it, other = consumer(js), consumer(js, "D", filter_subjects=["s.2", "s.3"])
    feed(js, "s.1", "s.2", "s.3")
    other.ack(other.fetch()[0])
    it.update(filter_subject="s.1")
    left(js, 1, 3)
    other.ack(other.fetch()[0])
    left(js, 1)


@scenario("DLV-012", "DLV-035")
def test_a_filter_is_widened(js: JetStream) -> None:
    interest(js)
    it = consumer(js, filter_subject="s.1")
    feed(js, "s.1", "s.2")
    it.fetch()
    it.update(filter_subject=None, filter_subjects=["s.1", "s.2"])
    feed(js, "s.2", "s.1", "s.3")
    left(js, 1, 3, 4)
    assert sequences(it.fetch(2)) == [3, 4]
    it.info()


@STORAGES
@scenario("MSG-021")
def test_a_filter_purge_of_everything(js: JetStream, storage: str) -> None:
    js.create("S", subjects=["s.*"], storage=storage)
    js.publish_all("s.1", "s.1", "s.1")
    it = consumer(js)
    later = consumer(js, "D", deliver_policy="by_start_sequence", opt_start_seq=2)
    js.ok("STREAM.PURGE.S", {"filter": "s.1"})
    it.settled(num_pending=0)
    later.settled(num_pending=0)
    feed(js, "s.1")
    assert sequences(it.fetch()) == [4]
    it.info()


@pytest.mark.parametrize("policy", ["explicit", "all"])
@scenario("DLV-040", "MSG-021")
def test_the_lowest_pending_is_deleted(js: JetStream, policy: str) -> None:
    js.create("S", subjects=["s.*"])
    it = consumer(js, ack_policy=policy, filter_subject="s.1")
    feed(js, "s.1", "s.2", "s.1")
    it.fetch(2)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 1})
    it.settled(num_ack_pending=1)


@scenario("DLV-040", "MSG-021")
def test_ack_all_loses_a_pending_message(js: JetStream) -> None:
    """As if it had been acked: what lies before it is not waited for either."""
    js.create("S", subjects=["s.*"])
    it = consumer(js, ack_policy="all")
    feed(js, "s.1", "s.2", "s.3", "s.1")
    it.fetch(4)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 3})
    assert positions(it.settled(num_ack_pending=1)) == (4, 4, 3, 3)


@scenario("MSG-021")
def test_a_filter_purge_at_the_beginning(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    it, other = consumer(js), consumer(js, "D", filter_subject="s.2")
    feed(js, "s.1", "s.1", "s.2", "s.1")
    js.ok("STREAM.PURGE.S", {"filter": "s.1"})
    assert positions(it.settled(num_pending=1)) == (0, 2, 0, 2)
    other.info()
    assert sequences(it.fetch()) == [3]
    assert sequences(other.fetch()) == [3]


@STORAGES
@scenario("DLV-010", "PUB-004")
def test_a_skipped_message_is_still_a_duplicate(js: JetStream, storage: str) -> None:
    interest(js, storage=storage)
    assert js.publish("s.1", b"x", {"Nats-Msg-Id": "1"})["seq"] == 1
    assert js.publish("s.1", b"x", {"Nats-Msg-Id": "1"}).get("duplicate") is True
    assert js.publish("s.1", b"x", {"Nats-Expected-Last-Sequence": "1"})["seq"] == 2
    js.publish("s.1", b"x", {"Nats-Expected-Last-Subject-Sequence": "0"})
    js.publish("s.1", b"x", {"Nats-Expected-Last-Msg-Id": "1"})
    js.state("S")


@scenario("DLV-010")
def test_nobody_is_interested_and_the_stream_is_full(js: JetStream) -> None:
    interest(js, max_msgs=1, discard="new")
    it = consumer(js, filter_subject="s.1")
    feed(js, "s.1")
    js.publish_refused("s.1", b"x")
    js.publish("s.2", b"x")
    js.state("S")
    it.ack(it.fetch()[0])
    left(js)
    js.publish("s.1", b"x")
    js.state("S")


@scenario("DLV-012", "PULL-046")
def test_a_paused_consumer_is_still_interested(js: JetStream) -> None:
    interest(js)
    it = consumer(js)
    js.ok("CONSUMER.PAUSE.S.C", {"pause_until": "2100-01-01T00:00:00Z"})
    feed(js, "s.1")
    left(js, 1)
    it.delete()
    left(js)
