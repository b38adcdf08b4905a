"""What consumers know after the server's end.

nats-server writes what consumers have delivered some time later, so only an orderly end has one
outcome for that; that a consumer exists is on disk before the answer, and survives a kill.
"""

from __future__ import annotations

import signal

from tests.jetstream.pulling import (
    TERM,
    Consumer,
    consumer,
    deliveries,
    sequences,
)
from tests.jetstream.pushing import (
    HEARTBEAT,
    MILLISECOND,
    Subscriber,
    bound,
    feed,
    gone,
    positions,
    stream_seq,
)
from tests.jetstream.pushing import consumer as ephemeral
from tests.jetstream.support import SECOND, OwnServer, own_server
from tests.jetstream.test_consumer_pause import ahead, pause
from tests.jetstream.test_restart import SIGNALS
from tests.jetstream.test_retention import left


@SIGNALS
@own_server("CON-074")
def test_existence(js: OwnServer, how: signal.Signals) -> None:
    js.create("S", subjects=["s.*"])
    js.publish_all("s.1", "s.2", "s.1")
    consumer(
        js, "Pull", description="kept <as> is", metadata={"a": "b"}, filter_subjects=["s.1", "s.3"],
        max_deliver=5, backoff=[SECOND, 2 * SECOND], max_waiting=7, sample_freq="50%",
    )  # fmt: skip
    consumer(js, "Push", deliver_subject="d", deliver_group="q", idle_heartbeat=SECOND)
    consumer(js, "Start", deliver_policy="by_start_sequence", opt_start_seq=2)
    consumer(js, "Gone")
    js.ok("CONSUMER.DELETE.S.Gone")
    consumer(js, "Push", deliver_subject="e", deliver_group="q", idle_heartbeat=SECOND)
    names = ("Pull", "Push", "Start")
    before = [Consumer(js, name).seen() for name in names]
    js.restart(how)
    assert js.ok("CONSUMER.NAMES.S")["consumers"] == list(names)
    assert js.info("S")["state"]["consumer_count"] == 3
    for name, info in zip(names, before, strict=True):
        after = Consumer(js, name).info()
        assert (after["config"], after["created"]) == (info["config"], info["created"])
        assert after["num_pending"] == info["num_pending"]
    assert sequences(Consumer(js, "Pull").fetch(2)) == [1, 3]
    assert sequences(Consumer(js, "Start").fetch(2)) == [2, 3]


@own_server("CON-074")
def test_position(js: OwnServer) -> None:
    js.create("S")
    it = consumer(js)
    feed(js, *["S"] * 6)
    heard = it.fetch(4)
    for message in (heard[0], heard[2]):
        it.ack(message)
    before = it.info()
    assert positions(before) == (4, 4, 1, 1)
    js.restart(signal.SIGTERM)
    after = it.info()
    assert positions(after) == (4, 4, 1, 1)
    assert (after["num_ack_pending"], after["num_pending"]) == (2, 2)
    (fifth,) = it.fetch()
    assert deliveries([fifth]) == [(5, 1)]
    it.ack(heard[1])
    assert positions(it.info()) == (5, 5, 3, 3)
    it.ack(heard[3], b"-NAK")
    assert deliveries(it.fetch()) == [(4, 2)]
    it.info()


@own_server("CON-074")
def test_redelivery_goes_on(js: OwnServer) -> None:
    js.create("S")
    it = consumer(js, ack_wait=200 * MILLISECOND)
    feed(js, "S", "S")
    first, _ = it.fetch(2)
    assert deliveries(it.fetch(2)) == [(1, 2), (2, 2)]
    it.ack(first)
    info = it.info()
    assert (info["num_ack_pending"], info["num_redelivered"]) == (1, 1)
    js.restart(signal.SIGTERM)
    info = it.info()
    assert (info["num_ack_pending"], info["num_redelivered"]) == (1, 1)
    assert deliveries(it.fetch()) == [(2, 3)]


@own_server("CON-074")
def test_terminated_stays_terminated(js: OwnServer) -> None:
    js.create("S")
    it = consumer(js, ack_wait=100 * MILLISECOND)
    feed(js, "S", "S", "S")
    first, second = it.fetch(2)
    it.ack(first, TERM)
    it.ack(second)
    before = it.info()
    js.restart(signal.SIGTERM)
    assert positions(it.info()) == positions(before)
    assert deliveries(it.fetch()) == [(3, 1)]


@own_server("CON-074", "DLV-020")
def test_deliveries_are_not_counted_anew(js: OwnServer) -> None:
    js.create("S")
    it = consumer(js, max_deliver=2, ack_wait=100 * MILLISECOND)
    feed(js, "S")
    it.fetch()
    assert deliveries(it.fetch()) == [(1, 2)]
    js.restart(signal.SIGTERM)
    js.publish("S", b"2")
    heard = it.pull({"batch": 3, "expires": SECOND // 2}).until_status()
    assert deliveries(heard[:-1]) == [(2, 1), (2, 2)]
    assert heard[-1].status == "408 Request Timeout"


@own_server("CON-074", "DLV-033")
def test_ack_none_and_ack_all(js: OwnServer) -> None:
    js.create("S")
    none, everything = (
        consumer(js, "None", ack_policy="none"),
        consumer(js, "All", ack_policy="all"),
    )
    feed(js, "S", "S", "S")
    none.fetch(2)
    everything.ack(everything.fetch(3)[1])
    none.reached(floor=2)
    js.restart(signal.SIGTERM)
    assert positions(none.info()) == (2, 2, 2, 2)
    assert sequences(none.fetch()) == [3]
    info = everything.info()
    assert (positions(info), info["num_ack_pending"]) == ((3, 3, 2, 2), 1)


@own_server("CON-074", "DLV-009")
def test_last_per_subject_goes_on(js: OwnServer) -> None:
    js.create("S", subjects=["s.*"])
    js.publish_all("s.1", "s.2", "s.1", "s.3")
    it = consumer(js, deliver_policy="last_per_subject", filter_subject="s.*")
    assert sequences(it.fetch()) == [2]
    js.restart(signal.SIGTERM)
    it.info()
    assert sequences(it.fetch(2)) == [3, 4]
    it.info()


@own_server("CON-074")
def test_push_goes_on(js: OwnServer) -> None:
    js.create("S")
    js.publish("S", b"1")
    with Subscriber(js, "d") as it:
        consumer(js, deliver_subject="d", idle_heartbeat=HEARTBEAT)
        it.next()
        bound(js, "S", "C")
        js.restart(signal.SIGTERM)
        it.client.close()
    assert "push_bound" not in Consumer(js).info()
    feed(js, "S")
    with Subscriber(js, "d") as it:
        assert stream_seq(it.next()) == 2
        assert it.heartbeat().header("Nats-Last-Consumer") == "2"
        info = bound(js, "S", "C")
        assert (positions(info), info["num_ack_pending"]) == ((2, 2, 0, 0), 2)


@own_server("CON-075", "CON-074")
def test_ephemerals(js: OwnServer) -> None:
    js.create("S")
    ephemeral(js, "S", "Long", ack_policy="explicit", inactive_threshold=60 * SECOND)
    ephemeral(js, "S", "Short", ack_policy="explicit", inactive_threshold=SECOND)
    feed(js, "S", "S")
    Consumer(js, "Long").fetch()
    js.restart(signal.SIGTERM)
    info = Consumer(js, "Long").info()
    assert (positions(info), info["num_pending"]) == ((1, 1, 0, 0), 1)
    gone(js, "S", "Short")


@own_server("CON-074")
def test_memory_does_not_last(js: OwnServer) -> None:
    js.create("S")
    js.create("M", storage="memory")
    consumer(js, "C")
    consumer(js, "Mem", mem_storage=True)
    consumer(js, "C", "M")
    js.restart(signal.SIGTERM)
    assert js.ok("STREAM.NAMES")["streams"] == ["S"]
    assert js.ok("CONSUMER.NAMES.S")["consumers"] == ["C"]
    js.refused("CONSUMER.INFO.M.C")
    js.refused("CONSUMER.INFO.S.Mem")


@own_server("CON-074", "PULL-046")
def test_paused_stays_paused(js: OwnServer) -> None:
    js.create("S")
    it = consumer(js)
    other = consumer(js, "D")
    feed(js, "S")
    paused = pause(js, ahead(60))
    js.ok("CONSUMER.PAUSE.S.D", {"pause_until": ahead(0.6)})
    js.restart(signal.SIGTERM)
    info = it.info()
    assert (info["paused"], info["config"]["pause_until"]) == (True, paused["pause_until"])
    assert it.pull({"no_wait": True}).status() == "404 No Messages"
    assert sequences(other.fetch()) == [1]


@own_server("CON-074", "DLV-036")
def test_workqueue(js: OwnServer) -> None:
    js.create("S", subjects=["s.*"], retention="workqueue")
    it = consumer(js)
    feed(js, "s.1", "s.2", "s.3", "s.4")
    first, second, third = it.fetch(3)
    it.ack(first)
    it.ack(third)
    left(js, 2, 4)
    js.restart(signal.SIGTERM)
    left(js, 2, 4)
    info = it.info()
    assert (info["num_ack_pending"], info["num_pending"]) == (1, 1)
    it.ack(second)
    left(js, 4)
    (fourth,) = it.fetch()
    it.ack(fourth)
    left(js)


@own_server("CON-074", "DLV-011")
def test_interest(js: OwnServer) -> None:
    js.create("S", subjects=["s.*"], retention="interest")
    one, other = consumer(js), consumer(js, "D", filter_subject="s.2")
    feed(js, "s.1", "s.2", "s.1", "s.2")
    for message in one.fetch(3):
        one.ack(message)
    left(js, 2, 4)
    js.restart(signal.SIGTERM)
    left(js, 2, 4)
    for message in other.fetch(2):
        other.ack(message)
    left(js, 4)
    assert js.publish("s.3", b"x")["seq"] == 5
    for message in one.fetch(2):
        one.ack(message)
    left(js)


@own_server("CON-074", "MSG-021")
def test_after_purge(js: OwnServer) -> None:
    js.create("S")
    it = consumer(js)
    feed(js, "S", "S", "S")
    it.fetch()
    js.ok("STREAM.PURGE.S")
    before = it.settled(num_ack_pending=0, num_pending=0)
    js.restart(signal.SIGTERM)
    assert positions(it.info()) == positions(before)
    feed(js, "S")
    assert sequences(it.fetch()) == [4]


@own_server("CON-074")
def test_again_and_again(js: OwnServer) -> None:
    js.create("S")
    it = consumer(js)
    for cycle in range(3):
        feed(js, "S", "S")
        heard = it.fetch(2)
        it.ack(heard[1])
        js.restart(signal.SIGTERM)
        info = it.info()
        assert info["num_ack_pending"] == cycle + 1
        assert info["delivered"]["stream_seq"] == 2 * cycle + 2


@own_server("PULL-040", "CON-074")
def test_a_pin_does_not_last(js: OwnServer) -> None:
    js.create("S")
    it = consumer(
        js, priority_policy="pinned_client", priority_groups=["g"], priority_timeout=60 * SECOND
    )
    feed(js, "S", "S")
    (first,) = it.fetch(group="g")
    assert first.header("Nats-Pin-Id")
    js.restart(signal.SIGTERM)
    (group,) = it.info()["priority_groups"]
    assert "pinned_client_id" not in group
    (second,) = it.fetch(group="g")
    assert second.header("Nats-Pin-Id") != first.header("Nats-Pin-Id")
