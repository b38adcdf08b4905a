"""Nats-Rollup: the new message replaces what was before it."""

from __future__ import annotations

import pytest

from tests.jetstream.support import STORAGES, JetStream, scenario


def rollup(value: str) -> dict[str, str]:
    return {"Nats-Rollup": value}


def fill(js: JetStream, storage: str) -> None:
    js.create("P", subjects=["p.*"], storage=storage, allow_rollup_hdrs=True)
    js.publish_all("p.1", "p.2", "p.1", "p.2", "p.1")


@STORAGES
@pytest.mark.parametrize("value", ["sub", "SUB", "Sub"])
@scenario("PUB-014")
def test_subject(js: JetStream, storage: str, value: str) -> None:
    fill(js, storage)
    assert js.publish("p.1", b"new", rollup(value))["seq"] == 6
    state = js.state("P", subjects_filter=">", deleted_details=True)
    assert state["subjects"] == {"p.1": 1, "p.2": 2}
    assert js.message("P", last_by_subj="p.1")["seq"] == 6
    js.publish("p.3", b"first of its subject", rollup(value))
    js.state("P")


@STORAGES
@pytest.mark.parametrize("value", ["all", "ALL"])
@scenario("PUB-015")
def test_everything(js: JetStream, storage: str, value: str) -> None:
    fill(js, storage)
    assert js.publish("p.1", b"new", rollup(value))["seq"] == 6
    state = js.state("P", subjects_filter=">", deleted_details=True)
    assert (state["messages"], state["first_seq"], state["last_seq"]) == (1, 6, 6)
    assert js.publish("p.1", b"x")["seq"] == 7


@scenario("PUB-015", "PUB-014")
def test_first_message(js: JetStream) -> None:
    js.create("P", subjects=["p.*"], allow_rollup_hdrs=True)
    js.publish("p.1", b"", rollup("all"))
    js.publish("p.1", b"", rollup("sub"))
    js.state("P")


@scenario("PUB-016")
def test_not_permitted(js: JetStream) -> None:
    js.create("P")
    for value in ("sub", "all", "foo"):
        error = js.publish_refused("P", b"", rollup(value))
        assert (error["code"], error["err_code"]) == (500, 10111)
    assert js.publish_refused("P", b"", rollup("sub"))["description"] == "rollup not permitted"
    js.publish("P", b"", rollup(""))


@scenario("PUB-017")
def test_invalid_value(js: JetStream) -> None:
    js.create("P", allow_rollup_hdrs=True)
    error = js.publish_refused("P", b"", rollup("foo"))
    assert error["err_code"] == 10111
    assert error["description"] == 'rollup value invalid: "foo"'
    for odd in ('a"b', "<x>", "sub ", "", "é"):
        js.publish("P", b"", rollup(odd))


@STORAGES
@scenario("PUB-014", "PUB-009", "PUB-002")
def test_with_other_headers(js: JetStream, storage: str) -> None:
    fill(js, storage)
    js.publish_refused("p.1", b"", {**rollup("sub"), "Nats-Expected-Last-Subject-Sequence": "4"})
    js.publish("p.1", b"", {**rollup("sub"), "Nats-Expected-Last-Subject-Sequence": "5"})
    js.publish("p.1", b"", {**rollup("sub"), "Nats-Msg-Id": "a"})
    js.publish("p.1", b"", {**rollup("all"), "Nats-Msg-Id": "a"})
    js.state("P", subjects_filter=">")


@STORAGES
@scenario("PUB-014", "PUB-023")
def test_with_limits(js: JetStream, storage: str) -> None:
    config = {"discard": "new", "max_msgs_per_subject": 1, "discard_new_per_subject": True}
    js.create("P", subjects=["p.*"], storage=storage, allow_rollup_hdrs=True, **config)
    js.publish("p.1", b"one")
    js.publish_refused("p.1", b"two")
    js.publish("p.1", b"three", rollup("sub"))
    js.publish("p.1", b"four", rollup("all"))
    js.state("P", subjects_filter=">", deleted_details=True)
