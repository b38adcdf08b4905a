"""The Nats-Expected headers: what a publisher believes about the stream."""

from __future__ import annotations

import pytest

from tests.jetstream.support import STORAGES, JetStream, scenario

STREAM = "Nats-Expected-Stream"
SEQUENCE = "Nats-Expected-Last-Sequence"
SUBJECT_SEQUENCE = "Nats-Expected-Last-Subject-Sequence"
SUBJECT = "Nats-Expected-Last-Subject-Sequence-Subject"
MESSAGE_ID = "Nats-Expected-Last-Msg-Id"


def wrong(sequence: int) -> dict[str, object]:
    return {"code": 400, "err_code": 10071, "description": f"wrong last sequence: {sequence}"}


@scenario("PUB-006")
def test_stream(js: JetStream) -> None:
    js.create("P")
    js.publish("P", b"", {STREAM: "P"})
    error = js.publish_refused("P", b"", {STREAM: "Q"})
    assert (error["code"], error["err_code"]) == (400, 10060)
    js.publish_refused("P", b"", {STREAM: "p"})
    js.publish("P", b"", {STREAM: ""})


@STORAGES
@scenario("PUB-007", "PUB-008")
def test_last_sequence(js: JetStream, storage: str) -> None:
    js.create("P", storage=storage)
    assert js.publish_refused("P", b"", {SEQUENCE: "1"}) == wrong(0)
    assert js.publish("P", b"", {SEQUENCE: "0"})["seq"] == 1
    assert js.publish_refused("P", b"", {SEQUENCE: "0"}) == wrong(1)
    assert js.publish("P", b"", {SEQUENCE: "1"})["seq"] == 2
    for odd in ("abc", "-1", "2x", "2.0", "99999999999999999999", "0x2"):
        assert js.publish_refused("P", b"", {SEQUENCE: odd}) == wrong(2)
    for odd in ("", " 2", "02", "+2"):
        js.publish("P", b"", {SEQUENCE: odd})
    js.ok("STREAM.PURGE.P")
    js.publish_refused("P", b"", {SEQUENCE: "0"})
    js.state("P")


@STORAGES
@scenario("PUB-009", "PUB-010")
def test_last_sequence_of_the_subject(js: JetStream, storage: str) -> None:
    js.create("P", subjects=["p.*"], storage=storage)
    assert js.publish_refused("p.1", b"", {SUBJECT_SEQUENCE: "1"}) == wrong(0)
    assert js.publish("p.1", b"", {SUBJECT_SEQUENCE: "0"})["seq"] == 1
    assert js.publish("p.2", b"", {SUBJECT_SEQUENCE: "0"})["seq"] == 2
    assert js.publish_refused("p.1", b"", {SUBJECT_SEQUENCE: "2"}) == wrong(1)
    assert js.publish_refused("p.1", b"", {SUBJECT_SEQUENCE: "0"}) == wrong(1)
    assert js.publish("p.1", b"", {SUBJECT_SEQUENCE: "1"})["seq"] == 3
    js.ok("STREAM.MSG.DELETE.P", {"seq": 3})
    assert js.publish("p.1", b"", {SUBJECT_SEQUENCE: "1"})["seq"] == 4
    js.ok("STREAM.PURGE.P", {"filter": "p.1"})
    assert js.publish_refused("p.1", b"", {SUBJECT_SEQUENCE: "4"}) == wrong(0)
    assert js.publish("p.1", b"", {SUBJECT_SEQUENCE: "0"})["seq"] == 5
    for odd in ("abc", "", "-1", "5x", " 5"):
        js.publish("p.1", b"", {SUBJECT_SEQUENCE: odd})


@STORAGES
@scenario("PUB-011")
def test_other_subject(js: JetStream, storage: str) -> None:
    js.create("P", subjects=["p.>"], storage=storage)
    js.publish_all("p.1", "p.2", "p.2.x")
    assert js.publish("p.9", b"", {SUBJECT_SEQUENCE: "1", SUBJECT: "p.1"})["seq"] == 4
    assert js.publish_refused("p.9", b"", {SUBJECT_SEQUENCE: "1", SUBJECT: "p.2"}) == wrong(2)
    assert js.publish("p.9", b"", {SUBJECT_SEQUENCE: "3", SUBJECT: "p.2.>"})["seq"] == 5
    assert js.publish_refused("p.9", b"", {SUBJECT_SEQUENCE: "4", SUBJECT: "p.>"}) == wrong(5)
    assert js.publish("p.9", b"", {SUBJECT_SEQUENCE: "5", SUBJECT: ">"})["seq"] == 6
    assert js.publish("p.9", b"", {SUBJECT_SEQUENCE: "0", SUBJECT: "p.none"})["seq"] == 7
    for subject in ("other", "p..x", "", "p.*.x"):
        js.publish("p.9", b"", {SUBJECT_SEQUENCE: "0", SUBJECT: subject})


@scenario("PUB-012")
def test_other_subject_alone(js: JetStream) -> None:
    js.create("P")
    error = js.publish_refused("P", b"", {SUBJECT: "P"})
    assert error["err_code"] == 10193
    assert js.state("P")["messages"] == 0


@STORAGES
@scenario("PUB-013")
def test_last_message_id(js: JetStream, storage: str) -> None:
    js.create("P", storage=storage)
    error = js.publish_refused("P", b"", {MESSAGE_ID: "1"})
    assert error == {"code": 400, "err_code": 10070, "description": "wrong last msg ID: "}
    js.publish("P", b"", {MESSAGE_ID: ""})
    js.publish("P", b"", {"Nats-Msg-Id": "a"})
    error = js.publish_refused("P", b"", {MESSAGE_ID: "b"})
    assert error["description"] == "wrong last msg ID: a"
    js.publish("P", b"", {MESSAGE_ID: "a"})
    js.publish_refused("P", b"", {MESSAGE_ID: "a"})
    js.publish("P", b"", {"Nats-Msg-Id": "c"})
    js.ok("STREAM.PURGE.P")
    js.publish("P", b"", {MESSAGE_ID: "c"})


PAIRS = [
    {STREAM: "Q", SEQUENCE: "9"},
    {SEQUENCE: "9", SUBJECT_SEQUENCE: "8"},
    {SEQUENCE: "1", SUBJECT_SEQUENCE: "8"},
    {SEQUENCE: "9", MESSAGE_ID: "x"},
    {STREAM: "P", SEQUENCE: "1", SUBJECT_SEQUENCE: "1", MESSAGE_ID: "a"},
    {SUBJECT: "P", SEQUENCE: "9"},
    {STREAM: "Q", "Nats-TTL": "1s"},
    {SEQUENCE: "9", "Nats-TTL": "1s"},
    {MESSAGE_ID: "x", "Nats-Rollup": "sub"},
    {MESSAGE_ID: "x", "Nats-Stream-Source": "O 1 > > P"},
]


@pytest.mark.parametrize("headers", PAIRS, ids=" ".join)
@scenario("PUB-006", "PUB-007", "PUB-009", "PUB-013")
def test_order_of_the_checks(js: JetStream, headers: dict[str, str]) -> None:
    js.create("P")
    js.publish("P", b"", {"Nats-Msg-Id": "a"})
    js.publish("P", b"", headers)


@scenario("PUB-007", "PUB-020")
def test_sealed_comes_first(js: JetStream) -> None:
    js.create("P")
    js.update("P", sealed=True)
    assert js.publish_refused("P", b"", {STREAM: "Q"})["err_code"] == 10109
