"""/v1/objects, route by route."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import AsyncIterator

import pytest

from jetstream_py import limits, objstore
from tests.gateway.place import Place

pytestmark = pytest.mark.xdist_group("gateway")

CONTENT = bytes(range(256)) * 1200  # three chunks


def make(place: Place, bucket: str) -> objstore.ObjectStore:
    return place.run(objstore.create_store(place.js(), bucket))


def test_stores(place: Place) -> None:
    made = place.ask("PUT", "/v1/objects/made", b'{"description": "d", "max_bytes": 1000000}')
    assert (made.status, made.json["description"], made.json["max_bytes"]) == (200, "d", 1000000)
    assert place.ask("PUT", "/v1/objects/made").error == (409, 10058)
    assert place.ask("PUT", "/v1/objects/made", b'{"history": 1}').error == (400, 0)
    assert place.ask("GET", "/v1/objects").json["buckets"] == [made.json]
    assert place.ask("GET", "/v1/objects/made").json == {**made.json, "objects": [], "more": False}
    assert place.ask("DELETE", "/v1/objects/made").status == 204
    assert place.ask("GET", "/v1/objects/made").error == (404, 10059)
    assert place.ask("GET", "/v1/objects/a.b").error == (400, 0)


def test_an_object(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make(place, "one")
    headers = {"Content-Type": "text/html", "Nats-Header-Color": "red"}
    put = place.ask("PUT", "/v1/objects/one/a/b%20c?description=text", CONTENT, headers)
    info = place.run(store.info("a/b c"))
    assert put.json["name"] == "a/b c"
    assert (info.size, info.chunks, info.description) == (len(CONTENT), 3, "text")
    assert info.headers == {"Color": ["red"], "Content-Type": ["text/html"]}
    got = place.ask("GET", "/v1/objects/one/a/b%20c")
    assert (got.status, got.body) == (200, CONTENT)
    digest = b64encode(hashlib.sha256(CONTENT).digest()).decode()
    assert got.headers["Digest"] == f"SHA-256={digest}"
    assert got.headers["Content-Type"] == "text/html"
    assert got.headers["Nats-Header-Color"] == "red"
    assert "sandbox" in got.headers["Content-Security-Policy"]  # HTML of others is no page of ours
    etag = got.headers["ETag"]
    assert etag == put.headers["ETag"]
    assert (
        place.ask("GET", "/v1/objects/one/a/b%20c", headers={"If-None-Match": etag}).status == 304
    )
    head = place.ask("HEAD", "/v1/objects/one/a/b%20c")
    assert (head.status, head.headers["Content-Length"]) == (200, str(len(CONTENT)))
    assert [each["name"] for each in place.ask("GET", "/v1/objects/one").json["objects"]] == [
        "a/b c"
    ]
    monkeypatch.setattr(limits, "GATEWAY_KEYS", 0)
    assert place.ask("GET", "/v1/objects/one").json["more"] is True
    assert place.ask("DELETE", "/v1/objects/one/a/b%20c").status == 204
    assert place.ask("DELETE", "/v1/objects/one/a/b%20c").error == (404, 10037)
    assert place.ask("GET", "/v1/objects/one/a/b%20c").error == (404, 10037)
    for name in ("If-Match", "If-None-Match"):
        assert place.ask("PUT", "/v1/objects/one/x", b"", {name: "*"}).error == (400, 0)


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=131071-131072", 131071, 131073),  # two chunks
        ("bytes=10-", 10, len(CONTENT)),
        ("bytes=-5", len(CONTENT) - 5, len(CONTENT)),
        (f"bytes=5-{10**12}", 5, len(CONTENT)),
        (f"bytes=-{10**12}", 0, len(CONTENT)),
    ],
)
def test_ranges(place: Place, asked: str, start: int, end: int) -> None:
    if "ranges" not in [each.bucket for each in place.run(objstore.list_stores(place.js()))]:
        place.run(make_async(place))
    got = place.ask("GET", "/v1/objects/ranges/x", headers={"Range": asked})
    assert (got.status, got.body) == (206, CONTENT[start:end])
    assert got.headers["Content-Range"] == f"bytes {start}-{end - 1}/{len(CONTENT)}"


async def make_async(place: Place) -> None:
    store = await objstore.create_store(place.js(), "ranges")
    await store.put("x", CONTENT)
    await store.put("empty", b"")


def test_ranges_that_are_none(place: Place) -> None:
    if "ranges" not in [each.bucket for each in place.run(objstore.list_stores(place.js()))]:
        place.run(make_async(place))
    for wrong in (f"bytes={len(CONTENT)}-", f"bytes={10**12}-{10**13}"):
        got = place.ask("GET", "/v1/objects/ranges/x", headers={"Range": wrong})
        assert got.error == (416, 0), wrong
        assert got.headers["Content-Range"] == f"bytes */{len(CONTENT)}"
    for unread in ("bytes=a-b", "lines=1-2", "bytes=0-1,3-4", "bytes=5-1"):
        got = place.ask("GET", "/v1/objects/ranges/x", headers={"Range": unread})
        assert (got.status, got.body) == (200, CONTENT), unread
    old = {"Range": "bytes=0-1", "If-Range": '"of another"'}
    assert place.ask("GET", "/v1/objects/ranges/x", headers=old).status == 200
    assert place.ask("GET", "/v1/objects/ranges/empty").body == b""
    assert place.ask("GET", "/v1/objects/ranges/empty", headers={"Range": "bytes=0-"}).status == 416


def test_links_and_damage(place: Place) -> None:
    store = make(place, "damaged")
    info = place.run(store.put("x", CONTENT))
    place.run(store.link("link", info))
    assert place.ask("GET", "/v1/objects/damaged/link").body == CONTENT
    place.run(place.js().delete_message("OBJ_damaged", 2))
    assert place.ask("GET", "/v1/objects/damaged/x").error == (500, 0)


def test_an_upload_that_breaks_off(place: Place) -> None:
    """Whoever goes away, or sends too much, leaves nothing behind and nothing changed."""
    store = make(place, "broken")
    place.run(store.put("x", b"old"))
    before = place.run(store.status()).bytes

    async def play() -> None:
        started = asyncio.Event()

        async def source() -> AsyncIterator[bytes]:
            yield CONTENT
            while not (await store.status()).bytes > before:
                await asyncio.sleep(0)
            started.set()
            await asyncio.Event().wait()

        sending = asyncio.create_task(place.send("PUT", "/v1/objects/broken/x", source()))
        await started.wait()
        sending.cancel()
        while (await store.status()).bytes != before:
            await asyncio.sleep(0)
        assert await store.get_bytes("x") == b"old"

    place.run(play())


def test_an_upload_that_is_too_large(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make(place, "bounded")
    before = place.run(store.status()).bytes
    gateway = place.server.app.monitor._server._gateway  # type: ignore[union-attr]
    monkeypatch.setattr(gateway, "_max_upload", 200_000)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield bytes(100_000)

    assert place.ask("PUT", "/v1/objects/bounded/x", bytes(200_001)).error == (413, 0)
    assert place.ask("PUT", "/v1/objects/bounded/x", pieces()).error == (413, 0)
    assert place.run(store.status()).bytes == before
    assert place.ask("PUT", "/v1/objects/bounded/x", bytes(200_000)).status == 200


def test_no_more_transfers_than_there_are_places(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(place, "busy")
    monkeypatch.setattr(limits, "GATEWAY_TRANSFERS", 0)
    assert place.ask("PUT", "/v1/objects/busy/x", b"").error == (503, 0)
