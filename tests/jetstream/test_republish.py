"""Copies of stored messages for whoever listens, with the headers that tell of the original."""

from __future__ import annotations

import pytest

from tests.jetstream.support import STORAGES, JetStream, Json, scenario


@STORAGES
@scenario("PUB-099")
def test_a_copy_tells_of_the_original(js: JetStream, storage: str) -> None:
    js.create("S", subjects=["a.>"], storage=storage, republish={"src": "a.>", "dest": "r.>"})
    js.listen("r.>")
    for subject in ("a.1", "a.1", "a.2.x", "a.1"):
        js.publish(subject, b"data of " + subject.encode())
        [copy] = js.heard(1)
        assert copy.reply == ""
    assert copy.header("Nats-Last-Sequence") == "2"
    assert copy.data == b"data of a.1"


@scenario("PUB-099")
def test_the_publishers_headers_come_first(js: JetStream) -> None:
    js.create("S", subjects=["a"], republish={"src": "a", "dest": "r"})
    js.listen("r")
    js.publish("a", b"x", {"Own": "value", "Nats-Msg-Id": "1"})
    js.publish("a", b"y", b"NATS/1.0 100 Idle\r\nOwn: x\r\n\r\n")
    js.publish("a", b"", b"NATS/1.0\r\n\r\n")
    for copy in js.heard(3):
        js.note(copy.headers)


@scenario("PUB-100")
def test_headers_only(js: JetStream) -> None:
    js.create("S", subjects=["a"], republish={"src": "a", "dest": "r", "headers_only": True})
    js.listen("r")
    js.publish("a", b"12345")
    js.publish("a", b"", {"Own": "value"})
    first, second = js.heard(2)
    assert (first.data, first.header("Nats-Msg-Size")) == (b"", "5")
    assert (second.data, second.header("Nats-Msg-Size")) == (b"", "0")


MAPS: list[tuple[Json, Json]] = [
    ({}, {"src": "a.*.*", "dest": "r.$2.$1"}),
    ({}, {"src": "a.*.>", "dest": "r.{{partition(5,1)}}.>"}),
    ({}, {"src": "", "dest": "r.>"}),
    ({}, {"src": ">", "dest": "r.all.>"}),
    ({}, {"src": "a.x.y", "dest": "r.one"}),
    ({"subject_transform": {"src": "a.*.*", "dest": "z.$1"}}, {"src": "z.*", "dest": "r.$1"}),
    ({"subject_transform": {"src": "a.*.*", "dest": "z.$1"}}, {"src": "a.>", "dest": "r.>"}),
]


@pytest.mark.parametrize(("config", "republish"), MAPS)
@scenario("PUB-099")
def test_where_copies_go(js: JetStream, config: Json, republish: Json) -> None:
    js.create("S", subjects=["a.>"], republish=republish, **config)
    js.listen("r.>", "z.>")
    for subject in ("a.x.y", "a.q", "a.x.y.z"):
        js.publish(subject, b"x")
    js.fence()
    js.note(len(js.kept))
    js.heard(len(js.kept))


@scenario("PUB-099")
def test_without_destination(js: JetStream) -> None:
    config = js.create("S", subjects=["a"], republish={"src": "a", "dest": ""})["config"]
    js.note(config.get("republish"))
    js.listen("a", "r")
    js.publish("a", b"x")
    js.fence()
    js.note(len(js.kept))
    js.heard(len(js.kept))


@scenario("PUB-099")
def test_what_is_not_stored_is_not_copied(js: JetStream) -> None:
    js.create(
        "S", subjects=["a"], republish={"src": "a", "dest": "r"}, max_msgs=2, discard="new",
        max_msg_size=90,
    )  # fmt: skip
    js.listen("r")
    js.publish("a", b"1", {"Nats-Msg-Id": "1"})
    js.publish("a", b"1", {"Nats-Msg-Id": "1"})  # a duplicate
    js.publish_refused("a", bytes(100))
    js.publish_refused("a", b"x", {"Nats-Expected-Last-Sequence": "9"})
    js.publish("a", b"2")
    js.publish_refused("a", b"3")
    assert [copy.data for copy in js.heard(2)] == [b"1", b"2"]
    js.heard_nothing()


@scenario("PUB-099")
def test_nobodys_interest_nobodys_copy(js: JetStream) -> None:
    """A stream by interest without consumers keeps nothing."""
    js.create("S", subjects=["a"], retention="interest", republish={"src": "a", "dest": "r"})
    js.listen("r")
    assert js.publish("a", b"1")["seq"] == 1
    js.heard_nothing()


@scenario("PUB-099")
def test_limits_do_not_hide_the_last_sequence(js: JetStream) -> None:
    js.create(
        "S", subjects=["a.*"], max_msgs_per_subject=1, republish={"src": ">", "dest": "r.>"},
        allow_rollup_hdrs=True,
    )  # fmt: skip
    js.listen("r.>")
    js.publish_all("a.1", "a.1", "a.2")
    js.publish("a.1", b"roll", {"Nats-Rollup": "all"})
    js.ok("STREAM.PURGE.S")
    js.publish("a.1", b"after")
    js.heard(5)


@scenario("PUB-099")
def test_another_stream_may_store_the_copy(js: JetStream) -> None:
    js.create("S", subjects=["a"], republish={"src": "a", "dest": "r"})
    js.create("R", subjects=["r"], allow_direct=True)
    js.publish("a", b"x")
    # Off the record: the time in the headers is longer or shorter, and so is the message.
    js.until(lambda: bool(js.ask("STREAM.INFO.R")["state"]["messages"]))
    assert js.direct("R", seq=1).header("Nats-Stream") == "S"


@scenario("PUB-099")
def test_the_copy_leaves_before_the_ack(js: JetStream) -> None:
    js.create("S", subjects=["a"], republish={"src": "a", "dest": "r"})
    js.listen("r")
    js.publish("a", b"x")
    js.note([message.subject for message in js.kept])
    js.heard(1)
