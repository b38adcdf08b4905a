"""/v1/streams, route by route."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from jetstream_py import limits
from tests.gateway.place import Place, data

pytestmark = pytest.mark.xdist_group("gateway")


def make(place: Place, name: str, **config: Any) -> None:
    space = name.lower()
    place.run(place.js().create_stream({"name": name, "subjects": [f"{space}.>"], **config}))


def path(name: str, query: str = "") -> str:
    return f"/v1/streams/{name}/messages{query}"


def test_streams(place: Place) -> None:
    make(place, "LISTED")
    told = place.ask("GET", "/v1/streams/LISTED").json
    assert (told["config"]["name"], told["state"]["messages"]) == ("LISTED", 0)
    listed = place.ask("GET", "/v1/streams").json["streams"]
    assert [each["config"]["name"] for each in listed] == ["LISTED"]
    assert place.ask("GET", "/v1/streams/NONE").error == (404, 10059)
    for name in ("a.b", "a%20b", "%3E", "a%2Fb", "x" * 256):
        assert place.ask("GET", f"/v1/streams/{name}").error == (400, 0), name


def test_publish(place: Place) -> None:
    make(place, "P")
    headers = {"Nats-Msg-Id": "1", "nats-header-Color": "red", "X-Other": "not stored"}
    assert place.ask("POST", path("P", "?subject=p.a"), b"x", headers).json == {
        "stream": "P",
        "seq": 1,
        "domain": "hub",
    }
    stored = place.run(place.js().get("P", 1, direct=False))
    assert (stored.subject, stored.data) == ("p.a", b"x")
    assert stored.headers == {"Nats-Msg-Id": "1", "Color": "red", "Nats-Expected-Stream": "P"}
    again = place.ask("POST", path("P"), b"x", {"Nats-Subject": "p.b", "nats-msg-id": "1"})
    assert again.json["duplicate"] is True


def test_expectations(place: Place) -> None:
    make(place, "E")
    url = path("E", "?subject=e.a")
    first = {"Nats-Expected-Last-Sequence": "0"}
    assert place.ask("POST", url, b"", first).status == 200
    assert place.ask("POST", url, b"", first).error == (412, 10071)
    of_subject = {"Nats-Expected-Last-Subject-Sequence": "7"}
    assert place.ask("POST", url, b"", of_subject).error == (412, 10071)
    assert place.ask("POST", url, b"", {"Nats-Expected-Last-Msg-Id": "x"}).error == (412, 10070)
    assert place.run(place.js().stream_info("E")).state.messages == 1


def test_publishes_that_cannot_be(place: Place) -> None:
    make(place, "W")
    make(place, "V")
    assert place.ask("POST", path("W"), b"").error == (400, 0)
    assert place.ask("POST", path("W", "?subject=v.a"), b"").error == (400, 10060)
    assert place.ask("POST", path("W", "?subject=nobody"), b"").error == (404, 0)
    for subject in ("w.*", "w..a", "w%20a", "w%0d%0aPUB", "$JS.API.STREAM.DELETE.W", "$SYS.x"):
        refused = place.ask("POST", path("W", f"?subject={subject}"), b"")
        assert refused.error == (400, 0), subject
    most = place.js().max_payload
    assert place.ask("POST", path("W", "?subject=w.a"), bytes(most)).error == (413, 0)  # headers
    assert place.run(place.js().stream_info("W")).state.messages == 0


@pytest.mark.parametrize("direct", [True, False])
def test_pages(place: Place, direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"PAGES{direct:d}"
    make(place, name, allow_direct=direct)

    async def fill() -> None:
        for i in range(5):
            await place.js().publish(
                f"{name.lower()}.{'ab'[i % 2]}", b"%d" % i, headers={"N": str(i)}
            )

    def seqs(query: str) -> list[int]:
        return [each["seq"] for each in place.ask("GET", path(name, query)).json["messages"]]

    assert place.ask("GET", path(name)).json == {"stream": name, "messages": []}
    begun = datetime.now(UTC).isoformat()[:-6] + "Z"
    place.run(fill())
    page = place.ask("GET", path(name, "?limit=2")).json
    assert [each["seq"] for each in page["messages"]] == [1, 2]
    assert page["messages"][0]["data"] == data(b"0")
    assert page["messages"][0]["headers"] == {"N": "0"}
    assert page["next"] == 3
    rest = place.ask("GET", path(name, f"?from={page['next']}")).json
    assert [each["seq"] for each in rest["messages"]] == [3, 4, 5]
    assert "next" not in rest
    assert seqs(f"?subject={name.lower()}.b") == [2, 4]
    assert seqs(f"?time={begun}&limit=1") == [1]
    assert seqs("?time=2200-01-01T00:00:00Z") == []
    assert seqs("?from=99") == []
    monkeypatch.setattr(limits, "GATEWAY_ANSWER", 1)
    assert seqs("") == [1]


@pytest.mark.parametrize(
    "query",
    [
        "?limit=0",
        "?limit=1001",
        "?from=x",
        "?time=x",
        "?from=1&time=x",
        "?follow=maybe",
        "?unknown",
        "?from=1&from=2",
        "?%FF=1",
    ],
)
def test_wrong_arguments(place: Place, query: str) -> None:
    if "ARGS" not in [each.name for each in place.run(place.js().streams())]:
        make(place, "ARGS")
    assert place.ask("GET", path("ARGS", query)).error == (400, 0)


def test_headers_that_are_no_text(place: Place) -> None:
    make(place, "T")
    port = int(place.url.rpartition(":")[2])

    async def send(header: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        url = path("T", "" if header.startswith(b"Nats-Subject") else "?subject=t.a").encode()
        writer.write(b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" % url)
        writer.write(header + b"\r\n\r\n")
        answer = await reader.readuntil(b"}")
        writer.close()
        return answer

    for header in (b"Nats-Msg-Id: \xff", b"Nats-Header-X: \xff", b"Nats-Subject: t.\xff"):
        assert place.run(send(header)).startswith(b"HTTP/1.1 400 "), header
    assert place.run(send("Nats-Header-X: ä".encode())).startswith(b"HTTP/1.1 200 ")
    assert place.run(place.js().get("T", 1, direct=False)).headers["X"] == "ä"


def test_follow(place: Place) -> None:
    make(place, "F")
    js = place.js()

    async def play() -> None:
        for i in range(3):
            await js.publish(f"f.{'ab'[i % 2]}", b"%d" % i)
        async with place.events(path("F", "?follow&from=2")) as events:
            assert [(await anext(events)).id for _ in range(2)] == ["2", "3"]
            await js.publish("f.a", b"3")
            event = await anext(events)
            assert (event.name, event.id, event.data["data"]) == ("message", "4", data(b"3"))
        async with place.events(path("F", "?follow&subject=f.b&last_event_id=1")) as events:
            assert (await anext(events)).id == "2"
        async with place.events(path("F", "?follow&from=new")) as events:
            await js.publish("f.a", b"4")
            assert (await anext(events)).id == "5"
        async with place.events(path("F", "?follow&time=2020-01-01T00:00:00Z")) as events:
            assert (await anext(events)).id == "1"

    place.run(play())
    assert place.ask("GET", "/v1/streams/NONE/messages?follow").error == (404, 10059)
