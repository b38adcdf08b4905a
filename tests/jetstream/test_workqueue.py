"""Workqueue streams, and purges under the feet of consumers."""

from __future__ import annotations

import pytest

from tests.jetstream.pulling import TERM, consumer, consumer_refused, deliveries, sequences
from tests.jetstream.pushing import MILLISECOND, Subscriber, feed, positions
from tests.jetstream.support import STORAGES, JetStream, Json, scenario
from tests.jetstream.test_retention import extent, left, queue


@STORAGES
@scenario("DLV-036")
def test_kept_until_the_ack(js: JetStream, storage: str) -> None:
    queue(js, storage=storage)
    feed(js, "s.1", "s.2", "s.3")
    assert extent(js.state("S")) == (3, 1, 3)
    it = consumer(js)
    first, second, third = it.fetch(3)
    it.ack(second)
    left(js, 1, 3)
    it.ack(first)
    left(js, 3)
    it.ack(first)
    it.ack(third)
    assert extent(js.settled("S", messages=0)) == (0, 4, 3)
    assert positions(it.info()) == (3, 3, 3, 3)


@scenario("DLV-014")
def test_terminated(js: JetStream) -> None:
    queue(js)
    it = consumer(js)
    feed(js, "s.1", "s.2")
    first, second = it.fetch(2)
    it.ack(second, TERM + b" no use")
    left(js, 1)
    it.ack(first, b"-NAK")
    (again,) = it.fetch(1)
    left(js, 1)
    it.ack(again, TERM)
    left(js)


@scenario("DLV-036")
def test_next_word_removes(js: JetStream) -> None:
    queue(js)
    it = consumer(js)
    feed(js, "s.1", "s.2")
    (first,) = it.fetch(1)
    pull = it.pull({"batch": 1, "no_wait": True})
    (second,) = pull.messages(1)
    it.cast(first, b"+NXT")
    left(js, 2)
    it.cast(second)
    left(js)


@scenario("DLV-036")
def test_deleting_the_consumer_keeps_messages(js: JetStream) -> None:
    queue(js)
    it = consumer(js)
    feed(js, "s.1", "s.2", "s.3")
    first, _ = it.fetch(2)
    it.ack(first)
    it.delete()
    left(js, 2, 3)
    assert deliveries(consumer(js, "D").fetch(2)) == [(2, 1), (3, 1)]


@scenario("DLV-036", "DLV-012")
def test_filters_share_the_work(js: JetStream) -> None:
    queue(js)
    one, other = consumer(js, filter_subject="s.1"), consumer(js, "D", filter_subject="s.2")
    feed(js, "s.1", "s.2", "s.3", "s.1")
    for message in one.fetch(2):
        one.ack(message)
    left(js, 2, 3)
    other.ack(other.fetch(1)[0])
    left(js, 3)
    third = consumer(js, "E", filter_subjects=["s.3", "s.4"])
    third.ack(third.fetch(1)[0])
    left(js)


@scenario("CON-053", "CON-054")
def test_overlaps(js: JetStream) -> None:
    queue(js)
    it = consumer(js, filter_subject="s.1")
    refusals: list[tuple[Json, int]] = [
        ({}, 10099),
        ({"filter_subject": "s.1"}, 10100),
        ({"filter_subject": "s.*"}, 10100),
        ({"filter_subject": ">"}, 10100),
        ({"filter_subjects": ["s.2", "s.1"]}, 10100),
    ]
    for config, code in refusals:
        assert consumer_refused(js, "D", **config)["err_code"] == code
    consumer(js, "D", filter_subject="s.2")
    assert consumer_refused(js, "D", filter_subject="s.1")["err_code"] == 10100
    consumer(js, "D", filter_subject="s.3")
    it.delete()
    consumer(js, "E", filter_subject="s.1")
    consumer(js, "E")  # a change to everything is not looked at


@scenario("CON-050", "CON-051", "CON-052")
def test_what_a_workqueue_refuses(js: JetStream) -> None:
    queue(js)
    refusals: list[Json] = [
        {"ack_policy": "none"},
        {"ack_policy": "none", "deliver_subject": "d"},
        {"ack_policy": "all"},
        {"deliver_policy": "new"},
        {"deliver_policy": "last"},
        {"deliver_policy": "last_per_subject", "filter_subject": "s.*"},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 1},
    ]
    for config in refusals:
        consumer_refused(js, **config)


@scenario("DLV-020", "DLV-036")
def test_max_deliver_keeps_the_message(js: JetStream) -> None:
    queue(js)
    it = consumer(js, max_deliver=1, ack_wait=50 * MILLISECOND)
    feed(js, "s.1")
    it.fetch(1)
    it.pull()
    it.reached(num_ack_pending=0)
    it.info()
    left(js, 1)
    it.delete()
    left(js, 1)
    assert deliveries(consumer(js).fetch(1)) == [(1, 1)]


@scenario("DLV-020", "DLV-036")
def test_an_ack_after_the_last_delivery_still_removes(js: JetStream) -> None:
    queue(js)
    it = consumer(js, max_deliver=1, ack_wait=50 * MILLISECOND)
    feed(js, "s.1")
    (first,) = it.fetch(1)
    it.pull()
    it.reached(num_ack_pending=0)
    it.ack(first)
    left(js)


@scenario("DLV-036")
def test_limits_on_top(js: JetStream) -> None:
    queue(js, max_msgs=2)
    it = consumer(js)
    feed(js, "s.1", "s.2")
    (first,) = it.fetch(1)
    js.publish("s.3", b"x")
    left(js, 2, 3)
    it.settled(num_ack_pending=0, num_pending=2)
    it.ack(first)
    assert sequences(it.fetch(2)) == [2, 3]
    it.info()


@scenario("DLV-036")
def test_full_until_somebody_works(js: JetStream) -> None:
    queue(js, max_msgs=1, discard="new")
    it = consumer(js)
    feed(js, "s.1")
    assert js.publish_refused("s.2")["err_code"] == 10077
    it.ack(it.fetch(1)[0])
    js.settled("S", messages=0)
    assert js.publish("s.2")["seq"] == 2


@scenario("DLV-036")
def test_push(js: JetStream) -> None:
    queue(js)
    feed(js, "s.1", "s.2")
    with Subscriber(js, "d") as subscriber:
        it = consumer(js, deliver_subject="d")
        first, second = subscriber.take(2)
        it.ack(second)
        left(js, 1)
        it.ack(first)
        left(js)


# -- purges ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
@scenario("MSG-021")
def test_purge_moves_consumers(js: JetStream, retention: str) -> None:
    js.create("S", subjects=["s.*"], retention=retention)
    it = consumer(js)
    feed(js, "s.1", "s.2", "s.3", "s.4")
    first, second = it.fetch(2)
    it.ack(first)
    js.ok("STREAM.PURGE.S")
    info = it.settled(num_ack_pending=0, num_pending=0)
    assert positions(info) == (2, 4, 2, 4)
    it.ack(second)
    feed(js, "s.1")
    assert sequences(it.fetch()) == [5]
    it.info()


@pytest.mark.parametrize(
    ("purge", "expected"),
    [
        ({"seq": 3}, [3, 4, 5]),
        ({"keep": 2}, [4, 5]),
        ({"filter": "s.1"}, [3, 4]),
        ({"filter": "s.2"}, [5]),
    ],
    ids=["seq", "keep", "delivered", "waiting"],
)
@scenario("MSG-021", "MSG-015", "MSG-016", "MSG-017")
def test_purge_of_a_part(js: JetStream, purge: Json, expected: list[int]) -> None:
    js.create("S", subjects=["s.*"])
    it = consumer(js)
    feed(js, "s.1", "s.1", "s.2", "s.2", "s.1")
    it.fetch(2)
    js.ok("STREAM.PURGE.S", purge)
    js.fence()
    it.info()
    assert sequences(it.drain()) == expected
    it.info()


@scenario("MSG-021")
def test_purge_past_a_filter(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    it = consumer(js, filter_subject="s.1")
    feed(js, "s.1", "s.2", "s.1", "s.2")
    it.fetch(1)
    js.ok("STREAM.PURGE.S", {"filter": "s.2"})
    js.fence()
    it.info()
    js.ok("STREAM.PURGE.S", {"filter": "s.1"})
    js.fence()
    it.info()
    feed(js, "s.1")
    assert sequences(it.fetch()) == [5]


@scenario("DLV-040")
def test_deleted_while_pending(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    it = consumer(js)
    feed(js, "s.1", "s.2", "s.3")
    it.fetch(2)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 2})
    it.settled(num_ack_pending=1)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 3})
    it.settled(num_pending=0)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 1})
    it.settled(num_ack_pending=0)
