"""Heads and verdicts without sockets: whatever comes, there is an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetstream_py.config.account_options import WebSocket
from jetstream_py.server.ws_frames import FrameReader
from jetstream_py.server.ws_upgrade import (
    Malformed,
    Refused,
    head_end,
    judge,
    parse_head,
    parse_origin,
)
from tests.wire import websocket as ws

STRICT = WebSocket(
    same_origin=True,
    allowed_origins=("http://a.com",),
    compression=True,
    jwt_cookie="j",
    user_cookie="u",
)
NAMES = (*ws.HEADERS, "Origin", "Cookie", "X-Forwarded-For", "Sec-WebSocket-Extensions", "x y", "")
LINE = st.binary(max_size=40)


def outcome(head: bytes) -> str:
    try:
        judge(parse_head(head), STRICT, secure=False)
    except (Malformed, Refused) as answer:
        return str(answer)
    return ""


@given(st.binary(max_size=400))
def test_nonsense_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        parse_head(data + b"\r\n\r\n")


@given(LINE, st.dictionaries(st.sampled_from(NAMES), LINE), LINE)
def test_strange_requests_get_an_answer(
    target: bytes, headers: dict[str, bytes], more: bytes
) -> None:
    usual = {name: value.encode() for name, value in ws.HEADERS.items()}
    lines = {**usual, **headers}.items()
    text = b"".join(name.encode() + b": " + value + b"\r\n" for name, value in lines)
    for start in (b"GET /" + target, b"GET http://" + target, b"GET " + target, target):
        outcome(start + b" HTTP/1.1\r\n" + text + more + b"\r\n\r\n")


@given(st.text(max_size=40))
def test_strange_origins_are_origins_or_not(text: str) -> None:
    origin = parse_origin(text)
    assert origin is None or len(origin) == 3


@pytest.mark.parametrize("target", ["http://[::1/", "//[x/", "http://a:b:c/"])
def test_targets_that_no_library_likes(target: str) -> None:
    head = ws.request(path=target)
    assert outcome(head) in ("", "400 Bad Request")


@given(st.lists(st.binary(max_size=60), max_size=10), st.booleans())
def test_strange_frames_end_in_a_failure_at_worst(pieces: list[bytes], compress: bool) -> None:
    reader = FrameReader(True, compress, 1000)
    for piece in pieces:
        for said in reader.read(piece):
            assert len(said) <= 1000 + len(piece)


def test_where_a_head_ends() -> None:
    head = ws.request()
    for cut in range(len(head)):
        assert head_end(head[:cut], 0) == -1
        assert head_end(head, cut) == len(head)
    assert head_end(b"a\n\nb", 0) == 3
    assert head_end(b"a\r\n\nb", 0) == 4


def test_cookies_and_addresses() -> None:
    headers: dict[str, str | None] = {
        "Cookie": 'j=a.b.c; x=1; u="bob"; u=eve',
        "X-Forwarded-For": "::1",
        "User-Agent": "Mozilla/5.0 Version/1 Safari/1",
        **ws.DEFLATE,
    }
    upgrade = judge(parse_head(ws.request(headers)), STRICT, secure=False)
    assert upgrade.cookies == {"jwt": "a.b.c", "user": "eve"}
    assert upgrade.forwarded_for == "::1"
    assert (upgrade.compress, upgrade.browser, upgrade.whole) == (True, True, True)
    for wrong in ("1.2.3.4:80", "unknown", "fe80::1%eth0", "1.2.3.4, 5.6.7.8"):
        asking = ws.request({"X-Forwarded-For": wrong})
        assert judge(parse_head(asking), STRICT, secure=False).forwarded_for == ""
