"""Sources: streams that take messages from others, beside those of their own."""

from __future__ import annotations

import json
import signal

import pytest

from tests.jetstream.copies import gather, origin, stored, synced
from tests.jetstream.members import Members, account, accounts
from tests.jetstream.support import (
    SECOND,
    STORAGES,
    JetStream,
    Json,
    OwnServer,
    own_server,
    scenario,
)

SOURCE: Json = {"name": "O"}
TRANSFORMS = [{"src": "o.1", "dest": "x.1"}, {"src": "o.0", "dest": ""}]


@STORAGES
@scenario("MIR-006", "MIR-008")
def test_sourced_messages_say_where_they_come_from(js: JetStream, storage: str) -> None:
    origin(js, storage=storage)
    js.publish("o.2", b"x", {"A": "b", "Nats-Expected-Stream": "O", "Nats-Msg-Id": "1"})
    made = js.create("S", sources=[SOURCE], subjects=["own"], storage=storage)
    assert made["sources"] == [{"name": "O", "lag": 0, "active": -1}]
    synced(js, "S", last_seq=5)
    js.publish_all("own", "o.1")
    synced(js, "S", last_seq=7)
    assert stored(js, "S")[0]["hdrs"].startswith("NATS/1.0\r\nNats-Stream-Source: O 1 > > o.0 ")
    js.create("T", sources=[{"name": "S"}])  # a copy of a copy names the last one
    synced(js, "T", last_seq=7)
    stored(js, "T")
    js.info("T")


CASES: list[tuple[Json, Json, int]] = [
    ({"filter_subject": "o.1"}, {}, 2),
    ({"filter_subject": "nothing"}, {}, 0),
    ({"opt_start_seq": 3}, {}, 2),
    ({"opt_start_seq": 9}, {}, 0),
    ({"subject_transforms": TRANSFORMS}, {}, 4),
    ({"subject_transforms": TRANSFORMS[:1]}, {}, 2),
    ({"subject_transforms": [{"src": ">", "dest": "a.>"}]}, {}, 4),
    ({}, {"subject_transform": {"src": "o.>", "dest": "all.>"}}, 4),
    ({}, {"max_msgs": 2}, 4),
    ({}, {"max_msgs_per_subject": 1}, 4),
    ({}, {"retention": "interest"}, 4),
    ({}, {"retention": "workqueue"}, 4),
    ({}, {"first_seq": 100}, 103),
]


@pytest.mark.parametrize(("asked", "config", "last"), CASES, ids=json.dumps)
@scenario("MIR-007", "MIR-011")
def test_what_a_source_takes(js: JetStream, asked: Json, config: Json, last: int) -> None:
    origin(js)
    js.create("S", sources=[SOURCE | asked], **config)
    synced(js, "S", last_seq=last)
    stored(js, "S")
    js.info("S")


@scenario("MIR-011")
def test_a_source_may_start_at_a_time(js: JetStream) -> None:
    origin(js)
    time = js.ask("STREAM.MSG.GET.O", {"seq": 3})["message"]["time"]
    js.create("S", sources=[SOURCE | {"opt_start_time": time}])
    synced(js, "S", last_seq=2)
    stored(js, "S")


@scenario("MIR-006")
def test_several_sources(js: JetStream) -> None:
    origin(js, count=0)
    js.create("P", subjects=["p.>"])
    filters = [SOURCE | {"filter_subject": f"o.{i}"} for i in range(2)]
    gather(js, *filters, {"name": "P"})
    synced(js, "S")
    for last, subject in enumerate(("o.1", "p.1", "o.0", "o.1"), 1):
        js.publish(subject)
        synced(js, "S", last_seq=last)
    stored(js, "S")


@pytest.mark.parametrize("window", [0, 60 * SECOND])
@scenario("PUB-005")
def test_ids_are_looked_at_if_a_window_is_asked_for(js: JetStream, window: int) -> None:
    js.create("O", subjects=["o.>"], duplicate_window=SECOND // 10)
    js.create("P", subjects=["p.>"])
    js.publish("o.1", b"", {"Nats-Msg-Id": "1"})
    gather(js, SOURCE, {"name": "P"}, duplicate_window=window)
    synced(js, "S", last_seq=1)
    js.publish("p.1", b"", {"Nats-Msg-Id": "1"})
    js.publish("p.2", b"", {"Nats-Msg-Id": "2"})
    synced(js, "S", last_seq=2 if window else 3)
    stored(js, "S")


@pytest.mark.parametrize("allowed", [True, False])
@scenario("MIR-006")
def test_rollups_and_ttls_of_sourced_messages(js: JetStream, allowed: bool) -> None:
    origin(js, allow_rollup_hdrs=True, allow_msg_ttl=True)
    js.create("S", sources=[SOURCE], allow_rollup_hdrs=allowed, allow_msg_ttl=allowed)
    synced(js, "S", last_seq=4)
    js.publish("o.1", b"", {"Nats-Rollup": "sub", "Nats-TTL": "1h"})
    synced(js, "S", last_seq=5)
    assert len(stored(js, "S")) == (3 if allowed else 5)


@scenario("MIR-006")
def test_a_full_stream_holds_its_source_up(js: JetStream) -> None:
    origin(js, count=6)
    js.create("S", sources=[SOURCE], max_msgs=2, discard="new")
    js.until(lambda: js.ask("STREAM.INFO.S")["sources"][0]["lag"] == 2)
    assert js.state("S")["last_seq"] == 2
    js.ok("STREAM.PURGE.S")
    js.settled("S", last_seq=4)
    stored(js, "S")


@scenario("MIR-006")
def test_sources_come_and_go(js: JetStream) -> None:
    origin(js)
    js.create("P", subjects=["p.>"])
    js.create("S", sources=[SOURCE])
    synced(js, "S", last_seq=4)
    js.update("S", sources=[{"name": "P"}])
    js.publish_all("o.1", "p.1")
    synced(js, "S", last_seq=5)
    js.update("S", sources=[SOURCE])  # it goes on where it was
    synced(js, "S", last_seq=6)
    assert js.update("S", subjects=["s"]).get("sources") is None
    js.publish_all("o.1", "s")
    js.settled("S", last_seq=7)
    stored(js, "S")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@own_server("MIR-010", "MIR-014")
def test_sources_go_on_after_a_restart(js: OwnServer, how: signal.Signals) -> None:
    origin(js)
    js.create("S", sources=[SOURCE], subjects=["own"])
    js.create("T", sources=[{"name": "LATER"}])
    synced(js, "S", last_seq=4)
    js.until(lambda: "error" in js.ask("STREAM.INFO.T")["sources"][0])
    js.info("T")
    js.publish("own")
    js.create("LATER", subjects=["later"])
    js.publish("later")
    js.restart(how)
    js.publish("o.1")
    synced(js, "S", last_seq=6)
    synced(js, "T", last_seq=1)
    stored(js, "S")
    stored(js, "T")


@own_server("MIR-013")
def test_an_origin_made_again_is_another_one(js: OwnServer) -> None:
    origin(js)
    js.create("S", sources=[SOURCE])
    synced(js, "S", last_seq=4)
    js.delete("O")
    origin(js, count=6)
    js.restart(signal.SIGTERM)
    synced(js, "S", last_seq=10)
    stored(js, "S")


@scenario("MIR-012")
def test_work_leaves_its_queue_for_the_copy(js: JetStream) -> None:
    origin(js, retention="workqueue")
    js.create("S", sources=[SOURCE])
    synced(js, "S", last_seq=4)
    assert js.settled("O", messages=0)["consumer_count"] == 1
    stored(js, "S")
    name = js.ask("CONSUMER.NAMES.O")["consumers"][0]
    found = js.ask(f"CONSUMER.INFO.O.{name}")["config"]
    js.note({key: found[key] for key in sorted(found) if key != "metadata"})
    js.note(found["metadata"])
    js.publish("o.1")
    synced(js, "S", last_seq=5)
    js.delete("S")
    js.until(lambda: js.ask("STREAM.INFO.O")["state"]["consumer_count"] == 0)


@scenario("MIR-012")
def test_an_origin_by_interest(js: JetStream) -> None:
    js.create("O", subjects=["o.>"], retention="interest")
    js.create("S", sources=[SOURCE | {"filter_subject": "o.1"}])
    js.create("M", mirror=SOURCE)
    synced(js, "S")
    synced(js, "M")
    js.publish_all("o.0", "o.1", "o.1")
    synced(js, "S", last_seq=2)
    synced(js, "M", last_seq=3)
    js.settled("O", messages=0, last_seq=3)
    stored(js, "S")
    stored(js, "M")


EXPORTS = """exports: [
    {service: "$JS.API.>"}, {service: "$JS.FC.>"}, {service: "$JS.ACK.>"}, {stream: "deliver.>"}
]"""
IMPORTS = """imports: [
    {service: {account: A, subject: "$JS.API.>"}, to: "JS.A.API.>"},
    {service: {account: A, subject: "$JS.FC.>"}}, {service: {account: A, subject: "$JS.ACK.>"}},
    {stream: {account: A, subject: "deliver.>"}}
]"""
ACCOUNTS = accounts(account("A", "", EXPORTS), account("B", "", IMPORTS))
EXTERNAL = SOURCE | {"external": {"api": "JS.A.API", "deliver": "deliver.b"}}


@own_server("MIR-006", "MSG-040", config=ACCOUNTS)
def test_origins_of_another_account(js: OwnServer) -> None:
    origin(js)
    b = Members(js)["B"]
    b.create("M", mirror=EXTERNAL, mirror_direct=True)
    b.create("S", sources=[EXTERNAL | {"filter_subject": "o.1"}])
    b.create("X", sources=[SOURCE | {"external": {"api": "nobody.is.here"}}])
    synced(b, "M", last_seq=4)
    synced(b, "S", last_seq=2)
    js.publish("o.1")
    synced(b, "M", last_seq=5)
    synced(b, "S", last_seq=3)
    stored(b, "M")
    stored(b, "S")
    b.info("S")
    b.info("X")
    assert b.direct("O", seq=2).header("Nats-Stream") == "M"
    assert js.state("O")["consumer_count"] == 0


@own_server("MIR-012", config=ACCOUNTS)
def test_a_queue_of_another_account(js: OwnServer) -> None:
    origin(js, retention="workqueue")
    b = Members(js)["B"]
    b.create("S", sources=[EXTERNAL])
    synced(b, "S", last_seq=4)
    js.settled("O", messages=0)
    js.publish("o.1")
    synced(b, "S", last_seq=5)
    js.settled("O", messages=0)
    stored(b, "S")


@scenario("MIR-006", "PUB-044")
def test_counters_are_added_up(js: JetStream) -> None:
    for name in ("O", "P"):
        js.create(name, subjects=[f"{name}.>"], allow_msg_counter=True)
    transforms = [{"src": "*.>", "dest": "all.>"}]
    both = [{"name": name, "subject_transforms": transforms} for name in ("O", "P")]
    gather(js, *both, allow_msg_counter=True)
    synced(js, "S")
    for last, (subject, step) in enumerate([("O.a", "5"), ("P.a", "7"), ("O.a", "-2")], 1):
        js.publish(subject, b"", {"Nats-Incr": step})
        synced(js, "S", last_seq=last)
    stored(js, "S")
    newest = js.ask("STREAM.MSG.GET.S", {"seq": 3})["message"]["data"]
    js.note(newest)
