"""Interest and workqueue streams: when exactly a message goes."""

from __future__ import annotations

import pytest

from tests.jetstream.pulling import TERM, consumer, sequences
from tests.jetstream.pushing import MILLISECOND, Subscriber, bound, feed
from tests.jetstream.support import STORAGES, JetStream, Json, scenario


def interest(js: JetStream, **config: object) -> None:
    js.create("S", subjects=["s.*"], retention="interest", **config)


def queue(js: JetStream, **config: object) -> None:
    js.create("S", subjects=["s.*"], retention="workqueue", **config)


def extent(state: Json) -> tuple[int, int, int]:
    """How many messages, and the first and last sequence."""
    return state["messages"], state["first_seq"], state["last_seq"]


def left(js: JetStream, *expected: int) -> None:
    """The sequences that are still stored, once nothing else is."""
    js.settled("S", messages=len(expected))
    state = js.state("S", deleted_details=True)
    gaps = set(state.get("deleted") or [])
    stored = [n for n in range(state["first_seq"], state["last_seq"] + 1) if n not in gaps]
    assert tuple(stored) == expected


# -- interest ----------------------------------------------------------------------------------------


@STORAGES
@scenario("DLV-010")
def test_nobody_is_interested(js: JetStream, storage: str) -> None:
    interest(js, storage=storage)
    assert feed(js, "s.1", "s.1") == [1, 2]
    assert extent(js.state("S")) == (0, 3, 2)
    consumer(js, deliver_policy="all")
    assert js.publish("s.1")["seq"] == 3
    assert extent(js.state("S")) == (1, 3, 3)


@scenario("DLV-010", "DLV-012")
def test_nobody_is_interested_in_this_subject(js: JetStream) -> None:
    interest(js)
    consumer(js, filter_subject="s.1")
    consumer(js, "D", filter_subjects=["s.2", "s.3"])
    feed(js, "s.1", "s.4", "s.3", "s.4")
    left(js, 1, 3)
    assert js.state("S")["last_seq"] == 4


@STORAGES
@scenario("DLV-011")
def test_gone_after_the_last_ack(js: JetStream, storage: str) -> None:
    interest(js, storage=storage)
    one, other = consumer(js), consumer(js, "D")
    feed(js, "s.1", "s.2", "s.3")
    heard = one.fetch(3)
    others = other.fetch(3)
    one.ack(heard[0])
    one.ack(heard[1])
    left(js, 1, 2, 3)
    other.ack(others[1])
    left(js, 1, 3)
    other.ack(others[0])
    left(js, 3)
    other.ack(others[2])
    left(js, 3)
    one.ack(heard[2])
    assert extent(js.settled("S", messages=0)) == (0, 4, 3)


@scenario("DLV-011")
def test_ack_before_the_other_has_seen_it(js: JetStream) -> None:
    interest(js)
    one, other = consumer(js), consumer(js, "D")
    feed(js, "s.1", "s.2")
    for message in one.fetch(2):
        one.ack(message)
    left(js, 1, 2)
    (message,) = other.fetch(1)
    other.ack(message)
    left(js, 2)
    assert one.settled(num_pending=0)["num_ack_pending"] == 0


@scenario("DLV-011")
def test_other_words(js: JetStream) -> None:
    interest(js)
    it = consumer(js)
    feed(js, "s.1", "s.2", "s.3")
    first, second, third = it.fetch(3)
    it.ack(first, TERM)
    left(js, 2, 3)
    it.ack(second, b"-NAK")
    it.ack(third, b"+WPI")
    left(js, 2, 3)
    it.ack(third)
    left(js, 2)


@scenario("DLV-011")
def test_ack_all(js: JetStream) -> None:
    interest(js)
    it = consumer(js, ack_policy="all")
    feed(js, "s.1", "s.2", "s.3", "s.4")
    heard = it.fetch(4)
    it.ack(heard[2])
    left(js, 4)


@scenario("DLV-011", "DLV-033")
def test_ack_none_is_gone_with_delivery(js: JetStream) -> None:
    interest(js)
    it = consumer(js, ack_policy="none")
    explicit = consumer(js, "D", filter_subject="s.2")
    feed(js, "s.1", "s.2", "s.3")
    it.fetch(2)
    left(js, 2, 3)
    explicit.ack(explicit.fetch(1)[0])
    left(js, 3)
    it.fetch(1)
    left(js)


@scenario("DLV-011")
def test_push(js: JetStream) -> None:
    interest(js)
    config = {"deliver_subject": "d", "ack_policy": "none"}
    it = consumer(js, **config)
    feed(js, "s.1")
    left(js, 1)
    with Subscriber(js, "d") as subscriber:
        subscriber.next()
        left(js)
        bound(js, "S", "C")
        subscriber.each("s.1")
        left(js)
    it.settled(push_bound=None)
    feed(js, "s.1")
    left(js, 3)


@scenario("DLV-013")
def test_deleted_consumers_leave_nothing_behind(js: JetStream) -> None:
    interest(js)
    one, other = consumer(js), consumer(js, "D", filter_subject="s.2")
    feed(js, "s.1", "s.2", "s.1", "s.2")
    heard = one.fetch(4)
    one.ack(heard[3])
    other.fetch(1)
    other.delete()
    left(js, 1, 2, 3)
    feed(js, "s.2")
    left(js, 1, 2, 3, 5)
    one.delete()
    assert extent(js.settled("S", messages=0)) == (0, 6, 5)


@scenario("DLV-012")
def test_a_late_consumer(js: JetStream) -> None:
    """It wants what is still there; with deliver_policy new it does not."""
    interest(js)
    one = consumer(js)
    feed(js, "s.1", "s.1")
    heard = one.fetch(2)
    consumer(js, "New", deliver_policy="new")
    late = consumer(js, "D")
    one.ack(heard[0])
    one.ack(heard[1])
    left(js, 1, 2)
    for message in late.fetch(2):
        late.ack(message)
    left(js)


@scenario("DLV-012")
def test_a_filter_is_narrowed(js: JetStream) -> None:
    interest(js)
    it = consumer(js)
    feed(js, "s.1", "s.2")
    it.update(filter_subject="s.1")
    left(js, 1)
    feed(js, "s.1", "s.2")
    it.info()
    left(js, 1, 3)
    for message in it.fetch(2):
        it.ack(message)
    it.info()
    left(js)


@scenario("DLV-020")
def test_max_deliver_keeps_the_message(js: JetStream) -> None:
    interest(js)
    it = consumer(js, max_deliver=1, ack_wait=50 * MILLISECOND)
    feed(js, "s.1", "s.2")
    first, _ = it.fetch(2)
    pull = it.pull()
    it.reached(num_ack_pending=0)
    it.info()
    left(js, 1, 2)
    js.publish("s.3", b"x")
    assert sequences(pull.messages(1)) == [3]
    it.ack(first)
    js.state("S", deleted_details=True)
    it.delete()
    left(js)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [({"max_msgs": 2}, (2, 2, 3)), ({"max_msgs_per_subject": 1}, (2, 2, 3))],
    ids=["msgs", "per-subject"],
)
@scenario("DLV-011")
def test_limits_on_top(js: JetStream, limits: Json, expected: tuple[int, int, int]) -> None:
    interest(js, **limits)
    it = consumer(js)
    js.publish_all("s.1", "s.2", "s.1")
    assert extent(js.state("S")) == expected
    it.reached(num_pending=2)
    assert sequences(it.fetch(2)) == [2, 3]
    it.info()


@scenario("DLV-037", "STR-074")
def test_limits_become_interest(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    feed(js, "s.1", "s.2", "s.3", "s.1")
    it = consumer(js, filter_subjects=["s.1", "s.3"])
    it.ack(it.fetch(1)[0])
    js.update("S", subjects=["s.*"], retention="interest")
    left(js, 2, 3, 4)  # 1 was acked; 2 stays, although nobody wants it
    it.ack(it.fetch(1)[0])
    left(js, 2, 4)
    js.update("S", subjects=["s.*"], retention="limits")
    feed(js, "s.2")
    it.ack(it.fetch(1)[0])
    left(js, 2, 4, 5)
    js.update("S", subjects=["s.*"], retention="interest")
    left(js, 2, 5)
    it.delete()
    left(js)


@scenario("DLV-037", "STR-074")
def test_limits_become_interest_of_several(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    feed(js, "s.1", "s.2", "s.1", "s.2", "s.1")
    one, other = consumer(js), consumer(js, "D", filter_subject="s.1")
    for message in one.fetch(4):
        one.ack(message)
    other.ack(other.fetch(1)[0])
    js.update("S", subjects=["s.*"], retention="interest")
    js.fence()
    js.state("S", deleted_details=True)
    one.delete()
    js.fence()
    js.state("S", deleted_details=True)


@scenario("DLV-037", "STR-074")
def test_limits_become_interest_without_consumers(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    feed(js, "s.1", "s.2")
    js.update("S", subjects=["s.*"], retention="interest")
    left(js)
    feed(js, "s.1")
    assert extent(js.state("S", deleted_details=True)) == (0, 4, 3)


@scenario("STR-073")
def test_no_way_to_or_from_workqueue(js: JetStream) -> None:
    js.create("S", subjects=["s.*"])
    queue_config = {"subjects": ["s.*"], "retention": "workqueue"}
    assert js.update_refused("S", **queue_config)["code"] == 500
    js.delete("S")
    js.create("S", **queue_config)
    js.update_refused("S", subjects=["s.*"])
    js.update_refused("S", subjects=["s.*"], retention="interest")
