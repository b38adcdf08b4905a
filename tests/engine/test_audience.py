"""A publish wakes the consumers whose subjects it has, and every consumer gets all that is its own."""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetstream_py import limits
from jetstream_py.engine.audience import Audience
from jetstream_py.engine.consumer import Consumer
from jetstream_py.store import failpoints
from jetstream_py.subject import matches
from tests.engine.world import World

SUBJECTS = [b"s.%d" % i for i in range(6)]
FILTERS = st.lists(
    st.one_of(
        st.just([]),
        st.lists(st.sampled_from(SUBJECTS), min_size=1, max_size=2, unique=True),
        st.just([b"s.*"]),
    ),
    min_size=1,
    max_size=14,
)


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as path:
        world = World(Path(path))
        yield world
        world.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def push_consumer(world: World, number: int, filters: list[bytes]) -> None:
    """Delivers to `d.<number>`, to which the client listens."""
    world.client.send(b"SUB d.%d d%d\r\n" % (number, number))
    config = {
        "name": f"C{number}",
        "ack_policy": "none",
        "deliver_subject": f"d.{number}",
        "filter_subjects": [name.decode() for name in filters],
        "mem_storage": True,
    }
    body = json.dumps({"stream_name": "S", "config": config}).encode()
    answer = world.ask(f"$JS.API.CONSUMER.CREATE.S.C{number}", body)
    assert "error" not in answer, answer


def delivered(world: World) -> dict[int, list[int]]:
    """Consumer -> sequences, from the reply subjects of what the client has read."""
    found: dict[int, list[int]] = {}
    for name, seq in re.findall(rb"\$JS\.ACK\.S\.C(\d+)\.1\.(\d+)\.", world.client.read()):
        found.setdefault(int(name), []).append(int(seq))
    return found


@settings(max_examples=40, deadline=None)
@given(
    filters=FILTERS,
    reads=st.lists(st.lists(st.sampled_from(SUBJECTS), min_size=1, max_size=8), max_size=6),
    headers=st.booleans(),
)
def test_everybody_gets_what_is_theirs(
    shared: World, filters: list[list[bytes]], reads: list[list[bytes]], headers: bool
) -> None:
    shared.create(max_msgs_per_subject=1_000)
    try:
        for number, names in enumerate(filters):
            push_consumer(shared, number, names)
        frame = b"PUB %b 1\r\nx\r\n" if not headers else b"HPUB %b 12 13\r\nNATS/1.0\r\n\r\nx\r\n"
        for i, subjects in enumerate(reads):
            shared.client.send(b"".join([frame % subject for subject in subjects]))
            if i % 2:
                shared.settle()  # otherwise the next read finds the commit under way
        shared.settle()
        published = [subject for subjects in reads for subject in subjects]
        expected = {
            number: [
                seq
                for seq, subject in enumerate(published, 1)
                if not names or any(matches(subject, name) for name in names)
            ]
            for number, names in enumerate(filters)
        }
        assert delivered(shared) == {number: seqs for number, seqs in expected.items() if seqs}
    finally:
        assert shared.ask("$JS.API.STREAM.DELETE.S")["success"]
        shared.client.send(b"".join([b"UNSUB d%d\r\n" % i for i in range(len(filters))]))


def woken(world: World, monkeypatch: pytest.MonkeyPatch, publishes: bytes) -> set[str]:
    """The consumers that looked for messages after these publishes."""
    names: set[str] = set()
    concerned = Audience.concerned

    def spy(audience: Audience) -> list[Consumer]:
        found = concerned(audience)
        names.update(consumer.name for consumer in found)
        return found

    world.settle()
    with monkeypatch.context() as patch:
        patch.setattr(Audience, "concerned", spy)
        world.client.send(publishes)
        world.settle()
    return names


def test_a_publish_wakes_those_who_wait_for_its_subject(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create()
    for number in range(20):
        push_consumer(world, number, [b"s.%d" % number])
    push_consumer(world, 20, [b"s.*"])
    push_consumer(world, 21, [b"s.3", b"s.9"])
    publishes = b"PUB s.3 1\r\nx\r\nPUB s.4 1\r\nx\r\n"
    assert woken(world, monkeypatch, publishes) == {"C3", "C4", "C20", "C21"}
    update = {"name": "C5", "deliver_subject": "d.5", "filter_subjects": ["s.3"]}
    config = update | {"ack_policy": "none", "mem_storage": True}
    body = json.dumps({"stream_name": "S", "config": config}).encode()
    assert "error" not in world.ask("$JS.API.CONSUMER.CREATE.S.C5", body)
    assert woken(world, monkeypatch, publishes) == {"C3", "C4", "C5", "C20", "C21"}


def test_with_too_many_subjects_everybody_is_woken(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FRESH_SUBJECTS", 3)
    world.create()
    for number in range(10):
        push_consumer(world, number, [b"s.%d" % number])
    publishes = b"".join([b"PUB s.%d 1\r\nx\r\n" % i for i in (2, 4, 6, 8)])
    assert len(woken(world, monkeypatch, publishes)) == 10
    assert len(woken(world, monkeypatch, publishes[: len(publishes) // 2])) == 2


def test_one_that_is_made_while_a_commit_runs_and_leaves_nothing_to_write(world: World) -> None:
    world.create()
    world.ask("s.0", b"1")
    world.client.send(b"SUB d.0 d0\r\n")
    world.store._inline = world.store._record = -1  # commits run in the thread
    ready = threading.Event()

    def hold() -> None:
        ready.wait(30)

    failpoints.arm("commit.before", hold)
    try:
        world.send("s.0", b"2")
        while not world.store.busy:
            world.turn()
        config = {"deliver_subject": "d.0", "ack_policy": "none", "mem_storage": True}
        body = {"stream_name": "S", "config": config}
        world.send("$JS.API.CONSUMER.CREATE.S", json.dumps(body).encode())
        for _ in range(8):
            world.turn()
    finally:
        ready.set()
        world.settle()
        failpoints.disarm()
    assert world.client.read().count(b"MSG s.0 d0 ") == 2
