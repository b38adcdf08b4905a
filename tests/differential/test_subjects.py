"""Subjects, wildcards, subscriptions and their removal."""

from __future__ import annotations

import time

import pytest

from tests.support.server import Server
from tests.support.wire import OK, PONG, QUIET, REQUESTER, connect, messages, msg, pub

PING = b"PING\r\n"
INVALID = b"-ERR 'Invalid Subject'\r\n"


@pytest.mark.behaviour("CORE-032")
@pytest.mark.parametrize("subject", [b"foo..bar", b".foo", b"foo.", b".", b".."])
def test_empty_token_is_invalid_and_the_client_stays(server: Server, subject: bytes) -> None:
    sent = QUIET + b"SUB " + subject + b" 1\r\n" + pub(subject) + PING
    assert server.talk(sent) == INVALID + PONG


@pytest.mark.behaviour("CORE-033")
@pytest.mark.parametrize("subject", [b">.a", b"a.>.b", b">.>"])
def test_full_wildcard_must_be_last(server: Server, subject: bytes) -> None:
    assert server.talk(QUIET + b"SUB " + subject + b" 2\r\n" + PING) == INVALID + PONG


@pytest.mark.behaviour("CORE-034")
@pytest.mark.parametrize("subject", [b"a.*b", b"a.b*", b"a.**", b"a.>b", b"a.b>", b"a.*>"])
def test_wildcard_letters_inside_a_token_are_literal(server: Server, subject: bytes) -> None:
    other = subject.replace(b"*", b"x").replace(b">", b"y")
    sent = QUIET + b"SUB " + subject + b" 1\r\n" + pub(other) + pub(subject, b"me")
    assert server.talk(sent) == msg(subject, 1, b"me")


@pytest.mark.behaviour("CORE-035")
@pytest.mark.parametrize(
    ("subject", "matched"),
    [
        (b"a.*", {b"a.b", b"a.*"}),
        (b"*", {b"a"}),
        (b"*.*", {b"a.b", b"a.*"}),
        (b"*.b.*", {b"a.b.c"}),
        (b"a.*.c", {b"a.b.c"}),
    ],
)
def test_star_is_exactly_one_token(server: Server, subject: bytes, matched: set[bytes]) -> None:
    published = [b"a", b"a.b", b"a.b.c", b"a.*", b"a..", b"a."]
    sent = QUIET + b"SUB " + subject + b" 1\r\n" + b"".join(pub(name) for name in published)
    assert {frame.split()[1] for frame in messages(server.talk(sent))} == matched


@pytest.mark.behaviour("CORE-036")
@pytest.mark.parametrize(
    ("subject", "matched"),
    [
        (b"a.>", {b"a.b", b"a.b.c", b"a.>"}),
        (b">", {b"a", b"a.b", b"a.b.c", b"a.>"}),
        (b"*.>", {b"a.b", b"a.b.c", b"a.>"}),
        (b"a.*.>", {b"a.b.c"}),
    ],
)
def test_greater_is_one_or_more_tokens(server: Server, subject: bytes, matched: set[bytes]) -> None:
    published = [b"a", b"a.b", b"a.b.c", b"a.>", b"a.", b".a"]
    sent = QUIET + b"SUB " + subject + b" 1\r\n" + b"".join(pub(name) for name in published)
    assert {frame.split()[1] for frame in messages(server.talk(sent))} == matched


@pytest.mark.parametrize(
    "subject",
    [b"\xc3\xa9t\xc3\xa9", b"\xff\xfe", b"a\x00b", b"a\x01", b"a\x0bb", b"a\x0cb", b"\x7f", b"A.a"],
)
def test_any_byte_but_blanks_may_be_in_a_subject(server: Server, subject: bytes) -> None:
    sent = QUIET + b"SUB " + subject + b" 1\r\n" + pub(subject.swapcase()) + pub(subject, b"x")
    assert messages(server.talk(sent))[-1] == msg(subject, 1, b"x")


@pytest.mark.behaviour("CORE-037")
def test_second_sub_with_a_live_sid_is_ignored(server: Server) -> None:
    sent = connect(verbose=True) + b"SUB a 1\r\nSUB b 1\r\nSUB b..c 1\r\n" + pub(b"b") + pub(b"a")
    assert server.talk(sent) == OK * 6 + msg(b"a", 1)


def test_sid_may_be_used_again_after_unsub(server: Server) -> None:
    sent = QUIET + b"SUB a 1\r\nUNSUB 1\r\nSUB b 1\r\n" + pub(b"a") + pub(b"b")
    assert server.talk(sent) == msg(b"b", 1)


@pytest.mark.parametrize("sid", [b"x-1!", b"-1", b"\xc3\xa9", b"a.b.*", b"0" * 300])
def test_sid_may_be_any_word(server: Server, sid: bytes) -> None:
    assert server.talk(QUIET + b"SUB a " + sid + b"\r\n" + pub(b"a")) == msg(b"a", sid)


@pytest.mark.behaviour("CORE-038")
@pytest.mark.parametrize("line", [b"UNSUB 77\r\n", b"UNSUB 77 5\r\n", b"UNSUB x\r\n"])
def test_unsub_of_an_unknown_sid_is_ignored(server: Server, line: bytes) -> None:
    assert server.talk(QUIET + b"SUB a 1\r\n" + line + pub(b"a") + PING) == msg(b"a", 1) + PONG


@pytest.mark.behaviour("CORE-039")
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_unsub_with_max_delivers_that_many(server: Server, limit: int) -> None:
    sent = QUIET + b"SUB a 1\r\nUNSUB 1 %d\r\n" % limit + pub(b"a") * 5
    assert server.talk(sent) == msg(b"a", 1) * limit


@pytest.mark.behaviour("CORE-039")
def test_unsub_max_counts_from_the_sub(server: Server) -> None:
    sent = QUIET + b"SUB a 1\r\n" + pub(b"a") * 2 + b"UNSUB 1 3\r\n" + pub(b"a") * 3
    assert server.talk(sent) == msg(b"a", 1) * 3


@pytest.mark.behaviour("CORE-039")
def test_unsub_max_may_be_changed_while_it_runs(server: Server) -> None:
    sent = QUIET + b"SUB a 1\r\nUNSUB 1 2\r\n" + pub(b"a") + b"UNSUB 1 4\r\n" + pub(b"a") * 5
    assert server.talk(sent) == msg(b"a", 1) * 4


@pytest.mark.behaviour("CORE-040")
@pytest.mark.parametrize("limit", [1, 2])
def test_unsub_max_already_reached_removes_at_once(server: Server, limit: int) -> None:
    sent = QUIET + b"SUB a 1\r\n" + pub(b"a") * 2 + b"UNSUB 1 %d\r\n" % limit + pub(b"a")
    assert server.talk(sent) == msg(b"a", 1) * 2


@pytest.mark.parametrize("limit", [b"0", b"-1", b"x", b"+2", b"1.5", b"9999999999"])
def test_unsub_with_a_bad_number_removes_at_once(server: Server, limit: bytes) -> None:
    assert server.talk(QUIET + b"SUB a 1\r\nUNSUB 1 " + limit + b"\r\n" + pub(b"a") + PING) == PONG


@pytest.mark.behaviour("CORE-041")
@pytest.mark.parametrize("abrupt", [False, True])
def test_closing_a_connection_removes_its_subscriptions(server: Server, abrupt: bool) -> None:
    with server.client(REQUESTER + b"SUB r 1\r\n") as client:
        service = server.client(QUIET + b"SUB service.closing 1\r\n")
        service.exchange()
        assert client.exchange(pub(b"service.closing", b"", b"r")) == b""
        if abrupt:
            service.reset()
        else:
            service.close()
        deadline = time.monotonic() + 5
        while not client.exchange(pub(b"service.closing", b"", b"r")):
            assert time.monotonic() < deadline, "the closed connection still receives"
