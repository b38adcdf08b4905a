"""Redelivery: when, in which order, how often, and what stops it.

Timers run on both servers. A scenario waits for what they cause; where it has to let time pass it
waits for the end of a pull request that expires.
"""

from __future__ import annotations

import pytest

from tests.jetstream.pulling import (
    ADVISORY,
    LONG,
    MS,
    NAK,
    WPI,
    ack_parts,
    advisories,
    arrivals,
    consumer,
    deliveries,
    elapsed,
    sequences,
    stream,
)
from tests.jetstream.support import STORAGES, JetStream, scenario

WAIT = 150 * MS


@STORAGES
@scenario("PULL-023")
def test_ack_wait(js: JetStream, storage: str) -> None:
    stream(js, 3, storage=storage)
    c = consumer(js, ack_wait=WAIT)
    first = c.fetch(3)
    c.ack(first[1])
    pull = c.waits(batch=4)
    assert elapsed(lambda: pull.messages(2)) > 0.05
    info = c.info()
    assert (info["num_ack_pending"], info["num_redelivered"]) == (2, 2)
    again = pull.messages(2)
    assert deliveries(again) == [(1, 3), (3, 3)]
    assert [ack_parts(message)[4] for message in again] == [6, 7]
    c.ack(again[0])
    c.info()
    c.ack(first[2])
    info = c.info()
    assert (info["num_ack_pending"], info["num_redelivered"]) == (0, 0)


@scenario("PULL-023")
def test_nobody_waits(js: JetStream) -> None:
    """Without a request nothing is delivered again, and the counters rest."""
    stream(js, 2)
    c = consumer(js, ack_wait=WAIT)
    c.fetch(2)
    other = consumer(js, "D", filter_subject="none")
    other.pause(300)
    info = c.info()
    assert (info["num_ack_pending"], info["num_redelivered"]) == (2, 0)
    assert deliveries(c.drain()) == [(1, 2), (2, 2)]
    c.info()


@scenario("PULL-065")
def test_old_before_new(js: JetStream) -> None:
    stream(js, 5)
    c = consumer(js, ack_wait=LONG)
    messages = c.fetch(3)
    c.ack(messages[2], NAK)
    c.ack(messages[0], NAK)
    js.publish("s.6")
    c.reached(num_pending=3)
    assert deliveries(c.fetch(4)) == [(3, 2), (1, 2), (4, 1), (5, 1)]
    c.info()
    assert sequences(c.drain()) == [6]


@scenario("PULL-026", "DLV-018")
def test_nak(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js)
    js.listen(ADVISORY + "MSG_NAKED.>")
    (message,) = c.fetch()
    for count in range(2, 5):
        c.ack(message, NAK)
        (advisory,) = advisories(js, 1)
        assert advisory.json["deliveries"] == count - 1
        c.info()
        (message,) = c.fetch()
        assert deliveries([message]) == [(1, count)]
    c.ack(message)
    assert c.info()["num_redelivered"] == 0


@scenario("PULL-026")
def test_nak_twice(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    (message,) = c.fetch()
    c.ack(message, NAK)
    c.ack(message, NAK)
    assert deliveries(c.drain()) == [(1, 2), (2, 1)]
    c.ack(message, NAK)
    assert deliveries(c.drain()) == [(1, 3)]


@scenario("PULL-026")
def test_nak_while_a_request_waits(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    first, second = c.fetch(2)
    pulls = [c.waits(), c.waits()]
    c.ack(second, NAK)
    pulls[0].messages(1)
    c.ack(first, NAK)
    pulls[1].messages(1)
    c.info()


DELAYS: list[tuple[bytes, bool]] = [
    (b'-NAK {"delay":300000000}', True),
    (b'-NAK{"delay":300000000}', True),
    (b'-NAK  {"delay": 300000000} ', True),
    (b"-NAK 300ms", True),
    (b"-NAK 0.3s", True),
    (b"-NAK300ms", True),
    (b"-NAK 300", False),
    (b"-NAK x", False),
    (b"-NAK {bad", False),
    (b'-NAK {"delay":"300ms"}', False),
    (b'-NAK {"delay":0}', False),
    (b'-NAK {"delay":-300000000}', False),
    (b"-NAK -300ms", False),
]


@pytest.mark.parametrize(("payload", "late"), DELAYS)
@scenario("PULL-056")
def test_nak_with_delay(js: JetStream, payload: bytes, late: bool) -> None:
    stream(js, 1)
    c = consumer(js)
    (message,) = c.fetch()
    c.ack(message, payload)
    c.info()
    took = elapsed(lambda: c.fetch())
    assert (took > 0.2) == late
    assert c.info()["num_redelivered"] == 1


@scenario("PULL-056")
def test_delay_longer_than_ack_wait(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, ack_wait=WAIT)
    (message,) = c.fetch()
    c.ack(message, b'-NAK {"delay":400000000}')
    took = elapsed(lambda: c.fetch())
    assert took > 0.3
    c.info()


@scenario("PULL-056")
def test_ack_during_the_delay(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    (message,) = c.fetch()
    c.ack(message, b'-NAK {"delay":200000000}')
    c.ack(message)
    assert sequences(c.fetch()) == [2]
    c.pause(300)
    c.info()


@scenario("PULL-057")
def test_backoff(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, backoff=[50 * MS, 250 * MS, 100 * MS], max_deliver=6)
    c.fetch()
    times = []
    for count in range(2, 6):
        pull = c.pull({"expires": LONG})
        times.append(elapsed(lambda pull=pull: pull.messages(1)))  # type: ignore[misc]
        js.note(count)
    assert times[0] > 0.02
    assert times[1] > 0.2
    assert times[2] > 0.07
    assert times[3] > 0.07
    c.info()


@scenario("PULL-057", "PULL-026")
def test_nak_ignores_backoff(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, backoff=[LONG, LONG])
    (message,) = c.fetch()
    c.ack(message, NAK)
    assert deliveries(c.fetch()) == [(1, 2)]


@scenario("PULL-027")
def test_work_in_progress(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, ack_wait=400 * MS)
    (message,) = c.fetch()
    c.pause(250)
    c.ack(message, WPI)
    c.info()
    c.pause(250)
    assert deliveries(c.fetch()) == [(1, 2)]
    c.info()


@scenario("PULL-027", "PULL-026")
def test_work_in_progress_after_a_nak(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    (message,) = c.fetch()
    c.ack(message, NAK)
    c.ack(message, WPI)
    assert deliveries(c.drain()) == [(1, 2), (2, 1)]
    c.info()


@scenario("PULL-027")
def test_work_in_progress_during_a_delay(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, ack_wait=WAIT)
    (message,) = c.fetch()
    c.ack(message, b'-NAK {"delay":30000000000}')
    c.ack(message, WPI)
    assert deliveries(c.fetch()) == [(1, 2)]


@scenario("PULL-023", "CON-058")
def test_update_of_ack_wait(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, ack_wait=LONG)
    c.fetch()
    c.update(ack_wait=WAIT)
    assert deliveries(c.fetch()) == [(1, 2)]


@scenario("PULL-023", "PULL-059")
def test_redeliveries_go_round(js: JetStream) -> None:
    stream(js, 3)
    c = consumer(js)
    messages = c.fetch(3)
    for message in messages:
        c.ack(message, b'-NAK {"delay":150000000}')
    pulls = [c.waits(batch=2), c.waits(batch=2)]
    taken = arrivals(3, *pulls)
    assert deliveries(taken) == [(1, 2), (2, 2), (3, 2)]
    c.info()
