"""The parser: however the bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_jetstream.errors import ConnectError
from pyspark_jetstream.wire import Frames, pairs, status, value

BLOCK = b"NATS/1.0\r\nA: 1\r\nA:2\r\nB: \xff\xfe\r\n\r\n"
SAID = (
    b'INFO {"max_payload":10}\r\nPING\r\n'
    b"MSG a.b 1 5\r\nhello\r\n"
    b"MSG a.b 1 reply 2\r\n\r\n\r\n"
    b"+OK\r\nPONG\r\n"
    b"HMSG c 12 %d %d\r\n%bhi\r\n"
    % (len(BLOCK), len(BLOCK) + 2, BLOCK)
    + b"HMSG d 12  %d %d\r\n%b\r\n" % (len(BLOCK), len(BLOCK), BLOCK)
)


@given(st.lists(st.integers(0, len(SAID)), max_size=8).map(sorted))
def test_any_cut(cuts: list[int]) -> None:
    frames = Frames()
    for start, end in zip([0, *cuts], [*cuts, len(SAID)], strict=True):
        frames.feed(SAID[start:end])
    assert frames.subjects == [b"a.b", b"a.b", b"c", b"d"]
    assert frames.replies == [b"", b"reply", b"", b""]
    assert frames.headers == [b"", b"", BLOCK, BLOCK]
    assert frames.datas == [b"hello", b"\r\n", b"hi", b""]
    assert (frames.pings, frames.pongs, frames.infos) == (1, 1, [{"max_payload": 10}])


def test_errors_are_kept() -> None:
    frames = Frames()
    frames.feed(b"-ERR 'Authorization Violation'\r\n")
    assert frames.errors == ["Authorization Violation"]


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"MSG a 1 many\r\n",
        b"MSG a 1 99999999999\r\n",
        b"MSG a 1 -5\r\n",
        b"INFO {\r\n",
        b"x" * 2_000_000,
    ],
)
def test_what_is_no_server(said: bytes) -> None:
    with pytest.raises(ConnectError):
        Frames().feed(said)


def test_headers() -> None:
    assert pairs(BLOCK) == [("A", b"1"), ("A", b"2"), ("B", b"\xff\xfe")]
    assert value(BLOCK, b"A") == b"1"
    assert value(BLOCK, b"C") is None
    assert status(BLOCK) == (0, "")
    assert status(b"NATS/1.0 404 No Messages\r\n\r\n") == (404, "No Messages")
    assert status(b"NATS/1.0 503\r\n\r\n") == (503, "")
