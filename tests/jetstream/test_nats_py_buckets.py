"""Key-value buckets through the stock Python client: every operation it has."""

from __future__ import annotations

import asyncio
from typing import Any

from nats.js import JetStreamContext
from nats.js.api import StorageType
from nats.js.errors import (
    APIError,
    BucketNotFoundError,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
    NoKeysError,
)
from nats.js.kv import KeyValue

from tests.jetstream.nats_py import plain, refused, run
from tests.jetstream.support import JetStream, scenario


def entry(value: KeyValue.Entry | None) -> dict[str, Any] | None:
    """An entry without its time."""
    return None if value is None else {**plain(value), "created": value.created is not None}


def short(value: KeyValue.Entry | None) -> str:
    """An entry in a few words; None is the end of the past."""
    if value is None:
        return "-"
    return f"{value.operation or 'PUT'} {value.key} {(value.value or b'').decode()}".rstrip()


async def seen(js: JetStream, watcher: Any, count: int) -> list[str]:
    entries = [await watcher.updates() for _ in range(count)]
    # Without delta: whether the next update is already stored when this one leaves is chance.
    js.note([each and {**plain(each), "created": "<time>", "delta": None} for each in entries])
    return [short(each) for each in entries]


@scenario("KV-001", "KV-002", "KV-003", "KV-004", "KV-005", "KV-006", "KV-007", "KV-009")
def test_keys_are_written_and_read(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        for direct in (False, True):
            bucket = f"B{direct}"
            kv = await context.create_key_value(bucket=bucket, history=5, direct=direct)
            assert [await kv.put("a", b"1"), await kv.put("a", b"2")] == [1, 2]
            js.note([entry(await kv.get("a")), entry(await kv.get("a", revision=1))])
            await refused(js, kv.get("nothing"), KeyNotFoundError)
            await refused(js, kv.get("b", revision=1), KeyNotFoundError)
            assert await kv.create("c", b"new") == 3
            await refused(js, kv.create("c", b"again"), KeyWrongLastSequenceError)
            assert await kv.update("c", b"newer", last=3) == 4
            await refused(js, kv.update("c", b"stale", last=3), KeyWrongLastSequenceError)
            assert await kv.delete("c") is True
            await refused(js, kv.get("c"), KeyNotFoundError)
            assert await kv.create("c", b"back") == 6
            await refused(js, kv.delete("c", last=1), APIError)
            assert await kv.delete("c", last=6) is True
            js.note(plain(await context.stream_info(f"KV_{bucket}")))

    run(js, story)


@scenario("KV-008", "KV-012", "KV-013", "KV-015")
def test_history_and_purges(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        kv = await context.create_key_value(bucket="B", history=3)
        await refused(js, kv.keys(), NoKeysError)
        await refused(js, kv.history("a"), NoKeysError)
        for number in range(5):
            await kv.put("a", b"%d" % number)
        await kv.put("b.c", b"x")
        await kv.put("gone", b"x")
        await kv.delete("gone")
        history = await kv.history("a")
        js.note([entry(each) for each in history])
        assert [short(each) for each in history] == ["PUT a 2", "PUT a 3", "PUT a 4"]
        assert sorted(await kv.keys()) == ["a", "b.c"]
        assert await kv.keys(filters=["b."]) == ["b.c"]
        assert await kv.purge("a") is True
        assert [short(each) for each in await kv.history("a")] == ["PURGE a"]
        assert await kv.purge_deletes(olderthan=-1) is True
        status = await kv.status()
        assert (status.values, status.history) == (1, 3)
        js.note(plain(status.stream_info))
        await refused(js, kv.history("gone"), NoKeysError)

    run(js, story)


@scenario("KV-011", "KV-021")
def test_watchers(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        kv = await context.create_key_value(bucket="B", history=4)
        empty = await kv.watchall()
        assert await seen(js, empty, 1) == ["-"]
        for key, value in [("a", b"1"), ("a", b"2"), ("b.c", b"1"), ("d", b"1")]:
            await kv.put(key, value)
        await kv.delete("d")
        everything = await kv.watchall()
        history = await kv.watchall(include_history=True)
        some = await kv.watch("b.*")
        undeleted = await kv.watchall(ignore_deletes=True)
        bodiless = await kv.watch("a", meta_only=True)
        await kv.put("b.c", b"2")
        await kv.purge("a")
        tail = ["PUT b.c 2", "PURGE a"]
        past = ["PUT a 1", "PUT a 2", "PUT b.c 1", "PUT d 1", "DEL d"]
        assert await seen(js, empty, 7) == past + tail
        assert await seen(js, everything, 6) == ["PUT a 2", "PUT b.c 1", "DEL d", "-", *tail]
        assert await seen(js, history, 8) == [*past, "-", *tail]
        assert await seen(js, some, 3) == ["PUT b.c 1", "-", "PUT b.c 2"]
        assert await seen(js, undeleted, 4) == ["PUT a 2", "PUT b.c 1", "-", "PUT b.c 2"]
        assert await seen(js, bodiless, 3) == ["PUT a", "-", "PURGE a"]
        watchers: list[Any] = [empty, everything, history, some, undeleted, bodiless]
        for watcher in watchers:
            await watcher.stop()

    run(js, story)


@scenario("KV-014", "KV-017", "KV-018")
def test_keys_with_a_time_to_live(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        kv = await context.create_key_value(bucket="B", limit_marker_ttl=2, history=2)
        js.note(plain(await context.stream_info("KV_B")))
        watcher = await kv.watchall()
        await kv.create("brief", b"x", msg_ttl=1)
        assert await seen(js, watcher, 3) == ["-", "PUT brief x", "PURGE brief"]
        # This client does not take the server's marker for a deleted key.
        await refused(js, kv.create("brief", b"y"), KeyWrongLastSequenceError)
        assert await kv.update("brief", b"y", last=2) == 3
        assert await kv.purge("brief", msg_ttl=60) is True
        assert await seen(js, watcher, 2) == ["PUT brief y", "PURGE brief"]

    run(js, story)


@scenario("KV-010", "KV-023")
def test_buckets(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await refused(js, context.key_value("B"), BucketNotFoundError)
        kv = await context.create_key_value(
            bucket="B",
            description="values",
            max_value_size=100,
            max_bytes=10_000,
            ttl=60,
            storage=StorageType.MEMORY,
            direct=True,
        )
        js.note(plain((await kv.status()).stream_info))
        await refused(js, kv.put("k", bytes(200)), APIError)
        await kv.put("k", b"v")
        again = await context.key_value("B")
        js.note(entry(await again.get("k")))
        assert (await again.status()).ttl == 60
        names = [info.config.name for info in await context.streams_info()]
        assert names == ["KV_B"]
        assert await context.delete_key_value("B") is True
        await refused(js, context.key_value("B"), BucketNotFoundError)

    run(js, story)


@scenario("KV-016")
def test_keys_expire(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        kv = await context.create_key_value(bucket="B", ttl=0.5, history=3)
        await kv.put("a", b"1")
        await kv.put("a", b"2")
        assert (await kv.get("a")).revision in (1, 2)
        while (await context.stream_info("KV_B")).state.messages:
            await asyncio.sleep(0.05)
        await refused(js, kv.get("a"), KeyNotFoundError)
        await refused(js, kv.keys(), NoKeysError)
        assert await kv.create("a", b"3") == 3

    run(js, story)


@scenario("KV-019")
def test_a_mirror_of_a_bucket_is_read(js: JetStream) -> None:
    """By the names of its origin, whether the reader asks the mirror or the origin."""

    async def story(context: JetStreamContext) -> None:
        kv = await context.create_key_value(bucket="B", history=5)
        await kv.put("a", b"1")
        await kv.put("a", b"2")
        await kv.delete("b")
        js.create("KV_M", mirror={"name": "KV_B"}, mirror_direct=True, max_msgs_per_subject=5)
        js.settled("KV_M", messages=3)
        mirrored = await context.key_value("M")
        mirrored._pre = "$KV.B."  # as clients that know mirrors do
        js.note([entry(await mirrored.get("a")), entry(await mirrored.get("a", revision=1))])
        await refused(js, mirrored.get("b"), KeyNotFoundError)
        await refused(js, mirrored.get("c"), KeyNotFoundError)
        js.note([short(each) for each in await mirrored.history("a")])
        await kv.put("a", b"3")
        js.settled("KV_M", messages=4)
        assert (await mirrored.get("a")).value == b"3"

    run(js, story)
    js.direct("KV_M", last_by_subj="$KV.B.a")


@scenario("KV-020")
def test_a_bucket_of_buckets(js: JetStream) -> None:
    """Keys of its sources are its own keys, of all or of some; it may be written to as well."""

    async def story(context: JetStreamContext) -> None:
        for bucket in ("B", "C"):
            kv = await context.create_key_value(bucket=bucket)
            await kv.put("a", bucket.encode())
            await kv.put(f"only.{bucket}", b"x")
        sources = [
            {"name": "KV_B", "subject_transforms": [{"src": "$KV.B.>", "dest": "$KV.S.>"}]},
            {"name": "KV_C", "subject_transforms": [{"src": "$KV.C.only.>", "dest": "$KV.S.c.>"}]},
        ]
        config = {"subjects": ["$KV.S.>"], "max_msgs_per_subject": 1, "allow_direct": True}
        js.ask("STREAM.CREATE.KV_S", {"name": "KV_S", "sources": sources, **config})
        js.until(lambda: js.ask("STREAM.INFO.KV_S")["state"]["messages"] == 3)
        kv = await context.key_value("S")
        assert sorted(await kv.keys()) == ["a", "c.C", "only.B"]
        assert [(await kv.get(key)).value for key in ("a", "c.C")] == [b"B", b"x"]
        await kv.put("a", b"own")
        assert (await kv.get("a")).value == b"own"
        # Which source is first is chance.
        js.note(js.ask("STREAM.INFO.KV_S", {"subjects_filter": ">"})["state"]["subjects"])

    run(js, story)
