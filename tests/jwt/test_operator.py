"""A server in operator mode, over the wire: chains of tokens, their ends, and what follows a push.

Runs on the servers that know `operator` in their config (`WITH_OPERATOR`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py import nkey
from tests.jwt.cases import SIGNER
from tests.jwt.world import WITH_OPERATOR, Chain, Login, attempt, request
from tests.support.raw import RawClient
from tests.support.server import Kind, Server, Servers
from tests.support.tokens import Account, Claims, Key, Operator, User, claim, forge
from tests.support.wire import UNAUTHORIZED, msg

UPDATE, DELETE = "$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.CLAIMS.DELETE"


@pytest.fixture
def made() -> Chain:
    return Chain()


@pytest.fixture(params=WITH_OPERATOR)
def server(made: Chain, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    kind: Kind = request.param
    resolver = f'resolver {{ type: full, dir: "{tmp_path / "jwt"}", allow_delete: true }}'
    with Servers(tmp_path) as servers:
        yield servers.start(kind, made.config(resolver))


@pytest.fixture
def admin(made: Chain, server: Server) -> Iterator[RawClient]:
    with log_in(server, Login(made.system_user.jwt(), made.system_user.key)) as client:
        yield client


def log_in(server: Server, login: Login) -> RawClient:
    client, answer = attempt(server, login)
    assert answer == b""
    return client


def push(admin: RawClient, account: Account, nats: Claims | None = None, **fields: Any) -> None:
    assert b"jwt updated" in request(admin, UPDATE, account.jwt(nats=nats, **fields).encode())


def test_a_chain_of_tokens(made: Chain, server: Server) -> None:
    with log_in(server, Login(made.user.jwt(), made.user.key)) as client:
        assert client.info["auth_required"] is True
        assert client.exchange(b"SUB a 1\r\nPUB a 1\r\nx\r\n") == msg(b"a", 1, b"x")
    stranger = User(Account(Operator(), "X"))
    client, answer = attempt(server, Login(stranger.jwt(), stranger.key))
    assert answer == UNAUTHORIZED
    assert client.closed()


def test_accounts_are_apart(made: Chain, server: Server, admin: RawClient) -> None:
    other = Account(made.operator, "OTHER")
    push(admin, other)
    stranger = User(other)
    with (
        log_in(server, Login(made.user.jwt(), made.user.key)) as one,
        log_in(server, Login(stranger.jwt(), stranger.key)) as two,
    ):
        assert one.exchange(b"SUB > 1\r\n") == b""
        assert two.exchange(b"PUB a 1\r\nx\r\n") == b""
        assert one.exchange() == b""


def test_a_bearer_needs_no_signature(made: Chain, server: Server) -> None:
    bearer = made.user.jwt(nats={"bearer_token": True})
    log_in(server, Login(bearer, made.user.key, sig="")).close()
    _, answer = attempt(server, Login(made.user.jwt(), made.user.key, sig=""))
    assert answer == UNAUTHORIZED


def test_a_user_ends(made: Chain, server: Server) -> None:
    ends = int(time.time()) + 1
    with log_in(server, Login(made.user.jwt(exp=ends), made.user.key)) as client:
        assert client.read_all() == b"-ERR 'User Authentication Expired'\r\n"


def test_a_revoked_user_leaves(made: Chain, server: Server, admin: RawClient) -> None:
    other = User(made.account)
    with (
        log_in(server, Login(made.user.jwt(), made.user.key)) as client,
        log_in(server, Login(other.jwt(), other.key)) as stays,
    ):
        push(admin, made.account, {"revocations": {made.user.public: int(time.time())}})
        assert client.read_all() == b"-ERR 'User Authentication Revoked'\r\n"
        assert stays.exchange() == b""
        assert not stays.eof
    _, answer = attempt(server, Login(made.user.jwt(), made.user.key))
    assert answer == UNAUTHORIZED


def test_users_leave_with_the_key_that_signed_them(
    made: Chain, server: Server, admin: RawClient
) -> None:
    scope = Key(nkey.ACCOUNT)
    template = {"subs": -1, "data": -1, "payload": -1, "pub": {"allow": ["a"]}}

    def keys(template: Claims) -> Claims:
        scoped = {"kind": "user_scope", "key": scope.public, "template": template}
        return {"signing_keys": [scoped, SIGNER.public]}

    push(admin, made.account, keys(template))
    with (
        log_in(server, Login(made.user.scoped(scope), made.user.key)) as scoped,
        log_in(server, Login(made.user.jwt(key=SIGNER), made.user.key)) as signed,
        log_in(server, Login(made.user.jwt(), made.user.key)) as plain,
    ):
        push(admin, made.account, keys({**template, "pub": {"allow": ["b"]}}))
        assert scoped.read_all() == b""
        assert signed.exchange() == b""
        assert not signed.eof
        push(admin, made.account)
        assert signed.read_all() == b""
        assert plain.exchange() == b""
        assert not plain.eof


def test_users_leave_with_their_account(made: Chain, server: Server, admin: RawClient) -> None:
    gone = b"-ERR 'Account Authentication Expired'\r\n"
    with log_in(server, Login(made.user.jwt(), made.user.key)) as client:
        push(admin, made.account, exp=int(time.time()) + 1)
        assert client.read_all() == gone
    push(admin, made.account)
    key = made.operator.key
    wish = claim("generic", key.public, key.public, {"accounts": [made.account.public]})
    with log_in(server, Login(made.user.jwt(), made.user.key)) as client:
        assert b"deleted 1 accounts" in request(admin, DELETE, forge(wish, key).encode())
        assert client.read_all() == gone


def test_limits_of_account_and_user(made: Chain, server: Server, admin: RawClient) -> None:
    with log_in(server, Login(made.user.jwt(nats={"payload": 5}), made.user.key)) as client:
        client.send(b"PUB a 6\r\nxxxxxx\r\n")
        assert client.read_all() == b"-ERR 'Maximum Payload Violation'\r\n"
    with log_in(server, Login(made.user.jwt(nats={"subs": 1}), made.user.key)) as client:
        assert (
            client.exchange(b"SUB a 1\r\nSUB b 2\r\n")
            == b"-ERR 'maximum subscriptions exceeded'\r\n"
        )
        push(admin, made.account, {"limits": {"conn": 1}})
        _, answer = attempt(server, Login(made.user.jwt(), made.user.key))
        assert answer == b"-ERR 'maximum account active connections exceeded'\r\n"


@pytest.mark.parametrize(
    ("token", "heard"), [("own", True), ("none", False), ("another's", False), ("forged", False)]
)
def test_an_export_that_asks_for_a_token(
    made: Chain, server: Server, admin: RawClient, token: str, heard: bool
) -> None:
    """Only who shows what the exporter has signed for it gets the messages."""
    offering, taking = Account(made.operator, "GIVES"), Account(made.operator, "TAKES")
    push(admin, offering, {"exports": [{"subject": "tr", "type": "stream", "token_req": True}]})
    signer = Key(nkey.ACCOUNT) if token == "forged" else offering.key
    whom = made.account.public if token == "another's" else taking.public
    signed = forge(
        claim("activation", whom, signer.public, {"subject": "tr", "kind": "stream"}), signer
    )
    wanted = {"subject": "tr", "account": offering.public, "type": "stream"}
    if token != "none":
        wanted["token"] = signed
    giver, taker = User(offering), User(taking)
    # Some of these are refused when they are pushed: then the account is there without the import.
    push(admin, taking)
    request(admin, UPDATE, taking.jwt(nats={"imports": [wanted]}).encode())
    with (
        log_in(server, Login(giver.jwt(), giver.key)) as one,
        log_in(server, Login(taker.jwt(), taker.key)) as two,
    ):
        assert two.exchange(b"SUB tr 1\r\n") == b""
        assert one.exchange(b"PUB tr 1\r\nx\r\n") == b""
        assert two.exchange() == (msg(b"tr", 1, b"x") if heard else b"")
