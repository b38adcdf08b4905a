"""What consumers are made of: defaults, names, and what the server fills in."""

from __future__ import annotations

import re

import pytest

from tests.jetstream.consumers import EXPLICIT, MS, PUSH, add, info, label, names, proves
from tests.jetstream.support import (
    API,
    SECOND,
    ZERO_TIME,
    JetStream,
    Json,
    encode_body,
    scenario,
)

DEFAULTS: Json = {
    "name": "C",
    "deliver_policy": "all",
    "ack_policy": "none",
    "max_deliver": -1,
    "replay_policy": "instant",
    "max_waiting": 512,
    "inactive_threshold": 5 * SECOND,
    "num_replicas": 0,
}


def plain(config: Json) -> Json:
    return {key: value for key, value in config.items() if key != "metadata"}


@scenario("CON-001", "CON-003")
def test_defaults(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    created = add(js, "S", "C")
    assert plain(created["config"]) == DEFAULTS
    assert created["config"]["metadata"]["_nats.req.level"] == "0"
    assert (created["stream_name"], created["name"]) == ("S", "C")
    assert info(js, "S", "C")["config"] == created["config"]


@scenario("CON-002")
def test_acknowledged(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    for policy in ("explicit", "all"):
        config = add(js, "S", policy, durable_name=policy, ack_policy=policy)["config"]
        assert (config["ack_wait"], config["max_ack_pending"]) == (30 * SECOND, 1000)
        assert "inactive_threshold" not in config
    config = add(js, "S", "push", **EXPLICIT, **PUSH)["config"]
    assert "max_waiting" not in config


# The rows proven, what is sent, what the consumer has then.
FILLED_IN: list[tuple[str, Json, Json]] = [
    ("", {"deliver_policy": "undefined"}, {"deliver_policy": "all"}),
    ("", {"max_deliver": -5}, {"max_deliver": -1}),
    ("", {"max_waiting": -5}, {"max_waiting": 512}),
    ("", {"max_batch": -1, "max_bytes": -1, "max_expires": -1}, {"max_batch": None}),
    ("", {**EXPLICIT, "max_ack_pending": -5}, {"max_ack_pending": -1}),
    ("", {**PUSH, "idle_heartbeat": -1}, {"idle_heartbeat": None}),
    (
        "",
        {**EXPLICIT, "ack_wait": SECOND, "backoff": [2 * SECOND, SECOND]},
        {"ack_wait": 2 * SECOND},
    ),
    (
        "CON-046",
        {**PUSH, "ack_policy": "flow_control"},
        {"flow_control": True, "idle_heartbeat": SECOND, "max_ack_pending": 1000, "ack_wait": None},
    ),
    (
        "",
        {"priority_policy": "pinned_client", "priority_groups": ["g"]},
        {"priority_timeout": 120 * SECOND},
    ),
    (
        "",
        {"priority_policy": "pinned_client", "priority_groups": ["g"], "priority_timeout": -1},
        {"priority_timeout": 120 * SECOND},
    ),
    ("CON-031", {"filter_subject": "elsewhere.>"}, {"filter_subject": "elsewhere.>"}),
    ("", {"filter_subjects": ["s.a", "s.b.*"]}, {"filter_subjects": ["s.a", "s.b.*"]}),
    ("", {"filter_subjects": ["s.a.*", "s.*.b"]}, {"filter_subjects": ["s.a.*", "s.*.b"]}),
    (
        "",
        {"deliver_policy": "by_start_time", "opt_start_time": "2024-01-01T00:00:00.5+02:00"},
        {"opt_start_time": "2024-01-01T00:00:00.5+02:00"},
    ),
    ("", {"sample_freq": "50%"}, {"sample_freq": "50%"}),
    ("", {"num_replicas": 1, "mem_storage": True}, {"num_replicas": 1, "mem_storage": True}),
]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [pytest.param(sent, has, marks=proves(row), id=label(sent)) for row, sent, has in FILLED_IN],
)
@scenario()
def test_what_is_filled_in(js: JetStream, sent: Json, expected: Json) -> None:
    js.create("S", subjects=["s.>"])
    config = add(js, "S", "C", sent)["config"]
    assert {key: config.get(key) for key in expected} == expected
    assert info(js, "S", "C")["config"] == config


# The level that a configuration asks of a server.
LEVELS: list[tuple[Json, str]] = [
    ({"metadata": {"a": "b", "_nats.ver": "x", "_nats.req.level": "9"}}, "0"),
    ({"pause_until": "2034-01-01T00:00:00Z"}, "1"),
    ({"pause_until": ZERO_TIME}, "0"),
    ({"priority_policy": "overflow", "priority_groups": ["g"]}, "1"),
    ({"priority_policy": "prioritized", "priority_groups": ["g"]}, "1"),
    ({**PUSH, "ack_policy": "flow_control"}, "4"),
]


@pytest.mark.parametrize(("sent", "level"), LEVELS, ids=label)
@scenario()
def test_metadata(js: JetStream, sent: Json, level: str) -> None:
    js.create("S", subjects=["s.>"])
    metadata = add(js, "S", "C", sent)["config"]["metadata"]
    assert metadata["_nats.req.level"] == level
    assert metadata["_nats.ver"] != "x"


@scenario("CON-004")
def test_random_name(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    answers = [js.ask("CONSUMER.CREATE.S", {"stream_name": "S"}) for _ in range(2)]
    given = [answer["name"] for answer in answers]
    assert given[0] != given[1]
    assert all(re.fullmatch("[0-9A-Za-z]{8}", name) for name in given)
    assert "name" not in answers[0]["config"]
    js.note(plain(answers[0]["config"]))
    assert sorted(js.ask("CONSUMER.NAMES.S")["consumers"]) == sorted(given)


@scenario()
def test_names(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    js.ok("CONSUMER.CREATE.S", {"stream_name": "S", "config": {"name": "legacy"}})
    js.ok("CONSUMER.DURABLE.CREATE.S.old", {"stream_name": "S", "config": {"durable_name": "old"}})
    assert add(js, "S", "new", {"name": "other"})["name"] == "new"
    assert add(js, "S", "both", {"durable_name": "both", "name": "a/b"})["name"] == "both"
    add(js, "S", "é")
    add(js, "S", "a%b")
    add(js, "S", "x" * 255)
    filtered = body_with_filter(js, "s.a.*")
    assert filtered["filter_subject"] == "s.a.*"
    assert names(js, "S") == ["a%b", "both", "f", "legacy", "new", "old", "x" * 255, "é"]


def body_with_filter(js: JetStream, subject: str) -> Json:
    request = {"stream_name": "S", "config": {"filter_subject": subject}}
    config: Json = js.ok(f"CONSUMER.CREATE.S.f.{subject}", request)["config"]
    return config


@scenario("CON-071")
def test_consumer_limits_are_defaults(js: JetStream) -> None:
    limits = {"inactive_threshold": 10 * SECOND, "max_ack_pending": 50}
    js.create("S", subjects=["s.>"], consumer_limits=limits)
    config = add(js, "S", "C", durable_name="C", **EXPLICIT)["config"]
    assert (config["inactive_threshold"], config["max_ack_pending"]) == (10 * SECOND, 50)
    config = add(js, "S", "D", inactive_threshold=100 * MS, max_ack_pending=-1)["config"]
    assert (config["inactive_threshold"], config["max_ack_pending"]) == (100 * MS, -1)


@scenario("MIR-009")
def test_direct_consumers_are_not_shown(js: JetStream) -> None:
    """They belong to mirrors and sources; the answer names the stream's identity."""
    js.create("S", subjects=["s.>"], max_consumers=1)
    add(js, "S", "seen")
    for name, config in (("direct", {"direct": True}), ("again", {"direct": True})):
        request = {"stream_name": "S", "config": {**PUSH, **config}}
        answer = js._receive(js._send(f"{API}CONSUMER.CREATE.S.{name}", encode_body(request)))
        assert re.fullmatch("[0-9A-Za-z]{8}", answer.header("Nats-Stream-Identity") or "")
        assert answer.json["config"]["direct"] is True
    assert names(js, "S") == ["seen"]
    assert js.ok("CONSUMER.LIST.S")["total"] == 1
    assert js.state("S")["consumer_count"] == 1
    assert js.ask("INFO")["consumers"] == 3
    assert info(js, "S", "direct")["config"]["direct"] is True
