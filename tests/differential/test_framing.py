"""Lines, verbs and arguments."""

from __future__ import annotations

import pytest

from tests.support.raw import Silence
from tests.support.server import Server
from tests.support.wire import OK, PONG, QUIET, REQUESTER, UNKNOWN, msg, pub

PING = b"PING\r\n"


@pytest.mark.behaviour("CORE-005")
def test_ping_is_answered_by_pong(server: Server) -> None:
    assert server.talk(PING * 3) == PONG * 3


@pytest.mark.behaviour("CORE-006")
@pytest.mark.parametrize("verb", [b"ping", b"PiNg", b"pINg"])
def test_verbs_in_any_case(server: Server, verb: bytes) -> None:
    assert server.talk(verb + b"\r\n") == PONG


@pytest.mark.behaviour("CORE-006")
def test_every_verb_in_lower_case(server: Server) -> None:
    sent = (
        b'connect {"verbose":false,"headers":true}\r\nsub a 1\r\npub a 1\r\nx\r\n'
        b"hpub a 12 12\r\nNATS/1.0\r\n\r\n\r\nunsub 1\r\npub a 0\r\n\r\npong\r\nping\r\n"
    )
    expected = msg(b"a", 1, b"x") + b"HMSG a 1 12 12\r\nNATS/1.0\r\n\r\n\r\n" + PONG
    assert server.talk(sent) == expected


@pytest.mark.behaviour("CORE-007")
def test_bare_lf_ends_a_control_line(server: Server) -> None:
    assert server.talk(QUIET + b"SUB a 1\nPUB a 1\nx\r\nPING\n") == msg(b"a", 1, b"x") + PONG


@pytest.mark.behaviour("CORE-008")
@pytest.mark.parametrize(
    "lines",
    [
        b"SUB\ta\t1\r\nPUB\ta\t1\r\nx\r\n",
        b"SUB   a    1\r\nPUB   a    1\r\nx\r\n",
        b"SUB \t a \t 1 \t \r\nPUB \t a \t 1 \t \r\nx\r\n",
        b"SUB a\tq  1\r\nPUB a 1\t\r\nx\r\n",
    ],
    ids=["tabs", "blanks", "mixed and trailing", "queue"],
)
def test_tabs_and_blanks_separate(server: Server, lines: bytes) -> None:
    assert server.talk(QUIET + lines) == msg(b"a", 1, b"x")


@pytest.mark.behaviour("CORE-021")
@pytest.mark.parametrize("verb", [b"FOO\r\n", b"\r\n", b" PING\r\n", b"GET / HTTP/1.1\r\n\r\n"])
def test_unknown_verb_is_an_error_and_closes(server: Server, verb: bytes) -> None:
    assert server.talk(QUIET + verb + PING) == UNKNOWN


@pytest.mark.behaviour("CORE-021")
@pytest.mark.parametrize("start", [b"F", b"PUX", b"SUBS", b"UNX", b"CX", b"\x00"])
def test_an_impossible_byte_is_refused_before_the_line_ends(server: Server, start: bytes) -> None:
    with server.client(start) as client:
        assert client.read_all() == UNKNOWN


@pytest.mark.parametrize("start", [b"P", b"PUB", b"SU", b"CONNECT", b"HPUB a", b"+O", b"-ER"])
def test_the_beginning_of_a_verb_waits_for_the_rest(server: Server, start: bytes) -> None:
    with server.client(start) as client:
        with pytest.raises(Silence, match="deadline"):
            client.read_all(timeout=0.05)
        assert client.talk(b"") == b""


@pytest.mark.behaviour("CORE-022")
@pytest.mark.parametrize("line", [b"MSG a 1 2\r\nhi\r\n", b"HMSG a 1 2 2\r\nhi\r\n"])
def test_msg_from_a_client_is_an_error_and_closes(server: Server, line: bytes) -> None:
    assert server.talk(QUIET + line + PING) == UNKNOWN


@pytest.mark.behaviour("CORE-023")
@pytest.mark.parametrize("tail", [b"xx\r\n", b"\n", b"\rx", b"\r\r\n", b"  \r\n"])
def test_payload_must_end_in_crlf(server: Server, tail: bytes) -> None:
    sent = QUIET + b"SUB a 1\r\nPUB a 2\r\nhi" + tail + PING
    assert server.talk(sent) == UNKNOWN


@pytest.mark.behaviour("CORE-028")
@pytest.mark.parametrize("line", [b"SUB a\r\n", b"SUB \r\n"])
def test_sub_without_sid_closes_silently(server: Server, line: bytes) -> None:
    assert server.talk(QUIET + line + PING) == b""


@pytest.mark.behaviour("CORE-029")
def test_sub_with_four_arguments_closes_silently(server: Server) -> None:
    assert server.talk(QUIET + b"SUB a b c d\r\n" + PING) == b""


@pytest.mark.behaviour("CORE-030")
@pytest.mark.parametrize(
    "line",
    [
        b"PUB a\r\n",
        b"PUB a -1\r\n",
        b"PUB a b\r\n",
        b"PUB a +2\r\nhi\r\n",
        b"PUB a b c 2\r\nhi\r\n",
    ],
)
def test_bad_pub_size_closes_silently(server: Server, line: bytes) -> None:
    assert server.talk(QUIET + line + PING) == b""


def test_sizes_are_passed_on_as_written(server: Server) -> None:
    sent = REQUESTER + b"SUB a 1\r\nPUB a 002\r\nhi\r\nHPUB a 012 0014\r\nNATS/1.0\r\n\r\nhi\r\n"
    expected = b"MSG a 1 002\r\nhi\r\nHMSG a 1 012 0014\r\nNATS/1.0\r\n\r\nhi\r\n"
    assert server.talk(sent) == expected


def test_what_follows_an_error_is_not_read(server: Server) -> None:
    with server.client(QUIET + b"SUB a 1\r\n") as witness:
        witness.exchange()
        assert server.talk(QUIET + pub(b"a", b"before") + b"FOO\r\n" + pub(b"a", b"after")) == (
            UNKNOWN
        )
        assert witness.exchange() == msg(b"a", 1, b"before")


def test_unfinished_payload_is_not_delivered(server: Server) -> None:
    with server.client(QUIET + b"SUB a 1\r\n") as witness:
        witness.exchange()
        assert server.talk(QUIET + b"PUB a 5\r\nhell") == b""
        assert server.talk(QUIET + b"PUB a 5\r\nhello") == b""
        assert witness.exchange() == b""


def test_verbose_is_the_state_before_connect(server: Server) -> None:
    assert server.talk(b"SUB a 1\r\n" + pub(b"a", b"x")) == OK + OK + msg(b"a", 1, b"x")
