"""The past of a bucket: what is told is true, and what cannot be known is refused."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from jetstream_py import kv
from jetstream_py.js import InvalidName
from jetstream_py.kv import BeforeHorizon, KeyValue
from tests.engine.world import World
from tests.views.place import MEMORY, Place, inside


def values(snapshot: kv.Snapshot) -> dict[str, bytes]:
    return {key: entry.value for key, entry in snapshot.entries.items()}


@inside
async def test_a_bucket_as_it_was(place: Place) -> None:
    bucket = await kv.create_bucket(place.js, "b", history=3, **MEMORY)
    times = []
    for key, value in (("a", b"1"), ("b", b"2"), ("a", b"3"), ("b", b""), ("c", b"5")):
        place.pass_time(60)
        times.append(datetime.fromtimestamp(place.js.now_ns() / 1e9, UTC))
        await (bucket.put(key, value) if value else bucket.delete(key))
    states: list[dict[str, bytes]] = [
        {},
        {"a": b"1"},
        {"a": b"1", "b": b"2"},
        {"a": b"3", "b": b"2"},
        {"a": b"3"},
        {"a": b"3", "c": b"5"},
    ]
    for revision, state in enumerate(states):
        snapshot = await bucket.as_of(revision=revision)
        assert (values(snapshot), snapshot.complete, snapshot.horizon) == (state, True, 0)
    for revision, when in enumerate(times, 1):
        assert values(await bucket.as_of(time=when)) == states[revision]
        assert values(await bucket.as_of(time=when - timedelta(seconds=1))) == states[revision - 1]
    assert values(await bucket.as_of(revision=99)) == states[-1]
    assert (await bucket.get_as_of("a", revision=2)).value == b"1"
    assert (await bucket.get_as_of("b", time=times[2])).value == b"2"
    with pytest.raises(kv.KeyDeleted):
        await bucket.get_as_of("b", revision=4)
    with pytest.raises(kv.KeyNotFound):
        await bucket.get_as_of("c", revision=4)
    for wrong in ({}, {"revision": 1, "time": times[0]}, {"revision": -1}):
        with pytest.raises(InvalidName):
            await bucket.as_of(**wrong)


@inside
async def test_what_limits_removed_is_said(place: Place) -> None:
    bucket = await kv.create_bucket(place.js, "b", history=2, **MEMORY)
    for value in (b"1", b"2", b"3"):
        await bucket.put("a", value)
    with pytest.raises(BeforeHorizon) as refused:
        await bucket.as_of(revision=1)
    assert (refused.value.asked, refused.value.horizon) == (1, 2)
    assert "history limit" in refused.value.reason
    with pytest.raises(BeforeHorizon):
        await bucket.get_as_of("a", revision=1)
    partial = await bucket.as_of(revision=1, partial=True)
    assert (values(partial), partial.complete, partial.horizon) == ({}, False, 2)
    assert values(await bucket.as_of(revision=2)) == {"a": b"2"}


@inside
async def test_values_that_expire_leave_no_trace(place: Place) -> None:
    single = await kv.create_bucket(place.js, "single", key_ttl=True, history=5, **MEMORY)
    await single.put("a", b"1")
    await single.put("a", b"2", ttl=5)
    await single.put("a", b"3")
    assert (await single.get_as_of("a", revision=2)).value == b"2"
    place.pass_time(10)
    for question in (single.as_of(revision=2), single.get_as_of("a", revision=2)):
        with pytest.raises(BeforeHorizon, match="expired"):
            await question
    assert (await single.get_as_of("a", revision=1)).value == b"1"
    assert (await single.get_as_of("a", revision=3)).value == b"3"
    whole = await kv.create_bucket(place.js, "whole", ttl=100, history=5, **MEMORY)
    await whole.put("a", b"1")
    place.pass_time(60)
    await whole.put("b", b"2")
    assert values(await whole.as_of(revision=1)) == {"a": b"1"}
    place.pass_time(60)
    assert await whole.keys() == ["b"]
    with pytest.raises(BeforeHorizon, match="TTL") as refused:
        await whole.as_of(revision=2)
    assert refused.value.horizon is None
    assert (await whole.get_as_of("b", revision=2)).value == b"2"
    with pytest.raises(BeforeHorizon):
        await whole.get_as_of("a", revision=2)


KEYS = st.sampled_from("abc")
HISTORY = 2
State = dict[str, tuple[int, bytes]]


class Bucket(RuleBasedStateMachine):
    """Any operations; a list of states is the model. What the bucket says of now and of any past revision is
    what the model says, or that it cannot be known; and what nothing was removed of is known."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = TemporaryDirectory()
        self.world = World(Path(self.directory.name))
        self.place = Place(self.world)
        self.bucket: KeyValue = self.wait(
            kv.create_bucket(self.place.js, "m", history=HISTORY, **MEMORY)
        )
        self.states: list[State] = [{}]
        self.writes: dict[str, int] = {}
        self.removed = False
        self.fresh = count()

    def wait(self, coroutine: Any) -> Any:
        return self.world.bench.loop.run_until_complete(asyncio.wait_for(coroutine, 30))

    def teardown(self) -> None:
        self.world.close()
        self.directory.cleanup()

    @property
    def now(self) -> State:
        return self.states[-1]

    def wrote(self, key: str, value: bytes | None) -> int:
        """The model's next state."""
        revision = len(self.states)
        rest = {name: held for name, held in self.now.items() if name != key}
        self.states.append(rest if value is None else {**rest, key: (revision, value)})
        self.writes[key] = self.writes.get(key, 0) + 1
        self.removed |= self.writes[key] > HISTORY
        return revision

    @rule(key=KEYS)
    def put(self, key: str) -> None:
        value = b"%d" % next(self.fresh)
        assert self.wait(self.bucket.put(key, value)) == self.wrote(key, value)

    @rule(key=KEYS)
    def create(self, key: str) -> None:
        value = b"%d" % next(self.fresh)
        if key in self.now:
            with pytest.raises(kv.KeyExists):
                self.wait(self.bucket.create(key, value))
        else:
            assert self.wait(self.bucket.create(key, value)) == self.wrote(key, value)

    @rule(key=KEYS, behind=st.integers(0, 2))
    def update(self, key: str, behind: int) -> None:
        value = b"%d" % next(self.fresh)
        revision = self.now.get(key, (len(self.states), b""))[0] - behind
        if key in self.now and not behind:
            assert self.wait(self.bucket.update(key, value, revision)) == self.wrote(key, value)
        elif key in self.now and revision > 0:
            with pytest.raises(kv.WrongRevision):
                self.wait(self.bucket.update(key, value, revision))

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.wait(self.bucket.delete(key))
        self.wrote(key, None)

    @rule(key=KEYS)
    def purge(self, key: str) -> None:
        self.wait(self.bucket.purge(key))
        self.removed |= bool(self.writes.get(key))
        self.wrote(key, None)

    @rule(age=st.sampled_from([0.0, 50.0]))
    def purge_deletes(self, age: float) -> None:
        self.removed |= self.wait(self.bucket.purge_deletes(older_than=age)) > 0
        self.place.pass_time(30)

    @invariant()
    def now_is_right(self) -> None:
        assert sorted(self.wait(self.bucket.keys())) == sorted(self.now)
        found = self.wait(self.bucket.get_many("abc"))
        assert {key: (entry.revision, entry.value) for key, entry in found.items()} == self.now

    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        revision = data.draw(st.integers(0, len(self.states) - 1))
        state, last = self.states[revision], len(self.states) - 1
        try:
            snapshot = self.wait(self.bucket.as_of(revision=revision))
        except BeforeHorizon as refused:
            horizon = refused.horizon
            assert self.removed
            assert horizon is not None
            assert revision < horizon <= last
            assert self.wait(self.bucket.as_of(revision=horizon)).complete
        else:
            found = {key: (each.revision, each.value) for key, each in snapshot.entries.items()}
            assert found == state
        self.look_back_at(data.draw(KEYS), revision, state)

    def look_back_at(self, key: str, revision: int, state: State) -> None:
        try:
            entry = self.wait(self.bucket.get_as_of(key, revision=revision))
        except BeforeHorizon:
            assert self.removed
        except kv.KeyNotFound:
            assert key not in state
        else:
            assert state[key] == (entry.revision, entry.value)


TestBucket = Bucket.TestCase
TestBucket.settings = settings(max_examples=8, stateful_step_count=20)
