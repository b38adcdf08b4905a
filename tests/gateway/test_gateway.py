"""What all routes have in common: paths, methods, other hosts, the document, what goes wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jetstream_py import limits
from jetstream_py.config import ConfigError, parse_args
from jetstream_py.gateway import kv as kv_routes
from jetstream_py.gateway import openapi, routes
from tests.gateway.contract import play
from tests.gateway.place import Place

pytestmark = pytest.mark.xdist_group("gateway")


@pytest.mark.parametrize(
    "path",
    ["/v1/", "/v1/none", "/v1//b", "/v1/kv//a", "/v1/streams/S/none", "/v1/streams/S/messages/1"],
)
def test_no_such_path(place: Place, path: str) -> None:
    assert place.ask("GET", path).error == (404, 0)


def test_methods(place: Place) -> None:
    refused = place.ask("POST", "/v1/kv/b")
    assert refused.error == (405, 0)
    assert refused.headers["Allow"] == "GET, PUT, DELETE, HEAD, OPTIONS"
    assert place.ask("OPTIONS", "/v1/kv/b").headers["Allow"] == openapi.METHODS
    assert place.ask("PATCH", "/v1/streams").error == (405, 0)
    assert place.ask("GET", "/v1/kv/").status == 200


def test_it_is_off_unless_asked_for(tmp_path: Path) -> None:
    place = Place(tmp_path, "http: 127.0.0.1:-1")
    try:
        assert place.ask("GET", "/v1/openapi.json").status == 404
        assert place.ask("GET", "/v1/streams").status == 404
    finally:
        place.close()


def test_below_a_base_path_and_on_other_pages(tmp_path: Path) -> None:
    config = """
        http: 127.0.0.1:-1, http_base_path: /base
        http_gateway { max_upload: 10, allowed_origins: "https://pages.example" }
    """
    place = Place(tmp_path, config)
    try:
        assert place.ask("GET", "/base/v1/streams").json == {"streams": []}
        assert place.ask("GET", "/v1/streams").status == 404
        assert place.ask("GET", "/base/varz").json["http_req_stats"]["/v1"] == 1
        assert place.ask("PUT", "/base/v1/objects/o").status == 200
        assert place.ask("PUT", "/base/v1/objects/o/x", bytes(11)).error == (413, 0)
        _test_origins(place)
    finally:
        place.close()


def _test_origins(place: Place) -> None:
    path = "/base/v1/streams"
    known = place.ask("GET", path, headers={"Origin": "https://pages.example"})
    assert known.headers["Access-Control-Allow-Origin"] == "https://pages.example"
    assert "Access-Control-Allow-Credentials" not in known.headers
    before = {
        "Origin": "https://pages.example",
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "authorization,if-match",
    }
    preflight = place.ask("OPTIONS", "/base/v1/kv/b/a", headers=before)
    assert preflight.status == 204
    assert preflight.headers["Access-Control-Allow-Headers"] == "authorization,if-match"
    assert "PUT" in preflight.headers["Access-Control-Allow-Methods"]
    for origin in ("https://evil.example", "null", "http://pages.example"):
        refused = place.ask("PUT", "/base/v1/kv/evil", headers={"Origin": origin})
        assert refused.error == (403, 0)
        assert "Access-Control-Allow-Origin" not in refused.headers
    assert place.ask("GET", "/base/v1/kv/evil").status == 404
    assert place.ask("GET", path, headers={"Origin": place.url}).status == 200  # our own page
    watch = {"Origin": "https://pages.example"}
    assert place.ask("PUT", "/base/v1/kv/b").status == 200
    head = place.ask("HEAD", "/base/v1/kv/b?watch", headers=watch)
    assert head.headers["Access-Control-Allow-Origin"] == "https://pages.example"


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ("http_gateway: true", "needs a monitoring port"),
        ("http: 8222, http_gateway: 3", "to be a boolean or a map"),
        ("http: 8222, http_gateway { on: true }", "unknown field"),
        ("http: 8222, http_gateway { max_upload: 0 }", "is a size"),
        ("http: 8222, http_gateway { allowed_origins: [x] }", "invalid URI"),
    ],
)
def test_configurations_that_are_wrong(tmp_path: Path, config: str, text: str) -> None:
    file = tmp_path / "x.conf"
    file.write_text(config)
    with pytest.raises(ConfigError, match=text):
        parse_args(["-c", str(file)], {})


def test_a_failure_of_ours_is_logged_and_told_without_details(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    async def fail(call: Any) -> Any:
        raise RuntimeError("a detail")

    gateway = place.server.app.monitor._server._gateway  # type: ignore[union-attr]
    monkeypatch.setattr(gateway, "_complain", told.append)
    monkeypatch.setitem(routes._PATTERNS, ("kv",), {"GET": fail})
    failed = place.ask("GET", "/v1/kv")
    assert failed.error == (500, 0)
    assert b"detail" not in failed.body
    assert "a detail" in told[0]


def test_it_takes_too_long(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait(call: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(limits, "GATEWAY_REQUEST_TIME", 0.01)
    monkeypatch.setitem(routes._PATTERNS, ("kv",), {"GET": wait})
    assert place.ask("GET", "/v1/kv").error == (504, 0)
    monkeypatch.undo()
    place.ask("PUT", "/v1/kv/slow")
    monkeypatch.setattr(limits, "GATEWAY_STALL", 0.01)
    port = int(place.url.rpartition(":")[2])

    async def stall() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"PUT /v1/kv/slow/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n")
        writer.write(b"Expect: 100-continue\r\n\r\nab")
        answer = await reader.readuntil(b"}")
        writer.close()
        return answer

    answer = place.run(stall())
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 408 ")
    assert place.ask("GET", "/v1/kv/slow/a").status == 404


def test_a_watch_ends_after_its_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.ask("PUT", "/v1/kv/brief")
    monkeypatch.setattr(limits, "GATEWAY_WATCH_TIME", 0.05)
    monkeypatch.setattr(limits, "GATEWAY_HEARTBEAT", 0.01)
    text = place.ask("GET", "/v1/kv/brief?watch&updates_only").body
    assert text.replace(b": alive\n\n", b"") == b""
    assert text.count(b": alive") >= 2


def test_the_document_describes_the_routes(place: Place) -> None:
    document = place.ask("GET", "/v1/openapi.json").json
    described = {
        path: {method.upper() for method in item if method != "parameters"}
        for path, item in document["paths"].items()
    }
    assert described == {path: set(methods) for path, methods in routes.ROUTES.items()}
    arguments = {each["name"] for each in document["paths"]["/v1/kv/{bucket}"]["get"]["parameters"]}
    assert set(kv_routes.WATCH) <= arguments


def test_requests_made_from_the_document(place: Place) -> None:
    assert {200, 204, 400, 404} <= play(place, examples=1)
