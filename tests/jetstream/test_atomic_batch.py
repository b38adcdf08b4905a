"""Atomic batches: how they are collected and committed, and how they end otherwise."""

from __future__ import annotations

import pytest

from tests.jetstream.batches import ABANDONED, LARGE, advisories, part, send
from tests.jetstream.pushing import Subscriber, consumer
from tests.jetstream.support import STORAGES, JetStream, scenario


def begin(js: JetStream, **config: object) -> None:
    js.listen(ABANDONED)
    js.create("S", subjects=["s.>"], allow_atomic=True, **config)


@STORAGES
@scenario("PUB-047", "PUB-048", "PUB-067")
def test_commit(js: JetStream, storage: str) -> None:
    begin(js, storage=storage, allow_direct=True)
    assert js.request("s.a", b"1", part("b", 1)).data == b""
    assert js.request("s.b", b"2", part("b", 2)).data == b""
    assert js.state("S")["messages"] == 0
    assert js.direct("S", seq=1).status == "404 Message Not Found"
    answer = js.publish("s.a", b"3", part("b", 3, "1"))
    assert answer == {"stream": "S", "seq": 3, "batch": "b", "count": 3}
    for seq in (1, 2, 3):
        js.message("S", seq=seq)
    js.subjects("S")
    assert advisories(js) == []


@STORAGES
@scenario("PUB-049", "PUB-050")
def test_commit_without_the_last(js: JetStream, storage: str) -> None:
    begin(js, storage=storage)
    js.request("s.a", b"1", part("b", 1))
    js.request("s.b", b"2", part("b", 2, X="y", Nats_Msg_Id="m"))
    answer = js.publish("s.c", b"3", part("b", 3, "eob", Nats_Expected_Stream="other"))
    assert (answer["seq"], answer["count"]) == (2, 2)
    js.message("S", seq=1)
    js.message("S", seq=2)
    assert js.publish_refused("s.c", b"", part("b", 1, "eob"))["err_code"] == 10176
    assert advisories(js) == [("b", "incomplete")]
    js.request("s.a", b"1", part("b", 1))
    js.publish_refused("s.a", b"1", part("b", 3, "eob"))
    advisories(js)


@scenario("PUB-062")
def test_single_message(js: JetStream) -> None:
    begin(js)
    assert js.publish("s.a", b"", part("b", 1, "1"))["count"] == 1
    js.message("S", seq=1)
    js.request("s.a", b"", part("b" * 64, 1, "1"))
    js.request("s.a", b"", part("a b.*>\u00e4&", 1, "1"))
    js.request("s.a", b"", part('q"\\', 1, "1"))
    js.request("s.a", b"", part("b", 1, "1", Nats_Required_Api_Level="1"))
    js.message("S", seq=5)
    status = b"NATS/1.0 404 x\r\nNats-Batch-Id: b\r\nNats-Batch-Sequence: 1\r\n"
    js.request("s.a", b"", status + b"Nats-Batch-Commit: 1\r\n\r\n")
    js.message("S", seq=6)


@scenario("PUB-047")
def test_no_batch_at_all(js: JetStream) -> None:
    """Without an id the other headers mean nothing."""
    begin(js)
    assert js.publish("s.a", b"", part("", 1, "1")) == {"stream": "S", "seq": 1}
    js.request("s.a", b"", {"Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"})
    js.update("S", subjects=["s.>"])
    js.request("s.a", b"", part("", 1, "1"))


@scenario("PUB-051")
def test_disabled(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], max_msg_size=200)
    for headers in (part("b", 1), part("b" * 65, ""), part("b", 1, "1", Nats_Expected_Stream="Q")):
        assert js.publish_refused("s.a", b"", headers)["err_code"] == 10174
    assert js.publish_refused("s.a", LARGE, part("b", 1))["err_code"] == 10054


@scenario("PUB-047")
def test_disabled_while_open(js: JetStream) -> None:
    begin(js)
    js.request("s.a", b"", part("b", 1))
    js.update("S", subjects=["s.>"])
    assert js.publish_refused("s.a", b"", part("b", 2, "1"))["err_code"] == 10174
    js.update("S", subjects=["s.>"], allow_atomic=True)
    assert js.publish_refused("s.a", b"", part("b", 2, "1"))["err_code"] == 10176
    js.request("s.a", b"", part("b", 1))
    js.delete("S")
    js.create("S", subjects=["s.>"], allow_atomic=True)
    js.publish_refused("s.a", b"", part("b", 2, "1"))
    assert advisories(js) == []


@scenario("PUB-020", "PUB-047")
def test_sealed_while_open(js: JetStream) -> None:
    begin(js, max_msg_size=200)
    js.request("s.a", b"", part("b", 1))
    js.update("S", subjects=["s.>"], allow_atomic=True, max_msg_size=200, sealed=True)
    for headers in (part("b", 2, "1"), part("b", 1), part("b" * 65, 1)):
        js.publish_refused("s.a", b"", headers)
    js.publish_refused("s.a", LARGE, part("b", 1))


@scenario("PUB-052", "PUB-057", "PUB-058")
def test_malformed(js: JetStream) -> None:
    begin(js)
    assert js.publish_refused("s.a", b"", {"Nats-Batch-Id": "b"})["err_code"] == 10175
    for seq in ("x", "-1", "+1", "", "1 ", "0", "99999999999999999999", "9999999999999999999"):
        js.publish_refused("s.a", b"", part("b", seq))
    js.request("s.a", b"", part("b", "01"))
    js.publish_refused("s.a", b"", part("b", "+2"))
    js.request("s.a", b"", part("b", 2, "1"))
    assert js.publish_refused("s.a", b"", part("b" * 65, 1))["err_code"] == 10179
    for commit in ("2", "", "EOB", "true", "0"):
        assert js.publish_refused("s.a", b"", part("b", 1, commit))["err_code"] == 10200
    assert advisories(js) == []


@scenario("PUB-058")
def test_bad_commit_ends_the_batch(js: JetStream) -> None:
    begin(js)
    js.request("s.a", b"", part("b", 1))
    js.publish_refused("s.a", b"", part("b", 3, "2"))
    assert js.publish_refused("s.a", b"", part("b", 2, "1"))["err_code"] == 10176
    assert advisories(js) == []


@scenario("PUB-053", "PUB-054", "PUB-063")
@pytest.mark.parametrize("seq", [0, 1, 3, 1001])
def test_gap(js: JetStream, seq: int) -> None:
    begin(js)
    js.request("s.a", b"", part("b", 1))
    assert js.publish_refused("s.a", b"", part("b", seq))["err_code"] == 10176
    assert advisories(js) == [("b", "incomplete")]
    js.publish_refused("s.a", b"", part("b", 2, "1"))
    js.publish_refused("s.a", b"", part("b", 5))
    assert advisories(js) == []
    assert js.state("S")["messages"] == 0


@scenario("PUB-055")
def test_unknown_and_too_large(js: JetStream) -> None:
    begin(js)
    assert js.publish_refused("s.a", b"", part("b", 1001))["err_code"] == 10199
    js.publish_refused("s.a", b"", part("b", 1001, "9"))
    js.publish_refused("s.a", b"", part("b", 1000))
    assert advisories(js) == []


@scenario("PUB-055")
def test_thousand_messages(js: JetStream) -> None:
    begin(js)
    for seq in range(1, 1000):
        js.cast("s.a", b"", part("b", seq))
    assert js.publish("s.a", b"", part("b", 1000, "1"))["count"] == 1000
    for seq in range(1, 1001):
        js.cast("s.a", b"", part("b", seq))
    assert js.publish_refused("s.a", b"", part("b", 1001, "1"))["err_code"] == 10199
    assert advisories(js) == [("b", "large")]
    for seq in range(1, 1001):
        js.cast("s.a", b"", part("b", seq))
    assert js.publish("s.a", b"", part("b", 1001, "eob"))["count"] == 1000


@scenario("PUB-061", "PUB-064")
def test_level(js: JetStream) -> None:
    begin(js)
    high = {"Nats_Required_Api_Level": "99"}
    assert js.publish_refused("s.a", b"", part("b", 1, **high))["err_code"] == 10185
    assert advisories(js) == [("b", "unsupported")]
    js.request("s.a", b"", part("b", 1))
    js.publish_refused("s.a", b"", part("b", 2, **high))
    js.publish_refused("s.a", b"", part("b", 2, "1"))
    advisories(js)
    js.request("s.a", b"", part("b", 1))
    js.publish_refused("s.a", b"", part("b", 3, **high))
    advisories(js)
    for headers in (
        part("b", 1, "9", **high),
        part("b", "", **high),
        part("b", 3, **high),
        part("b" * 65, 1, **high),
        part("b", 1, Nats_Required_Api_Level="x"),
        part("b", 1, "eob", **high),
    ):
        js.publish_refused("s.a", b"", headers)
    advisories(js)


@scenario("PUB-018", "PUB-019", "PUB-047")
def test_large_messages(js: JetStream) -> None:
    """One that is too large is refused at once, and the batch may go on; large headers are found later."""
    begin(js, max_msg_size=200)
    js.request("s.a", b"", part("b", 1))
    for headers in (part("b", 2), part("b", 5), part("b", 2, "9"), part("b" * 65, 1), part("c", 5)):
        assert js.publish_refused("s.a", LARGE, headers)["err_code"] == 10054
    js.publish_refused("s.a", LARGE, part("b", 2, "eob"))
    assert js.publish("s.a", b"", part("b", 2, "1"))["count"] == 2
    js.delete("S")
    js.create("S", subjects=["s.>"], allow_atomic=True)
    huge = {"X": "y" * 65_600}
    js.request("s.a", b"", part("b", 1, **huge))
    assert js.publish_refused("s.a", b"", part("b", 2, "1"))["err_code"] == 10097
    js.publish_refused("s.a", b"", part("b", 1, "1", Nats_Expected_Last_Msg_Id="x", **huge))
    js.publish_refused("s.a", b"", part("b", 1, "1", Nats_Expected_Stream="Q", **huge))
    js.state("S")


@scenario("PUB-047")
def test_interleaved(js: JetStream) -> None:
    begin(js)
    js.request("s.x", b"", part("x", 1))
    js.request("s.y", b"", part("y", 1))
    js.publish("s.z")
    js.request("s.y", b"", part("y", 2, "1"))
    js.request("s.x", b"", part("x", 2, "1"))
    for seq in range(1, 6):
        js.message("S", seq=seq)


@scenario("PUB-066")
def test_fifty_at_once(js: JetStream) -> None:
    begin(js)
    for number in range(50):
        js.cast("s.a", b"", part(f"b{number}", 1))
    error = js.publish_refused("s.a", b"", part("one more", 1))
    assert (error["code"], error["err_code"]) == (429, 10210)
    for headers in (part("one more", 1, "1"), part("one more", 1, "9"), part("one more", 2)):
        js.publish_refused("s.a", b"", headers)
    js.publish_refused("s.a", b"", part("one more", 1, Nats_Required_Api_Level="99"))
    js.publish("s.a", b"", part("b7", 2, "1"))
    js.request("s.a", b"", part("one more", 1))
    assert advisories(js) == []


@scenario("PUB-027", "PUB-047")
def test_no_ack(js: JetStream) -> None:
    begin(js, no_ack=True)
    js.silent("s.a", b"", part("b", 1))
    js.silent("s.a", b"", part("b", 2, "1"))
    js.silent("s.a", b"", part("b", 3))
    assert js.state("S")["messages"] == 2


@scenario("PUB-047", "PUB-099", "PUB-101")
def test_transform_and_republish(js: JetStream) -> None:
    transform = {"src": "s.*", "dest": "t.{{wildcard(1)}}"}
    begin(js, subject_transform=transform, republish={"src": "t.>", "dest": "r.>"})
    js.listen("r.>")
    send(js, ("s.a", {}), ("s.a", {}), ("s.b", {"Nats_Expected_Last_Subject_Sequence": "0"}))
    js.heard(3)
    js.subjects("S")


@scenario("PUB-047")
def test_nobody_is_interested(js: JetStream) -> None:
    begin(js, retention="interest")
    answer = send(js, ("s.a", {"Nats_Msg_Id": "1"}), ("s.b", {}))
    assert (answer["seq"], answer["count"]) == (2, 2)
    js.publish("s.a", b"", {"Nats-Msg-Id": "1"})
    js.ok(
        "CONSUMER.CREATE.S.c",
        {"stream_name": "S", "config": {"name": "c", "filter_subject": "s.b"}},
    )
    send(js, ("s.a", {}), ("s.b", {}), ("s.c", {}))
    js.state("S", deleted_details=True)


@scenario("PUB-047", "PUB-067")
def test_consumers(js: JetStream) -> None:
    """They hear of all messages, and of none before the commit."""
    begin(js)
    with Subscriber(js, "d") as subscriber:
        consumer(js, "S", "c", deliver_subject="d", ack_policy="none")
        js.request("s.a", b"1", part("b", 1))
        js.request("s.b", b"2", part("b", 2))
        subscriber.nothing()
        js.publish("s.c", b"3", part("b", 3, "1"))
        # How many are pending while the batch is being stored is chance on nats-server.
        heard = [subscriber.frame() for _ in range(3)]
        for message in heard:
            js.note(f"{message.subject} {message.headers!r} {message.data!r}")
        assert [message.subject for message in heard] == ["s.a", "s.b", "s.c"]
