"""What a stream's config reads like: defaults, corrections, and fields as they were given."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.support import (
    SECOND,
    STORAGES,
    ZERO_TIME,
    JetStream,
    Json,
    own_server,
    scenario,
)

VERSION_KEYS = {"_nats.level": "5", "_nats.req.level": "0", "_nats.ver": "2.15.1"}
DEFAULTS: Json = {
    "name": "S",
    "subjects": ["S"],
    "retention": "limits",
    "max_consumers": -1,
    "max_msgs": -1,
    "max_bytes": -1,
    "max_age": 0,
    "max_msgs_per_subject": -1,
    "max_msg_size": -1,
    "discard": "old",
    "storage": "file",
    "num_replicas": 1,
    "duplicate_window": 120 * SECOND,
    "compression": "none",
    "allow_direct": False,
    "mirror_direct": False,
    "sealed": False,
    "deny_delete": False,
    "deny_purge": False,
    "allow_rollup_hdrs": False,
    "consumer_limits": {},
    "allow_msg_ttl": False,
    "metadata": VERSION_KEYS,
}
EMPTY: Json = {
    "messages": 0,
    "bytes": 0,
    "first_seq": 0,
    "first_ts": ZERO_TIME,
    "last_seq": 0,
    "last_ts": ZERO_TIME,
    "consumer_count": 0,
}


@scenario("STR-001", "STR-026", "STR-098", "STR-099")
def test_defaults(js: JetStream) -> None:
    info = js.create("S")
    assert list(info) == ["type", "config", "created", "state", "ts", "did_create"]
    assert list(info["config"].items()) == list(DEFAULTS.items())
    assert list(info["state"].items()) == list(EMPTY.items())
    assert info["did_create"] is True


@scenario("STR-001")
def test_info_has_the_same_config(js: JetStream) -> None:
    created = js.create("S", subjects=["s.>", "t.*"], storage="memory")
    info = js.info("S")
    assert info["config"] == created["config"]
    assert info["created"] == created["created"]
    assert (info["total"], info["offset"], info["limit"]) == (0, 0, 0)


# Fields that are kept as given, each alone, with what else it needs.
KEPT: list[Json] = [
    {"description": "what it is <for> & why"},
    {"subjects": ["a", "b.*", "c.>"]},
    {"retention": "interest"},
    {"retention": "workqueue"},
    {"max_consumers": 3},
    {"max_msgs": 5},
    {"max_bytes": 1000},
    {"max_age": 3600 * SECOND},
    {"max_msgs_per_subject": 2},
    {"max_msg_size": 100},
    {"discard": "new"},
    {"discard": "new", "max_msgs_per_subject": 1, "discard_new_per_subject": True},
    {"storage": "memory"},
    {"no_ack": True},
    {"duplicate_window": SECOND},
    {"compression": "s2"},
    {"first_seq": 100},
    {"allow_direct": True},
    {"deny_delete": True},
    {"deny_purge": True},
    {"allow_rollup_hdrs": True},
    {"consumer_limits": {"inactive_threshold": SECOND, "max_ack_pending": 7}},
    {"metadata": {"owner": "tests", "b": "2", "a": "1"}},
    {"placement": {"tags": ["here"]}},
    {"placement": {"cluster": "there"}},
    {"subject_transform": {"src": "S", "dest": "T"}},
    {"republish": {"src": "S", "dest": "R"}},
    {"republish": {"src": "S", "dest": "R", "headers_only": True}},
]


@pytest.mark.parametrize("config", KEPT, ids=json.dumps)
@scenario("STR-001")
def test_field_is_kept(js: JetStream, config: Json) -> None:
    got = js.create("S", **config)["config"]
    if "metadata" in config:
        config = {"metadata": {**config["metadata"], **VERSION_KEYS}}
    assert {key: got.get(key) for key in config} == config
    assert js.info("S")["config"] == got


@scenario("STR-014")
def test_everything_may_be_captured_without_acks(js: JetStream) -> None:
    """Off the record: whether it has captured something by the time of the answer is chance."""
    config = {"name": "S", "no_ack": True, "subjects": [">"]}
    assert js.ask("STREAM.CREATE.S", config)["config"]["subjects"] == [">"]


# What is given, and what it becomes.
CORRECTED: list[tuple[Json, Json]] = [
    ({"max_consumers": 0}, {"max_consumers": -1}),
    ({"max_msgs": 0, "max_bytes": 0}, {"max_msgs": -1, "max_bytes": -1}),
    ({"max_msgs": -7, "max_bytes": -7}, {"max_msgs": -1, "max_bytes": -1}),
    ({"max_msgs_per_subject": -5}, {"max_msgs_per_subject": -1}),
    ({"max_msg_size": 0}, {"max_msg_size": -1}),
    ({"num_replicas": 0}, {"num_replicas": 1}),
    ({"placement": {}}, {"placement": None}),
    ({"subjects": []}, {"subjects": ["S"]}),
    ({"subjects": None}, {"subjects": ["S"]}),
    ({"persist_mode": "default"}, {"persist_mode": None}),
    ({"description": ""}, {"description": None}),
    (
        {"metadata": {"_nats.ver": "1", "_nats.level": "9", "_nats.req.level": "7"}},
        {"metadata": VERSION_KEYS},
    ),
]


@pytest.mark.parametrize(("given", "kept"), CORRECTED, ids=json.dumps)
@scenario("STR-001")
def test_field_is_corrected(js: JetStream, given: Json, kept: Json) -> None:
    got = js.create("S", **given)["config"]
    assert {key: got.get(key) for key in kept} == kept


@scenario("STR-001")
def test_empty_republish_source_is_everything(js: JetStream) -> None:
    config = js.create("S", republish={"src": "", "dest": "R.>"})["config"]
    assert config["republish"] == {"src": ">", "dest": "R.>"}


@scenario("STR-027")
def test_default_duplicate_window_shrinks_to_max_age(js: JetStream) -> None:
    assert js.create("S", max_age=SECOND)["config"]["duplicate_window"] == SECOND


@scenario("STR-035", "STR-100")
def test_marker_ttl_turns_on_ttl_and_rollup(js: JetStream) -> None:
    config = js.create("S", subject_delete_marker_ttl=SECOND)["config"]
    assert config["allow_msg_ttl"] is True
    assert config["allow_rollup_hdrs"] is True
    assert config["deny_purge"] is False
    assert config["metadata"]["_nats.req.level"] == "1"


@scenario("STR-100")
def test_ttls_require_level_1(js: JetStream) -> None:
    config = js.create("S", allow_msg_ttl=True)["config"]
    assert config["allow_msg_ttl"] is True
    assert config["metadata"]["_nats.req.level"] == "1"


LEVELS: list[tuple[Json, str]] = [
    ({"allow_atomic": True}, "2"),
    ({"allow_msg_schedules": True}, "2"),
    ({"allow_batched": True}, "4"),
    ({"allow_batched": True, "allow_msg_ttl": True}, "4"),
]


@pytest.mark.parametrize(("config", "level"), LEVELS, ids=json.dumps)
@scenario("STR-099", "STR-100")
def test_required_level(js: JetStream, config: Json, level: str) -> None:
    got = js.create("S", **config)["config"]
    assert {key: got[key] for key in config} == config
    assert got["metadata"]["_nats.req.level"] == level


@scenario("STR-099")
def test_counters_require_level_2(js: JetStream) -> None:
    config = js.create("S", allow_msg_counter=True)["config"]
    assert config["metadata"]["_nats.req.level"] == "2"


@scenario("STR-099")
def test_async_persistence_requires_level_2(js: JetStream) -> None:
    config = js.create("S", persist_mode="async")["config"]
    assert config["persist_mode"] == "async"
    assert config["metadata"]["_nats.req.level"] == "2"


@scenario("STR-099")
def test_level_is_computed_again_by_an_update(js: JetStream) -> None:
    js.create("S", allow_atomic=True)
    assert js.update("S")["config"]["metadata"] == VERSION_KEYS


@STORAGES
@scenario("STR-002")
def test_same_config_again(js: JetStream, storage: str) -> None:
    first = js.create("S", storage=storage, max_msgs=7)
    js.publish("S", b"x")
    again = js.create("S", storage=storage, max_msgs=7, max_bytes=-1, num_replicas=1)
    assert again["config"] == first["config"]
    assert again["created"] == first["created"]
    assert again["state"]["messages"] == 1
    assert again["did_create"] is True


@own_server("STR-099")
def test_list_leaves_out_the_keys_of_the_server(js: JetStream) -> None:
    js.create("S", metadata={"a": "b"})
    (entry,) = js.ok("STREAM.LIST")["streams"]
    assert entry["config"]["metadata"] == {"_nats.req.level": "0", "a": "b"}
    assert list(entry) == ["config", "created", "state", "ts"]
