"""STREAM.RESTORE: requests, chunks, the last answer, what comes back."""

from __future__ import annotations

import pytest

from jetstream_py.backup import s2
from jetstream_py.backup.archive import Entry
from tests.jetstream.backups import Backup, backup, pack, restore, send
from tests.jetstream.consumers import add, info, names
from tests.jetstream.pulling import consumer
from tests.jetstream.support import STORAGES, JetStream, Json, own_server, scenario

ADVISORIES = "$JS.EVENT.ADVISORY.STREAM.*.*"


def taken(js: JetStream, count: int = 3, **config: object) -> Backup:
    """The backup of a stream that is gone."""
    js.create("S", **{"subjects": ["s.>"], **config})
    for i in range(count):
        js.publish(f"s.{i}", b"hello")
    made = backup(js, "S")
    js.delete("S")
    return made


@scenario("MSG-045")
def test_refusals(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    for body in (
        b"",
        b"{}",
        b"[]",
        b'{"config":{"name":"S"},"bogus":1}',
        b'{"config":{"name":"S","retention":"x"}}',
        b'{"config":{"name":"S"},"state":{"messages":-1}}',
        b'{"config":{"name":"S"},"state":{"subjects":{"a":"b"}}}',
        b'{"config":{"name":"S"},"state":{"lost":{"msgs":[-1]}}}',
        b'{"config":{}}',
        b'{"state":{}}',
        b'{"config":{"name":"X"}}',
        b'{"config":{"name":"S","max_age":5}}',
        b'{"config":{"name":"S","subjects":["a..b"]}}',
    ):
        js.refused("STREAM.RESTORE.S", body)
    for config in ({"max_age": 5}, {"subjects": ["a..b"]}, {"retention": "x"}, {"name": "T"}):
        js.refused("STREAM.RESTORE.N", {"config": {"name": "N", **config}})
    assert js.refused("STREAM.RESTORE.S", {"config": {"name": "S"}})["err_code"] == 10130


@STORAGES
@scenario("MSG-046")
def test_sources_go_on_where_they_were(js: JetStream, storage: str) -> None:
    js.create("O", subjects=["o.>"])
    for i in range(3):
        js.publish(f"o.{i}", b"early")
    js.create("S", subjects=["s.>"], sources=[{"name": "O"}], storage=storage)
    js.settled("S", messages=3)
    made = backup(js, "S")
    js.delete("S")
    restore(js, "S", made.request, made.data)
    js.publish("o.3", b"late")
    js.settled("S", messages=4, last_seq=4)


@scenario("MSG-046")
def test_a_mirror_goes_on_where_it_was(js: JetStream) -> None:
    js.create("O", subjects=["o.>"])
    js.publish("o.0", b"early")
    js.create("S", mirror={"name": "O"})
    js.settled("S", messages=1)
    made = backup(js, "S")
    js.delete("S")
    restore(js, "S", made.request, made.data)
    js.publish("o.1", b"late")
    js.settled("S", messages=2, last_seq=2)


@STORAGES
@scenario("MSG-046", "DLV-039")
def test_comes_back(js: JetStream, storage: str) -> None:
    made = taken(js, 5, storage=storage)
    js.listen(ADVISORIES)
    answer = restore(js, "S", made.request, made.data)
    assert "did_create" not in answer
    js.heard(3)
    js.state("S", subjects_filter=">")
    js.message("S", seq=3)
    assert js.publish("s.9", b"next")["seq"] == 6


@scenario("MSG-046")
def test_chunks(js: JetStream) -> None:
    """Any cut will do; every chunk has an empty answer; what follows the end of the archive is ignored."""
    made = taken(js)
    began = js.ok("STREAM.RESTORE.S", made.request)
    assert began["deliver_subject"].startswith("$JS.SNAPSHOT.RESTORE.S.")
    for at in range(0, len(made.data), 50):
        answer = js._receive(js._send(began["deliver_subject"], made.data[at : at + 50]))
        assert (answer.data, answer.headers, answer.reply) == (b"", b"", "")
    js._receive(js._send(began["deliver_subject"], s2.frame(b"more")))
    js.request(began["deliver_subject"])
    js.request(began["deliver_subject"])
    js.state("S")


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"max_msgs": 2},
        {"max_bytes": 80},
        {"storage": "memory"},
        {"sealed": True},
        {"subjects": ["other"]},
        {"max_msgs_per_subject": 1},
        {"num_replicas": 3},
        {"subjects": ["taken"]},
    ],
    ids=str,
)
@scenario("MSG-046")
def test_another_configuration(js: JetStream, changes: Json) -> None:
    made = taken(js)
    js.create("T", subjects=["taken"])
    request = made.request
    restore(js, "S", {**request, "config": {**request["config"], **changes}}, made.data)
    js.api("STREAM.INFO.S")


@scenario("MSG-046")
def test_sequences(js: JetStream) -> None:
    """Gaps, a first sequence, removed messages at both ends, nothing at all."""
    for config, removed in (
        ({}, ()),
        ({}, (3, 5)),
        ({}, (1, 2, 5)),
        ({"first_seq": 100}, (100, 102)),
        ({}, (1, 2, 3, 4, 5)),
    ):
        js.create("S", subjects=["s"], **config)
        for _ in range(5):
            js.publish("s", b"x")
        for seq in removed:
            js.ok("STREAM.MSG.DELETE.S", {"seq": seq})
        made = backup(js, "S")
        js.delete("S")
        restore(js, "S", made.request, made.data)
        js.note({k: v for k, v in js.ask("STREAM.INFO.S")["state"].items() if k != "last_ts"})
        js.publish("s", b"next")
        js.state("S", deleted_details=True)
        js.delete("S")


@scenario("MSG-046")
def test_two_at_once(js: JetStream) -> None:
    made = taken(js)
    first = js.ok("STREAM.RESTORE.S", made.request)["deliver_subject"]
    second = js.ok("STREAM.RESTORE.S", made.request)["deliver_subject"]
    send(js, first, made.data)
    js.request(first)
    send(js, second, made.data)
    assert js.request(second).json["error"]["err_code"] == 10130


DAMAGE = {
    "nothing": b"",
    "no S2": b"hello world hello world",
    "a start only": s2.START,
    "no state": pack([Entry(b"s.a", 1, 1, b"", b"x")]),
}


@pytest.mark.parametrize("what", DAMAGE)
@scenario("MSG-046")
def test_damaged(js: JetStream, what: str) -> None:
    """Told at the end."""
    js.listen(ADVISORIES)
    answer = restore(js, "S", {"config": {"name": "S"}}, DAMAGE[what])
    assert answer["error"]["err_code"] == 10062
    js.heard(2)
    js.refused("STREAM.INFO.S")


@pytest.mark.parametrize("what", ["cut", "flipped", "twice", "a file", "no end"])
@scenario("MSG-046")
def test_damaged_later(js: JetStream, what: str) -> None:
    """nats-server may keep a part of the stream then, so what is left is not compared."""
    made = taken(js)
    entries = made.entries()
    data = {
        "cut": made.data[:-5],
        "flipped": made.data[:70] + bytes([made.data[70] ^ 1]) + made.data[71:],
        "twice": pack([*entries, entries[-1]]),
        "a file": pack([*entries, Entry(b"../../etc/passwd", 1, 0, b"", b"x")]),
        "no end": pack(entries, end=b""),
    }[what]
    answer = restore(js, "S", made.request, data)
    assert answer["error"]["err_code"] == 10062


@scenario("MSG-047")
def test_consumers(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], allow_direct=True)
    for i in range(6):
        js.publish(f"s.{i % 2}", b"x")
    pulled = consumer(js, "C", max_deliver=5, ack_policy="explicit")
    add(js, "S", "N", durable_name="N", deliver_policy="new", ack_policy="none")
    add(js, "S", "F", durable_name="F", filter_subject="s.1", ack_policy="all", mem_storage=True)
    deliveries = pulled.fetch(4)
    pulled.ack(deliveries[0])
    pulled.ack(deliveries[2])
    before = [info(js, "S", name) for name in ("C", "F", "N")]
    made = backup(js, "S")
    js.delete("S")
    restore(js, "S", made.request, made.data)
    assert names(js, "S") == ["C", "F", "N"]
    for old in before:
        new = info(js, "S", old["name"])
        for key in ("config", "num_ack_pending", "num_redelivered", "num_pending"):
            assert new[key] == old[key], key
        for place in ("delivered", "ack_floor"):
            for key in ("consumer_seq", "stream_seq"):
                assert new[place][key] == old[place][key]


@scenario("MSG-047")
def test_consumer_without_a_name(js: JetStream) -> None:
    """Its archive has the name that the server gave it."""
    js.create("S", subjects=["s.>"])
    config = {"ack_policy": "explicit", "inactive_threshold": 100_000_000_000}
    given = js.ask("CONSUMER.CREATE.S", {"stream_name": "S", "config": config})["name"]
    made = backup(js, "S")
    js.delete("S")
    restore(js, "S", made.request, made.data)
    consumers = js.ask("CONSUMER.LIST.S")["consumers"]
    assert [(it["name"], it["config"]["name"]) for it in consumers] == [(given, given)]


@own_server(
    "MSG-046",
    config="""
    accounts { A {
        jetstream { max_streams: 2, max_file: 1000, max_mem: 500 }
        users: [{user: a, password: a}]
    } }
    no_auth_user: a
    """,
)
def test_limits(js: JetStream) -> None:
    """Those of the account: some are looked at first, bytes as they arrive."""
    js.create("S", subjects=["s.>"])
    for _ in range(3):
        js.publish("s.a", b"x" * 150)
    made = backup(js, "S")
    request = made.request
    js.create("T", subjects=["t.>"])
    js.refused("STREAM.RESTORE.U", {"config": {**request["config"], "name": "U"}})
    js.ok("STREAM.DELETE.S")
    large = {**request, "config": {**request["config"], "max_bytes": 2000}}
    js.refused("STREAM.RESTORE.S", large)
    for _ in range(4):
        js.publish("t.a", b"x" * 150)
    restore(js, "S", request, made.data)
    js.api("STREAM.PURGE.T")
    memory = {**request, "config": {**request["config"], "storage": "memory"}}
    restore(js, "S", memory, made.data)
    restore(js, "S", request, made.data)
