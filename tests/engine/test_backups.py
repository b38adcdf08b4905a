"""Snapshots and restores in the test's own process: turns, time, crashes, noise."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetstream_py import limits
from jetstream_py.backup import archive, s2
from jetstream_py.backup.archive import Entry
from tests.engine.world import World
from tests.jetstream.backups import pack, unpack
from tests.jetstream.support import Message, parse_message

SNAPSHOT = "$JS.API.STREAM.SNAPSHOT.S"
RESTORE = "$JS.API.STREAM.RESTORE.S"
STATE = Entry(b"state.json", 1, 0, b"", b"{}")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "store")
    yield made
    made.close()


class Taker:
    """A client that takes a snapshot."""

    def __init__(self, world: World, **options: object) -> None:
        self.world = world
        self.client = world.bench.client()
        self.client.send(b"SUB snap 1\r\n")
        self.client.read()
        body = json.dumps({"deliver_subject": "snap", **options}).encode()
        self.client.send(b"PUB %b %d\r\n%b\r\n" % (SNAPSHOT.encode(), len(body), body))
        self.chunks: list[Message] = []

    def read(self) -> list[Message]:
        """Chunks that have arrived."""
        self.world.settle()
        data, found = self.client.read(), list[Message]()
        while data:
            line, _, rest = data.partition(b"\r\n")
            size = int(line.split(b" ")[-1]) + 2
            message = parse_message(line + b"\r\n" + rest[:size])
            data = rest[size:]
            if message.subject == "snap":
                found.append(message)
        self.chunks += found
        return found

    def ack(self, message: Message) -> None:
        self.client.send(b"PUB %b 0\r\n\r\n" % message.reply.encode())

    def finish(self) -> bytes:
        found = self.read()
        while found and found[-1].data:
            for message in found:
                if message.reply:
                    self.ack(message)
            found = self.read()
        assert not self.chunks[-1].data
        return b"".join(message.data for message in self.chunks)


def publish(world: World, *subjects: str, data: bytes = b"x") -> None:
    for subject in subjects:
        world.send(subject, data)
    world.settle()
    world.answers()


def begin(world: World, **config: object) -> str:
    body = {"config": {"name": "S", "subjects": ["s.>"], **config}}
    answer = world.ask(RESTORE, json.dumps(body).encode())
    return str(answer["deliver_subject"])


def send(world: World, subject: str, data: bytes, size: int = 1000) -> None:
    for at in range(0, len(data), size):
        world.send(subject, data[at : at + size])
        world.settle()
    world.client.read()


def restore(world: World, data: bytes, **config: object) -> Any:
    subject = begin(world, **config)
    send(world, subject, data)
    return world.ask(subject)


def names(world: World) -> Any:
    return world.ask("$JS.API.STREAM.NAMES")["streams"]


# -- snapshots -------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_of_the_moment_when_it_began(world: World, storage: str) -> None:
    """What is published meanwhile is not in it, nor is what the consumer does."""
    world.create(storage=storage)
    publish(world, *[f"s.{i}" for i in range(100)], data=b"x" * 1000)
    taker = Taker(world, chunk_size=1024, window_size=1024)
    (first,) = taker.read()
    publish(world, *["s.late"] * 50)
    taker.ack(first)
    found = unpack(taker.finish())
    assert [entry.seq for entry in found[1:]] == list(range(1, 101))
    assert json.loads(found[0].data)["messages"] == 100


def test_a_value_that_is_replaced_is_not_lost(world: World) -> None:
    """Each key is in the archive, whatever is put while it is made."""
    keys = [f"s.{i}" for i in range(3000)]
    world.create(max_msgs_per_subject=1)
    publish(world, *keys, data=b"old" * 10)
    taker = Taker(world, chunk_size=1024, window_size=1024)
    for message in taker.read():
        taker.ack(message)
    publish(world, *keys[::-1], data=b"new" * 10)
    found = unpack(taker.finish())
    assert {entry.name.decode() for entry in found if entry.seq} == set(keys)
    world.ask("$JS.API.STREAM.DELETE.S")
    answer = restore(world, pack(found), max_msgs_per_subject=1)
    assert answer["state"]["messages"] == len(keys)
    assert world.ask("$JS.API.STREAM.MSG.GET.S", b'{"last_by_subj":"s.7"}')["message"]["seq"] > 3000


def test_a_fast_publisher_does_not_hold_it(world: World) -> None:
    world.create(max_msgs=50)
    publish(world, *["s.a"] * 50, data=b"x" * 1000)
    taker = Taker(world, chunk_size=1024, window_size=1024)
    found = taker.read()
    for _ in range(2000):
        if not found or not found[-1].data:
            break
        publish(world, *["s.a"] * 50, data=b"x" * 1000)
        for message in found:
            taker.ack(message)
        found = taker.read()
    assert not taker.chunks[-1].data


def test_nobody_acks(world: World) -> None:
    world.create()
    publish(world, *["s.a"] * 50, data=b"x" * 1000)
    taker = Taker(world, chunk_size=4096, window_size=9000)
    first = taker.read()
    assert [len(each.data) for each in first] == [4096, 4096]
    world.pass_time(4.5)
    assert taker.read() == []
    taker.ack(first[0])
    assert len(taker.read()) == 1
    world.pass_time(4.5)
    assert taker.read() == []
    world.pass_time(1)
    (end,) = taker.read()
    assert end.status == "408 No Flow Response"
    taker.ack(first[1])
    assert taker.read() == []


def test_nobody_listens(world: World) -> None:
    """Two seconds are given to somebody who listens to the subject itself."""
    world.create()
    publish(world, "s.a")
    taker = Taker(world)
    taker.client.send(b"UNSUB 1\r\n")
    world.api.backups.close()
    world.client.send(b"SUB other.* 7\r\n")
    world.ask(SNAPSHOT, b'{"deliver_subject":"other.a"}')
    world.pass_time(1.5)
    assert world.client.read() == b""
    world.pass_time(1)
    assert world.client.read().count(b"MSG other.a 7 ") == 2


def test_stream_goes_away(world: World) -> None:
    world.create()
    publish(world, *["s.a"] * 50, data=b"x" * 1000)
    taker = Taker(world, chunk_size=1024, window_size=1024)
    (first,) = taker.read()
    world.ask("$JS.API.STREAM.DELETE.S")
    taker.ack(first)
    (end,) = taker.read()
    assert end.status == "500 Stream Deleted"


def test_not_too_many(world: World) -> None:
    world.create()
    publish(world, *["s.a"] * 5, data=b"x" * 1000)
    takers = [Taker(world, chunk_size=1024, window_size=1024) for _ in range(limits.SNAPSHOTS)]
    world.settle()
    refusal = world.ask(SNAPSHOT, b'{"deliver_subject":"x"}')
    assert refusal["error"]["err_code"] == 10023
    takers[0].finish()
    assert "error" not in world.ask(SNAPSHOT, b'{"deliver_subject":"x"}')


# -- restores --------------------------------------------------------------------------------------


def messages(count: int, size: int = 100) -> list[Entry]:
    chance = random.Random(count)
    return [
        STATE,
        *(Entry(b"s.%d" % (i % 7), i, i, b"", chance.randbytes(size)) for i in range(1, count + 1)),
    ]


def test_survives(tmp_path: Path) -> None:
    """What is answered is on disk: messages, consumers, deadlines."""
    world = World(tmp_path / "store")
    now = world.bench.clock.now_ns()
    consumer = {
        "config": {"durable_name": "C", "name": "C", "ack_policy": "explicit"},
        "state": {
            "delivered": {"consumer_seq": 2, "stream_seq": 2},
            "ack_floor": {"consumer_seq": 1, "stream_seq": 1},
            "pending": {"2": {"Sequence": 2, "Timestamp": now}},
        },
    }
    ttl = b"NATS/1.0\r\nNats-TTL: 100\r\n\r\n"
    entries = [
        STATE,
        Entry(b"consumers/C", 1, 0, b"", json.dumps(consumer).encode()),
        Entry(b"s.a", now, 1, b"", b"a"),
        Entry(b"s.b", now, 2, b"", b"b"),
        Entry(b"s.c", now, 5, ttl, b"c"),
    ]
    answer = restore(world, pack(entries), allow_msg_ttl=True)
    assert answer["state"]["messages"] == 3
    world.crash()
    world = World(tmp_path / "store", age=50)
    assert world.state()["messages"] == 3
    info = world.ask("$JS.API.CONSUMER.INFO.S.C")
    assert (info["num_ack_pending"], info["num_pending"]) == (1, 1)
    assert (info["delivered"]["stream_seq"], info["ack_floor"]["stream_seq"]) == (2, 1)
    world.pass_time(60)
    assert world.state()["messages"] == 2
    world.close()


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_schedules_go_on(world: World, storage: str) -> None:
    config = {"allow_msg_schedules": True, "allow_rollup_hdrs": True, "storage": storage}
    schedule = b"NATS/1.0\r\nNats-Schedule: @every 10s\r\nNats-Schedule-Target: s.out\r\n\r\n"
    now = world.bench.clock.now_ns()
    entries = [STATE, Entry(b"s.plan", now, 3, schedule, b"tick")]
    assert restore(world, pack(entries), **config)["state"]["messages"] == 1
    world.pass_time(15)
    assert world.ask("$JS.API.STREAM.MSG.GET.S", b'{"last_by_subj":"s.out"}')["message"]["seq"] == 4


@pytest.mark.parametrize("how", ["crash", "close"])
def test_crash_in_the_middle(tmp_path: Path, how: str) -> None:
    """No stream, and nothing of it in the store."""
    world = World(tmp_path / "store")
    empty = world.store.used_bytes()
    data = pack(messages(5000))
    send(world, begin(world), data[: len(data) // 2], size=50_000)
    assert world.store.used_bytes() > empty
    assert names(world) is None
    getattr(world, how)()
    world = World(tmp_path / "store")
    world.settle()
    assert names(world) is None
    assert world.store.streams() == {}
    assert not world.store._doomed
    assert "error" not in restore(world, data)
    world.close()


def test_invisible_until_complete(world: World) -> None:
    data = pack(messages(100))
    subject = begin(world)
    send(world, subject, data)
    assert names(world) is None
    publish(world, "s.a")
    world.ask(subject)
    assert names(world) == ["S"]
    assert world.state()["messages"] == 100


def test_client_goes_silent(world: World) -> None:
    subject = begin(world)
    send(world, subject, pack(messages(100))[:500])
    world.pass_time(4.5)
    assert world.api.backups.running
    send(world, subject, pack(messages(100))[500:600])
    world.pass_time(4.5)
    assert world.api.backups.running
    world.pass_time(1)
    assert not world.api.backups.running
    assert len(world.store._files) == 0


def test_chunk_without_reply(world: World) -> None:
    subject = begin(world)
    world.client.send(b"PUB %b 3\r\nabc\r\n" % subject.encode())
    world.settle()
    assert not world.api.backups.running
    assert names(world) is None


def test_too_much_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not wait for acks is cut off."""
    monkeypatch.setattr(limits, "RESTORE_BACKLOG", 100_000)
    subject = begin(world)
    data = pack(messages(5000))
    world.client.send(
        b"".join(
            b"PUB %b _INBOX.x %d\r\n%b\r\n" % (subject.encode(), len(part), part)
            for part in (data[at : at + 50_000] for at in range(0, len(data), 50_000))
        )
    )
    world.settle()
    assert not world.api.backups.running


def test_many_entries_take_turns(world: World) -> None:
    """A chunk that holds very much: others have their turn in between."""
    subject = begin(world)
    world.send(subject, pack([STATE, *(Entry(b"s.a", i, i) for i in range(1, 20_001))]))
    world.turn()
    (staged,) = world.store._files.values()
    assert 0 < staged.messages < 10_000
    world.settle()
    assert staged.messages == 20_000
    world.client.read()
    assert world.ask(subject)["state"]["messages"] == 20_000


BAD = {
    "sequence 0": [STATE, Entry(b"s.a", 1, 0, b"", b"x")],
    "the same twice": [STATE, Entry(b"s.a", 1, 1), Entry(b"s.a", 1, 1)],
    "a large sequence": [STATE, Entry(b"s.a", 1, 1 << 63)],
    "before all time": [STATE, Entry(b"s.a", -1, 1)],
    "a wildcard": [STATE, Entry(b"s.*", 1, 1)],
    "a line in a subject": [STATE, Entry(b"s.\r\na", 1, 1)],
    "no headers": [STATE, Entry(b"s.a", 1, 1, b"hello\r\n\r\n", b"")],
    "a path": [STATE, Entry(b"../../../etc/passwd", 1, 0, b"", b"x")],
    "a bad state": [Entry(b"state.json", 1, 0, b"", b"[]")],
    "a state from nowhere": [Entry(b"state.json", 1, 0, b"", b'{"last_seq":-1}')],
    "no state": [Entry(b"s.a", 1, 1)],
    "a consumer that is none": [STATE, Entry(b"consumers/C", 1, 0, b"", b"{")],
    "a consumer by another name": [
        STATE,
        Entry(b"consumers/C", 1, 0, b"", b'{"config":{"name":"D"}}'),
    ],
    "a consumer with a path": [
        STATE,
        Entry(b"consumers/../x", 1, 0, b"", b'{"config":{"name":"../x"}}'),
    ],
    "a consumer twice": [
        STATE,
        *[Entry(b"consumers/C", 1, 0, b"", b'{"config":{"name":"C"}}')] * 2,
    ],
    "a consumer from nowhere": [
        STATE,
        Entry(
            b"consumers/C",
            1,
            0,
            b"",
            b'{"config":{"name":"C"},"state":{"delivered":{"stream_seq":-5}}}',
        ),
    ],
}


@pytest.mark.parametrize("what", BAD)
def test_bad_archives(world: World, what: str) -> None:
    answer = restore(world, pack(BAD[what]))
    assert answer["error"]["err_code"] == 10062, answer
    assert names(world) is None
    world.settle()
    assert len(world.store._files) == 0


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_noise(world: World, data: st.DataObject) -> None:
    """Damaged archives, with checksums that are right: refused or restored, and the server goes on."""
    entries = [
        STATE,
        Entry(b"consumers/C", 1, 0, b"", b'{"config":{"name":"C"}}'),
        *messages(3, 20)[1:],
    ]
    good = archive.MAGIC + b"".join(map(archive.encode, entries)) + archive.END
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(bad) - 1))
        bad[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(bad)))
    answer = restore(world, s2.START + s2.frame(bytes(bad[:cut] if cut % 3 == 0 else bad)))
    if "error" in answer:
        assert answer["error"]["err_code"] == 10062
        assert names(world) is None
    else:
        world.ask("$JS.API.STREAM.DELETE.S")
    assert not world.api.backups.running
