"""/v1/kv, route by route."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jetstream_py import kv, limits
from tests.gateway.place import Event, Place, data

pytestmark = pytest.mark.xdist_group("gateway")


def make(place: Place, bucket: str, **options: Any) -> kv.KeyValue:
    return place.run(kv.create_bucket(place.js(), bucket, **options))


def test_buckets(place: Place) -> None:
    made = place.ask("PUT", "/v1/kv/made", b'{"history": 5, "description": "d", "ttl": 60}')
    assert made.status == 200
    told = made.json
    assert (told["bucket"], told["history"], told["description"]) == ("made", 5, "d")
    assert place.ask("GET", "/v1/kv/made").json == told
    assert place.ask("PUT", "/v1/kv/made", b'{"history": 6}').error == (409, 10058)
    assert told in place.ask("GET", "/v1/kv").json["buckets"]
    assert place.ask("DELETE", "/v1/kv/made").status == 204
    assert place.ask("DELETE", "/v1/kv/made").error == (404, 10059)
    assert place.ask("GET", "/v1/kv/made").error == (404, 10059)


@pytest.mark.parametrize(
    "options",
    [
        b"{",
        b"[]",
        b'{"histori": 1}',
        b'{"history": "x"}',
        b'{"history": 65}',
        b'{"bucket": "x"}',
        b'{"ttl": 1e308}',
        b'{"max_bytes": 1%s}' % (b"0" * 30),
        b'{"placement": %s}' % (b"[" * 60_000),
    ],
    ids=lambda options: options[:20].decode(),
)
def test_wrong_options(place: Place, options: bytes) -> None:
    assert place.ask("PUT", "/v1/kv/wrong", options).error[0] == 400


def test_values(place: Place) -> None:
    make(place, "values")
    put = place.ask("PUT", "/v1/kv/values/a", b"1")
    assert (put.status, put.headers["ETag"]) == (200, '"1"')
    assert put.json == {"bucket": "values", "key": "a", "revision": 1}
    got = place.ask("GET", "/v1/kv/values/a")
    assert (got.status, got.body, got.headers["ETag"]) == (200, b"1", '"1"')
    assert got.headers["Content-Type"] == "application/octet-stream"
    assert got.headers["Cache-Control"] == "no-store"
    head = place.ask("HEAD", "/v1/kv/values/a")
    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", "1")
    assert place.ask("GET", "/v1/kv/values/a", headers={"If-None-Match": '"1"'}).status == 304
    assert place.ask("GET", "/v1/kv/values/a", headers={"If-None-Match": '"2"'}).status == 200
    assert place.ask("DELETE", "/v1/kv/values/a").status == 204
    assert place.ask("GET", "/v1/kv/values/a").error == (404, 10037)
    assert place.ask("GET", "/v1/kv/values/never").error == (404, 10037)
    assert place.ask("GET", "/v1/kv/none/a").error == (404, 10059)


def test_compare_and_set(place: Place) -> None:
    make(place, "cas")

    def put(**conditions: str) -> int:
        headers = {name.replace("_", "-"): value for name, value in conditions.items()}
        reply = place.ask("PUT", "/v1/kv/cas/a", b"x", headers)
        return reply.error[0] if reply.status != 200 else reply.json["revision"]

    assert put(If_Match="*") == 412
    assert put(If_None_Match="*") == 1
    assert put(If_None_Match="*") == 412
    assert put(If_Match='"1"') == 2
    assert put(If_Match='"1"') == 412
    assert put(If_Match='"other"') == 412
    assert put(If_Match="*") == 3
    assert put(If_None_Match='"3"') == 400
    assert place.ask("DELETE", "/v1/kv/cas/a", headers={"If-Match": '"2"'}).error[0] == 412
    assert place.ask("DELETE", "/v1/kv/cas/a", headers={"If-Match": '"3"'}).status == 204
    assert place.ask("DELETE", "/v1/kv/cas/a", headers={"If-Match": "*"}).error[0] == 412
    assert put(If_None_Match="*") == 5  # behind a marker


def test_names_in_paths(place: Place) -> None:
    """Slashes may be in keys, encoded or not; what cannot be a key never becomes a subject."""
    bucket = make(place, "names")
    assert place.ask("PUT", "/v1/kv/names/a/b%3D%2Fc", b"1").json["key"] == "a/b=/c"
    assert place.run(bucket.get("a/b=/c")).value == b"1"
    for key in ("a%20b", "a..b", "%2a", "%3E", "a%0d%0aPUB", "%00", "%FF", "x" * 2049, "%C3%A4"):
        assert place.ask("PUT", f"/v1/kv/names/{key}", b"1").error == (400, 0), key
    for name in ("a.b", "a%20b", "%2A", "a%2Fb", "x" * 300):
        assert place.ask("GET", f"/v1/kv/{name}").error == (400, 0), name


def test_history_and_past(place: Place) -> None:
    bucket = make(place, "past", history=5)
    for value in (b"1", b"2"):
        place.run(bucket.put("a", value))
    between = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    place.run(bucket.delete("a"))
    told = place.ask("GET", "/v1/kv/past/a?history").json
    assert [(each["revision"], each["operation"], each["value"]) for each in told["entries"]] == [
        (1, "PUT", data(b"1")),
        (2, "PUT", data(b"2")),
        (3, "DEL", ""),
    ]
    assert place.ask("GET", "/v1/kv/past/a?at=1").body == b"1"
    assert place.ask("GET", f"/v1/kv/past/a?at={between}").body == b"2"
    assert place.ask("GET", "/v1/kv/past/a?at=3").error == (404, 10037)
    whole = place.ask("GET", "/v1/kv/past?at=2").json
    assert [(each["key"], each["value"]) for each in whole["entries"]] == [("a", data(b"2"))]
    for wrong in ("yesterday", "2026-01-01T00:00:00", "-1", "9" * 19, "0001-01-01T00:00:00Z"):
        assert place.ask("GET", f"/v1/kv/past/a?at={wrong}").error == (400, 0), wrong
    place.run(bucket.purge("a"))
    assert place.ask("GET", "/v1/kv/past/a?at=2").error == (410, 0)


def test_purge_and_ttl(place: Place) -> None:
    bucket = make(place, "ttl", history=5, limit_marker_ttl=60)
    assert place.ask("PUT", "/v1/kv/ttl/a", b"1", {"Nats-TTL": "2h"}).status == 200
    stored = place.run(place.js().get("KV_ttl", 1))
    assert stored.headers["Nats-TTL"] == "7200s"
    for wrong in ("x", "-1", "0", ""):
        assert place.ask("PUT", "/v1/kv/ttl/a", b"1", {"Nats-TTL": wrong}).error == (400, 0), wrong
    assert place.ask("DELETE", "/v1/kv/ttl/a", headers={"Nats-TTL": "9"}).error == (400, 0)
    assert place.ask("DELETE", "/v1/kv/ttl/a?purge", headers={"Nats-TTL": "9"}).status == 204
    assert [each.operation for each in place.run(bucket.history("a"))] == ["PURGE"]


def test_keys(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = make(place, "keys")
    for key in ("a.1", "a.2", "b"):
        place.run(bucket.put(key, b""))
    place.run(bucket.delete("a.2"))
    assert place.ask("GET", "/v1/kv/keys?keys").json == {
        "bucket": "keys",
        "keys": ["a.1", "b"],
        "more": False,
    }
    assert place.ask("GET", "/v1/kv/keys?keys&filter=a.*").json["keys"] == ["a.1"]
    assert place.ask("GET", "/v1/kv/keys?keys&filter=a..b").error == (400, 0)
    monkeypatch.setattr(limits, "GATEWAY_KEYS", 1)
    assert place.ask("GET", "/v1/kv/keys?keys").json["more"] is True


def test_watch(place: Place) -> None:
    bucket = make(place, "watch", history=5)

    async def play() -> None:
        await bucket.put("a", b"1")
        async with place.events("/v1/kv/watch?watch") as events:
            assert _brief(await anext(events)) == ("put", "1", "a", data(b"1"))
            assert await anext(events) == Event("current", "", {})
            await bucket.put("b", b"2")
            assert _brief(await anext(events)) == ("put", "2", "b", data(b"2"))
            await bucket.delete("a")
            assert _brief(await anext(events)) == ("del", "3", "a", "")
        last = {"Last-Event-ID": "2"}  # as a browser does when its connection broke
        async with place.events("/v1/kv/watch?watch", last) as events:
            assert _brief(await anext(events))[:3] == ("del", "3", "a")
            assert (await anext(events)).name == "current"
        async with place.events("/v1/kv/watch/b?watch&updates_only") as events:
            await bucket.put("a", b"3")
            await bucket.put("b", b"4")
            assert _brief(await anext(events)) == ("put", "5", "b", data(b"4"))
        async with place.events("/v1/kv/watch/a?watch&include_history&ignore_deletes") as events:
            assert [(await anext(events)).id for _ in range(3)] == ["1", "4", ""]
            await kv.delete_bucket(place.js(), "watch")

    place.run(play())


def _brief(event: Event) -> tuple[str, str, str, str]:
    assert event.data["revision"] == int(event.id)
    return event.name, event.id, event.data["key"], event.data["value"]


def test_no_more_watchers_than_there_are_places(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(place, "crowd")
    monkeypatch.setattr(limits, "GATEWAY_WATCHERS", 1)

    async def play() -> None:
        async with place.events("/v1/kv/crowd?watch") as events:
            await anext(events)
            refused = await place.send("GET", "/v1/kv/crowd?watch")
            assert refused.error == (503, 0)
            assert refused.headers["Retry-After"] == "5"
            assert (await place.send("GET", "/v1/kv/crowd")).status == 200
        while (await place.send("HEAD", "/v1/kv/crowd?watch")).status != 200:
            pass
        js = place.js()
        while await _consumers(js):  # nothing is left of a watcher who went
            pass
        async with place.events("/v1/kv/crowd?watch") as events:
            await anext(events)

    async def _consumers(js: Any) -> int:
        return int((await js.stream_info("KV_crowd")).state.consumer_count)

    place.run(play())


def test_a_value_that_is_too_large(place: Place) -> None:
    make(place, "large")
    most = place.js().max_payload
    assert place.ask("PUT", "/v1/kv/large/a", bytes(most + 1)).error == (413, 0)
    assert place.ask("PUT", "/v1/kv/large/a", bytes(most)).status == 200
    assert place.ask("PUT", "/v1/kv/large", bytes(limits.GATEWAY_OPTIONS + 1)).error == (413, 0)
