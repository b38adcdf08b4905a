"""Direct get of one message: selectors, refusals, and the exact header bytes."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.support import API, STORAGES, JetStream, Json, scenario

HEADERS = {"A": "b", "Nats-Msg-Id": "m-2"}


def fill(js: JetStream, storage: str) -> None:
    """s.a at 1, 3 and 5, s.b at 2, s.c.d at 4; 3 is deleted, 2 has headers."""
    js.create("S", subjects=["s.>"], storage=storage, allow_direct=True)
    js.publish("s.a", b"one")
    js.publish("s.b", b"two", HEADERS)
    js.publish_all("s.a", "s.c.d")
    js.publish("s.a", b"")
    js.ok("STREAM.MSG.DELETE.S", {"seq": 3})


@STORAGES
@scenario("MSG-022")
def test_headers(js: JetStream, storage: str) -> None:
    fill(js, storage)
    plain, headed = js.direct("S", seq=1), js.direct("S", seq=2)
    time = js.message("S", seq=1)["time"]
    assert plain.headers == (
        b"NATS/1.0\r\nNats-Stream: S\r\nNats-Subject: s.a\r\nNats-Sequence: 1\r\n"
        b"Nats-Time-Stamp: %b\r\n\r\n" % time.encode()
    )
    assert plain.data == b"one"
    time = js.message("S", seq=2)["time"]
    assert headed.headers == (
        b"NATS/1.0\r\nA: b\r\nNats-Msg-Id: m-2\r\nNats-Stream: S\r\nNats-Subject: s.b\r\n"
        b"Nats-Sequence: 2\r\nNats-Time-Stamp: %b\r\n\r\n" % time.encode()
    )
    assert (headed.data, headed.reply) == (b"two", "")


FOUND: list[tuple[str, Json, int]] = [
    ("MSG-022", {"seq": 1}, 1),
    ("MSG-022", {"seq": 5}, 5),
    ("MSG-022", {"last_by_subj": "s.a"}, 5),
    ("MSG-022", {"last_by_subj": "s.*"}, 5),
    ("MSG-022", {"last_by_subj": "s.c.>"}, 4),
    ("MSG-022", {"next_by_subj": "s.a"}, 1),
    ("MSG-022", {"next_by_subj": "s.a", "seq": 2}, 5),
    ("MSG-022", {"next_by_subj": "s.>", "seq": 3}, 4),
    ("MSG-022", {"start_time": "2000-01-01T00:00:00Z"}, 1),
    ("MSG-022", {"start_time": "2000-01-01T00:00:00Z", "next_by_subj": "s.b"}, 2),
    ("MSG-024", {"seq": 3}, 0),
    ("MSG-024", {"seq": 9999}, 0),
    ("MSG-024", {"last_by_subj": "s.x"}, 0),
    ("MSG-024", {"next_by_subj": "s.b", "seq": 3}, 0),
    ("MSG-024", {"next_by_subj": "s.x"}, 0),
    ("MSG-024", {"start_time": "2200-01-01T00:00:00Z"}, 0),
    ("MSG-022", {"seq": 1, "bogus": 5}, 1),
]


def found_cases() -> list[object]:
    return [
        pytest.param(selector, found, marks=pytest.mark.behaviour(row), id=json.dumps(selector))
        for row, selector, found in FOUND
    ]


@STORAGES
@pytest.mark.parametrize(("selector", "found"), found_cases())
@scenario()
def test_selector(js: JetStream, storage: str, selector: Json, found: int) -> None:
    fill(js, storage)
    answer = js.direct("S", **selector)
    if found:
        assert answer.header("Nats-Sequence") == str(found)
    else:
        assert answer.headers == b"NATS/1.0 404 Message Not Found\r\n\r\n"
        assert answer.data == b""


REFUSED: list[tuple[str, bytes, bytes]] = [
    ("MSG-025", b"", b"408 Empty Request"),
    ("MSG-025", b"{}", b"408 Empty Request"),
    ("MSG-025", b'{"no_hdr":true}', b"408 Empty Request"),
    ("MSG-026", b"{x", b"408 Malformed Request"),
    ("MSG-026", b"x", b"408 Malformed Request"),
    ("MSG-026", b'{"seq":"1"}', b"408 Malformed Request"),
    ("MSG-027", b'{"seq":1,"last_by_subj":"s.a"}', b"408 Bad Request"),
    ("MSG-027", b'{"last_by_subj":"s.a","next_by_subj":"s.a"}', b"408 Bad Request"),
    ("MSG-027", b'{"seq":1,"start_time":"2000-01-01T00:00:00Z"}', b"408 Bad Request"),
    ("MSG-027", b'{"last_by_subj":"s.a","batch":2}', b"408 Bad Request"),
    ("MSG-027", b'{"last_by_subj":"s.a","multi_last":["s.a"]}', b"408 Bad Request"),
    ("MSG-034", b'{"multi_last":["s.a"],"up_to_seq":1,"up_to_time":"2200-01-01T00:00:00Z"}',
     b"408 Bad Request"),
]  # fmt: skip


def refused_cases() -> list[object]:
    return [
        pytest.param(body, status, marks=pytest.mark.behaviour(row), id=repr(body))
        for row, body, status in REFUSED
    ]


@pytest.mark.parametrize(("body", "status"), refused_cases())
@scenario()
def test_refusal(js: JetStream, body: bytes, status: bytes) -> None:
    fill(js, "memory")
    answer = js.request(f"{API}DIRECT.GET.S", body)
    assert answer.headers == b"NATS/1.0 %b\r\n\r\n" % status
    assert (answer.data, answer.reply) == (b"", "")


ODD = [
    b"[]", b"1", b"null", b"  ", b'{"seq":0}', b'{"seq":-1}', b'{"last_by_subj":""}', b'{"batch":1}',
    b'{"max_bytes":10}', b'{"seq":1,"max_bytes":10}', b'{"seq":1,"up_to_seq":1}', b'{"up_to_seq":1}',
    b'{"multi_last":[]}', b'{"multi_last":["a..b"]}', b'{"multi_last":[""]}', b'{"last_by_subj":"a..b"}',
    b'{"next_by_subj":"a..b"}', b'{"multi_last":"s.a"}', b'{"multi_last":["s.a"],"next_by_subj":"s.a"}',
    b'{"seq":1,"batch":-1}', b'{"seq":1,"batch":0}', b'{"start_time":"x"}',
    b'{"next_by_subj":"s.a","up_to_seq":3}',
    b'{"last_by_subj":"s.a","up_to_seq":1}', b'{"last_by_subj":"s.a","max_bytes":1}',
    b'{"last_by_subj":"s.a","start_time":"2000-01-01T00:00:00Z"}',
]  # fmt: skip


@pytest.mark.parametrize("body", ODD, ids=repr)
@scenario("MSG-025", "MSG-027")
def test_odd_request(js: JetStream, body: bytes) -> None:
    fill(js, "memory")
    js.request(f"{API}DIRECT.GET.S", body)


@STORAGES
@scenario("MSG-023")
def test_subject_in_the_subject(js: JetStream, storage: str) -> None:
    fill(js, storage)
    by_subject = f"{API}DIRECT.GET.S."
    assert js.request(by_subject + "s.a").header("Nats-Sequence") == "5"
    assert js.request(by_subject + "s.c.d").header("Nats-Sequence") == "4"
    assert js.request(by_subject + "s.x").headers == b"NATS/1.0 404 Message Not Found\r\n\r\n"
    plain = js.request(by_subject + "s.b", b'{"no_hdr":true}')
    assert (plain.headers, plain.data) == (b"", b"two")
    for body in (
        b'{"seq":1}',
        b'{"last_by_subj":"s.a"}',
        b'{"next_by_subj":"s.a"}',
        b'{"batch":2}',
    ):
        answer = js.request(by_subject + "s.a", body)
        assert answer.headers == b"NATS/1.0 408 Bad Request\r\n\r\n"
    for body in (b"{}", b"x", b"{x", b"{ }", b'{"no_hdr":false}', b'{"multi_last":["s.a"]}'):
        js.request(by_subject + "s.a", body)


@STORAGES
@scenario("MSG-038")
def test_no_headers(js: JetStream, storage: str) -> None:
    fill(js, storage)
    for selector in ({"seq": 2}, {"last_by_subj": "s.b"}, {"next_by_subj": "s.b"}, {"seq": 1}):
        answer = js.direct("S", **selector, no_hdr=True)
        assert answer.headers == b""
        assert answer.data == (b"one" if selector == {"seq": 1} else b"two")
    assert js.direct("S", seq=9, no_hdr=True).status == "404 Message Not Found"


@scenario("MSG-028")
def test_not_allowed(js: JetStream) -> None:
    js.create("S", storage="memory")
    js.publish("S")
    assert js.direct("S", seq=1).status == "503"
    assert js.request(f"{API}DIRECT.GET.S.S").status == "503"
    assert js.direct("T", seq=1).status == "503"
    js.update("S", storage="memory", allow_direct=True)
    assert js.direct("S", seq=1).header("Nats-Sequence") == "1"
    js.update("S", storage="memory")
    assert js.direct("S", seq=1).status == "503"


@scenario("MSG-039")
def test_required_level(js: JetStream) -> None:
    fill(js, "memory")
    for level in ("99", "x"):
        headers = {"Nats-Required-Api-Level": level}
        answer = js.direct("S", headers, seq=1)
        assert answer.headers == b"NATS/1.0 412 Required Api Level\r\n\r\n"
        assert js.request(f"{API}DIRECT.GET.S.s.a", b"", headers).status == "412 Required Api Level"
    assert js.direct("S", {"Nats-Required-Api-Level": "5"}, seq=1).status == ""


@scenario("MSG-022")
def test_headers_that_look_like_ours(js: JetStream) -> None:
    """What a publisher wrote is not touched; ours come after it."""
    js.create("S", allow_direct=True)
    js.publish("S", b"x", {"Nats-Stream": "other", "Nats-Sequence": "77", "a": "1", "A": "2"})
    js.publish("S", b"x", b"NATS/1.0 404 Not Here\r\nA: b\r\n\r\n")
    js.publish("S", b"x", b"NATS/1.0\r\n\r\n")
    for sequence in (1, 2, 3):
        js.direct("S", seq=sequence)
        js.api("STREAM.MSG.GET.S", {"seq": sequence})
