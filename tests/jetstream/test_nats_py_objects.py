"""Object stores through the stock Python client: every operation it has."""

from __future__ import annotations

import io
import json
from typing import Any

from nats.js import JetStreamContext
from nats.js.api import ObjectInfo, ObjectMeta, ObjectMetaOptions, StorageType
from nats.js.errors import (
    APIError,
    BucketNotFoundError,
    LinkIsABucketError,
    NotFoundError,
    ObjectDeletedError,
    ObjectNotFoundError,
)

from tests.jetstream.nats_py import plain, refused, run
from tests.jetstream.support import JetStream, scenario

BIG = bytes(number * 7919 % 251 for number in range(300_000))


def fact(info: ObjectInfo | None) -> dict[str, Any] | None:
    """What is known of an object, without its id and time."""
    if info is None:
        return None
    return {**plain(info), "nuid": bool(info.nuid), "mtime": bool(info.mtime)}


@scenario("OBJ-001", "OBJ-002", "OBJ-003", "OBJ-005", "OBJ-006", "OBJ-014")
def test_objects_are_written_and_read(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        store = await context.create_object_store("O", description="things")
        js.note(plain(await context.stream_info("OBJ_O")))
        options = ObjectMetaOptions(max_chunk_size=65_536)
        meta = ObjectMeta(description="bytes", options=options, headers={"Kind": "test"})
        info = await store.put("big one", BIG, meta=meta)
        assert (info.chunks, info.size) == (5, len(BIG))
        js.note(fact(info))
        assert (await store.get("big one")).data == BIG
        written = io.BytesIO()
        await store.get("big one", writeinto=written)
        assert written.getvalue() == BIG
        js.note(fact(await store.put("reader", io.BytesIO(b"from a reader"))))
        assert (await store.get("reader")).data == b"from a reader"
        js.note(fact(await store.put("empty", b"")))
        assert not (await store.get("empty")).data
        js.note(fact(await store.get_info("reader")))
        await refused(js, store.get("nothing"), ObjectNotFoundError)
        await refused(js, store.get_info("nothing"), ObjectNotFoundError)
        state = (await context.stream_info("OBJ_O", subjects_filter="$O.O.C.*")).state
        assert sorted((state.subjects or {}).values()) == [1, 5]

    run(js, story)


@scenario("OBJ-004", "OBJ-007", "OBJ-009", "OBJ-011")
def test_objects_are_replaced_and_deleted(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        store = await context.create_object_store("O", storage=StorageType.MEMORY)
        await refused(js, store.list(), NotFoundError)
        await store.put("a", b"first")
        await store.put("a", b"second")
        await store.put("b", b"other")
        assert (await store.get("a")).data == b"second"
        assert (await context.stream_info("OBJ_O")).state.messages == 4
        await store.update_meta("b", ObjectMeta(name="b", description="changed"))
        assert (await store.get_info("b")).description == "changed"
        await store.delete("a")
        await refused(js, store.get("a"), ObjectNotFoundError)
        js.note(fact(await store.get_info("a", show_deleted=True)))
        await refused(js, store.update_meta("a", ObjectMeta(name="a")), ObjectDeletedError)
        js.note([fact(each) for each in await store.list()])
        assert [each.name for each in await store.list(ignore_deletes=True)] == ["b"]
        assert (await context.stream_info("OBJ_O")).state.messages == 3
        js.note(plain((await store.status()).stream_info))

    run(js, story)


@scenario("OBJ-010")
def test_links(js: JetStream) -> None:
    """The client reads links but does not make them: their metadata is written by hand."""

    async def link(
        context: JetStreamContext, name: str, encoded: str, target: dict[str, str]
    ) -> None:
        meta = {"name": name, "bucket": "O", "nuid": "n", "size": 0, "chunks": 0}
        body = json.dumps({**meta, "options": {"link": target}}).encode()
        await context.publish(f"$O.O.M.{encoded}", body, headers={"Nats-Rollup": "sub"})

    async def story(context: JetStreamContext) -> None:
        store = await context.create_object_store("O")
        other = await context.create_object_store("P")
        await other.put("target", b"at the end of a link")
        await link(context, "one", "b25l", {"bucket": "P", "name": "target"})
        await link(context, "all", "YWxs", {"bucket": "P"})
        assert (await store.get("one")).data == b"at the end of a link"
        await refused(js, store.get("all"), LinkIsABucketError)

    run(js, story)


async def watched(js: JetStream, watcher: Any, count: int) -> list[str]:
    infos = [await watcher.updates() for _ in range(count)]
    js.note([fact(each) for each in infos])
    return [each.name + " deleted" * bool(each.deleted) if each else "-" for each in infos]


@scenario("OBJ-012")
def test_watchers(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        store = await context.create_object_store("O")
        empty = await store.watch()
        await store.put("a", b"1")
        await store.put("b", b"1")
        everything = await store.watch()
        undeleted = await store.watch(ignore_deletes=True)
        updates = await store.watch(updates_only=True)
        await store.delete("a")
        await store.put("c", b"1")
        assert await watched(js, empty, 5) == ["-", "a", "b", "a deleted", "c"]
        assert await watched(js, everything, 5) == ["a", "b", "-", "a deleted", "c"]
        assert await watched(js, undeleted, 4) == ["a", "b", "-", "c"]
        assert await watched(js, updates, 2) == ["a deleted", "c"]

    run(js, story)


@scenario("OBJ-008", "OBJ-013")
def test_sealing(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await refused(js, context.object_store("O"), BucketNotFoundError)
        await context.create_object_store("O")
        store: Any = await context.object_store("O")
        await store.put("a", b"kept")
        await store.seal()
        status = await store.status()
        assert status.sealed
        js.note(plain(status.stream_info))
        await refused(js, store.put("b", b"late"), APIError)
        await refused(js, store.delete("a"), APIError)
        assert (await store.get("a")).data == b"kept"
        assert await context.delete_object_store("O") is True

    run(js, story)


@scenario("OBJ-016")
def test_a_store_may_be_compressed(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        subjects = ["$O.O.C.>", "$O.O.M.>"]
        config = {"subjects": subjects, "discard": "new", "allow_rollup_hdrs": True}
        made = js.create("OBJ_O", compression="s2", allow_direct=True, **config)
        assert made["config"]["compression"] == "s2"
        store = await context.object_store("O")
        js.note(fact(await store.put("big", BIG)))
        assert (await store.get("big")).data == BIG
        js.update("OBJ_O", compression="none", allow_direct=True, **config)
        assert (await store.get("big")).data == BIG
        js.create_refused("OBJ_P", compression="gzip")

    run(js, story)
