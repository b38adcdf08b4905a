"""Object stores in the server's own loop: every operation, what is refused, and what breaks on the way."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from jetstream_py import objstore
from jetstream_py.js import InvalidName, NoResponders
from jetstream_py.objstore import ObjectInfo, ObjectStore
from tests.views.place import MEMORY, Place, broken, inside

CHUNK = 1000
DATA = hashlib.shake_128(b"object").digest(4 * CHUNK + 1)


async def chunks_left(store: ObjectStore) -> int:
    return sum((await store.js.subjects(f"OBJ_{store.bucket}", f"$O.{store.bucket}.C.>")).values())


async def make(place: Place, name: str = "o", **options: Any) -> ObjectStore:
    return await objstore.create_store(place.js, name, **{**MEMORY, **options})


@inside
async def test_sizes_and_sources(place: Place) -> None:
    store = await make(place, storage="file")

    async def asynchronous(data: bytes) -> AsyncIterator[bytes]:
        for at in range(0, len(data), 700):
            yield data[at : at + 700]

    def plain(data: bytes) -> Iterator[bytes]:
        yield data[:1]
        yield b""
        yield data[1:]

    for size in (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, len(DATA)):
        data = DATA[:size]
        sources: list[Any] = [
            data,
            bytearray(data),
            io.BytesIO(data),
            asynchronous(data),
            plain(data),
        ]
        for source in sources:
            info = await store.put("x", source, chunk_size=CHUNK)
            assert (info.size, info.chunks) == (size, -(-size // CHUNK))
            assert await store.get_bytes("x") == data
            assert (await store.info("x")).digest == info.digest
    assert await chunks_left(store) == 5
    file = io.BytesIO()
    assert (await store.get_into("x", file)).size == len(DATA)
    assert file.getvalue() == DATA
    pieces = [len(chunk) async for chunk in await store.get("x")]
    assert pieces == [CHUNK] * 4 + [1]


@inside
async def test_ranges_read_only_the_chunks_they_need(place: Place) -> None:
    bus, js = broken(place)
    await make(place)
    store = await objstore.open_store(js, "o")
    await store.put("other", DATA, chunk_size=CHUNK)
    await store.put("x", DATA, chunk_size=CHUNK)
    ranges = [
        (0, 1),
        (CHUNK - 1, CHUNK + 1),
        (CHUNK, 2 * CHUNK),
        (3999, None),
        (0, 10**9),
        (10**9, None),
        (5, 5),
    ]
    for start, end in ranges:
        assert await store.get_bytes("x", start=start, end=end) == DATA[start:end]
    bytes_read = 0

    def count(received: Any) -> bool:
        nonlocal bytes_read
        bytes_read += len(received.data)
        return False

    bus.lose = count
    assert await store.get_bytes("x", start=1500, end=2500) == DATA[1500:2500]
    assert bytes_read == 2 * CHUNK
    for start, end in ((-1, 5), (5, 4)):
        with pytest.raises(objstore.InvalidObject):
            await store.get("x", start=start, end=end)


@inside
async def test_what_is_known_of_objects(place: Place) -> None:
    store = await make(place)
    info = await store.put(
        "my file ä/b",
        DATA,
        description="d",
        headers={"One": "1", "Many": ["2", "3"]},
        metadata={"m": "x"},
        chunk_size=CHUNK,
    )
    found = await store.info("my file ä/b")
    assert found == info
    assert (found.headers, found.metadata) == ({"One": ["1"], "Many": ["2", "3"]}, {"m": "x"})
    assert (found.description, found.options.max_chunk_size) == ("d", CHUNK)
    assert found.modified.year == 2023
    await store.put("other", b"")
    changed = await store.update_meta("my file ä/b", description="new")
    assert (changed.description, changed.metadata, changed.nuid) == ("new", {"m": "x"}, info.nuid)
    with pytest.raises(objstore.ObjectExists):
        await store.update_meta("other", new_name="my file ä/b")
    renamed = await store.update_meta(
        "my file ä/b", new_name="short", headers={}, metadata={"n": "y"}
    )
    assert (renamed.name, renamed.headers, renamed.metadata) == ("short", {}, {"n": "y"})
    assert await store.get_bytes("short") == DATA
    with pytest.raises(objstore.ObjectNotFound):
        await store.info("my file ä/b")
    assert sorted(each.name for each in await store.list()) == ["other", "short"]
    await store.delete("short")
    for gone in (store.info("short"), store.get("short"), store.delete("short")):
        with pytest.raises(objstore.ObjectNotFound):
            await gone
    assert (await store.info("short", show_deleted=True)).deleted
    assert [each.name for each in await store.list()] == ["other"]
    assert len(await store.list(show_deleted=True)) == 2
    assert await chunks_left(store) == 0
    await store.update_meta("other", new_name="short")
    assert await store.get_bytes("short") == b""


@inside
async def test_links(place: Place) -> None:
    store, other = await make(place, "o"), await make(place, "p")
    here = await store.put("here", b"1")
    there = await other.put("there", b"2")
    await store.link("a", here)
    link = await store.link("b", there)
    assert link.link == objstore.Link("p", "there")
    assert [await store.get_bytes(name) for name in "ab"] == [b"1", b"2"]
    await store.link_store("whole", "p")
    for impossible in (store.get("whole"), store.link("c", link)):
        with pytest.raises(objstore.LinkError):
            await impossible
    with pytest.raises(objstore.ObjectExists):
        await store.link("here", there)
    await store.link("a", there)
    assert await store.get_bytes("a") == b"2"
    await other.delete("there")
    with pytest.raises(objstore.ObjectNotFound):
        await store.get("b")
    with pytest.raises(objstore.LinkError, match="deleted"):
        await store.link("d", await other.info("there", show_deleted=True))
    await objstore.delete_store(place.js, "p")
    with pytest.raises(objstore.LinkError):
        await store.get("b")


@inside
async def test_stores(place: Place) -> None:
    store = await make(
        place, description="all", ttl=60, max_bytes=10_000, compression=True, metadata={"a": "b"}
    )
    status = await store.status()
    assert (status.bucket, status.description, status.ttl, status.max_bytes) == (
        "o",
        "all",
        60.0,
        10_000,
    )
    assert (status.storage, status.compression, status.metadata, status.sealed) == (
        "memory",
        True,
        {"a": "b"},
        False,
    )
    with pytest.raises(objstore.StoreExists):
        await objstore.create_store(place.js, "o")
    await make(place, "p")
    assert sorted(each.bucket for each in await objstore.list_stores(place.js)) == ["o", "p"]
    with pytest.raises(objstore.UploadFailed) as failed:
        await store.put("big", bytes(20_000), chunk_size=CHUNK)
    assert not failed.value.leftover
    assert (await store.status()).info.state.messages == 0
    await store.put("x", b"1")
    assert (await store.seal()).sealed
    for refused in (store.put("y", b"2"), store.put("y", b""), store.delete("x")):
        with pytest.raises(objstore.StoreSealed):
            await refused
    assert await store.get_bytes("x") == b"1"
    for name in ("o", "p"):
        await objstore.delete_store(place.js, name)
    for missing in (objstore.open_store, objstore.delete_store):
        with pytest.raises(objstore.StoreNotFound):
            await missing(place.js, "o")


@inside
async def test_names_and_sizes_are_checked(place: Place) -> None:
    store = await make(place)
    for name in ("", "n" * 3000, "\ud800"):
        with pytest.raises(objstore.InvalidObject):
            await store.put(name, b"")
    for bucket in ("", "a.b", "ö"):
        with pytest.raises(objstore.InvalidObject):
            await objstore.create_store(place.js, bucket)
    for size in (0, -1, 10**9):
        with pytest.raises(objstore.InvalidObject):
            await store.put("x", b"", chunk_size=size)
    wrong: list[Any] = ["text", 5, io.StringIO("text")]
    for source in wrong:
        with pytest.raises(InvalidName):
            await store.put("x", source)
    with pytest.raises(objstore.InvalidObject):
        await objstore.create_store(place.js, "q", ttl=-1)
    with pytest.raises(objstore.InvalidObject):
        await objstore.create_store(place.js, "q", colour="green")
    assert (await store.status()).info.state.messages == 0


@inside
async def test_watch(place: Place) -> None:
    store = await make(place)

    def brief(info: ObjectInfo | None) -> object:
        return info and (info.name, info.deleted)

    await store.put("a", b"1")
    await store.put("b", b"2")
    await store.delete("b")
    async with store.watch() as watcher:
        assert [brief(await anext(watcher)) for _ in range(3)] == [("a", False), ("b", True), None]
        await store.put("c", b"3")
        assert brief(await anext(watcher)) == ("c", False)
    async with store.watch(ignore_deletes=True, include_history=True) as watcher:
        assert [brief(await anext(watcher)) for _ in range(3)] == [("a", False), ("c", False), None]
    async with store.watch(updates_only=True) as watcher:
        await store.delete("a")
        assert brief(await anext(watcher)) == ("a", True)
    with pytest.raises(objstore.InvalidObject):
        store.watch(include_history=True, updates_only=True)


@inside
async def test_a_broken_upload_leaves_nothing_behind(place: Place) -> None:
    bus, js = broken(place)
    await make(place)
    store = await objstore.open_store(js, "o")
    await store.put("x", b"old")

    async def breaks() -> AsyncIterator[bytes]:
        for at in range(3):
            yield DATA[at * CHUNK : (at + 1) * CHUNK]
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="gone"):
        await store.put("x", breaks(), chunk_size=CHUNK)
    assert await chunks_left(store) == 1
    sent = 0

    def fail_third(subject: str) -> Exception | None:
        nonlocal sent
        sent += subject.startswith("$O.o.C.")
        return NoResponders("lost") if sent == 3 and subject.startswith("$O.o.C.") else None

    bus.fail = fail_third
    with pytest.raises(objstore.UploadFailed, match="lost") as failed:
        await store.put("x", DATA, chunk_size=CHUNK)
    assert not failed.value.leftover
    assert await chunks_left(store) == 1
    bus.fail = lambda subject: NoResponders("lost") if subject.startswith("$O.o.M.") else None
    with pytest.raises(objstore.UploadFailed):
        await store.put("x", DATA, chunk_size=CHUNK)
    assert await chunks_left(store) == 1
    bus.fail = lambda subject: None

    async def hangs() -> AsyncIterator[bytes]:
        yield DATA[:CHUNK]
        await asyncio.Event().wait()

    task = asyncio.create_task(store.put("x", hangs(), chunk_size=CHUNK))
    while await chunks_left(store) < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await chunks_left(store) == 1
    assert await store.get_bytes("x") == b"old"


@inside
async def test_sweep_removes_what_a_crash_left(place: Place) -> None:
    bus, js = broken(place)
    await make(place)
    store = await objstore.open_store(js, "o")
    await store.put("x", DATA, chunk_size=CHUNK)
    bus.fail = lambda subject: (
        NoResponders("dead") if "M." in subject or "PURGE" in subject else None
    )
    with pytest.raises(objstore.UploadFailed) as failed:
        await store.put("y", DATA, chunk_size=CHUNK)
    assert failed.value.leftover
    bus.fail = lambda subject: None
    assert await chunks_left(store) == 10
    assert await store.sweep() == 0  # it could be an upload that goes on
    place.pass_time(3601)
    assert await store.sweep() == 5
    assert await store.get_bytes("x") == DATA
    assert await store.sweep(older_than=0) == 0


@inside
async def test_writers_of_one_name_leave_one_object(place: Place) -> None:
    store = await make(place)
    await asyncio.gather(*(store.put("x", DATA[i:], chunk_size=CHUNK) for i in range(8)))
    found = await store.get_bytes("x")
    assert found in [DATA[i:] for i in range(8)]
    assert await chunks_left(store) == -(-len(found) // CHUNK)


@inside
async def test_what_is_damaged_is_never_returned_as_good(place: Place) -> None:
    store = await make(place)
    js, stream = place.js, "OBJ_o"

    async def read(**part: int) -> bytes:
        """Everything that a reader was given before the error."""
        got = b""
        try:
            async for chunk in await store.get("x", **part):
                got += chunk
        except objstore.ObjectDamaged:
            return got
        raise AssertionError("it was read to the end")

    info = await store.put("x", DATA, chunk_size=CHUNK)
    subject = f"$O.o.C.{info.nuid}"
    middle = await js.next(stream, subject, 3)
    await js.delete_message(stream, middle.seq)
    assert await read() == b""
    assert await read(start=0, end=10) == b""
    await js.publish(subject, middle.data)  # all bytes are there, in another order
    assert len(await read()) < len(DATA)
    await js.publish(subject, b"more")
    assert await read() == b""
    await js.purge(stream, subject)
    assert await read() == b""
    for damage in (
        b"{}",
        b'{"name":"x","bucket":"o","nuid":"n","size":5,"chunks":1,"digest":"MD5=abc"}',
    ):
        await js.publish("$O.o.M.eA==", damage, headers={"Nats-Rollup": "sub"})
        if b"digest" in damage:
            assert await read() == b""
    await js.publish("$O.o.M.eA==", b"no json")
    with pytest.raises(objstore.ObjectDamaged):
        await store.info("x")
