"""Limits of a stream, and what is discarded at them."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.support import STORAGES, JetStream, Json, Message, scenario


def full(text: str) -> Json:
    return {"code": 503, "err_code": 10077, "description": text}


@STORAGES
@scenario("PUB-024")
def test_discard_old_messages(js: JetStream, storage: str) -> None:
    js.create("P", subjects=["p.*"], storage=storage, max_msgs=3)
    js.publish_all("p.1", "p.2", "p.1", "p.3", "p.1")
    state = js.state("P", subjects_filter=">")
    assert (state["messages"], state["first_seq"], state["last_seq"]) == (3, 3, 5)
    assert state["subjects"] == {"p.1": 2, "p.3": 1}
    assert state["first_ts"] == js.message("P", seq=3)["time"]


@STORAGES
@scenario("PUB-024")
def test_discard_old_bytes(js: JetStream, storage: str) -> None:
    js.create("P", storage=storage, max_bytes=150)
    for size in (20, 20, 20, 0, 60, 5, 5, 5):
        js.publish("P", b"x" * size)
        js.state("P")
    js.publish("P", b"x" * 500)
    js.state("P")
    js.publish("P", b"x")
    js.state("P")


@STORAGES
@scenario("PUB-021")
def test_discard_new_messages(js: JetStream, storage: str) -> None:
    js.create("P", storage=storage, max_msgs=2, discard="new")
    js.publish_all("P", "P")
    answer = js.request("P", b"x")
    assert answer.data == (
        b'{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"},'
        b'"stream":"P","seq":0}'
    )
    js.ok("STREAM.MSG.DELETE.P", {"seq": 1})
    assert js.publish("P")["seq"] == 3
    assert js.publish_refused("P") == full("maximum messages exceeded")
    js.state("P")


@STORAGES
@scenario("PUB-022")
def test_discard_new_bytes(js: JetStream, storage: str) -> None:
    js.create("P", storage=storage, max_bytes=100, discard="new")
    assert js.publish_refused("P", b"x" * 100) == full("maximum bytes exceeded")
    for size in (20, 20, 20, 0, 10, 5, 1):
        js.publish("P", b"x" * size)
    js.state("P")


@STORAGES
@scenario("PUB-022")
def test_exactly_full(js: JetStream, storage: str) -> None:
    per_message = 30 + 1 if storage == "file" else 16 + 1
    js.create("P", storage=storage, max_bytes=per_message + 10, discard="new")
    js.publish_refused("P", b"x" * 11)
    js.publish("P", b"x" * 10)
    js.create("Q", storage=storage, max_bytes=2 * per_message)
    js.publish_all("Q", "Q", data=b"")
    assert js.state("Q")["messages"] == 2
    js.publish("Q", b"x")
    assert js.state("Q")["messages"] == 1


@STORAGES
@scenario("PUB-025")
def test_messages_per_subject(js: JetStream, storage: str) -> None:
    js.create("P", subjects=["p.*"], storage=storage, max_msgs_per_subject=2)
    js.publish_all("p.1", "p.2", "p.1", "p.1", "p.2", "p.1")
    state = js.state("P", subjects_filter=">", deleted_details=True)
    assert state["subjects"] == {"p.1": 2, "p.2": 2}
    assert (state["first_seq"], state["deleted"]) == (2, [3])


@STORAGES
@scenario("PUB-023")
def test_discard_new_per_subject(js: JetStream, storage: str) -> None:
    config = {"discard": "new", "max_msgs_per_subject": 1, "discard_new_per_subject": True}
    js.create("P", subjects=["p.*"], storage=storage, max_msgs=3, **config)
    js.publish("p.1")
    assert js.publish_refused("p.1") == full("maximum messages per subject exceeded")
    assert js.publish_all("p.2", "p.3") == [2, 3]
    assert js.publish_refused("p.4") == full("maximum messages exceeded")
    js.publish_refused("p.1")
    js.state("P", subjects_filter=">")


@STORAGES
@scenario("PUB-021", "PUB-025")
def test_discard_new_replaces_within_a_subject(js: JetStream, storage: str) -> None:
    js.create(
        "P", subjects=["p.*"], storage=storage, discard="new", max_msgs_per_subject=1, max_msgs=2
    )
    js.publish_all("p.1", "p.2")
    assert js.publish("p.1")["seq"] == 3
    assert js.publish_refused("p.3") == full("maximum messages exceeded")
    js.state("P", subjects_filter=">", deleted_details=True)


@STORAGES
@scenario("PUB-022", "PUB-025")
def test_discard_new_replaces_within_bytes(js: JetStream, storage: str) -> None:
    js.create(
        "P", subjects=["p.*"], storage=storage, discard="new", max_msgs_per_subject=1, max_bytes=100
    )
    js.publish("p.1", b"x" * 20)
    for size in (20, 40, 60, 70, 5):
        js.publish("p.1", b"x" * size)
        js.state("P")


MIXES: list[Json] = [
    {"max_msgs": 4, "max_msgs_per_subject": 2},
    {"max_bytes": 200, "max_msgs_per_subject": 2},
    {"max_msgs": 4, "max_bytes": 200},
    {"max_msgs": 1},
    {"max_msgs_per_subject": 1},
    {"max_msgs": 3, "discard": "new", "max_msgs_per_subject": 2},
]
SUBJECTS = ["p.1", "p.2", "p.1", "p.3", "p.2", "p.1", "p.1", "p.4", "p.2", "p.2", "p.3", "p.1"]


@STORAGES
@pytest.mark.parametrize("limits", MIXES, ids=json.dumps)
@scenario("PUB-024", "PUB-025")
def test_limits_together(js: JetStream, storage: str, limits: Json) -> None:
    js.create("P", subjects=["p.*"], storage=storage, **limits)
    for number, subject in enumerate(SUBJECTS):
        js.publish(subject, b"x" * (number * 3 % 20))
    js.state("P", subjects_filter=">", deleted_details=True)


@STORAGES
@scenario("PUB-021", "PUB-022")
def test_the_order_of_refusals(js: JetStream, storage: str) -> None:
    js.create("P", storage=storage, discard="new", max_msgs=1, max_bytes=100, max_msg_size=90)
    js.publish("P")

    def refusal(data: bytes, **headers: str) -> Message:
        named = {f"Nats-{name.replace('_', '-')}": value for name, value in headers.items()}
        return js.request("P", data, named or None)

    refusal(b"x" * 80)
    refusal(b"x" * 95)
    refusal(b"", Expected_Last_Sequence="7")
    refusal(b"", Rollup="all")
    js.state("P")
