"""Headers, and the 503 that tells a requester that nobody listens."""

from __future__ import annotations

import pytest

from tests.support.server import Server, Start
from tests.support.wire import OK, PONG, QUIET, REQUESTER, connect, hpub, msg, pub

HEADERS = b"NATS/1.0\r\nA: 1\r\na:  two \r\nA: 3\r\n\r\n"
EMPTY = b"NATS/1.0\r\n\r\n"
PING = b"PING\r\n"


def no_responders(reply: bytes, sid: int, subject: bytes) -> bytes:
    block = b"NATS/1.0 503\r\nNats-Subject: " + subject + b"\r\n\r\n"
    return b"HMSG %b %d %d %d\r\n%b\r\n" % (reply, sid, len(block), len(block), block)


@pytest.mark.behaviour("CORE-014")
@pytest.mark.parametrize(
    ("block", "payload"),
    [
        (HEADERS, b"hello"),
        (HEADERS, b""),
        (b"NATS/1.0 404 Gone\r\n\r\n", b"x"),
        (b"not a header block", b"x"),
        (b"x", b""),
    ],
    ids=["headers", "no payload", "status", "garbage", "only garbage"],
)
def test_headers_arrive_byte_for_byte(server: Server, block: bytes, payload: bytes) -> None:
    sent = REQUESTER + b"SUB a 1\r\n" + hpub(b"a", block, payload, reply=b"r")
    sizes = b"%d %d" % (len(block), len(block) + len(payload))
    assert server.talk(sent) == b"HMSG a 1 r " + sizes + b"\r\n" + block + payload + b"\r\n"


def test_header_size_zero_is_a_plain_message(server: Server) -> None:
    sent = REQUESTER + b"SUB a 1\r\nHPUB a 0 2\r\nhi\r\nHPUB a 0 0\r\n\r\n"
    assert server.talk(sent) == msg(b"a", 1, b"hi") + msg(b"a", 1)


@pytest.mark.behaviour("CORE-015")
def test_headers_are_stripped_for_a_client_without_them(server: Server) -> None:
    with server.client(QUIET + b"SUB a 1\r\n") as plain:
        plain.exchange()
        with server.client(REQUESTER) as client:
            client.exchange(hpub(b"a", HEADERS, b"hello", reply=b"r") + hpub(b"a", HEADERS))
        assert plain.exchange() == msg(b"a", 1, b"hello", reply=b"r") + msg(b"a", 1)


@pytest.mark.behaviour("CORE-016")
@pytest.mark.parametrize("opening", [QUIET, connect(headers=False), b""])
def test_hpub_without_the_headers_option_closes_silently(server: Server, opening: bytes) -> None:
    assert server.talk(opening + hpub(b"a", EMPTY, b"x") + PING) == b""


def test_hpub_without_the_option_closes_before_the_payload(server: Server) -> None:
    with server.client(QUIET + b"HPUB a 12 14\r\n") as client:
        assert client.closed()


def test_a_server_without_headers_ignores_the_clients_wish(start: Start) -> None:
    server = start("no_header_support: true\n")
    assert server.talk(connect(headers=True) + hpub(b"a", EMPTY) + PING) == b""
    assert server.talk(REQUESTER + PING) == b"-ERR 'no responders requires headers support'\r\n"
    assert server.talk(connect(headers=True) + PING) == PONG


@pytest.mark.behaviour("CORE-017")
@pytest.mark.parametrize("verbose", [False, True])
def test_no_responders_needs_headers(server: Server, verbose: bool) -> None:
    answer = server.talk(connect(no_responders=True, verbose=verbose) + PING)
    assert answer == b"-ERR 'no responders requires headers support'\r\n"


@pytest.mark.behaviour("CORE-018", "CORE-019")
@pytest.mark.parametrize("request_line", [pub(b"nobody", b"x", b"r"), pub(b"nobody", b"", b"r")])
def test_request_without_receivers_gets_503(server: Server, request_line: bytes) -> None:
    answer = server.talk(REQUESTER + b"SUB r 1\r\n" + request_line + PING)
    assert answer == no_responders(b"r", 1, b"nobody") + PONG


@pytest.mark.behaviour("CORE-018", "CORE-019")
def test_request_with_headers_gets_503_too(server: Server) -> None:
    sent = REQUESTER + b"SUB r.* 9\r\n" + hpub(b"no.body", HEADERS, b"x", b"r.1")
    assert server.talk(sent) == no_responders(b"r.1", 9, b"no.body")


def test_503_follows_the_ok_of_the_request(server: Server) -> None:
    opening = connect(verbose=True, headers=True, no_responders=True)
    sent = opening + b"SUB r 1\r\n" + pub(b"x", b"", b"r")
    assert server.talk(sent) == OK * 3 + no_responders(b"r", 1, b"x")


@pytest.mark.behaviour("CORE-020")
@pytest.mark.parametrize(
    "sent",
    [
        REQUESTER + b"SUB r 1\r\n" + pub(b"nobody"),
        REQUESTER + pub(b"nobody", b"", b"r") + b"SUB r 1\r\n",
        REQUESTER + b"SUB r q 1\r\n" + pub(b"nobody", b"", b"r"),
        connect(headers=True) + b"SUB r 1\r\n" + pub(b"nobody", b"", b"r"),
        QUIET + b"SUB r 1\r\n" + pub(b"nobody", b"", b"r"),
    ],
    ids=["no reply", "not yet subscribed", "queue subscription", "no option", "no headers"],
)
def test_when_there_is_no_503(server: Server, sent: bytes) -> None:
    assert server.talk(sent + PING) == PONG


def test_503_goes_to_the_requester_only(server: Server) -> None:
    with server.client(REQUESTER + b"SUB r 1\r\n") as other:
        other.exchange()
        assert server.talk(REQUESTER + pub(b"nobody", b"", b"r") + PING) == PONG
        assert other.exchange() == b""


def test_503_when_the_only_receiver_is_oneself_without_echo(server: Server) -> None:
    opening = connect(headers=True, no_responders=True, echo=False)
    answer = server.talk(opening + b"SUB r 1\r\n" + pub(b"r", b"", b"r"))
    assert answer == no_responders(b"r", 1, b"r")


def test_503_is_not_counted_by_a_limited_unsubscribe(server: Server) -> None:
    sent = REQUESTER + b"SUB r 1\r\nUNSUB 1 1\r\n" + pub(b"x", b"", b"r") + pub(b"y", b"", b"r")
    assert server.talk(sent) == no_responders(b"r", 1, b"x") + no_responders(b"r", 1, b"y")


@pytest.mark.behaviour("CORE-031")
@pytest.mark.parametrize(
    "line",
    [
        b"HPUB a 20 10\r\n", b"HPUB a -1 10\r\n", b"HPUB a 12\r\n", b"HPUB a x 12\r\n",
        b"HPUB a 12 x\r\n", b"HPUB a b c 12 14\r\n",
    ],
)  # fmt: skip
def test_bad_hpub_sizes_close_silently(server: Server, line: bytes) -> None:
    assert server.talk(REQUESTER + line + PING) == b""
