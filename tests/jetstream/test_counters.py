"""Streams of counters: a message adds to the last one of its subject."""

from __future__ import annotations

import json
import signal

import pytest

from tests.jetstream.support import (
    STORAGES,
    Headers,
    JetStream,
    Json,
    OwnServer,
    own_server,
    scenario,
)

GOOD = (
    "1",
    "+1",
    "-1",
    " 1",
    "0",
    "-0",
    "+0",
    "00012",
    "1" + "0" * 40,
    "-1" + "0" * 40,
    "9" * 5000,
)
BAD = (
    "1 ", "1.5", "0x10", "0b1", "1_0", "1e3", "++1", "--1", "+-1", "+", "-", "٣", "x",
    "NaN", "Infinity", "\t1",
)  # fmt: skip
PLAIN: list[dict[str, str]] = [{}, {"A": "b"}, {"Nats-Incr": ""}]


@STORAGES
@scenario("PUB-037", "PUB-038")
def test_a_counter_adds(js: JetStream, storage: str) -> None:
    js.create("C", subjects=["c.*"], storage=storage, allow_msg_counter=True)
    total = 0
    for value in GOOD:
        answer = js.publish("c.a", b"", {"Nats-Incr": value})
        total += 0 if len(value) > 4000 else int(value)
        if len(value) < 4000:
            assert answer["val"] == str(total)
        js.publish("c.b", b"", {"Nats-Incr": value, "Foo": "bar"})
        js.message("C", last_by_subj="c.b")
    assert js.message("C", seq=1)["data"] == "eyJ2YWwiOiIxIn0="
    js.state("C", subjects_filter=">")


@scenario("PUB-039", "PUB-040", "PUB-041")
def test_what_an_increment_may_be(js: JetStream) -> None:
    js.create("C", allow_msg_counter=True)
    for value in BAD:
        for data in (b"", b"x"):
            assert js.publish_refused("C", data, {"Nats-Incr": value})["err_code"] == 10171
    for headers in PLAIN:
        for data in (b"", b"x"):
            assert js.publish_refused("C", data, headers or None)["err_code"] == 10169
    assert js.publish_refused("C", b"x", {"Nats-Incr": "1"})["err_code"] == 10170
    js.publish("C", b"", b"NATS/1.0\r\nNats-Incr: 2\r\nA: b\r\nNats-Incr: 7\r\n\r\n")
    js.publish("C", b"", b"NATS/1.0 404 x\r\nNats-Incr: 2\r\n\r\n")
    js.message("C", seq=1)
    js.state("C")


@pytest.mark.parametrize("value", ["", "1", "x", "1.5"])
@scenario("PUB-043")
def test_increments_elsewhere(js: JetStream, value: str) -> None:
    js.create("N")
    for data in (b"", b"x"):
        js.publish("N", data, {"Nats-Incr": value})
        js.publish("N", data, {"Nats-Incr": value, "Nats-Rollup": "sub"})
    js.state("N")


OTHERS = (
    "Nats-Rollup", "Nats-Expected-Stream", "Nats-Expected-Last-Sequence",
    "Nats-Expected-Last-Subject-Sequence", "Nats-Expected-Last-Subject-Sequence-Subject",
    "Nats-Expected-Last-Msg-Id", "Nats-Expected-Foo", "Nats-TTL", "Nats-Schedule", "Nats-Scheduler",
    "Nats-Schedule-Next", "Nats-Schedule-Time-Zone", "Nats-Stream-Source", "Nats-Msg-Id",
    "Nats-Marker-Reason", "Nats-Batch-Id",
)  # fmt: skip


@pytest.mark.parametrize("rollup", [False, True])
@pytest.mark.parametrize("other", OTHERS)
@scenario("PUB-042")
def test_increments_and_other_headers(js: JetStream, other: str, rollup: bool) -> None:
    js.create("C", subjects=["c.*"], allow_msg_counter=True, allow_rollup_hdrs=rollup)
    for number, value in enumerate(["x", "0", "1h", "sub", "C", ""]):
        for data in (b"", b"p"):
            js.publish(f"c.{number}", data, {"Nats-Incr": "1", other: value})
            js.publish(f"c.{number}", data, {other: value})
    js.state("C", subjects_filter=">")


@scenario("PUB-037")
def test_ids_of_counters(js: JetStream) -> None:
    js.create("C", allow_msg_counter=True)
    js.publish("C", b"", {"Nats-Incr": "1", "Nats-Msg-Id": "a"})
    again = js.publish("C", b"", {"Nats-Incr": "1", "Nats-Msg-Id": "a"})
    assert again == {"stream": "C", "seq": 1, "duplicate": True}
    js.publish("C", b"", {"Nats-Msg-Id": "a"})
    js.publish("C", b"", {"Nats-Msg-Id": "b"})
    assert js.publish("C", b"", {"Nats-Incr": "1", "Nats-Msg-Id": "b"})["val"] == "2"


@scenario("PUB-037")
def test_what_is_left_counts(js: JetStream) -> None:
    js.create("C", subjects=["c.*"], allow_msg_counter=True)
    for _ in range(3):
        js.publish("c.a", b"", {"Nats-Incr": "2"})
    js.ok("STREAM.MSG.DELETE.C", {"seq": 3})
    assert js.publish("c.a", b"", {"Nats-Incr": "1"})["val"] == "5"
    js.ok("STREAM.PURGE.C", {"filter": "c.a"})
    assert js.publish("c.a", b"", {"Nats-Incr": "1"})["val"] == "1"


@scenario("PUB-037")
def test_counters_and_limits(js: JetStream) -> None:
    js.create(
        "C", allow_msg_counter=True, max_msg_size=40, max_msgs_per_subject=2,
        republish={"src": ">", "dest": "copy.>"},
    )  # fmt: skip
    js.listen("copy.>")
    for value in ("1", "999999999", "-5", "9" * 34):
        js.publish("C", b"", {"Nats-Incr": value})
    js.publish("C", b"xx", {"Nats-Incr": "9" * 34})
    js.heard(2)
    js.state("C")


@scenario("PUB-037")
def test_subjects_of_counters(js: JetStream) -> None:
    transform = {"src": "c.*.*", "dest": "c.$2"}
    js.create("C", subjects=["c.>"], allow_msg_counter=True, subject_transform=transform)
    assert js.publish("c.a.x", b"", {"Nats-Incr": "1"})["val"] == "1"
    assert js.publish("c.b.x", b"", {"Nats-Incr": "1"})["val"] == "2"
    assert js.publish("c.b.y", b"", {"Nats-Incr": "1"})["val"] == "1"
    js.subjects("C")


SOURCES = (
    '{"A": {"b" : "3"}}', '{"z":{"b":"3"},"a":{"y":"1","x":"2"}}', '{"a<":{"y&":"1"}}', '{"a":{"y":1}}',
    '{"a":null}', "null", "{}", "[]", '{"a":{"y":"é"}}', '{"a":{"y":"1"},"a":{"z":"2"}}', '{"a":{}} x',
    '{"a":1}', "x", "",
)  # fmt: skip
LATER_ON: list[Headers] = [
    {"Nats-Incr": "1"},
    {"Nats-Incr": "1", "B": "1", "Nats-Counter-Sources": "q", "D": "e"},
]


@pytest.mark.parametrize("sources", SOURCES)
@scenario("PUB-037")
def test_sources_are_handed_on(js: JetStream, sources: str) -> None:
    js.create("C", allow_msg_counter=True)
    js.publish("C", b"", {"Nats-Incr": "1", "Nats-Counter-Sources": sources})
    for headers in LATER_ON:
        js.publish("C", b"", headers)
        js.message("C", last_by_subj="C")


UPDATES: list[Json] = [
    {"allow_msg_counter": False},
    {"allow_msg_counter": True, "discard": "new"},
    {"allow_msg_counter": True, "allow_msg_ttl": True},
    {"allow_msg_counter": True, "retention": "interest"},
    {"allow_msg_counter": True, "description": "fine"},
]


@pytest.mark.parametrize("change", UPDATES, ids=json.dumps)
@scenario("PUB-037")
def test_updates_of_counters(js: JetStream, change: Json) -> None:
    js.create("C", allow_msg_counter=True)
    js.publish("C", b"", {"Nats-Incr": "1"})
    js.api("STREAM.UPDATE.C", {"name": "C", **change})
    js.publish("C", b"", {"Nats-Incr": "1"})
    js.create("N")
    js.update_refused("N", allow_msg_counter=True)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: str(how.name))
@own_server("PUB-037", config="jetstream { domain: D }")
def test_counters_survive(js: OwnServer, how: signal.Signals) -> None:
    js.create("C", allow_msg_counter=True)
    for _ in range(3):
        js.publish("C", b"", {"Nats-Incr": "7"})
    js.restart(how)
    assert js.publish("C", b"", {"Nats-Incr": "1"})["val"] == "22"
