"""Publishing: PubAcks, what is stored, who else hears it."""

from __future__ import annotations

import base64

import pytest

from tests.jetstream.support import STORAGES, JetStream, own_server, scenario


@STORAGES
@scenario("PUB-001")
def test_ack_bytes(js: JetStream, storage: str) -> None:
    js.create("P", subjects=["p.>"], storage=storage)
    assert js.request("p.1", b"x").data == b'{"stream":"P","seq":1}'
    answer = js.request("p.1", b"", {"A": "b"})
    assert (answer.data, answer.headers, answer.reply) == (b'{"stream":"P","seq":2}', b"", "")


@scenario("PUB-001", "PUB-006")
def test_error_bytes(js: JetStream) -> None:
    js.create("P")
    answer = js.request("P", b"x", {"Nats-Expected-Stream": "Q"})
    assert answer.data == (
        b'{"error":{"code":400,"err_code":10060,"description":"expected stream does not match"},'
        b'"stream":"P","seq":0}'
    )


@scenario("PUB-001")
def test_nobody_listens(js: JetStream) -> None:
    js.create("P")
    assert js.request("p").headers == b"NATS/1.0 503\r\nNats-Subject: p\r\n\r\n"
    assert js.request("P.x").status == "503"


PAYLOADS = [b"", b"x", b"\x00\xff\r\n", b"y" * 100_000]
BLOCKS = [
    b"", b"NATS/1.0\r\n\r\n", b"NATS/1.0\r\nA: b\r\n\r\n", b"NATS/1.0\r\na:b\r\nA:  c \r\nA: d\r\n\r\n",
    b"NATS/1.0 404 Not Found\r\nA: b\r\n\r\n", b"NATS/1.0 503\r\n\r\n",
    b"NATS/1.0\r\nKey: \xc3\xa9\xff\r\n\r\n",
    b"NATS/1.0\r\nNats-Msg-Id: \r\n\r\n", b"NATS/1.0\r\nnats-msg-id: 1\r\n\r\n", b"junk",
    b"NATS/1.0\r\nA: b\r\n",
]  # fmt: skip


@STORAGES
@scenario("PUB-001", "MSG-001")
def test_payload_is_kept(js: JetStream, storage: str) -> None:
    js.create("P", storage=storage)
    for sequence, payload in enumerate(PAYLOADS, 1):
        assert js.publish("P", payload)["seq"] == sequence
        assert base64.b64decode(js.message("P", seq=sequence).get("data", "")) == payload
    js.state("P")


@STORAGES
@pytest.mark.parametrize("block", BLOCKS, ids=repr)
@scenario("PUB-001", "MSG-001", "MSG-022", "CORE-069")
def test_headers_are_kept(js: JetStream, storage: str, block: bytes) -> None:
    js.create("P", storage=storage, allow_direct=True)
    for _ in range(2):
        js.publish("P", b"payload", block)
    js.api("STREAM.MSG.GET.P", {"seq": 1})
    js.direct("P", seq=1)
    js.state("P")


@STORAGES
@scenario("PUB-028")
def test_core_subscribers_hear_it_too(js: JetStream, storage: str) -> None:
    js.create("P", subjects=["p.*"], storage=storage)
    js.listen("p.*")
    ack = js.publish("p.1", b"x", {"A": "b"})
    (copy,) = js.heard(1)
    assert ack == {"stream": "P", "seq": 1}
    assert (copy.subject, copy.data, copy.headers) == ("p.1", b"x", b"NATS/1.0\r\nA: b\r\n\r\n")
    assert copy.reply.startswith("_INBOX.")
    js.cast("p.2", b"y")
    assert js.heard(1)[0].reply == ""


@STORAGES
@scenario("PUB-001", "PUB-028")
def test_capture_without_reply(js: JetStream, storage: str) -> None:
    js.create("P", subjects=["p.*"], storage=storage)
    for number in range(5):
        js.cast(f"p.{number % 2}", b"x")
    js.cast("p.0", b"headed", {"A": "b"})
    assert js.publish("p.1", b"y")["seq"] == 7
    assert js.subjects("P") == {"p.0": 4, "p.1": 3}
    js.message("P", seq=6)


@STORAGES
@scenario("PUB-027")
def test_no_ack(js: JetStream, storage: str) -> None:
    js.create("P", no_ack=True, storage=storage)
    js.silent("P", b"x")
    js.silent("P", b"x", {"Nats-Expected-Stream": "Q"})
    js.silent("P", b"y")
    assert js.settled("P", last_seq=2)["messages"] == 2


@STORAGES
@scenario("PUB-018")
def test_max_msg_size(js: JetStream, storage: str) -> None:
    js.create("P", max_msg_size=30, storage=storage)
    js.publish("P", b"x" * 30)
    error = js.publish_refused("P", b"x" * 31)
    assert error == {
        "code": 400,
        "err_code": 10054,
        "description": "message size exceeds maximum allowed",
    }
    headers = {"A": "b"}  # 18 bytes
    assert js.publish("P", b"x" * 12, headers)["seq"] == 2
    assert js.publish_refused("P", b"x" * 13, headers)["err_code"] == 10054


@STORAGES
@scenario("PUB-019")
def test_long_headers(js: JetStream, storage: str) -> None:
    js.create("P", storage=storage)
    frame = len("NATS/1.0\r\nA: \r\n\r\n")
    assert js.publish("P", b"", {"A": "x" * (65535 - frame)})["seq"] == 1
    error = js.publish_refused("P", b"", {"A": "x" * (65536 - frame)})
    assert (error["code"], error["err_code"]) == (400, 10097)
    assert error["description"] == "header size exceeds maximum allowed of 64k"


@STORAGES
@scenario("STR-107")
def test_first_sequence(js: JetStream, storage: str) -> None:
    state = js.create("P", first_seq=100, storage=storage)["state"]
    assert (state["first_seq"], state["last_seq"]) == (100, 99)
    assert js.publish("P")["seq"] == 100
    js.publish_refused("P", b"", {"Nats-Expected-Last-Sequence": "5"})
    js.publish("P", b"", {"Nats-Expected-Last-Sequence": "100"})
    js.state("P")
    js.ok("STREAM.PURGE.P")
    js.state("P")


@STORAGES
@scenario("DLV-010")
def test_interest_without_consumers(js: JetStream, storage: str) -> None:
    js.create("P", retention="interest", storage=storage)
    js.publish("P", b"x", {"Nats-Msg-Id": "1"})
    assert js.publish("P", b"y")["seq"] == 2
    state = js.state("P")
    assert (state["messages"], state["first_seq"], state["last_seq"]) == (0, 3, 2)
    assert js.publish("P", b"x", {"Nats-Msg-Id": "1"})["duplicate"] is True
    js.publish_refused("P", b"y", {"Nats-Expected-Last-Sequence": "1"})
    js.publish("P", b"y", {"Nats-Expected-Last-Sequence": "2"})
    js.state("P", deleted_details=True)
    assert js.refused("STREAM.MSG.GET.P", {"seq": 1})["err_code"] == 10037


@STORAGES
@scenario("PUB-001")
def test_work_queue_without_consumers_keeps(js: JetStream, storage: str) -> None:
    js.create("P", retention="workqueue", storage=storage)
    js.publish_all("P", "P")
    assert js.state("P")["messages"] == 2


@scenario("PUB-045")
def test_client_may_not_claim_a_source(js: JetStream) -> None:
    js.create("P")
    error = js.publish_refused("P", b"", {"Nats-Stream-Source": "O 1 > > P"})
    assert error["err_code"] == 10227


UNAVAILABLE = [
    ("PUB-030", {"Nats-TTL": "5s"}, 10166),
    ("PUB-043", {"Nats-Incr": "1"}, 10168),
    ("PUB-051", {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1"}, 10174),
    ("PUB-097", {"Nats-Schedule": "@at 2200-01-01T00:00:00Z", "Nats-Schedule-Target": "t"}, 10188),
]


def unavailable_cases() -> list[object]:
    return [
        pytest.param(headers, code, marks=pytest.mark.behaviour(row), id=next(iter(headers)))
        for row, headers, code in UNAVAILABLE
    ]


@pytest.mark.parametrize(("headers", "code"), unavailable_cases())
@scenario()
def test_what_the_stream_does_not_allow(js: JetStream, headers: dict[str, str], code: int) -> None:
    js.create("P")
    assert js.publish_refused("P", b"", headers)["err_code"] == code
    assert js.state("P")["last_seq"] == 0


@scenario("PUB-101")
def test_input_transform(js: JetStream) -> None:
    js.create(
        "P", subjects=["p.*"], subject_transform={"src": "p.*", "dest": "q.$1"}, allow_direct=True
    )
    js.publish("p.1", b"x")
    js.publish("p.1", b"x", {"Nats-Expected-Last-Subject-Sequence": "1"})
    assert js.direct("P", seq=1).header("Nats-Subject") == "q.1"
    assert js.subjects("P") == {"q.1": 2}


@own_server("PUB-001", config='jetstream { domain: "hub" }\n')
def test_domain(js: JetStream) -> None:
    js.create("P")
    assert js.request("P", b"").data == b'{"stream":"P","domain":"hub","seq":1}'
    headers = {"Nats-Msg-Id": "1"}
    js.publish("P", b"", headers)
    js.publish("P", b"", headers)
    js.publish_refused("P", b"", {"Nats-Expected-Stream": "Q"})
    assert js.info("P")["domain"] == "hub"
    assert js.ok("INFO")["domain"] == "hub"
    assert js.request("$JS.hub.API.STREAM.NAMES").json["streams"] == ["P"]
    assert js.request("$JS.other.API.STREAM.NAMES").status == "503"
