"""How purges, deletions and resets move a consumer."""

from __future__ import annotations

import pytest

from tests.jetstream.pulling import consumer, deliveries, sequences, stream
from tests.jetstream.support import STORAGES, JetStream, Json, scenario


def fill(js: JetStream, storage: str = "file", **config: object) -> None:
    """s.a at 1 3 5, s.b at 2 6, s.c.d at 4."""
    js.create("S", subjects=["s.>"], storage=storage, **config)
    js.publish_all("s.a", "s.b", "s.a", "s.c.d", "s.a", "s.b")


# The purge, and what the consumer that has two of six still gets.
PURGES: list[tuple[Json | None, list[int]]] = [
    (None, []),
    ({"seq": 5}, [5, 6]),
    ({"keep": 1}, [6]),
    ({"filter": "s.b"}, [3, 4, 5]),
    ({"filter": "s.c.d"}, [3, 5, 6]),
    ({"filter": "none"}, [3, 4, 5, 6]),
    ({"filter": "s.a", "seq": 5}, [4, 5, 6]),
]


@STORAGES
@pytest.mark.parametrize(("body", "left"), PURGES)
@scenario("MSG-017")
def test_purge_ahead(js: JetStream, storage: str, body: Json | None, left: list[int]) -> None:
    fill(js, storage)
    c = consumer(js)
    for message in c.fetch(2):
        c.ack(message)
    js.ok("STREAM.PURGE.S", body)
    js.fence()
    c.settled(num_pending=len(left))
    assert sequences(c.drain()) == left
    c.info()
    js.publish("s.a")
    c.reached(num_pending=1)
    assert sequences(c.drain()) == [7]
    c.settled(num_pending=0)


@STORAGES
@scenario("STR-108")
def test_full_purge_of_an_untouched_consumer(js: JetStream, storage: str) -> None:
    fill(js, storage)
    c = consumer(js)
    filtered = consumer(js, "F", filter_subject="s.b")
    js.ok("STREAM.PURGE.S")
    js.fence()
    c.settled(num_pending=0)
    filtered.settled(num_pending=0)
    js.publish_all("s.a", "s.b")
    c.reached(num_pending=2)
    filtered.reached(num_pending=1)
    assert sequences(c.drain()) == [7, 8]
    assert sequences(filtered.drain()) == [8]
    c.info()
    filtered.info()


@scenario("MSG-017")
def test_filtered_purge_and_filtered_consumers(js: JetStream) -> None:
    fill(js)
    same = consumer(js, "A", filter_subject="s.a")
    wide = consumer(js, "W", filter_subject="s.*")
    apart = consumer(js, "B", filter_subject="s.b")
    for c in (same, wide, apart):
        c.fetch()
    js.ok("STREAM.PURGE.S", {"filter": "s.a"})
    js.fence()
    for c, left in ((same, []), (wide, [2, 6]), (apart, [6])):
        c.settled(num_pending=len(left))
        assert sequences(c.drain()) == left
        c.info()


@STORAGES
@scenario("MSG-017")
def test_delete_ahead(js: JetStream, storage: str) -> None:
    fill(js, storage)
    c = consumer(js, filter_subject="s.a")
    c.fetch()
    js.ok("STREAM.MSG.DELETE.S", {"seq": 3})
    c.settled(num_pending=1)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 6})
    c.settled(num_pending=1)
    assert sequences(c.drain()) == [5]
    c.info()


@scenario("MSG-017")
def test_limits_remove_what_is_ahead(js: JetStream) -> None:
    fill(js, max_msgs=6)
    c = consumer(js)
    c.fetch()
    js.publish_all("s.x", "s.y", "s.z")
    c.settled(num_pending=6, num_ack_pending=0)
    assert sequences(c.drain()) == [4, 5, 6, 7, 8, 9]
    c.info()


@scenario("PULL-050")
def test_reset_to_the_floor(js: JetStream) -> None:
    fill(js)
    c = consumer(js)
    messages = c.fetch(4)
    c.ack(messages[0])
    c.ack(messages[2])
    answer = js.ok("CONSUMER.RESET.S.C")
    assert answer["reset_seq"] == 2
    assert (answer["delivered"]["consumer_seq"], answer["num_ack_pending"]) == (0, 0)
    c.info()
    assert deliveries(c.drain()) == [(2, 1), (3, 1), (4, 1), (5, 1), (6, 1)]
    c.info()


@scenario("PULL-051")
def test_reset_to_a_sequence(js: JetStream) -> None:
    fill(js)
    c = consumer(js)
    c.drain()
    for sequence in (5, 1, 100):
        answer = js.ok("CONSUMER.RESET.S.C", {"seq": sequence})
        assert answer["reset_seq"] == sequence
        c.info()
        c.drain()
    for body in ({"seq": 0}, {}, {"seq": -1}, b"{bad", {"seq": "1"}, {"bogus": 1}):
        js.api("CONSUMER.RESET.S.C", body)
    c.info()


@scenario("PULL-051")
def test_reset_while_a_request_waits(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    c.fetch(2)
    pull = c.waits(batch=2)
    # nats-server may deliver before it answers, so the answer shows either state.
    assert js.ask("CONSUMER.RESET.S.C", {"seq": 1})["reset_seq"] == 1
    assert deliveries(pull.messages(2)) == [(1, 1), (2, 1)]
    c.settled(num_waiting=0)


@scenario("PULL-052")
def test_reset_refused(js: JetStream) -> None:
    fill(js)
    time = js.message("S", seq=3)["time"]
    starts: list[Json] = [
        {"deliver_policy": "new"},
        {"deliver_policy": "last"},
        {"deliver_policy": "last_per_subject", "filter_subject": "s.>"},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 3},
        {"deliver_policy": "by_start_time", "opt_start_time": time},
    ]
    for number, start in enumerate(starts):
        c = consumer(js, f"C{number}", **start)
        for body in (None, {"seq": 1}, {"seq": 2}, {"seq": 3}, {"seq": 4}):
            js.api(f"CONSUMER.RESET.{c.path}", body)
        c.drain()
        c.info()


@scenario("PULL-053")
def test_reset_of_an_unknown_consumer(js: JetStream) -> None:
    stream(js)
    js.silent("$JS.API.CONSUMER.RESET.S.X")
    js.silent("$JS.API.CONSUMER.RESET.X.C", b'{"seq":1}')


@scenario("DLV-035")
def test_filter_update_behind_a_waiting_request(js: JetStream) -> None:
    """The request has looked at all that is stored; another filter does not bring it back."""
    stream(js, 3)
    c = consumer(js, filter_subject="s.9")
    pull = c.waits()
    assert c.update(filter_subject="s.2")["num_pending"] == 0
    js.publish("s.2")
    assert sequences(pull.messages(1)) == [4]
    c.info()


@scenario("CON-069")
def test_created_again(js: JetStream) -> None:
    stream(js, 3)
    c = consumer(js)
    first, second = c.fetch(2)
    c.ack(first)
    c.delete()
    again = consumer(js)
    again.info()
    assert sequences(again.drain()) == [1, 2, 3]
    again.ack(second)
    again.info()


@scenario("CON-081")
def test_percent_in_the_name(js: JetStream) -> None:
    stream(js, 1)
    c = consumer(js, "a%b")
    c.ack(c.fetch()[0])
    assert c.info()["ack_floor"]["stream_seq"] == 1
