"""What the info says at every stage, and what a create answers."""

from __future__ import annotations

import re

import pytest

from tests.jetstream.pulling import (
    ADVISORY,
    LONG,
    MS,
    NAK,
    Consumer,
    Pull,
    advisories,
    consumer,
    consumer_refused,
    elapsed,
    no_advisories,
    sequences,
    stream,
    take,
)
from tests.jetstream.support import API, JetStream, Json, scenario
from tests.support.wire import pub

FIELDS = [
    "type", "stream_name", "name", "created", "config", "delivered", "ack_floor",
    "num_ack_pending", "num_redelivered", "num_waiting", "num_pending", "ts",
]  # fmt: skip


@scenario("CON-002", "PULL-068")
def test_every_stage(js: JetStream) -> None:
    stream(js, 3)
    c = consumer(js)
    fresh = c.info()
    assert list(fresh) == FIELDS
    assert fresh["delivered"] == {"consumer_seq": 0, "stream_seq": 0}
    first, second = c.fetch(2)
    taken = c.info()
    assert "last_active" in taken["delivered"]
    assert "last_active" not in taken["ack_floor"]
    c.ack(second)
    assert "last_active" in c.info()["ack_floor"]
    c.ack(first, NAK)
    c.info()
    (again,) = c.fetch()
    assert c.info()["num_redelivered"] == 1
    c.ack(again)
    c.info()
    (third,) = c.fetch()
    waiting = c.waits(batch=10)
    assert c.info()["num_waiting"] == 1
    c.ack(third)
    c.info()
    js.publish("s.4")
    waiting.messages(1)
    c.info()
    waiting.leave()
    assert js.info("S")["state"]["consumer_count"] == 1


@scenario()
def test_times(js: JetStream) -> None:
    stream(js, 2)
    c = consumer(js)
    created = c.info()["created"]
    first, _ = c.fetch(2)
    one = c.info()
    assert created < one["delivered"]["last_active"] < one["ts"]
    c.ack(first)
    two = c.info()
    assert one["ts"] < two["ack_floor"]["last_active"] < two["ts"]
    assert two["delivered"]["last_active"] == one["delivered"]["last_active"]
    assert two["created"] == created


CONFIGS: list[Json] = [
    {},
    {"ack_policy": "none"},
    {"ack_policy": "all", "max_deliver": 5, "ack_wait": 5000 * MS},
    {"description": "<words> & more", "metadata": {"b": "2", "a": "1"}},
    {"filter_subject": "s.*", "headers_only": True, "mem_storage": True},
    {"filter_subjects": ["s.b", "s.a"], "max_batch": 5, "max_expires": LONG, "max_bytes": 100},
    {"backoff": [1000 * MS, 2000 * MS], "max_deliver": 3, "sample_freq": "50%"},
    {"max_waiting": 7, "max_ack_pending": -1, "inactive_threshold": LONG},
    {"replay_policy": "original", "num_replicas": 1},
    {"deliver_policy": "by_start_sequence", "opt_start_seq": 2},
    {"priority_policy": "pinned_client", "priority_groups": ["g"]},
    {"max_deliver": 0, "max_waiting": -1, "ack_wait": 0, "max_ack_pending": 0},
    {"max_batch": -1, "max_expires": -1, "max_bytes": -1, "inactive_threshold": -1},
]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@scenario("CON-001", "CON-002")
def test_config_in_answers(js: JetStream, config: Json) -> None:
    stream(js, 3)
    c = consumer(js, **config)
    c.info()
    consumer(js, **config)
    js.ok("CONSUMER.LIST.S")


@scenario("CON-055", "CON-056", "CON-057")
def test_create_of_an_existing_one(js: JetStream) -> None:
    stream(js, 3)
    c = consumer(js, description="one")
    c.ack(c.fetch(2)[0])

    def create(action: str | None, **config: object) -> Json:
        body: Json = {"stream_name": "S", "config": {"durable_name": "C", **config}}
        if action is not None:
            body["action"] = action
        return js.api("CONSUMER.CREATE.S.C", body)

    same: Json = {"ack_policy": "explicit", "description": "one"}
    for action in (None, "", "create", "update"):
        answer = create(action, **same)
        assert (answer["num_ack_pending"], answer["num_pending"]) == (1, 1)
    changed: Json = {"ack_policy": "explicit", "description": "two"}
    assert create("create", **changed)["error"]["err_code"] == 10148
    assert create("update", **changed)["config"]["description"] == "two"
    assert create(None, **same)["config"]["description"] == "one"
    create("zz", **same)
    missing = js.refused(
        "CONSUMER.CREATE.S.D",
        {"stream_name": "S", "action": "update", "config": {"durable_name": "D"}},
    )
    assert missing["err_code"] == 10149
    c.info()


@scenario("CON-059", "CON-060", "CON-061", "CON-062")
def test_refused_updates(js: JetStream) -> None:
    stream(js, 1)
    consumer(js)
    for change in (
        {"deliver_policy": "last"},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 1},
        {"ack_policy": "none"},
        {"ack_policy": "all"},
        {"replay_policy": "original"},
        {"max_waiting": 3},
        {"deliver_subject": "d"},
        {"mem_storage": True},
        {"max_waiting": 3, "ack_policy": "all"},
    ):
        assert consumer_refused(js, **change)["err_code"] == 10012
    Consumer(js).info()


@scenario("CON-066", "CON-067", "CON-068", "CON-069")
def test_lists_and_deletion(js: JetStream) -> None:
    stream(js, 1)
    js.ok("CONSUMER.NAMES.S")
    js.ok("CONSUMER.LIST.S")
    for name in ("b", "a", "C", "10", "9"):
        consumer(js, name)
    names = js.ok("CONSUMER.NAMES.S")
    assert names["consumers"] == ["10", "9", "C", "a", "b"]
    for offset in (2, 5, 9, -1):
        js.ok("CONSUMER.NAMES.S", {"offset": offset})
    js.ok("CONSUMER.LIST.S", {"offset": 3})
    for verb in ("NAMES", "LIST"):
        js.refused(f"CONSUMER.{verb}.X")
        js.api(f"CONSUMER.{verb}.S", {"bogus": 1})
        js.api(f"CONSUMER.{verb}.S", b"{bad")
    assert js.refused("CONSUMER.INFO.S.x")["err_code"] == 10014
    assert js.refused("CONSUMER.INFO.X.a")["err_code"] == 10059
    assert js.refused("CONSUMER.INFO.S.a", b"x")["err_code"] == 10038
    js.ok("CONSUMER.INFO.S.a", {})
    js.refused("CONSUMER.DELETE.S.a", b"x")
    js.ok("CONSUMER.DELETE.S.a")
    assert js.refused("CONSUMER.DELETE.S.a")["err_code"] == 10014
    assert js.refused("CONSUMER.DELETE.X.a")["err_code"] == 10059
    assert js.info("S")["state"]["consumer_count"] == 4


@scenario("DLV-017")
def test_advisories(js: JetStream) -> None:
    stream(js, 1)
    js.listen(ADVISORY + ">")
    c = consumer(js)
    (created,) = advisories(js, 1)
    assert list(created.json)[3:] == ["stream", "consumer", "action"]
    consumer(js)
    c.update(description="x")
    no_advisories(js)
    c.delete()
    (deleted,) = advisories(js, 1)
    assert deleted.subject == ADVISORY + "DELETED.S.C"
    consumer(js, "D")
    advisories(js, 1)


@scenario("CON-004")
def test_names_that_the_server_makes(js: JetStream) -> None:
    stream(js, 1)
    body: Json = {"stream_name": "S", "config": {"ack_policy": "explicit"}}
    answer = js.ask("CONSUMER.CREATE.S", body)
    name = answer["name"]
    assert re.fullmatch("[0-9A-Za-z]{8}", name)
    js.note({**answer, "name": "<made>", "created": "", "ts": ""})
    pull = Pull(js)
    js.client.send(pub(f"{API}CONSUMER.MSG.NEXT.S.{name}".encode(), b"", pull.inbox.encode()))
    (message,) = take(js, 1, lambda message: message.sid == pull.sid)
    assert message.reply.startswith(f"$JS.ACK.S.{name}.1.1.1.")


@scenario("CON-003")
def test_named_ephemeral(js: JetStream) -> None:
    stream(js, 1)
    js.ok("CONSUMER.CREATE.S.E", {"stream_name": "S", "config": {"ack_policy": "explicit"}})
    js.ok("CONSUMER.CREATE.S", {"stream_name": "S", "config": {"name": "F"}})
    js.ok("CONSUMER.CREATE.S.G.s.1", {"stream_name": "S", "config": {"filter_subject": "s.1"}})
    for name in "EFG":
        Consumer(js, name).info()
        assert sequences(Consumer(js, name).drain()) == [1]


@scenario("CON-076", "CON-077")
def test_inactive(js: JetStream) -> None:
    stream(js)
    js.listen(ADVISORY + "DELETED.>")
    c = consumer(js, inactive_threshold=200 * MS)
    kept = c.pull({"expires": 700 * MS})
    assert elapsed(kept.status) > 0.5
    (gone,) = advisories(js, 1)
    assert gone.json["consumer"] == "C"
    assert js.refused("CONSUMER.INFO.S.C")["err_code"] == 10014
