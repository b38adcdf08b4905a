"""MSG.GET: every selector, every refusal."""

from __future__ import annotations

import base64
import json

import pytest

from tests.jetstream.support import STORAGES, JetStream, Json, scenario

HEADERS = {"A": "b", "Empty": ""}


def fill(js: JetStream, storage: str) -> None:
    """s.a at 1 and 3 and 5, s.b at 2, s.c.d at 4; 3 is deleted, 2 has headers."""
    js.create("S", subjects=["s.>"], storage=storage)
    js.publish("s.a", b"one")
    js.publish("s.b", b"two", HEADERS)
    js.publish_all("s.a", "s.c.d")
    js.publish("s.a", b"")
    js.ok("STREAM.MSG.DELETE.S", {"seq": 3})


@STORAGES
@scenario("MSG-001")
def test_stored_message(js: JetStream, storage: str) -> None:
    fill(js, storage)
    first, second, last = (js.message("S", seq=sequence) for sequence in (1, 2, 5))
    assert list(first) == ["subject", "seq", "data", "time"]
    assert (first["subject"], first["seq"]) == ("s.a", 1)
    assert base64.b64decode(first["data"]) == b"one"
    assert list(second) == ["subject", "seq", "hdrs", "data", "time"]
    assert base64.b64decode(second["hdrs"]) == b"NATS/1.0\r\nA: b\r\nEmpty: \r\n\r\n"
    assert list(last) == ["subject", "seq", "time"]


# The selector and the sequence that it finds, 0 for 10037.
SELECTORS: list[tuple[str, Json, int]] = [
    ("MSG-001", {"seq": 1}, 1),
    ("MSG-002", {"seq": 3}, 0),
    ("MSG-002", {"seq": 6}, 0),
    ("MSG-002", {"seq": 1 << 62}, 0),
    ("MSG-003", {"last_by_subj": "s.a"}, 5),
    ("MSG-003", {"last_by_subj": "s.b"}, 2),
    ("MSG-003", {"last_by_subj": "s.*"}, 5),
    ("MSG-003", {"last_by_subj": "s.c.>"}, 4),
    ("MSG-003", {"last_by_subj": ">"}, 5),
    ("MSG-003", {"last_by_subj": "s.x"}, 0),
    ("MSG-003", {"last_by_subj": "x"}, 0),
    ("MSG-004", {"next_by_subj": "s.a"}, 1),
    ("MSG-004", {"next_by_subj": "s.a", "seq": 1}, 1),
    ("MSG-004", {"next_by_subj": "s.a", "seq": 2}, 5),
    ("MSG-004", {"next_by_subj": "s.>", "seq": 3}, 4),
    ("MSG-004", {"next_by_subj": "s.b", "seq": 3}, 0),
    ("MSG-004", {"next_by_subj": "s.a", "seq": 6}, 0),
    ("MSG-004", {"next_by_subj": "s.*", "seq": 100}, 0),
    ("MSG-004", {"next_by_subj": "*.b"}, 2),
    ("MSG-007", {"start_time": "2000-01-01T00:00:00Z"}, 1),
    ("MSG-007", {"start_time": "2200-01-01T00:00:00Z"}, 0),
    ("MSG-007", {"start_time": "2000-01-01T00:00:00Z", "next_by_subj": "s.b"}, 2),
    ("MSG-008", {"seq": 2, "no_hdr": True}, 2),
    ("MSG-008", {"last_by_subj": "s.b", "no_hdr": True}, 2),
    ("MSG-008", {"next_by_subj": "s.b", "no_hdr": True}, 2),
]


def selector_cases() -> list[object]:
    return [
        pytest.param(selector, found, marks=pytest.mark.behaviour(row), id=json.dumps(selector))
        for row, selector, found in SELECTORS
    ]


@STORAGES
@pytest.mark.parametrize(("selector", "found"), selector_cases())
@scenario()
def test_selector(js: JetStream, storage: str, selector: Json, found: int) -> None:
    fill(js, storage)
    if found:
        message = js.message("S", **selector)
        assert message["seq"] == found
        assert ("hdrs" in message) == (found == 2 and "no_hdr" not in selector)
    else:
        error = js.refused("STREAM.MSG.GET.S", selector)
        assert error == {"code": 404, "err_code": 10037, "description": "no message found"}


BAD: list[tuple[str, object]] = [
    ("MSG-005", None),
    ("MSG-005", {}),
    ("MSG-005", {"seq": 0}),
    ("MSG-005", {"no_hdr": True}),
    ("MSG-005", {"seq": 1, "last_by_subj": "s.a"}),
    ("MSG-005", {"last_by_subj": "s.a", "next_by_subj": "s.a"}),
    ("MSG-005", {"seq": 1, "start_time": "2000-01-01T00:00:00Z"}),
    ("MSG-005", {"last_by_subj": "s.a", "start_time": "2000-01-01T00:00:00Z"}),
    ("MSG-006", {"seq": 1, "batch": 2}),
    ("MSG-006", {"seq": 1, "max_bytes": 2}),
]


def bad_cases() -> list[object]:
    return [
        pytest.param(body, marks=pytest.mark.behaviour(row), id=json.dumps(body))
        for row, body in BAD
    ]


@pytest.mark.parametrize("body", bad_cases())
@scenario()
def test_bad_request(js: JetStream, body: object) -> None:
    js.create("S", subjects=["s.>"], storage="memory")
    js.publish("s.a")
    error = js.refused("STREAM.MSG.GET.S", body)
    assert error == {"code": 400, "err_code": 10003, "description": "bad request"}


ODD = [
    b"x", b"{", b"[]", b'{"seq":-1}', b'{"seq":"1"}', b'{"seq":1.5}', b'{"multi_last":["s.a"]}',
    b'{"seq":1,"multi_last":["s.a"]}', b'{"seq":1,"up_to_seq":1}', b'{"last_by_subj":"a..b"}',
    b'{"next_by_subj":"a..b"}', b'{"last_by_subj":""}', b'{"start_time":"yesterday"}', b'{"start_time":""}',
    b'{"seq":1,"up_to_time":"2200-01-01T00:00:00Z"}', b'{"last_for":"s.a"}', b'{"seq":1,"start_time":null}',
]  # fmt: skip


@pytest.mark.parametrize("body", ODD, ids=repr)
@scenario("MSG-005")
def test_odd_request(js: JetStream, body: bytes) -> None:
    js.create("S", subjects=["s.>"], storage="memory")
    js.publish("s.a")
    js.api("STREAM.MSG.GET.S", body)


@STORAGES
@scenario("MSG-007")
def test_start_time_is_inclusive(js: JetStream, storage: str) -> None:
    js.create("S", storage=storage)
    js.publish_all("S", "S", "S")
    for sequence in (1, 2, 3):
        time = js.message("S", seq=sequence)["time"]
        assert js.message("S", start_time=time)["seq"] == sequence


@scenario("MSG-009")
def test_unknown_stream(js: JetStream) -> None:
    error = js.refused("STREAM.MSG.GET.S", {"seq": 1})
    assert error == {"code": 404, "err_code": 10059, "description": "stream not found"}
    js.refused("STREAM.MSG.GET.S")
    js.refused("STREAM.MSG.GET.S", b"{")


@STORAGES
@scenario("MSG-002")
def test_empty_stream(js: JetStream, storage: str) -> None:
    js.create("S", storage=storage)
    for selector in (
        {"seq": 1},
        {"last_by_subj": "S"},
        {"next_by_subj": "S"},
        {"last_by_subj": ">"},
    ):
        assert js.refused("STREAM.MSG.GET.S", selector)["err_code"] == 10037
    js.refused("STREAM.MSG.GET.S", {"start_time": "2000-01-01T00:00:00Z"})
