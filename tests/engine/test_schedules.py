"""Schedules on a clock that is moved by hand, over restarts and crashes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetstream_py import limits
from jetstream_py.api.errors import ApiError
from jetstream_py.engine.plan import read_plan
from jetstream_py.store import failpoints
from tests.engine.world import World

STORAGES = pytest.mark.parametrize("storage", ["file", "memory"])
HOUR = 3600
# The clock begins at 2023-11-14T22:13:20Z, a Tuesday.


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    failpoints.disarm()
    world.close()


def create(world: World, **config: object) -> None:
    answer = world.create(allow_msg_schedules=True, **config)
    assert "error" not in answer, answer


def plan(world: World, name: str, pattern: str, target: str = "", more: str = "") -> int:
    headers = f"Nats-Schedule: {pattern}\r\nNats-Schedule-Target: s.{target or 't.' + name}{more}"
    answer = world.ask(f"s.{name}", b"body", headers)
    assert "error" not in answer, answer
    seq: int = answer["seq"]
    return seq


def found(world: World, subject: str = "s.t.>") -> list[tuple[str, str]]:
    """Subject and `Nats-Schedule-Next` of what there is under a subject."""
    state, messages = world.state(), []
    seq = state["first_seq"]
    while seq <= state["last_seq"]:
        body = json.dumps({"seq": seq, "next_by_subj": subject}).encode()
        answer = world.ask("$JS.API.STREAM.MSG.GET.S", body)
        if "error" in answer:
            break
        message = answer["message"]
        block = base64.b64decode(message.get("hdrs", "")).decode()
        told = block.partition("Nats-Schedule-Next: ")[2].partition("\r\n")[0]
        messages.append((message["subject"], told))
        seq = message["seq"] + 1
    return messages


def fail() -> None:
    raise OSError("the disk is gone")


def times(world: World, subject: str = "s.t.>") -> list[str]:
    return [told.removeprefix("2023-11-14T") for _, told in found(world, subject)]


@STORAGES
def test_once(world: World, storage: str) -> None:
    create(world, storage=storage)
    plan(world, "a", "@at 2023-11-14T22:13:25Z")
    world.pass_time(4.75)
    assert found(world) == []
    world.pass_time(0.25)
    assert found(world) == [("s.t.a", "purge")]
    assert world.state()["messages"] == 1
    world.pass_time(HOUR)
    assert world.state()["last_seq"] == 2
    assert len(world.js.streams["S"].schedules) == 0


@STORAGES
def test_again_and_again(world: World, storage: str) -> None:
    create(world, storage=storage)
    plan(world, "every", "@every 1.5s")
    plan(world, "cron", "*/2 * * * * *")
    plan(world, "zone", "0 14 17 * * TUE", more="\r\nNats-Schedule-Time-Zone: America/New_York")
    world.pass_time(5)
    assert times(world, "s.t.every") == ["22:13:23.5Z", "22:13:25.5Z"]
    assert times(world, "s.t.cron") == ["22:13:24Z", "22:13:26Z"]
    world.pass_time(40)
    assert found(world, "s.t.zone") == [("s.t.zone", "2023-11-21T17:14:00-05:00")]


def test_those_of_the_same_time_keep_their_order(world: World) -> None:
    create(world)
    for name in "dacb":
        plan(world, name, "@every 1s")
    world.pass_time(1)
    assert [subject for subject, _ in found(world)] == ["s.t.d", "s.t.a", "s.t.c", "s.t.b"]


def test_more_than_a_slice(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EXPIRE_SLICE", 3)
    create(world)
    for number in range(10):
        plan(world, f"n{number}", "@every 1s")
    world.pass_time(1)
    world.bench.broker.timers.run_due()
    world.pass_time(0.25)
    assert [subject for subject, _ in found(world)] == [f"s.t.n{number}" for number in range(10)]


@pytest.mark.parametrize("crash", [False, True])
def test_what_was_missed_happens_once(tmp_path: Path, crash: bool) -> None:
    world = World(tmp_path)
    create(world)
    plan(world, "every", "@every 1s")
    plan(world, "once", "@at 2023-11-14T22:13:26Z")
    plan(world, "ended", "@every 1s")
    plan(world, "far", "@at 2024-01-01T00:00:00Z")
    world.ask("s.ended", b"plain")
    world.pass_time(2)
    assert times(world) == ["22:13:22Z", "22:13:23Z"]
    world.crash() if crash else world.close()
    other = World(tmp_path, age=60)
    other.pass_time(0.25)
    assert times(other) == ["22:13:22Z", "22:13:23Z", "22:14:21Z", "purge"]
    other.pass_time(1)
    assert len(found(other)) == 5
    assert len(other.js.streams["S"].schedules) == 2
    other.close()


@pytest.mark.parametrize("point", ["commit.begin", "commit.before", "commit.after"])
def test_a_commit_that_fails(tmp_path: Path, point: str) -> None:
    """The message of a schedule and its end or next time are there together or not at all."""
    world = World(tmp_path)
    create(world)
    plan(world, "once", "@at 2023-11-14T22:13:25Z")
    plan(world, "every", "@every 5s")
    failpoints.arm(point, fail)
    world.pass_time(5)
    assert world.failure
    failpoints.disarm()
    world.crash()
    other = World(tmp_path, age=5)
    other.pass_time(0.25)
    assert sorted(times(other)) == ["22:13:30Z", "purge"]
    other.pass_time(4.75)
    assert len(found(other)) == 3
    other.close()


def test_what_ends_one(world: World) -> None:
    create(world)
    for name in ("plain", "run", "purged", "deleted", "ended", "back", "kept"):
        seq = plan(world, name, "@every 1s")
        if name == "deleted":
            world.ask("$JS.API.STREAM.MSG.DELETE.S", b'{"seq":%d}' % seq)
    world.ask("s.plain", b"x", "A: b")
    world.ask("s.run", b"x")
    world.ask("$JS.API.STREAM.PURGE.S", b'{"filter":"s.purged"}')
    world.ask("s.x", b"", "Nats-Scheduler: s.ended\r\nNats-Schedule-Next: purge")
    newer = world.ask("s.back", b"x")["seq"]
    world.ask("$JS.API.STREAM.MSG.DELETE.S", b'{"seq":%d}' % newer)
    world.pass_time(1)
    assert [subject for subject, _ in found(world)] == ["s.t.kept"]
    assert len(world.js.streams["S"].schedules) == 1


def test_a_schedule_that_is_replaced(world: World) -> None:
    create(world)
    plan(world, "a", "@every 1s", target="t.old")
    plan(world, "a", "@every 3s", target="t.new")
    world.pass_time(3)
    assert [subject for subject, _ in found(world)] == ["s.t.new"]


def test_one_publishes_to_the_subject_of_another(world: World) -> None:
    create(world)
    plan(world, "a", "@every 1s", target="b")
    plan(world, "b", "@every 1s", target="t.b")
    world.pass_time(1)
    assert found(world) == []
    assert len(world.js.streams["S"].schedules) == 1


def test_a_sample_is_what_is_there_then(world: World) -> None:
    create(world)
    plan(world, "a", "@every 1s", more="\r\nNats-Schedule-Source: s.src")
    world.pass_time(1)
    world.ask("s.src", b"first", "A: b\r\nNats-Msg-Id: 1")
    world.pass_time(1)
    world.ask("s.src", b"second")
    world.pass_time(1)
    messages = []
    for seq in range(1, world.state()["last_seq"] + 1):
        answer = world.ask("$JS.API.STREAM.MSG.GET.S", b'{"seq":%d}' % seq)["message"]
        if answer["subject"] == "s.t.a":
            messages.append((base64.b64decode(answer["data"]), base64.b64decode(answer["hdrs"])))
    assert [data for data, _ in messages] == [b"body", b"first", b"second"]
    assert messages[1][1] == (
        b"NATS/1.0\r\nA: b\r\nNats-Scheduler: s.a\r\nNats-Schedule-Next: 2023-11-14T22:13:23Z\r\n\r\n"
    )


def test_a_sealed_stream_publishes_nothing(world: World) -> None:
    create(world)
    plan(world, "a", "@every 1s")
    body = {"name": "S", "subjects": ["s.>"], "allow_msg_schedules": True, "sealed": True}
    assert "error" not in world.ask("$JS.API.STREAM.UPDATE.S", json.dumps(body).encode())
    world.pass_time(HOUR)
    assert world.state()["messages"] == 1


def test_one_that_is_refused_is_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    create(world)
    plan(world, "once", "@at 2023-11-14T22:13:21Z")
    plan(world, "every", "@every 1s")
    with monkeypatch.context() as patch:
        patch.setattr(world.store, "room", lambda *_: False)
        world.pass_time(1)
        assert found(world) == []
    world.pass_time(limits.TTL_RETRY)
    assert found(world) == [
        ("s.t.every", "2023-11-14T22:13:23Z"),
        ("s.t.once", "purge"),
        ("s.t.every", "2023-11-14T22:13:24Z"),
    ]


def test_those_that_are_gone_are_forgotten(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far times of purged messages do not pile up, neither in memory nor on disk."""
    monkeypatch.setattr(limits, "TTL_SLACK", 8)
    create(world)
    schedules = world.js.streams["S"].schedules
    for round_ in range(10):
        for number in range(5):
            plan(world, f"n{round_}.{number}", "@at 2200-01-01T00:00:00Z")
        world.ask("$JS.API.STREAM.PURGE.S")
    assert len(schedules) < 20
    for _ in range(50):
        plan(world, "same", "@at 2200-01-01T00:00:00Z")
    assert len(schedules._heap) < 60
    rows = world.store.meta_items(b"s")
    assert len(rows) == len(schedules) + 1
    assert "error" not in world.ask("$JS.API.STREAM.DELETE.S")
    assert world.store.meta_items(b"s") == []


def test_times_beyond_all_clocks(world: World) -> None:
    create(world)
    plan(world, "a", "@at 9999-12-31T23:59:59Z")
    plan(world, "b", "@every 2562047h")
    plan(world, "c", "@at 1000-01-01T00:00:00Z")
    world.pass_time(2)
    assert found(world) == [("s.t.c", "purge")]


def test_schedules_that_were_there_before(tmp_path: Path) -> None:
    """Without the table of times, as after a restore, they are looked for."""
    world = World(tmp_path)
    create(world)
    plan(world, "a", "@every 1s")
    plan(world, "b", "@every 1s")
    plan(world, "once", "@at 2023-11-14T22:13:25Z")
    world.ask("s.b", b"plain")
    for key, _ in world.store.meta_items(b"s"):
        world.store.put_meta(key, None)
    world.engine.outbox.commit_soon()
    world.close()
    other = World(tmp_path, age=60)
    other.pass_time(0.75)
    assert found(other) == [("s.t.once", "purge")]
    other.pass_time(0.25)
    assert found(other) == [("s.t.once", "purge"), ("s.t.a", "2023-11-14T22:14:22Z")]
    other.close()


def test_at_rest_there_is_no_timer(world: World) -> None:
    create(world)
    plan(world, "a", "@at 2023-11-14T22:13:21Z")
    for _ in range(3):
        world.pass_time(2 * limits.CHECKPOINT_IDLE)
    assert world.bench.broker.timers.next_due() is None


def test_a_consumer_gets_them(world: World) -> None:
    create(world)
    world.client.send(b"SUB d.c 9\r\n")
    config = {"durable_name": "c", "filter_subject": "s.t.>", "ack_policy": "none"}
    body = {"stream_name": "S", "config": config | {"deliver_subject": "d.c"}}
    assert "error" not in world.ask(
        "$JS.API.CONSUMER.DURABLE.CREATE.S.c", json.dumps(body).encode()
    )
    plan(world, "a", "@every 1s")
    world.pass_time(2)
    assert world.client.read().count(b"Nats-Scheduler: s.a") == 2


def test_plain_publishes_stay_runs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedules cost a stream without them nothing, and one with them a look at a table."""
    create(world)
    plan(world, "a", "@every 1s")
    stream = world.js.streams["S"]
    monkeypatch.setattr(stream, "_publish", lambda *_: pytest.fail("one by one"))
    stream.publish([(b"s.x", b"", b"", b"1"), (b"s.a", b"", b"", b"2"), (b"s.y", b"", b"", b"3")])
    assert len(stream.schedules) == 0


PIECES = st.sampled_from(
    [
        b"@at ",
        b"@every ",
        b"2030-01-01T00:00:00Z",
        b"1h",
        b"* ",
        b"0 ",
        b"*/5 ",
        b"1-5,",
        b"jan ",
        b"@daily",
    ]
)


@given(
    st.one_of(st.binary(max_size=40), st.lists(PIECES, max_size=8).map(b"".join)),
    st.one_of(
        st.none(), st.binary(max_size=20), st.sampled_from([b"UTC", b"Local", b"../x", b"Etc"])
    ),
    st.integers(-(1 << 62), 1 << 62),
)
def test_any_bytes(pattern: bytes, zone: bytes | None, ts: int) -> None:
    """A plan or a refusal, nothing else; and a plan has a time that is told, or none."""
    try:
        plan = read_plan(pattern, zone)
    except ApiError:
        return
    due = plan.due(max(ts, 0)) if plan is not None else None
    if plan is not None and due is not None and not plan.once:
        assert due > max(ts, 0)
        assert plan.text(due)
