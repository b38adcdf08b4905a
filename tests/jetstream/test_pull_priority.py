"""Priority groups: overflow, requests with priorities, and fields in the wrong place."""

from __future__ import annotations

import pytest

from tests.jetstream.pulling import (
    LONG,
    MS,
    NAK,
    arrivals,
    consumer,
    consumer_refused,
    sequences,
    stream,
)
from tests.jetstream.support import JetStream, Json, scenario


@scenario("PULL-031", "PULL-032", "PULL-033")
def test_fields_on_a_normal_consumer(js: JetStream) -> None:
    stream(js, 9)
    c = consumer(js)
    bodies: list[Json] = [
        {"min_pending": 1},
        {"min_ack_pending": 1},
        {"id": "x"},
        {"priority": 10},
        {"priority": -1},
        {"min_pending": 1, "id": "x"},
        {"group": "g"},
        {"priority": 3},
        {"min_pending": 0},
        {"min_pending": -1},
        {"id": ""},
    ]
    for body in bodies:
        c.pull(body).next()
    c.settled(num_waiting=0)


POLICIES = ["overflow", "pinned_client", "prioritized"]


@pytest.mark.parametrize("policy", POLICIES)
@scenario("PULL-031", "PULL-032", "PULL-033", "PULL-034", "PULL-035")
def test_wrong_fields(js: JetStream, policy: str) -> None:
    stream(js, 20)
    c = consumer(js, priority_policy=policy, priority_groups=["g"])
    assert c.pull({}).status() == "400 Bad Request - Priority Group missing"
    assert c.pull({"group": "h"}).status() == "400 Bad Request - Invalid Priority Group"
    for body in (
        {"batch": 1},
        {"group": ""},
        {"no_wait": True},
        {"min_pending": 1},
        {"group": "g", "priority": 10},
        {"group": "g", "priority": -1},
        {"group": "h", "priority": 10},
        {"group": "g", "idle_heartbeat": 5},
    ):
        assert c.pull(body).next().status.startswith("400")
    for body in ({"group": "g", "min_pending": 1}, {"group": "g", "min_ack_pending": 0}):
        c.pull(body).next()
    if policy != "pinned_client":
        c.pull({"group": "g", "id": "x"}).next()
        c.pull(b"").next()
        c.pull(b"2").messages(2)
    c.settled(num_waiting=0)


@scenario("CON-063")
def test_groups_in_config(js: JetStream) -> None:
    stream(js, 1)
    for config in (
        {"priority_policy": "overflow"},
        {"priority_groups": ["g"]},
        {"priority_policy": "overflow", "priority_groups": [""]},
        {"priority_policy": "overflow", "priority_groups": ["a b"]},
        {"priority_policy": "overflow", "priority_groups": ["x" * 17]},
        {"priority_policy": "zz", "priority_groups": ["g"]},
        {"priority_timeout": 5},
    ):
        consumer_refused(js, **config)
    c = consumer(js, priority_policy="overflow", priority_groups=["g", "h"])
    info = c.info()
    assert [group["group"] for group in info["priority_groups"]] == ["g"]
    c.pull({"group": "h", "no_wait": True}).next()
    c.update(priority_policy="prioritized", priority_groups=["x/y=-_9"])
    c.info()
    c.update(priority_policy=None, priority_groups=None)
    assert "priority_groups" not in c.info()


@scenario("PULL-043", "PULL-044")
def test_min_pending(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js, priority_policy="overflow", priority_groups=["g"])
    high = c.waits(group="g", min_pending=3, batch=2)
    js.publish("s.3")
    assert sequences(high.messages(1)) == [1]
    c.settled(num_waiting=1, num_pending=2)
    assert sequences(c.fetch(group="g")) == [2]
    js.publish_all("s.4")
    js.publish_all("s.5")
    assert sequences(high.messages(1)) == [3]
    c.settled(num_waiting=0)
    enough = c.pull({"group": "g", "min_pending": 2, "expires": LONG})
    assert sequences(enough.messages(1)) == [4]
    empty = c.pull({"group": "g", "min_pending": 2, "no_wait": True})
    js.note(empty.next().status)
    c.settled(num_pending=1)


@scenario("PULL-063")
def test_min_ack_pending(js: JetStream) -> None:
    stream(js, 5)
    c = consumer(js, priority_policy="overflow", priority_groups=["g"])
    held = c.waits(group="g", min_ack_pending=2, batch=2)
    assert sequences(c.fetch(group="g")) == [1]
    c.settled(num_waiting=1)
    c.fetch(group="g")
    taken = held.messages(2)
    assert sequences(taken) == [3, 4]
    either = c.pull({"group": "g", "min_ack_pending": 9, "min_pending": 1, "expires": LONG})
    assert sequences(either.messages(1)) == [5]
    c.settled(num_waiting=0)


@scenario("PULL-043")
def test_overflow_request_times_out(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, priority_policy="overflow", priority_groups=["g"])
    high = c.pull({"group": "g", "min_pending": 5, "expires": 100 * MS, "batch": 4})
    assert high.status() == "408 Request Timeout"
    c.settled(num_waiting=0)


@scenario("PULL-045")
def test_prioritized(js: JetStream) -> None:
    stream(js)
    c = consumer(js, priority_policy="prioritized", priority_groups=["g"])
    wanted = [5, 1, 3, 1, None, 9]
    pulls = []
    for priority in wanted:
        options = {} if priority is None else {"priority": priority}
        pulls.append(c.waits(group="g", **options))
    priorities = {pull.sid: priority for pull, priority in zip(pulls, wanted, strict=True)}
    order = []
    for _ in wanted:
        js.publish("s.1")
        (message,) = arrivals(1, *pulls)
        order.append(priorities[message.sid])
    assert order == [None, 1, 1, 3, 5, 9]
    c.settled(num_waiting=0)


@scenario("PULL-045")
def test_prioritized_batches(js: JetStream) -> None:
    stream(js)
    c = consumer(js, priority_policy="prioritized", priority_groups=["g"])
    low = c.waits(group="g", priority=2, batch=3)
    first = c.waits(group="g", priority=1, batch=2)
    second = c.waits(group="g", priority=1, batch=2)
    names = {low.sid: "low", first.sid: "first", second.sid: "second"}
    order = []
    for _ in range(7):
        js.publish("s.1")
        (message,) = arrivals(1, low, first, second)
        order.append(names[message.sid])
    assert order == ["first", "second", "first", "second", "low", "low", "low"]
    c.settled(num_waiting=0)


@scenario("PULL-043", "PULL-026")
def test_overflow_and_redelivery(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, priority_policy="overflow", priority_groups=["g"])
    c.ack(c.fetch(group="g")[0], NAK)
    c.pull({"group": "g", "min_pending": 5, "expires": 150 * MS}).next()
    c.pull({"group": "g", "no_wait": True}).next()
    c.info()


@scenario("PULL-045", "PULL-059")
def test_prioritized_late_comers(js: JetStream) -> None:
    stream(js)
    c = consumer(js, priority_policy="prioritized", priority_groups=["g"])
    pulls = [c.waits(group="g", priority=1, batch=2), c.waits(group="g", priority=1, batch=3)]
    js.publish("s.1")
    arrivals(1, *pulls)
    pulls += [c.waits(group="g", priority=0), c.waits(group="g", priority=1)]
    for _ in range(6):
        js.publish("s.1")
        arrivals(1, *pulls)
    c.settled(num_waiting=0)
