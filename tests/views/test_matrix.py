"""Buckets and objects written by each kind of client and read by all of them, on ours and on nats-server."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator

import pytest

from jetstream_py import objstore
from tests.clients.node import JS, require_node
from tests.support.server import KINDS, OURS, Kind
from tests.views.meeting import HTTP, INSIDE, MEMBERS, NATS_JS, NATS_PY, REMOTE, Meeting
from tests.views.members import HEADERS, SEEN, SIZES, Ours, content, listed

pytestmark = pytest.mark.xdist_group("views-matrix")  # one worker: each server starts once

PAIRS = [
    (kind, writer, reader) for kind in KINDS for writer in MEMBERS[kind] for reader in MEMBERS[kind]
]

# nats.py and HTTP make no links, and nats.py does not understand those of nats.js.
LINKS = [
    (kind, writer, reader)
    for kind, writer, reader in PAIRS
    if writer not in (NATS_PY, HTTP) and (writer, reader) != (NATS_JS, NATS_PY)
]


@pytest.fixture(scope="module")
def meetings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Kind, Meeting]]:
    children = {NATS_JS: [require_node(), str(JS / "views.mjs")]}
    made: dict[Kind, Meeting] = {}
    try:
        for kind in KINDS:
            made[kind] = Meeting(kind, tmp_path_factory.mktemp("meeting"), children)
        yield made
    finally:
        for meeting in made.values():
            meeting.close()


@pytest.mark.parametrize(("kind", "writer", "reader"), PAIRS)
@pytest.mark.behaviour(
    "KV-002", "KV-003", "KV-005", "KV-006", "KV-007", "KV-008", "KV-013", "KV-015"
)
def test_buckets(meetings: dict[Kind, Meeting], kind: Kind, writer: str, reader: str) -> None:
    meeting = meetings[kind]
    bucket = meeting.once("write", writer)
    assert meeting.run(meeting.members[reader].read(bucket)) == SEEN


@pytest.mark.parametrize(("kind", "writer", "reader"), PAIRS)
@pytest.mark.behaviour("OBJ-003", "OBJ-004", "OBJ-005", "OBJ-009", "OBJ-011", "OBJ-014")
def test_objects(meetings: dict[Kind, Meeting], kind: Kind, writer: str, reader: str) -> None:
    meeting = meetings[kind]
    store = meeting.once("put", writer)
    member = meeting.members[reader]
    assert meeting.run(member.list(store)) == [listed(), HEADERS]
    for name, (size, _) in SIZES.items():
        assert meeting.run(member.get(store, name)) == content(size)


@pytest.mark.parametrize(("kind", "writer", "reader"), LINKS)
@pytest.mark.behaviour("OBJ-010")
def test_links(meetings: dict[Kind, Meeting], kind: Kind, writer: str, reader: str) -> None:
    meeting = meetings[kind]
    store = meeting.once("link", writer)
    assert meeting.run(meeting.members[reader].get(store, "link")) == content(1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_as_only_nats_js_spells_it(meetings: dict[Kind, Meeting], kind: Kind) -> None:
    meeting = meetings[kind]
    name = meeting.once("link", NATS_JS)
    member = meeting.members[REMOTE]
    assert isinstance(member, Ours)
    js = member.js

    async def play() -> None:
        store = await objstore.open_store(js, name)
        assert await store.get_bytes("ä") == content(1)
        await store.put("ä", b"ours")
        assert await meeting.members[NATS_JS].get(name, "ä") == b"ours"
        await store.update_meta("ä", new_name="ö")
        assert await store.get_bytes("ö") == b"ours"
        assert [each.name for each in await store.list() if each.link is None] == ["one", "ö"]

    meeting.run(play())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.behaviour("KV-017", "KV-018")
def test_keys_that_expire(meetings: dict[Kind, Meeting], kind: Kind) -> None:
    """All at once, because all wait for the same second."""
    meeting = meetings[kind]
    buckets = [meeting.once("write_brief", writer) for writer in MEMBERS[kind]]

    async def see(reader: str) -> None:
        for bucket in buckets:
            assert await meeting.members[reader].await_marker(bucket) == ["PURGE", 2]

    async def all_see() -> None:
        await asyncio.gather(*(see(reader) for reader in MEMBERS[kind]))

    meeting.run(all_see())


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_object(meetings: dict[Kind, Meeting], kind: Kind) -> None:
    """64 MB, never in memory as a whole: from within to a connection, and over a connection to itself."""
    meeting = meetings[kind]
    size, piece = 64 << 20, content(1 << 20)
    writer, reader = (
        meeting.members[INSIDE if kind == OURS else REMOTE],
        meeting.members[REMOTE],
    )
    assert isinstance(writer, Ours)
    assert isinstance(reader, Ours)

    async def source() -> AsyncIterator[bytes]:
        for _ in range(size >> 20):
            yield piece

    async def play() -> None:
        store = await objstore.create_store(writer.js, "large", storage="memory")
        info = await store.put("x", source())
        assert (info.size, info.chunks) == (size, 512)
        read = hashlib.sha256()
        async for chunk in await (await objstore.open_store(reader.js, "large")).get("x"):
            read.update(chunk)
        assert read.digest() == info.sha256()
        await objstore.delete_store(writer.js, "large")

    meeting.run(play())
