"""STREAM.SNAPSHOT: requests, chunks and their acks, the end, the archive."""

from __future__ import annotations

import json

import pytest

from jetstream_py.backup import s2
from tests.jetstream.backups import backup
from tests.jetstream.consumers import add
from tests.jetstream.support import STORAGES, JetStream, Message, scenario

ADVISORY = "$JS.EVENT.ADVISORY.STREAM.SNAPSHOT_"


@scenario("MSG-042")
def test_refusals(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    for body in (
        b"",
        b"{}",
        b"[]",
        b'{"deliver_subject":"x.y","bogus":1}',
        b'{"deliver_subject":1}',
        b'{"deliver_subject":"d","chunk_size":"1"}',
        b'{"deliver_subject":"d","window_size":1.5}',
        b'{"deliver_subject":"a.*"}',
        b'{"deliver_subject":"a.>"}',
        b'{"deliver_subject":"a..b"}',
        b'{"deliver_subject":"a b"}',
        b'{"deliver_subject":""}',
        b'{"no_consumers":true}',
    ):
        js.refused("STREAM.SNAPSHOT.S", body)
        js.refused("STREAM.SNAPSHOT.NONE", body)
    assert js.refused("STREAM.SNAPSHOT.S", {"deliver_subject": "a.*"})["err_code"] == 10015


@STORAGES
@scenario("MSG-041", "MSG-043", "MSG-044", "DLV-039")
def test_small(js: JetStream, storage: str) -> None:
    js.create("S", subjects=["s.>"], storage=storage)
    for i in range(5):
        js.publish(f"s.{i}", b"hello %d" % i, {"A": "b"} if i == 2 else None)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 4})
    js.listen(ADVISORY + "CREATE.S", ADVISORY + "COMPLETE.S")
    taken = backup(js, "S")
    assert [bool(each.reply) for each in taken.chunks] == [False, False]
    assert taken.end.headers == b""
    assert taken.data.startswith(b"\xff\x06\x00\x00S2sTwO")
    entries = taken.entries()
    assert entries[0].name == b"state.json"
    js.note(normal_state(entries[0].data))
    js.note([(e.name, e.seq, e.headers, e.data) for e in taken.messages()])
    js.heard(2)


def normal_state(data: bytes) -> object:
    state = json.loads(data)
    return [(key, value) for key, value in state.items() if not key.endswith("_ts")]


@scenario("MSG-041")
def test_empty(js: JetStream) -> None:
    js.create("S", subjects=["s"])
    taken = backup(js, "S")
    js.note([(each.name, each.seq) for each in taken.entries()])
    js.publish("s", b"x")
    js.ok("STREAM.PURGE.S")
    js.note(normal_state(backup(js, "S").entries()[0].data))


@scenario("MSG-041")
def test_many_chunks(js: JetStream) -> None:
    js.create("S", subjects=["s"])
    for i in range(40):
        js.publish("s", incompressible(i))
    for chunk, full in ((4096, 4096), (1, 1024), (10_000, 10_000)):
        taken = backup(js, "S", f"snap.{chunk}", chunk_size=chunk, window_size=4 * full)
        *fulls, last, end = taken.chunks
        assert {len(each.data) for each in fulls} == {full}
        assert 0 < len(last.data) < full
        assert not last.reply
        assert not end.reply
        assert end.headers == b"NATS/1.0 204\r\n\r\n"
        for i, each in enumerate(fulls, 1):
            assert each.reply.startswith("$JS.SNAPSHOT.ACK.S.")
            assert each.reply.split(".")[5:] == [str(full), str(i)]
        js.note([entry.seq for entry in taken.messages()])


def incompressible(seed: int, size: int = 1000) -> bytes:
    state, out = seed * 7919 + 1, bytearray()
    for _ in range(size):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(state >> 56)
    return bytes(out)


@scenario("MSG-041")
def test_acks(js: JetStream) -> None:
    """As many chunks as the window holds; each ack, whichever it is, lets one more go."""
    js.create("S", subjects=["s"])
    for i in range(40):
        js.publish("s", incompressible(i))
    js.listen("snap.d")
    window = {"chunk_size": 4096, "window_size": 10_000}
    js.ok("STREAM.SNAPSHOT.S", {"deliver_subject": "snap.d", **window})
    first, second = collect(js, "snap.d", 2)
    js.heard_nothing()
    for reply in (second.reply, second.reply, first.reply):
        js.client.send(b"PUB %b 0\r\n\r\n" % reply.encode())
        (message,) = collect(js, "snap.d", 1)
        js.note((len(message.data), message.reply.split(".")[5:]))
        js.heard_nothing()


def collect(js: JetStream, subject: str, count: int) -> list[Message]:
    """Messages that a test listens to, off the record."""
    while len(found := [message for message in js.kept if message.subject == subject]) < count:
        js.kept.append(js._read())
    for message in found[:count]:
        js.kept.remove(message)
    return found[:count]


@scenario("MSG-048", "MSG-049")
def test_five_seconds(js: JetStream) -> None:
    """A snapshot whose chunks nobody acks, and a restore whose chunks do not come, end at the same time."""
    js.create("S", subjects=["s"])
    for i in range(40):
        js.publish("s", incompressible(i))
    js.listen("snap.d", ADVISORY + "COMPLETE.S")
    began = js.ok("STREAM.RESTORE.R", {"config": {"name": "R"}})
    js.request(began["deliver_subject"], s2.START)
    window = {"chunk_size": 1024, "window_size": 1024}
    js.ok("STREAM.SNAPSHOT.S", {"deliver_subject": "snap.d", **window})
    chunk, end = collect(js, "snap.d", 2)
    assert (chunk.status, end.status) == ("", "408 No Flow Response")
    assert not end.data
    (told,) = collect(js, ADVISORY + "COMPLETE.S", 1)
    assert told.json["error"] == "no flow response"
    js.note(list(told.json))
    assert js.request(began["deliver_subject"]).status == "503"
    js.refused("STREAM.INFO.R")


@scenario("MSG-048")
def test_listener_leaves(js: JetStream) -> None:
    js.create("S", subjects=["s"])
    for i in range(40):
        js.publish("s", incompressible(i))
    js.listen("snap.d", ADVISORY + "COMPLETE.S")
    options = {"deliver_subject": "snap.d", "chunk_size": 1024, "window_size": 1024}
    js.ok("STREAM.SNAPSHOT.S", options)
    collect(js, "snap.d", 1)
    js.client.send(b"UNSUB 2\r\n")
    (told,) = collect(js, ADVISORY + "COMPLETE.S", 1)
    assert told.json["error"] == "no interest"
    js.note(list(told.json))


@pytest.mark.parametrize("without", [False, True])
@scenario("MSG-041")
def test_consumers(js: JetStream, without: bool) -> None:
    js.create("S", subjects=["s.>"])
    add(js, "S", "D", durable_name="D", ack_policy="explicit", filter_subject="s.a")
    add(js, "S", "M", durable_name="M", mem_storage=True, deliver_policy="new")
    add(js, "S", "P", durable_name="P", deliver_subject="p", ack_policy="all")
    js.publish("s.a", b"x")
    taken = backup(js, "S", no_consumers=without)
    names = [entry.name for entry in taken.entries()]
    js.note(sorted(names))
    assert (b"consumers/D" in names) is not without
    for entry in sorted(taken.entries()):
        if entry.name.startswith(b"consumers/"):
            js.note(entry.data)
