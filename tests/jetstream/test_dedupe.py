"""Duplicates by Nats-Msg-Id."""

from __future__ import annotations

from tests.jetstream.support import SECOND, STORAGES, JetStream, scenario


def message_id(name: str) -> dict[str, str]:
    return {"Nats-Msg-Id": name}


@STORAGES
@scenario("PUB-002")
def test_duplicate(js: JetStream, storage: str) -> None:
    js.create("P", subjects=["p.*"], storage=storage)
    js.publish("p.1", b"first")
    assert js.publish("p.1", b"x", message_id("1")) == {"stream": "P", "seq": 2}
    answer = js.request("p.1", b"other payload", message_id("1"))
    assert answer.data == b'{"stream":"P","seq":2,"duplicate": true}'
    assert js.request("p.2", b"x", message_id("1")).data == answer.data
    assert js.publish("p.1", b"x", message_id("2"))["seq"] == 3
    assert js.state("P")["messages"] == 3


@STORAGES
@scenario("PUB-002")
def test_removed_messages_are_remembered(js: JetStream, storage: str) -> None:
    js.create("P", storage=storage)
    js.publish("P", b"x", message_id("1"))
    js.ok("STREAM.MSG.DELETE.P", {"seq": 1})
    js.publish("P", b"x", message_id("1"))
    js.publish("P", b"y", message_id("2"))
    js.ok("STREAM.PURGE.P")
    js.publish("P", b"y", message_id("2"))
    js.publish("P", b"y", message_id("1"))
    js.state("P")


@scenario("PUB-002")
def test_a_refused_message_is_not_remembered(js: JetStream) -> None:
    js.create("P", max_msg_size=40)
    js.publish_refused("P", b"x" * 50, message_id("1"))
    js.publish_refused("P", b"", {**message_id("1"), "Nats-Expected-Last-Sequence": "9"})
    assert js.publish("P", b"", message_id("1")) == {"stream": "P", "seq": 1}


@scenario("PUB-002")
def test_a_message_that_found_no_room_is_not_remembered(js: JetStream) -> None:
    js.create("P", max_msgs=1, discard="new")
    js.publish("P")
    js.publish_refused("P", b"", message_id("1"))
    js.ok("STREAM.PURGE.P")
    assert js.publish("P", b"", message_id("1")) == {"stream": "P", "seq": 2}


@scenario("PUB-002", "PUB-007", "PUB-013")
def test_order_of_the_checks(js: JetStream) -> None:
    """What is told about a duplicate that is wrong in other ways too."""
    js.create("P", max_msg_size=100)
    js.publish("P", b"x", message_id("1"))
    for name, value in [
        ("Nats-Expected-Stream", "Q"),
        ("Nats-Expected-Last-Sequence", "9"),
        ("Nats-Expected-Last-Subject-Sequence", "9"),
        ("Nats-Expected-Last-Msg-Id", "9"),
        ("Nats-Rollup", "sub"),
        ("Nats-TTL", "1s"),
        ("Nats-Incr", "1"),
    ]:
        js.publish("P", b"x", {**message_id("1"), name: value})
    js.publish("P", b"x" * 200, message_id("1"))


@STORAGES
@scenario("PUB-003")
def test_forgotten_after_the_window(js: JetStream, storage: str) -> None:
    """Asking again and again is how the test waits; each answer tells whether it is remembered."""
    js.create("P", storage=storage, duplicate_window=SECOND // 10)
    js.publish("P", b"x", message_id("1"))
    answers = [js.publish("P", b"x", message_id("1"))]
    assert answers[0].get("duplicate") is True
    js.lines.clear()
    js.until(lambda: "duplicate" not in js.publish("P", b"x", message_id("1")))
    del js.lines[:-1]
    assert js.state("P")["messages"] == 2


@STORAGES
@scenario("PUB-002")
def test_wider_and_narrower_window(js: JetStream, storage: str) -> None:
    js.create("P", storage=storage, duplicate_window=SECOND * 60)
    js.publish("P", b"x", message_id("1"))
    js.update("P", storage=storage, duplicate_window=SECOND * 120)
    assert js.publish("P", b"x", message_id("1"))["duplicate"] is True


@scenario("PUB-002")
def test_odd_ids(js: JetStream) -> None:
    js.create("P")
    for name in ("", " a", "a ", "A", "a", "ä", "x" * 5000):
        js.publish("P", b"", message_id(name))
        js.publish("P", b"", message_id(name))
    js.publish("P", b"", b"NATS/1.0\r\nNats-Msg-Id:tight\r\n\r\n")
    js.publish("P", b"", message_id("tight"))
    js.publish("P", b"", b"NATS/1.0\r\nnats-msg-id: lower\r\n\r\n")
    js.publish("P", b"", message_id("lower"))
    js.publish("P", b"", b"NATS/1.0\r\nNats-Msg-Id: one\r\nNats-Msg-Id: two\r\n\r\n")
    js.publish("P", b"", message_id("one"))
    js.publish("P", b"", message_id("two"))
    js.state("P")
