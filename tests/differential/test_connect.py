"""CONNECT and what it switches."""

from __future__ import annotations

import pytest

from tests.support.server import Server
from tests.support.wire import OK, PONG, QUIET, connect, hpub, msg, pub

PING = b"PING\r\n"
INVALID_PUBLISH = b"-ERR 'Invalid Publish Subject'\r\n"


@pytest.mark.behaviour("CORE-009")
def test_verbose_acknowledges_each_line(server: Server) -> None:
    steps = [
        (connect(verbose=True, headers=True), OK),
        (b"SUB a 1\r\n", OK),
        (pub(b"b"), OK),
        (hpub(b"b", b"NATS/1.0\r\n\r\n"), OK),
        (b"UNSUB 1\r\n", OK),
        (b"UNSUB 77\r\n", OK),
        (PING, PONG),
        (b"PONG\r\n", b""),
    ]
    sent = b"".join(step[0] for step in steps)
    assert server.talk(sent) == b"".join(step[1] for step in steps)


@pytest.mark.behaviour("CORE-009")
def test_verbose_ok_precedes_the_message_it_causes(server: Server) -> None:
    sent = connect(verbose=True) + b"SUB a 1\r\n" + pub(b"a", b"x")
    assert server.talk(sent) == OK * 3 + msg(b"a", 1, b"x")


def test_verbose_gives_no_ok_for_what_is_refused(server: Server) -> None:
    sent = connect(verbose=True) + b"SUB a..b 1\r\nSUB a 2\r\n"
    assert server.talk(sent) == OK + b"-ERR 'Invalid Subject'\r\n" + OK


@pytest.mark.behaviour("CORE-010")
@pytest.mark.parametrize("opening", [b"CONNECT {}\r\n", b"CONNECT null\r\n", b"CONNECT{}\r\n"])
def test_verbose_and_pedantic_by_default(server: Server, opening: bytes) -> None:
    assert server.talk(opening + pub(b"a.*")) == OK + INVALID_PUBLISH + OK


@pytest.mark.behaviour("CORE-011")
@pytest.mark.parametrize(
    "subject", [b"a.*", b"a.>", b"*", b">", b">.a", b"a..b", b".a", b"a.", b"."]
)
def test_pedantic_reports_a_bad_publish_subject(server: Server, subject: bytes) -> None:
    assert server.talk(connect(pedantic=True) + pub(subject) + PING) == INVALID_PUBLISH + PONG


@pytest.mark.behaviour("CORE-011")
def test_pedantic_still_routes_the_message(server: Server) -> None:
    sent = connect(pedantic=True) + b"SUB a.> 1\r\n" + pub(b"a.*", b"x")
    assert server.talk(sent) == INVALID_PUBLISH + msg(b"a.*", 1, b"x")


@pytest.mark.behaviour("CORE-012")
@pytest.mark.parametrize("subject", [b"a.*", b"a.>", b"*", b">", b"a..b"])
def test_without_pedantic_there_is_no_error(server: Server, subject: bytes) -> None:
    assert server.talk(QUIET + pub(subject) + PING) == PONG


@pytest.mark.behaviour("CORE-013")
def test_echo_false_hides_own_messages(server: Server) -> None:
    with server.client(QUIET + b"SUB a 1\r\n") as other:
        other.exchange()
        with server.client(connect(echo=False) + b"SUB a 1\r\n") as client:
            assert client.exchange(pub(b"a", b"x")) == b""
        assert other.exchange(pub(b"a", b"y")) == msg(b"a", 1, b"x") + msg(b"a", 1, b"y")


def test_echo_false_passes_over_own_queue_members(server: Server) -> None:
    with server.client(QUIET + b"SUB a q 1\r\n") as other:
        other.exchange()
        with server.client(connect(echo=False) + b"SUB a q 1\r\n") as client:
            assert client.exchange(pub(b"a", b"x") * 50) == b""
        assert other.exchange() == msg(b"a", 1, b"x") * 50


@pytest.mark.behaviour("CORE-026")
@pytest.mark.parametrize("protocol", [-1, 2, 9, 9_999_999_999])
def test_protocol_number_outside_the_known(server: Server, protocol: int) -> None:
    assert server.talk(connect(protocol=protocol) + PING) == b"-ERR 'invalid client protocol'\r\n"


@pytest.mark.behaviour("CORE-027")
@pytest.mark.parametrize(
    "body",
    [
        b"{x", b"", b"[]", b"1", b'"x"', b"true", b"{}{}", b"{} x", b'{"verbose":false,}',
        b"{'verbose':false}", b'{"verbose":1}', b'{"verbose":"no"}', b'{"name":5}',
        b'{"protocol":"1"}', b'{"protocol":1.0}', b'{"protocol":1e0}', b'{"name":"\x01"}',
        b'{"protocol":99999999999999999999}',
    ],
)  # fmt: skip
def test_bad_connect_json_closes_silently(server: Server, body: bytes) -> None:
    assert server.talk(b"CONNECT " + body + b"\r\n" + PING) == b""


@pytest.mark.parametrize(
    "body",
    [
        b'{"verbose":false,"unknown":{"deep":[1,{"x":null}]}}', b'{"VERBOSE":false}',
        b'{"verbose":true,"verbose":false}', b'{"verbose":false,"name":null}',
        b'{"verbose":false,"name":"\xff"}', b'{"verbose":false,"name":"\\ud800"}',
        b' \t{ "verbose" : false } \t',
    ],
)  # fmt: skip
def test_odd_json_that_is_accepted(server: Server, body: bytes) -> None:
    assert server.talk(b"CONNECT " + body + b"\r\n" + PING) == PONG


def test_second_connect_drops_subscriptions_in_the_same_account_too(server: Server) -> None:
    assert server.talk(QUIET + b"SUB a 1\r\n" + QUIET + pub(b"a") + PING) == PONG


def test_first_connect_keeps_earlier_subscriptions(server: Server) -> None:
    assert server.talk(b"SUB a 1\r\n" + QUIET + pub(b"a")) == OK + msg(b"a", 1)


def test_second_connect_keeps_what_it_does_not_name(server: Server) -> None:
    assert server.talk(QUIET + b"CONNECT {}\r\n" + pub(b"a.*") + PING) == PONG
    sent = connect(verbose=True) + connect(verbose=False, pedantic=True) + pub(b"a.*")
    assert server.talk(sent) == OK + INVALID_PUBLISH
