"""What may change in a consumer, what may not, and what the actions of a create request mean."""

from __future__ import annotations

import pytest

from tests.jetstream.consumers import EXPLICIT, MS, PUSH, add, body, info, label, proves, refused
from tests.jetstream.support import SECOND, JetStream, Json, scenario

DURABLE: Json = {"durable_name": "C", **EXPLICIT}
GROUP: Json = {"priority_policy": "pinned_client", "priority_groups": ["g"]}

# The row proven, the consumer before, the change.
ALLOWED: list[tuple[str, Json, Json]] = [
    ("CON-058", {}, {"max_deliver": 5}),
    ("CON-058", {"max_deliver": 5}, {"max_deliver": -1}),
    ("CON-058", {}, {"ack_wait": SECOND}),
    ("CON-058", {}, {"filter_subject": "s.a"}),
    ("CON-058", {"filter_subject": "s.a"}, {"filter_subjects": ["s.b", "s.c"]}),
    ("CON-058", {"filter_subjects": ["s.b", "s.c"]}, {"filter_subject": "s.a"}),
    ("CON-058", {}, {"headers_only": True}),
    ("CON-058", {}, {"max_batch": 5, "max_expires": SECOND, "max_bytes": 1000}),
    ("CON-058", {"max_batch": 5}, {"max_batch": None}),
    ("CON-058", {}, {"metadata": {"a": "b"}}),
    ("CON-063", {}, GROUP),
    ("CON-063", GROUP, {**GROUP, "priority_groups": ["h"], "priority_timeout": SECOND}),
    ("CON-063", GROUP, {"priority_policy": None, "priority_groups": None}),
    ("", {}, {"description": "new"}),
    ("", {}, {"backoff": [SECOND, 2 * SECOND], "ack_wait": SECOND}),
    ("", {}, {"inactive_threshold": 60 * SECOND}),
    ("", {}, {"max_ack_pending": 7}),
    ("", {}, {"sample_freq": "5%"}),
    ("", {}, {"num_replicas": 1}),
    ("", PUSH, {"rate_limit_bps": 1000}),
    ("", PUSH, {"deliver_group": "g"}),
    ("CON-072", PUSH, {"deliver_subject": "elsewhere"}),
]
REFUSED: list[tuple[str, Json, Json, str]] = [
    ("CON-059", {}, {"deliver_policy": "new"}, "deliver policy can not be updated"),
    ("CON-059", {}, {"ack_policy": "all"}, "ack policy can not be updated"),
    ("CON-059", {}, {"replay_policy": "original"}, "replay policy can not be updated"),
    (
        "",
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 1},
        {"opt_start_seq": 2},
        "start sequence can not be updated",
    ),
    (
        "",
        {"deliver_policy": "by_start_time", "opt_start_time": "2024-01-01T00:00:00Z"},
        {"opt_start_time": "2024-01-01T00:00:01Z"},
        "start time can not be updated",
    ),
    ("", PUSH, {"idle_heartbeat": SECOND}, "heart beats can not be updated"),
    (
        "",
        {**PUSH, "idle_heartbeat": SECOND},
        {"flow_control": True},
        "flow control can not be updated",
    ),
    ("CON-060", {}, {"max_waiting": 5}, "max waiting can not be updated"),
    ("CON-061", {}, PUSH, "can not update pull consumer to push based"),
    ("CON-061", PUSH, {"deliver_subject": ""}, "can not update push consumer to pull based"),
    ("CON-062", {}, {"mem_storage": True}, "storage type can not be updated"),
    ("", PUSH, {"sourcing": True}, "sourcing can not be updated"),
    (
        "",
        {},
        {"mem_storage": True, "deliver_policy": "new", "ack_policy": "all"},
        "deliver policy can not be updated",
    ),
    (
        "",
        {},
        {"mem_storage": True, "sourcing": True, "ack_policy": "all"},
        "storage type can not be updated",
    ),
    ("", {}, {"sourcing": True, "ack_policy": "all"}, "sourcing can not be updated"),
]


@pytest.mark.parametrize(
    ("before", "change"),
    [
        pytest.param(before, change, marks=proves(row), id=label(before, change))
        for row, before, change in ALLOWED
    ],
)
@scenario()
def test_update(js: JetStream, before: Json, change: Json) -> None:
    js.create("S", subjects=["s.>"])
    created = add(js, "S", "C", {**DURABLE, **before})
    gone = {"filter_subject", "filter_subjects"} & set(before)
    kept = {key: value for key, value in before.items() if key not in gone}
    after = {key: value for key, value in {**kept, **change}.items() if value is not None}
    updated = add(js, "S", "C", {**DURABLE, **after})
    assert updated["created"] == created["created"]
    config = updated["config"]
    shown = {key: config.get(key) for key in after if key != "metadata"}
    assert shown == {key: after[key] for key in shown}
    assert info(js, "S", "C")["config"] == config


@pytest.mark.parametrize(
    ("before", "change", "text"),
    [
        pytest.param(before, change, text, marks=proves(row), id=label(before, change))
        for row, before, change, text in REFUSED
    ],
)
@scenario()
def test_update_is_refused(js: JetStream, before: Json, change: Json, text: str) -> None:
    js.create("S", subjects=["s.>"])
    created = add(js, "S", "C", {**DURABLE, **before})
    error = refused(js, "S", "C", {**DURABLE, **before, **change})
    assert error == {"code": 500, "err_code": 10012, "description": text}
    assert info(js, "S", "C")["config"] == created["config"]


@scenario("CON-073")
def test_a_bound_deliver_subject_stays(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C", **DURABLE, **PUSH)
    js.listen("d")
    js.until(lambda: "push_bound" in js.ask("CONSUMER.INFO.S.C"))
    error = refused(js, "S", "C", {**DURABLE, "deliver_subject": "e"})
    assert (error["err_code"], error["description"]) == (10013, "consumer name already in use")
    assert info(js, "S", "C")["config"]["deliver_subject"] == "d"
    add(js, "S", "C", **DURABLE, **PUSH, description="but the rest may change")


@scenario("CON-055", "CON-056", "CON-057")
def test_actions(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    where = "CONSUMER.CREATE.S.C"
    assert js.refused(where, body("S", DURABLE, "update")) == {
        "code": 400,
        "err_code": 10149,
        "description": "consumer does not exist",
    }
    js.ok(where, body("S", DURABLE, "create"))
    js.ok(where, body("S", DURABLE, "create"))
    other = {**DURABLE, "description": "other"}
    assert js.refused(where, body("S", other, "create")) == {
        "code": 400,
        "err_code": 10148,
        "description": "consumer already exists",
    }
    js.ok(where, body("S", other, "update"))
    assert js.ok(where, body("S", DURABLE))["config"].get("description") is None
    assert refused(js, "S", "C", {**DURABLE, "ack_wait": -1}, "create")["err_code"] == 10183


@scenario()
def test_create_again_without_a_durable_name(js: JetStream) -> None:
    """The threshold that such a consumer was given is not in the request, so it is not the same."""
    js.create("S", subjects=["s.>"])
    add(js, "S", "C")
    assert refused(js, "S", "C", {}, "create")["err_code"] == 10148
    same = {"inactive_threshold": 5 * SECOND}
    js.ok("CONSUMER.CREATE.S.C", body("S", same, "create"))
    assert add(js, "S", "C", description="x")["config"]["inactive_threshold"] == 5 * SECOND


@scenario()
def test_durable_names_come_and_go(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C")
    config = add(js, "S", "C", durable_name="C")["config"]
    assert (config["durable_name"], config["inactive_threshold"]) == ("C", 5 * SECOND)
    config = add(js, "S", "C")["config"]
    assert "durable_name" not in config
    assert "inactive_threshold" not in config


@scenario("PULL-046")
def test_an_update_does_not_pause(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "C", **DURABLE)
    soon = add(js, "S", "C", **DURABLE, pause_until="2034-01-01T00:00:00Z")
    assert "pause_until" not in soon["config"]
    js.ok("CONSUMER.PAUSE.S.C", {"pause_until": "2035-01-01T00:00:00Z"})
    later = add(js, "S", "C", **DURABLE, pause_until="2036-01-01T00:00:00Z", ack_wait=100 * MS)
    assert later["config"]["pause_until"] == "2035-01-01T00:00:00Z"
    assert later["paused"] is True
