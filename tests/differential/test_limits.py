"""Sizes and counts at their exact edges."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.server import Server, Start
from tests.support.wire import OK, PONG, QUIET, REQUESTER, connect, hpub, msg, pub

PING = b"PING\r\n"
TOO_BIG = b"-ERR 'Maximum Payload Violation'\r\n"
TOO_LONG = b"-ERR 'maximum control line exceeded'\r\n"
TOO_MANY = b"-ERR 'maximum subscriptions exceeded'\r\n"
LINE = 4096


@pytest.mark.behaviour("CORE-024")
def test_payload_at_the_limit_and_above(start: Start) -> None:
    server = start("max_payload: 100\n")
    assert server.talk(QUIET + pub(b"a", b"x" * 100) + PING) == PONG
    assert server.talk(QUIET + pub(b"a", b"x" * 101) + PING) == TOO_BIG
    assert server.talk(REQUESTER + hpub(b"a", b"h" * 60, b"x" * 40) + PING) == PONG
    assert server.talk(REQUESTER + hpub(b"a", b"h" * 60, b"x" * 41) + PING) == TOO_BIG


@pytest.mark.behaviour("CORE-024")
@pytest.mark.parametrize("size", [b"1048577", b"999999999"])
def test_too_big_is_refused_before_the_payload(server: Server, size: bytes) -> None:
    with server.client(QUIET + b"PUB a " + size + b"\r\n") as client:
        assert client.read_all() == TOO_BIG


@pytest.mark.parametrize("size", [b"2147483648", b"9999999999", b"1" * 40])
def test_size_of_ten_digits_is_no_number(server: Server, size: bytes) -> None:
    with server.client(QUIET + b"PUB a " + size + b"\r\n") as client:
        assert client.closed()


@pytest.mark.behaviour("CORE-024")
def test_default_payload_limit_is_exactly_one_mebibyte(server: Server) -> None:
    payload = b"x" * (1 << 20)
    assert server.talk(QUIET + b"SUB a 1\r\n" + pub(b"a", payload)) == msg(b"a", 1, payload)
    assert server.talk(QUIET + pub(b"a", payload + b"x") + PING) == TOO_BIG


def padded(head: bytes, tail: bytes) -> Callable[[int], bytes]:
    """Lines of one verb whose arguments have a given length."""
    verb, _, arguments = head.partition(b" ")

    def line(length: int) -> bytes:
        fill = length - len(arguments) - len(tail.split(b"\r\n")[0])
        return verb + b" " + arguments + b"a" * fill + tail

    return line


@pytest.mark.behaviour("CORE-025")
@pytest.mark.parametrize(
    ("opening", "line", "answer"),
    [
        (QUIET, padded(b"SUB ", b" 1\r\n"), PONG),
        (QUIET, padded(b"SUB ", b"  1\t \r\n"), PONG),
        (QUIET, padded(b"UNSUB ", b"\r\n"), PONG),
        (QUIET, padded(b"PUB ", b" 0\r\n\r\n"), PONG),
        (REQUESTER, padded(b"HPUB ", b" 0 0\r\n\r\n"), PONG),
        (b"", padded(b'CONNECT {"verbose":false,"name":"', b'"}\r\n'), PONG),
        (b"", padded(b'INFO {"x":"', b'"}\r\n'), PONG),
        (b"", padded(b"-ERR ", b"\r\n"), b""),
    ],
    ids=["SUB", "SUB with blanks", "UNSUB", "PUB", "HPUB", "CONNECT", "INFO", "-ERR"],
)
def test_control_line_limit_is_on_the_arguments(
    server: Server, opening: bytes, line: Callable[[int], bytes], answer: bytes
) -> None:
    assert server.talk(opening + line(LINE) + PING) == answer
    assert server.talk(opening + line(LINE + 1) + PING) == TOO_LONG


@pytest.mark.behaviour("CORE-025")
def test_an_unfinished_line_is_cut_off_at_the_limit(server: Server) -> None:
    with server.client(QUIET + b"SUB " + b"a" * (LINE + 1)) as client:
        assert client.read_all() == TOO_LONG
    assert server.talk(QUIET + b"SUB " + b"a" * LINE) == b""


@pytest.mark.parametrize("verb", [b"PING", b"PONG", b"+OK"])
def test_the_tail_of_lines_without_arguments_is_unlimited(server: Server, verb: bytes) -> None:
    answer = PONG * (2 if verb == b"PING" else 1)
    assert server.talk(QUIET + verb + b"x" * 100_000 + b"\r\n" + PING) == answer


def test_blanks_before_the_first_argument_do_not_count(server: Server) -> None:
    assert server.talk(QUIET + b"SUB " + b" " * 100_000 + b"a 1\r\n" + pub(b"a")) == msg(b"a", 1)


@pytest.mark.behaviour("CORE-025")
def test_control_line_limit_is_configurable(start: Start) -> None:
    server = start("max_control_line: 512\n")
    line = padded(b"SUB ", b" 1\r\n")
    assert server.talk(QUIET + line(512) + PING) == PONG
    assert server.talk(QUIET + line(513) + PING) == TOO_LONG


@pytest.mark.behaviour("CORE-055")
def test_connections_above_the_limit_are_refused_with_a_text(start: Start) -> None:
    server = start("max_connections: 2\n")
    with server.client(QUIET) as first, server.client(QUIET) as second:
        first.exchange()
        second.exchange()
        with server.client() as third:  # it still gets its INFO
            assert third.read_all() == b"-ERR 'maximum connections exceeded'\r\n"
        assert first.exchange() == second.exchange() == b""


@pytest.mark.behaviour("CORE-056")
def test_subscriptions_above_the_limit_are_refused_and_the_client_stays(start: Start) -> None:
    server = start("max_subscriptions: 2\n")
    with server.client(QUIET) as client:
        assert client.exchange(b"SUB a 1\r\nSUB b 2\r\nSUB c 3\r\n") == TOO_MANY
        assert client.exchange(pub(b"c") + pub(b"a")) == msg(b"a", 1)
        assert client.exchange(b"UNSUB 1\r\nSUB c 3\r\n" + pub(b"c")) == msg(b"c", 3)
    assert server.talk(connect(verbose=True) + b"SUB a 1\r\nSUB b 2\r\nSUB c 3\r\n") == (
        OK * 3 + TOO_MANY
    )


def test_order_of_the_checks_on_a_subscription(start: Start) -> None:
    server = start("max_subscriptions: 1\nmax_sub_tokens: 2\n")
    with server.client(QUIET + b"SUB a 1\r\n") as client:
        assert client.exchange(b"SUB b 1\r\n") == TOO_MANY  # before the live sid
        assert client.exchange(b"SUB a. 2\r\n") == TOO_MANY  # before the subject's form
        assert b"too many tokens" in client.exchange(b"SUB .. 2\r\n")
        assert b'using queue "_sys_"' in client.exchange(b"SUB a _sys_ 2\r\n")


@pytest.mark.behaviour("CORE-057")
def test_deep_subjects_are_refused(start: Start) -> None:
    server = start("max_sub_tokens: 3\n")
    text = b"-ERR 'Permissions Violation for Subscription to \"%b\", too many tokens'\r\n"
    with server.client(QUIET) as client:
        assert client.exchange(b"SUB a.b.c 1\r\nSUB a.b.> 2\r\n") == b""
        assert client.exchange(b"SUB a.b.c.d 3\r\n") == text % b"a.b.c.d"
        assert client.exchange(b"SUB a.b.c.> q 4\r\n") == text % b"a.b.c.>"
        assert client.exchange(b"SUB ..... 5\r\n") == text % b"....."
        assert client.exchange(pub(b"a.b.c.d")) == msg(b"a.b.c.d", 2)
