"""What an update may change, what it may not, and what it does at once."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.support import SECOND, STORAGES, JetStream, Json, scenario

ALLOWED: list[tuple[str, Json, Json]] = [
    ("STR-079", {"subjects": ["a"]}, {"subjects": ["b", "c.>"]}),
    ("STR-080", {}, {"max_consumers": 5}),
    ("STR-081", {}, {"compression": "s2"}),
    ("STR-081", {"compression": "s2"}, {"compression": "none"}),
    ("STR-074", {}, {"retention": "interest"}),
    ("STR-074", {"retention": "interest"}, {"retention": "limits"}),
    ("", {}, {"description": "new"}),
    ("", {}, {"max_msgs": 3, "max_bytes": 300, "max_age": SECOND * 3600}),
    ("", {"max_age": SECOND}, {"max_age": 0}),
    ("", {}, {"max_msgs_per_subject": 1, "max_msg_size": 10, "discard": "new"}),
    ("", {}, {"no_ack": True}),
    ("", {}, {"duplicate_window": SECOND}),
    ("", {}, {"first_seq": 100}),
    ("", {}, {"allow_direct": True, "allow_rollup_hdrs": True}),
    ("", {}, {"metadata": {"a": "b"}}),
    ("", {}, {"consumer_limits": {"max_ack_pending": 3}}),
    ("", {}, {"deny_delete": True, "deny_purge": True}),
    ("", {}, {"mirror_direct": True}),
    ("", {}, {"republish": {"src": ">", "dest": "r.>"}}),
    ("", {}, {"subject_transform": {"src": "S", "dest": "T"}}),
    ("", {}, {"allow_msg_ttl": True}),
    ("", {}, {"subject_delete_marker_ttl": SECOND}),
    ("", {"subject_delete_marker_ttl": SECOND}, {"allow_msg_ttl": True}),
    ("", {}, {"allow_atomic": True, "allow_batched": True}),
    ("", {}, {"allow_msg_schedules": True}),
]
REFUSED: list[tuple[str, Json, Json, str]] = [
    ("STR-072", {}, {"storage": "memory"}, "can not change storage type"),
    ("STR-072", {"storage": "memory"}, {}, "can not change storage type"),
    (
        "STR-073",
        {},
        {"retention": "workqueue"},
        "can not change retention policy to/from workqueue",
    ),
    (
        "STR-073",
        {"retention": "workqueue"},
        {"retention": "interest"},
        "can not change retention policy to/from workqueue",
    ),
    ("STR-076", {"persist_mode": "async"}, {}, "can not change persist mode"),
    ("STR-076", {}, {"persist_mode": "async"}, "can not change persist mode"),
    ("STR-082", {"deny_delete": True}, {}, "can not cancel deny message deletes"),
    ("STR-083", {"deny_purge": True}, {}, "can not cancel deny purge"),
    ("STR-075", {"allow_msg_ttl": True}, {}, "message TTL status can not be disabled"),
    (
        "STR-075",
        {"subject_delete_marker_ttl": SECOND},
        {},
        "message TTL status can not be disabled",
    ),
    ("", {}, {"allow_msg_counter": True}, "can not change message counter setting"),
    ("", {}, {"max_age": -1}, "max age can not be negative"),
    ("", {}, {"num_replicas": 3}, "replicas > 1 not supported in non-clustered mode"),
    ("", {"allow_msg_schedules": True}, {}, "message schedules can not be disabled"),
]


def proves(row: str) -> list[pytest.MarkDecorator]:
    """Not every case has a row in the catalogue."""
    return [pytest.mark.behaviour(row)] if row else []


def label(value: object) -> str:
    return json.dumps(value)


def allowed_cases(rows: list[tuple[str, Json, Json]]) -> list[object]:
    return [
        pytest.param(before, after, marks=proves(row), id=label([before, after]))
        for row, before, after in rows
    ]


def refused_cases(rows: list[tuple[str, Json, Json, str]]) -> list[object]:
    return [
        pytest.param(before, after, text, marks=proves(row), id=label([before, after]))
        for row, before, after, text in rows
    ]


@pytest.mark.parametrize(("before", "after"), allowed_cases(ALLOWED))
@scenario()
def test_update(js: JetStream, before: Json, after: Json) -> None:
    js.create("S", **before)
    updated = js.update("S", **after)
    assert "did_create" not in updated
    assert {key: updated["config"].get(key) for key in after if key != "metadata"} == {
        key: value for key, value in after.items() if key != "metadata"
    }
    assert js.info("S")["config"] == updated["config"]


@pytest.mark.parametrize(("before", "after", "text"), refused_cases(REFUSED))
@scenario()
def test_update_is_refused(js: JetStream, before: Json, after: Json, text: str) -> None:
    created = js.create("S", **before)
    error = js.update_refused("S", **after)
    assert error["description"].endswith(text)
    assert js.info("S")["config"] == created["config"]


@scenario("STR-071")
def test_unknown_stream(js: JetStream) -> None:
    error = js.update_refused("S")
    assert error == {"code": 404, "err_code": 10059, "description": "stream not found"}
    assert js.update_refused("A*")["err_code"] == 10052
    js.update_refused("A/b")
    js.update_refused("S", max_age=-1)


@scenario("STR-079")
def test_an_update_replaces_the_whole_config(js: JetStream) -> None:
    js.create("S", subjects=["a"], description="d", max_msgs=5, metadata={"a": "b"})
    config = js.update("S")["config"]
    assert config["max_msgs"] == -1
    assert "description" not in config
    assert "a" not in config["metadata"]


@scenario("STR-079")
def test_new_subjects_are_captured_and_old_ones_are_not(js: JetStream) -> None:
    js.create("S", subjects=["a"])
    js.publish("a")
    js.update("S", subjects=["b"])
    assert js.publish("b")["seq"] == 2
    assert js.request("a").status == "503"
    assert js.subjects("S") == {"a": 1, "b": 1}


@STORAGES
@scenario("STR-084", "STR-085", "PUB-020", "MSG-014", "MSG-020")
def test_sealing(js: JetStream, storage: str) -> None:
    js.create(
        "S", storage=storage, max_age=3600 * SECOND, allow_rollup_hdrs=True, allow_direct=True
    )
    js.publish("S", b"x")
    config = js.update("S", storage=storage, sealed=True, allow_rollup_hdrs=True)["config"]
    assert config["sealed"] is True
    assert config["max_age"] == 0
    assert config["discard"] == "new"
    assert config["deny_delete"] is True
    assert config["deny_purge"] is True
    assert config["allow_rollup_hdrs"] is False
    assert js.publish_refused("S", b"y")["err_code"] == 10109
    assert js.refused("STREAM.MSG.DELETE.S", {"seq": 1})["err_code"] == 10109
    assert js.refused("STREAM.PURGE.S")["err_code"] == 10109
    error = js.update_refused("S", storage=storage, deny_delete=True, deny_purge=True)
    assert error["description"].endswith("can not unseal a sealed stream")
    js.api("STREAM.UPDATE.S", {"name": "S", "storage": storage, "sealed": True, "max_msgs": 5})
    assert js.message("S", seq=1)["data"] == "eA=="
    js.ok("STREAM.DELETE.S")


@STORAGES
@pytest.mark.parametrize(
    "limit",
    [
        {"max_msgs": 2},
        {"max_bytes": 70},
        {"max_msgs_per_subject": 1},
        {"max_msgs": 2, "discard": "new"},
    ],
    ids=label,
)
@scenario("PUB-024", "PUB-025")
def test_a_lower_limit_applies_at_once(js: JetStream, storage: str, limit: Json) -> None:
    js.create("S", subjects=["s.*"], storage=storage)
    js.publish_all("s.1", "s.2", "s.1", "s.2", "s.3")
    js.update("S", subjects=["s.*"], storage=storage, **limit)
    js.state("S", subjects_filter=">", deleted_details=True)


@scenario()
def test_limits_for_consumers_that_are_there(js: JetStream) -> None:
    """They may not be lowered below what a consumer has; one that is negative is none."""
    limits = {"inactive_threshold": 50 * SECOND, "max_ack_pending": 10}
    js.create("S", subjects=["s.>"], consumer_limits=limits)
    small = {"inactive_threshold": SECOND * 40, "max_ack_pending": 5}
    for name, config in (("usual", {}), ("small", small)):
        named: Json = {"name": name, "durable_name": name, "ack_policy": "explicit", **config}
        js.ok(f"CONSUMER.CREATE.S.{name}", {"stream_name": "S", "config": named})
    for changed in (
        {"inactive_threshold": 45 * SECOND},
        {"max_ack_pending": 5, "inactive_threshold": 60 * SECOND},
    ):
        js.update_refused("S", subjects=["s.>"], consumer_limits=limits | changed)
    js.update_refused("S", subjects=["s.>"], storage="memory", consumer_limits=changed)
    js.create("T", subjects=["t.>"])
    js.update_refused("S", subjects=["t.>"], consumer_limits=changed)
    js.update("S", subjects=["s.>"], consumer_limits={"max_ack_pending": 10})
    js.update("S", subjects=["s.>"], consumer_limits={"inactive_threshold": -1})
    named = {"name": "n", "durable_name": "n", "ack_policy": "explicit"}
    js.ok("CONSUMER.CREATE.S.n", {"stream_name": "S", "config": named})
    assert js.ok("CONSUMER.INFO.S.n")["config"]["inactive_threshold"] == -1


@scenario()
def test_a_mirror_becomes_a_stream_with_sources(js: JetStream) -> None:
    """Even of the same origin: what was mirrored stays, and all comes once more."""
    js.create("O", subjects=["o"])
    js.publish_all("o", "o")
    js.create("M", mirror={"name": "O"})
    js.settled("M", messages=2)
    js.ask("STREAM.UPDATE.M", {"name": "M", "sources": [{"name": "O"}]})
    js.settled("M", messages=4)
    assert "mirror" not in js.ask("STREAM.INFO.M")
