"""Buckets in the server's own loop: every operation, and what is refused."""

from __future__ import annotations

import asyncio

import pytest

from jetstream_py import kv
from jetstream_py.js import ApiError, InvalidName, NoResponders, PayloadTooLarge
from jetstream_py.kv import DEL, PURGE, PUT, Bucket, Entry, Origin, Republish
from tests.views.place import MEMORY, Place, inside


def brief(entry: Entry | None) -> tuple[str, int, str, bytes] | None:
    return entry and (entry.key, entry.revision, entry.operation, entry.value)


@inside
async def test_values(place: Place) -> None:
    bucket = await kv.create_bucket(place.js, "b", history=3)
    assert [await bucket.put("a", b"1"), await bucket.put("a", b"2")] == [1, 2]
    assert brief(await bucket.get("a")) == ("a", 2, PUT, b"2")
    assert (await bucket.get("a")).created.year == 2023
    assert (await bucket.get("a", revision=1)).value == b"1"
    assert await bucket.update("a", b"3", 2) == 3
    with pytest.raises(kv.WrongRevision):
        await bucket.update("a", b"4", 2)
    with pytest.raises(kv.KeyExists):
        await bucket.create("a", b"4")
    assert await bucket.create("x.y/z=1", b"") == 4
    with pytest.raises(kv.KeyNotFound):
        await bucket.get("a", revision=4)
    for missing in ({}, {"revision": 99}):
        with pytest.raises(kv.KeyNotFound) as found:
            await bucket.get("n", **missing)
        assert not isinstance(found.value, kv.KeyDeleted)
    await bucket.put("a", b"4")
    assert [entry.value for entry in await bucket.history("a")] == [b"2", b"3", b"4"]
    assert sorted(await bucket.keys()) == ["a", "x.y/z=1"]
    assert await bucket.keys("x.*") == ["x.y/z=1"]
    assert sorted(await bucket.keys("x.>", "a")) == ["a", "x.y/z=1"]
    assert await bucket.keys("nothing") == []
    many = await bucket.get_many(["a", "x.y/z=1", "nothing"])
    assert {key: entry.value for key, entry in many.items()} == {"a": b"4", "x.y/z=1": b""}


@inside
async def test_many_values_take_as_many_requests_as_their_bytes_need(place: Place) -> None:
    bucket = await kv.create_bucket(place.js, "b", **MEMORY)
    keys = [f"k{i}" for i in range(30)]
    for key in keys:
        await bucket.put(key, key.encode() * 40_000)  # the server stops at a megabyte
    found = await bucket.get_many(keys)
    assert {key: entry.value[: len(key)] for key, entry in found.items()} == {
        k: k.encode() for k in keys
    }


@inside
async def test_deletes(place: Place) -> None:
    bucket = await kv.create_bucket(place.js, "b", history=5, **MEMORY)
    for value in (b"1", b"2"):
        await bucket.put("a", value)
    with pytest.raises(kv.WrongRevision):
        await bucket.delete("a", revision=1)
    await bucket.delete("a", revision=2)
    with pytest.raises(kv.KeyDeleted) as deleted:
        await bucket.get("a")
    assert (deleted.value.revision, deleted.value.operation) == (3, DEL)
    assert [entry.operation for entry in await bucket.history("a")] == [PUT, PUT, DEL]
    assert await bucket.keys() == []
    assert await bucket.get_many(["a"]) == {}
    assert await bucket.create("a", b"again") == 4
    with pytest.raises(kv.WrongRevision):
        await bucket.purge("a", revision=1)
    await bucket.purge("a", revision=4)
    assert [brief(entry) for entry in await bucket.history("a")] == [("a", 5, PURGE, b"")]
    with pytest.raises(kv.KeyDeleted):
        await bucket.get("a")
    assert await bucket.create("a", b"back") == 6


@inside
async def test_names_and_numbers_are_checked_before_anything_is_sent(place: Place) -> None:
    bucket = await kv.create_bucket(place.js, "b", **MEMORY)
    for key in ("", ".a", "a.", "a..b", "a b", "ä", "a.*", ">", "a\r\n", "k" * 3000):
        with pytest.raises(kv.InvalidKey):
            await bucket.put(key, b"")
        with pytest.raises(kv.InvalidKey):
            await bucket.get(key)
    for filtered in ("", "a.>.b", "a*", "*>", "."):
        with pytest.raises(kv.InvalidKey):
            await bucket.keys(filtered)
    for name in ("", "a.b", "a b", "*", "ö", "n" * 500):
        with pytest.raises(kv.InvalidBucket):
            await kv.create_bucket(place.js, name)
    wrong: list[dict[str, object]] = [
        {"history": 0},
        {"history": 65},
        {"ttl": -1},
        {"limit_marker_ttl": 0.5},
        {"max_bytes": -2},
        {"mirror": Origin("x"), "sources": [Origin("y")]},
    ]
    for options in wrong:
        with pytest.raises(kv.InvalidBucket):
            await kv.create_bucket(place.js, "c", **options)
    with pytest.raises(InvalidName):
        await kv.create_bucket(place.js, "c", colour="green")
    for revision in (-1, 0):
        with pytest.raises(InvalidName):
            await bucket.get("a", revision=revision)
    with pytest.raises(InvalidName):
        await bucket.update("a", b"", -1)
    with pytest.raises(InvalidName):
        await bucket.put("a", b"", ttl=0.5)
    with pytest.raises(InvalidName):
        bucket.watch(include_history=True, updates_only=True)
    with pytest.raises(PayloadTooLarge):
        await bucket.put("a", bytes(place.js.max_payload + 1))
    with pytest.raises(ApiError, match="TTL"):
        await bucket.put("a", b"", ttl=5)
    assert (await bucket.status()).values == 0


@inside
async def test_buckets(place: Place) -> None:
    js = place.js
    wanted = Bucket(
        "b",
        description="all of it",
        history=7,
        ttl=60,
        max_bytes=100_000,
        max_value_size=1000,
        storage="memory",
        republish=Republish(dest="copy.>", src=">", headers_only=True),
        compression=True,
        metadata={"owner": "me"},
        limit_marker_ttl=30,
    )
    await kv.create_bucket(js, wanted)
    same = await kv.create_bucket(js, wanted)
    with pytest.raises(kv.BucketExists):
        await kv.create_bucket(js, "b", history=2)
    status = await same.status()
    assert (status.bucket, status.values, status.history, status.ttl) == ("b", 0, 7, 60.0)
    assert (status.max_bytes, status.max_value_size, status.storage) == (100_000, 1000, "memory")
    assert (status.compression, status.metadata, status.limit_marker_ttl, status.key_ttl) == (
        True,
        {"owner": "me"},
        30.0,
        True,
    )
    assert (status.description, status.mirror, status.bytes) == ("all of it", "", 0)
    with pytest.raises(ApiError):
        await same.put("k", bytes(1001))
    await kv.create_bucket(js, "other", **MEMORY)
    await js.create_stream({"name": "KV_no", "subjects": ["no"], "storage": "memory"})
    assert sorted(each.bucket for each in await kv.list_buckets(js)) == ["b", "other"]
    changed = await kv.update_bucket(js, wanted, description="new")
    assert (await changed.status()).description == "new"
    await kv.delete_bucket(js, "b")
    for missing in (kv.open_bucket, kv.delete_bucket, kv.update_bucket):
        with pytest.raises(kv.BucketNotFound):
            await missing(js, "b")
    with pytest.raises(NoResponders):
        await same.put("k", b"")


@inside
async def test_watch(place: Place) -> None:
    bucket = await kv.create_bucket(place.js, "b", history=3, **MEMORY)
    async with bucket.watch() as empty:
        assert await anext(empty) is None
        await bucket.put("a", b"1")
        assert brief(await anext(empty)) == ("a", 1, PUT, b"1")
    await bucket.put("a", b"2")
    await bucket.put("b.c", b"3")
    await bucket.delete("b.c")

    async def told(count: int, *filters: str, **options: object) -> list[object]:
        async with bucket.watch(*filters, **options) as watcher:  # type: ignore[arg-type]
            return [brief(await anext(watcher)) for _ in range(count)]

    a, deleted = ("a", 2, PUT, b"2"), ("b.c", 4, DEL, b"")
    assert await told(3) == [a, deleted, None]
    assert await told(2, ignore_deletes=True) == [a, None]
    assert await told(3, meta_only=True) == [("a", 2, PUT, b""), deleted, None]
    assert await told(2, "b.*") == [deleted, None]
    assert await told(3, "b.>", "a") == [a, deleted, None]
    whole = [("a", 1, PUT, b"1"), a, ("b.c", 3, PUT, b"3"), deleted, None]
    assert await told(5, include_history=True) == whole
    assert await told(3, resume_from=3) == whole[2:]
    async with bucket.watch("a", updates_only=True) as updates:
        await bucket.put("b.c", b"no")
        await bucket.put("a", b"yes")
        assert brief(await anext(updates)) == ("a", 6, PUT, b"yes")
    assert place.world.js.streams["KV_b"].consumers.shown() == []


@inside
async def test_time_removes_keys(place: Place) -> None:
    bucket = await kv.create_bucket(place.js, "b", limit_marker_ttl=60, **MEMORY)
    await bucket.create("a", b"1", ttl=10)
    await bucket.put("c", b"2", ttl=20.5)
    async with bucket.watch() as watcher:
        assert [brief(await anext(watcher)) for _ in range(3)][2] is None
        place.pass_time(12)
        assert brief(await anext(watcher)) == ("a", 3, PURGE, b"")
        assert await bucket.keys() == ["c"]
        place.pass_time(12)
        assert brief(await anext(watcher)) == ("c", 4, PURGE, b"")
    with pytest.raises(kv.KeyDeleted):
        await bucket.get("a")
    assert await bucket.create("a", b"back") == 5
    await bucket.purge("a", ttl=5)
    place.pass_time(100)
    assert await bucket.history("a") == []


@inside
async def test_purge_deletes(place: Place) -> None:
    bucket = await kv.create_bucket(place.js, "b", history=5, **MEMORY)
    for key in ("old", "new", "alive"):
        await bucket.put(key, b"1")
    await bucket.delete("old")
    place.pass_time(3600)
    await bucket.delete("new")
    assert await bucket.purge_deletes() == 3
    assert await bucket.history("old") == []
    assert [entry.operation for entry in await bucket.history("new")] == [DEL]
    assert await bucket.purge_deletes(older_than=0) == 1
    assert await bucket.keys() == ["alive"]


@inside
async def test_update_with(place: Place) -> None:
    bucket = await kv.create_bucket(place.js, "b", **MEMORY)

    def count(entry: Entry | None) -> bytes:
        return b"%d" % (int(entry.value) + 1 if entry else 1)

    await asyncio.gather(*(bucket.update_with("n", count) for _ in range(20)))
    assert (await bucket.get("n")).value == b"20"
    await bucket.delete("n")

    async def later(entry: Entry | None) -> bytes | None:
        return None if entry else b"fresh"

    first = await bucket.update_with("n", later)
    assert first is not None
    assert first.value == b"fresh"
    assert await bucket.update_with("n", later) == await bucket.get("n")

    async def lose(entry: Entry | None) -> bytes:
        await bucket.put("n", b"faster")
        return b"slower"

    with pytest.raises(kv.TooManyConflicts):
        await bucket.update_with("n", lose, tries=3)
    assert (await bucket.get("n")).value == b"faster"


@inside
async def test_copies(place: Place) -> None:
    js = place.js
    origin = await kv.create_bucket(js, "origin", history=5, **MEMORY)
    mirror = await kv.create_bucket(js, "mirror", mirror=Origin("origin"), history=5, **MEMORY)
    sourced = await kv.create_bucket(
        js, "sourced", sources=[Origin("origin", filter="a.>")], history=5, **MEMORY
    )
    async with mirror.watch() as seen, sourced.watch() as taken:
        assert [await anext(seen), await anext(taken)] == [None, None]
        await origin.put("b", b"1")
        await mirror.put("a.x", b"2")  # a mirror has no subjects: its origin takes the write
        assert [brief(await anext(seen)) for _ in range(2)] == [
            ("b", 1, PUT, b"1"),
            ("a.x", 2, PUT, b"2"),
        ]
        assert brief(await anext(taken)) == ("a.x", 1, PUT, b"2")
    assert (await mirror.get("a.x")).value == b"2"
    assert (await mirror.get("b", revision=1)).value == b"1"
    assert await sourced.keys() == ["a.x"]
    assert (await mirror.status()).mirror == "origin"
    assert {each.bucket for each in await kv.list_buckets(js)} == {"origin", "mirror", "sourced"}


@inside
async def test_a_bucket_without_direct_reads(place: Place) -> None:
    """nats.py makes these."""
    config = {**Bucket("b", history=3, **MEMORY).stream(), "allow_direct": False}
    await place.js.create_stream(config)
    bucket = await kv.open_bucket(place.js, "b")
    await bucket.put("a", b"1")
    await bucket.put("c", b"")
    await bucket.delete("c")
    assert brief(await bucket.get("a")) == ("a", 1, PUT, b"1")
    assert brief(await bucket.get("a", revision=1)) == ("a", 1, PUT, b"1")
    with pytest.raises(kv.KeyDeleted):
        await bucket.get("c")
    with pytest.raises(kv.KeyNotFound):
        await bucket.get("d")
    assert list(await bucket.get_many(["a", "c", "d"])) == ["a"]
