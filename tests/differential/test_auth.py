"""Who may come in, and what happens before that is known."""

from __future__ import annotations

import pytest

from tests.support.raw import RawClient
from tests.support.server import Start
from tests.support.wire import OK, PONG, UNAUTHORIZED, UNKNOWN, connect, msg, pub

PING = b"PING\r\n"
USER = "authorization { user: u, password: p }\n"
USERS = 'authorization { users: [{user: a, password: a}, {user: b, password: "b\'c"}] }\n'
TOKEN = 'authorization { token: "t" }\n'
GUEST = """
authorization { users: [{user: a, password: a}, {user: b, password: b}] }
no_auth_user: a
"""


def login(user: str, password: str, **options: object) -> bytes:
    return connect(user=user, **{"pass": password}, **options)


@pytest.mark.behaviour("AUTH-001")
def test_wrong_password_is_refused_and_closes(start: Start) -> None:
    server = start(USER)
    assert server.talk(login("u", "p") + PING) == PONG
    assert server.talk(login("u", "p", verbose=True) + PING) == OK + PONG
    refused = [
        login("u", "x"), login("x", "p"), login("U", "p"), login("u", ""), connect(user="u"),
        connect(**{"pass": "p"}), connect(), connect(auth_token="p"), login("u", "p "),
    ]  # fmt: skip
    assert [server.talk(opening + PING) for opening in refused] == [UNAUTHORIZED] * len(refused)


@pytest.mark.behaviour("AUTH-001")
def test_several_users(start: Start) -> None:
    server = start(USERS)
    assert server.talk(login("a", "a") + PING) == PONG
    assert server.talk(login("b", "b'c") + PING) == PONG
    assert server.talk(login("a", "b'c") + PING) == UNAUTHORIZED


@pytest.mark.behaviour("AUTH-001")
def test_user_and_password_by_flag(start: Start) -> None:
    server = start(flags=["--user", "u", "--pass", "p"])
    assert server.talk(login("u", "p") + PING) == PONG
    assert server.talk(login("u", "q") + PING) == UNAUTHORIZED


@pytest.mark.behaviour("AUTH-002")
def test_token(start: Start) -> None:
    server = start(TOKEN)
    assert server.talk(connect(auth_token="t") + PING) == PONG
    assert server.talk(login("q", "q", auth_token="t") + PING) == PONG
    refused = [connect(auth_token="x"), connect(auth_token=""), connect(), login("t", "t")]
    assert [server.talk(opening + PING) for opening in refused] == [UNAUTHORIZED] * len(refused)


@pytest.mark.behaviour("AUTH-002")
def test_token_by_flag(start: Start) -> None:
    server = start(flags=["--auth", "secret"])
    assert server.talk(connect(auth_token="secret") + PING) == PONG
    assert server.talk(connect(auth_token="Secret") + PING) == UNAUTHORIZED


@pytest.mark.behaviour("CORE-060")
def test_another_verb_before_connect_is_a_violation(start: Start) -> None:
    server = start(USER)
    for sent in [PING, b"SUB a 1\r\n", pub(b"a"), b"FOO\r\n", b"INFO {}\r\n", b"+OK\r\n", b"\r\n"]:
        assert server.talk(sent + login("u", "p") + PING) == UNAUTHORIZED


@pytest.mark.behaviour("CORE-060")
@pytest.mark.parametrize("first", [b"P", b"I", b"x", b"+", b"\x00", b" "])
def test_the_first_byte_is_enough_for_a_violation(start: Start, first: bytes) -> None:
    with start(USER).client(first) as client:
        assert client.read_all() == UNAUTHORIZED


def test_credentials_come_before_other_connect_errors(start: Start) -> None:
    server = start(USER)
    assert server.talk(login("u", "x", protocol=9)) == UNAUTHORIZED
    assert server.talk(login("u", "x", no_responders=True)) == UNAUTHORIZED
    assert server.talk(login("u", "p", protocol=9)) == b"-ERR 'invalid client protocol'\r\n"
    assert server.talk(b"CONNECT {x\r\n") == b""


def test_second_connect_is_checked_again(start: Start) -> None:
    server = start(USER)
    assert server.talk(login("u", "p") + login("u", "x") + PING) == UNAUTHORIZED
    assert server.talk(login("u", "p") + connect() + PING) == PONG  # the user is remembered


@pytest.mark.behaviour("AUTH-008")
def test_no_auth_user_serves_clients_without_credentials(start: Start) -> None:
    server = start(GUEST)
    with server.client(login("a", "a") + b"SUB > 1\r\n") as same:
        same.exchange()
        for opening in [connect(), login("", ""), connect(auth_token="")]:
            assert server.talk(opening + pub(b"hello") + PING) == PONG
        assert same.exchange() == msg(b"hello", 1) * 3
    with server.client(connect(protocol=1)) as client:
        client.exchange()
        info = client.read_info()
        assert (info["remote_account"], info["auth_required"]) == ("$G", True)


@pytest.mark.behaviour("AUTH-009")
def test_no_auth_user_does_not_cover_wrong_credentials(start: Start) -> None:
    server = start(GUEST)
    assert server.talk(login("b", "b") + PING) == PONG
    refused = [
        login("b", "x"), login("x", "x"), connect(user="a"), connect(**{"pass": "a"}),
        connect(auth_token="x"),
    ]  # fmt: skip
    assert [server.talk(opening + PING) for opening in refused] == [UNAUTHORIZED] * len(refused)


@pytest.mark.behaviour("AUTH-010")
def test_no_auth_user_hides_auth_required_at_first(start: Start) -> None:
    with RawClient(start(GUEST).port) as client:
        assert "auth_required" not in client.read_info()
    with RawClient(start(USER).port) as client:
        assert client.read_info()["auth_required"] is True


@pytest.mark.behaviour("AUTH-011")
def test_no_auth_user_lets_other_verbs_come_first(start: Start) -> None:
    server = start(GUEST)
    assert server.talk(PING) == PONG
    assert server.talk(b"SUB a 1\r\n" + pub(b"a", b"x")) == OK * 2 + msg(b"a", 1, b"x")
    assert server.talk(b"FOO\r\n") == UNKNOWN
    assert server.talk(PING + login("b", "x")) == PONG + UNAUTHORIZED
    assert server.talk(PING + connect(protocol=1) + PING) == PONG * 2  # it has been let in already
