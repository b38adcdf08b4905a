"""Where a consumer starts and what its filter lets through."""

from __future__ import annotations

import re

import pytest

from tests.jetstream.pulling import (
    LONG,
    MS,
    NAK,
    Consumer,
    ack_parts,
    consumer,
    consumer_refused,
    deliveries,
    elapsed,
    sequences,
    stream,
    take,
)
from tests.jetstream.support import STORAGES, JetStream, Json, Message, scenario


def fill(js: JetStream, storage: str = "file", **config: object) -> None:
    """s.a at 1 3 5, s.b at 2 6, s.c.d at 4."""
    js.create("S", subjects=["s.>"], storage=storage, **config)
    js.publish_all("s.a", "s.b", "s.a", "s.c.d", "s.a", "s.b")


def pendings(messages: list[Message]) -> list[int]:
    return [ack_parts(message)[6] for message in messages]


def filters(c: Consumer) -> list[str]:
    config = c.seen()["config"]
    return config.get("filter_subjects") or [config.get("filter_subject", ">")]


def fits(pattern: str, subject: str) -> bool:
    expression = re.escape(pattern).replace(r"\*", "[^.]+").replace(">", ".+")
    return re.fullmatch(expression, subject) is not None


def play_all(c: Consumer, expected: list[int]) -> None:
    """Everything now, then one more message of each subject, with the counters."""
    assert c.info()["num_pending"] == len(expected)
    taken = c.drain()
    assert sequences(taken) == expected
    assert pendings(taken) == list(range(len(expected)))[::-1]
    c.info()
    new = ("s.a", "s.b", "s.c.d", "s.new")
    c.js.publish_all(*new)
    wanted = [subject for subject in new if any(fits(pattern, subject) for pattern in filters(c))]
    c.reached(num_pending=len(wanted))
    assert [message.subject for message in c.drain()] == wanted
    c.settled(num_pending=0)


# The row, the config, and the sequences that come.
POLICIES: list[tuple[str, Json, list[int]]] = [
    ("DLV-028", {"deliver_policy": "all"}, [1, 2, 3, 4, 5, 6]),
    ("DLV-008", {"deliver_policy": "last"}, [6]),
    ("DLV-028", {"deliver_policy": "new"}, []),
    ("DLV-026", {"deliver_policy": "by_start_sequence", "opt_start_seq": 3}, [3, 4, 5, 6]),
    ("DLV-026", {"deliver_policy": "by_start_sequence", "opt_start_seq": 6}, [6]),
    ("DLV-026", {"deliver_policy": "by_start_sequence", "opt_start_seq": 7}, []),
    ("DLV-008", {"deliver_policy": "last", "filter_subject": "s.a"}, [5]),
    ("DLV-008", {"deliver_policy": "last", "filter_subject": "s.c.*"}, [4]),
    ("DLV-008", {"deliver_policy": "last", "filter_subject": "s.none"}, []),
    ("DLV-028", {"deliver_policy": "new", "filter_subject": "s.a"}, []),
    ("DLV-009", {"deliver_policy": "last_per_subject", "filter_subject": "s.>"}, [4, 5, 6]),
    ("DLV-009", {"deliver_policy": "last_per_subject", "filter_subject": "s.*"}, [5, 6]),
    ("DLV-009", {"deliver_policy": "last_per_subject", "filter_subject": "s.b"}, [6]),
    (
        "DLV-009",
        {"deliver_policy": "last_per_subject", "filter_subjects": ["s.a", "s.c.>"]},
        [4, 5],
    ),
    ("DLV-009", {"deliver_policy": "last_per_subject", "filter_subject": "s.none"}, []),
    (
        "DLV-026",
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 2, "filter_subject": "s.a"},
        [3, 5],
    ),
    ("DLV-034", {"filter_subject": "s.a"}, [1, 3, 5]),
    ("DLV-034", {"filter_subject": "s.*"}, [1, 2, 3, 5, 6]),
    ("DLV-034", {"filter_subject": ">"}, [1, 2, 3, 4, 5, 6]),
    ("DLV-034", {"filter_subject": "x.none"}, []),
    ("DLV-034", {"filter_subjects": ["s.b", "s.c.d"]}, [2, 4, 6]),
    ("DLV-034", {"filter_subjects": ["s.b", "s.c.*", "s.a"]}, [1, 2, 3, 4, 5, 6]),
    ("DLV-034", {"filter_subjects": ["s.a"]}, [1, 3, 5]),
    ("DLV-034", {"filter_subjects": ["s.none", "s.b"]}, [2, 6]),
    ("DLV-034", {"deliver_policy": "last", "filter_subjects": ["s.a", "s.c.d"]}, [5]),
    ("DLV-034", {"deliver_policy": "new", "filter_subjects": ["s.a", "s.c.d"]}, []),
]


@STORAGES
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(config, expected, marks=pytest.mark.behaviour(row), id=f"{index}")
        for index, (row, config, expected) in enumerate(POLICIES)
    ],
)
@scenario()
def test_start(js: JetStream, storage: str, config: Json, expected: list[int]) -> None:
    fill(js, storage)
    play_all(consumer(js, **config), expected)


@scenario("DLV-026")
def test_start_in_the_future(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js, deliver_policy="by_start_sequence", opt_start_seq=5)
    assert c.info()["delivered"]["stream_seq"] == 4
    js.publish_all("s.3", "s.4", "s.5", "s.6")
    pull = c.pull({"batch": 3, "expires": LONG})
    # nats-server counts 3 and 4 as pending and says so in the reply; that is not compared.
    taken = take(js, 2, lambda message: message.sid == pull.sid)
    assert sequences(taken) == [5, 6]
    c.settled(num_pending=0, delivered=6)


@scenario("DLV-026", "DLV-027", "DLV-008")
def test_start_on_an_empty_stream(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], first_seq=10)
    starts: list[Json] = [
        {"deliver_policy": "all"},
        {"deliver_policy": "last"},
        {"deliver_policy": "new"},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 3},
        {"deliver_policy": "by_start_time", "opt_start_time": "2020-01-01T00:00:00Z"},
        {"deliver_policy": "last_per_subject", "filter_subject": "s.>"},
    ]
    consumers = [consumer(js, f"C{number}", **start) for number, start in enumerate(starts)]
    for c in consumers:
        c.info()
    js.publish_all("s.1", "s.2", "s.1")
    for c in consumers:
        c.reached(num_pending=3)
        assert sequences(c.drain()) == [10, 11, 12]
        c.settled(num_pending=0)


@STORAGES
@scenario("DLV-027")
def test_start_time(js: JetStream, storage: str) -> None:
    fill(js, storage)
    third = js.message("S", seq=3)["time"]
    for name, start, expected in (
        ("A", "2020-01-01T00:00:00Z", [1, 2, 3, 4, 5, 6]),
        ("B", third, [3, 4, 5, 6]),
        ("C", "2120-01-01T00:00:00Z", []),
    ):
        c = consumer(js, name, deliver_policy="by_start_time", opt_start_time=start)
        assert c.info()["num_pending"] == len(expected)
        assert sequences(c.drain()) == expected
        c.info()
    js.publish("s.a")
    c.reached(num_pending=1)
    c.drain()
    filtered = consumer(
        js, "D", deliver_policy="by_start_time", opt_start_time=third, filter_subject="s.b"
    )
    assert sequences(filtered.drain())[0] == 6


@scenario("DLV-009")
def test_last_per_subject_while_it_changes(js: JetStream) -> None:
    fill(js)
    c = consumer(js, deliver_policy="last_per_subject", filter_subject="s.>")
    assert sequences(c.fetch()) == [4]
    c.info()
    js.publish("s.a")
    c.settled(num_pending=3)
    assert sequences(c.drain()) == [5, 6, 7]
    c.settled(num_pending=0)


@scenario("DLV-026")
def test_start_over_gaps(js: JetStream) -> None:
    fill(js)
    for sequence in (2, 3):
        js.ok("STREAM.MSG.DELETE.S", {"seq": sequence})
    c = consumer(js, deliver_policy="by_start_sequence", opt_start_seq=2)
    assert c.info()["num_pending"] == 3
    assert sequences(c.drain()) == [4, 5, 6]
    everything = consumer(js, "D")
    assert deliveries(everything.drain()) == [(1, 1), (4, 1), (5, 1), (6, 1)]
    everything.info()


@scenario("CON-032", "CON-033", "CON-034", "CON-035")
def test_refused_combinations(js: JetStream) -> None:
    stream(js)
    time = "2020-01-01T00:00:00Z"
    for config in (
        {"deliver_policy": "all", "opt_start_seq": 1},
        {"deliver_policy": "all", "opt_start_time": time},
        {"deliver_policy": "last", "opt_start_seq": 1},
        {"deliver_policy": "new", "opt_start_time": time},
        {"deliver_policy": "by_start_sequence"},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 0},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 1, "opt_start_time": time},
        {"deliver_policy": "by_start_time"},
        {"deliver_policy": "by_start_time", "opt_start_seq": 1, "opt_start_time": time},
        {"deliver_policy": "last_per_subject"},
        {"deliver_policy": "last_per_subject", "filter_subject": "s.a", "opt_start_seq": 1},
        {"deliver_policy": "zz"},
    ):
        consumer_refused(js, **config)


@scenario("DLV-035", "CON-058")
def test_filter_update(js: JetStream) -> None:
    fill(js)
    c = consumer(js, filter_subject="s.a")
    assert sequences(c.fetch(2)) == [1, 3]
    c.update(filter_subject="s.b")
    info = c.settled(num_pending=1)
    assert info["num_ack_pending"] == 2
    assert sequences(c.drain()) == [6]
    c.update(filter_subject=None, filter_subjects=["s.a", "s.c.*"])
    c.settled(num_pending=0)
    js.publish_all("s.a", "s.b", "s.c.d")
    c.reached(num_pending=2)
    assert sequences(c.drain()) == [7, 9]
    c.update(filter_subjects=None, filter_subject="s.>")
    js.publish("s.x")
    c.settled(num_pending=1)
    assert sequences(c.drain()) == [10]
    c.info()


@scenario("DLV-035")
def test_filter_update_with_redeliveries(js: JetStream) -> None:
    fill(js)
    c = consumer(js, filter_subject="s.a")
    first, _ = c.fetch(2)
    c.update(filter_subject="s.b")
    c.ack(first, NAK)
    c.drain()
    c.info()


@scenario("PULL-069")
def test_headers_only(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    js.publish("s.a", b"12345")
    js.publish("s.b", b"123", {"A": "b"})
    js.publish("s.c")
    js.publish("s.d", b"", {"Nats-Msg-Size": "77"})
    c = consumer(js, headers_only=True)
    taken = c.fetch(4)
    assert [message.data for message in taken] == [b""] * 4
    assert taken[0].headers == b"NATS/1.0\r\nNats-Msg-Size: 5\r\n\r\n"
    assert taken[1].headers == b"NATS/1.0\r\nA: b\r\nNats-Msg-Size: 3\r\n\r\n"
    limited = consumer(js, "D", headers_only=True)
    limited.pull({"max_bytes": 200, "batch": 4, "no_wait": True}).until_status()
    c.update(headers_only=None)
    c.ack(taken[0], NAK)
    assert c.fetch()[0].data == b"12345"


@scenario("DLV-029")
def test_replay_original(js: JetStream) -> None:
    stream(js, 1)
    timer = consumer(js, "T", filter_subject="none")
    timer.pull({"expires": 300 * MS}).status()
    js.publish("s.2")
    c = consumer(js, replay_policy="original")
    pull = c.pull({"batch": 2, "expires": LONG})
    took = elapsed(lambda: pull.messages(2))
    assert took > 0.2
    c.settled(num_pending=0)
    js.publish("s.3")
    assert elapsed(lambda: c.fetch()) < 5
