"""Requests of nats-server to an auth callout service, read by us, and what both make of answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py import nkey
from jetstream_py.config.account_options import AuthCallout
from jetstream_py.config.account_options import User as UserOptions
from jetstream_py.jwt.callout import (
    REQUEST_AUDIENCE,
    REQUEST_SUBJECT,
    Configured,
    House,
    Operated,
    Question,
    answer,
    request,
)
from jetstream_py.jwt.judge import Refusal
from jetstream_py.jwt.token import decode
from jetstream_py.jwt.xkey import XKey
from tests.jwt.cases import NOW
from tests.jwt.test_users import shown, sorted_permissions
from tests.jwt.world import INFO, Chain, Login, attempt
from tests.jwt.world import request as ask
from tests.support.raw import RawClient
from tests.support.server import ORACLE, Server, Servers
from tests.support.tokens import NO_USER_LIMITS, Account, Claims, Key, User, claim, forge
from tests.support.wire import PONG, connect

ISSUER, STRANGER = Key(nkey.ACCOUNT, b"\x50" * 32), Key(nkey.ACCOUNT, b"\x51" * 32)
SERVICE = XKey(nkey.encode_seed(nkey.CURVE, b"\x52" * 32))
SOMEBODY = Key(nkey.USER, b"\x53" * 32).public
CALLOUT = AuthCallout(ISSUER.public, "AUTH", ("auth",))
CONFIG = f"""
accounts {{ AUTH {{ users [{{user: auth, password: auth}}] }}, APP {{}} }}
authorization {{
  timeout: 1
  auth_callout {{ issuer: {ISSUER.public}, account: AUTH, auth_users: [auth] XKEY }}
}}
"""
CLIENT = connect(user="bob", **{"pass": "secret"}, name="nm", lang="py", version="1", protocol=1)
HOUSE = Configured(CALLOUT, lambda account: account in ("APP", "AUTH"))
Answer = Callable[[Question], str]


def user(key: str, nats: Claims | None = None, signer: Key = ISSUER, **fields: Any) -> str:
    body = {**NO_USER_LIMITS, "pub": {}, "sub": {}, **(nats or {})}
    return forge(claim("user", key, signer.public, body, **{"aud": "APP", **fields}), signer)


def response(
    asked: Question, jwt: str, nats: Claims | None = None, signer: Key = ISSUER,
    whom: str = "", **fields: Any,
) -> str:  # fmt: skip
    body = {"jwt": jwt, **(nats or {})}
    fields = {"aud": asked.server_id["id"], **fields}
    claims = claim("authorization_response", whom or asked.user_nkey, signer.public, body, **fields)
    return forge(claims, signer)


def usual(nats: Claims | None = None, **fields: Any) -> Answer:
    """A good response with this user in it."""
    return lambda asked: response(asked, user(asked.user_nkey, nats, **fields))


def odd(**fields: Any) -> Answer:
    """A good user in this response."""
    return lambda asked: response(asked, user(asked.user_nkey), **fields)


CASES: dict[str, Answer] = {
    "good": usual(),
    "nothing": lambda asked: "",
    "junk": lambda asked: "junk",
    "a refusal": lambda asked: response(asked, "", {"error": "no way"}),
    "a refusal with a user": lambda asked: response(asked, user(asked.user_nkey), {"error": "no"}),
    "no user": lambda asked: response(asked, ""),
    "a user that is none": lambda asked: response(asked, "x.y.z"),
    "by another issuer": odd(signer=STRANGER),
    "for no server": odd(aud="X"),
    "for another server": odd(aud=nkey.encode(nkey.SERVER, b"\x54" * 32)),
    "for another client": odd(whom=SOMEBODY),
    "expired": odd(exp=NOW - 5),
    "not yet": odd(nbf=NOW + 86_400),
    "a user by another issuer": usual(signer=STRANGER),
    "another user": lambda asked: response(asked, user(SOMEBODY)),
    "a user of no account": usual(aud="NOPE"),
    "a user without an account": usual(aud=None),
    "an expired user": usual(exp=NOW - 5),
    "a user with odd subjects": usual({"pub": {"allow": ["a..b"]}}),
    "a user of an unknown kind": usual({"allowed_connection_types": ["FOO"]}),
    "a user of another kind": usual({"allowed_connection_types": ["MQTT"]}),
    "a user from elsewhere": usual({"src": ["10.0.0.0/8"]}),
    "a user of the callout's account": usual(aud="AUTH"),
    "a user of the callout's account, restricted": usual(
        {"pub": {"allow": [INFO, "$SYS.>"], "deny": ["x"]}}, aud="AUTH"
    ),
    "a user with permissions": usual(
        {"pub": {"deny": ["x"]}, "resp": {"max": 3}, "sub": {}} | {"pub": {"allow": [INFO]}}
    ),
    "a user at no time": usual({"times": [{"start": "00:00:00", "end": "00:00:00"}]}),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Servers(tmp_path_factory.mktemp("oracle")) as servers:
        yield servers.start(ORACLE, CONFIG.replace("XKEY", ""), ["-D"])


@pytest.fixture(scope="module")
def service(real: Server) -> Iterator[RawClient]:
    with judge_at(real) as client:
        yield client


def judge_at(server: Server) -> RawClient:
    client = server.client(connect(user="auth", **{"pass": "auth"}, headers=True))
    assert client.exchange(f"SUB {REQUEST_SUBJECT} 1\r\n".encode()) == b""
    return client


def asked_by(claims: dict[str, Any]) -> Question:
    body = claims["nats"]
    fields = {name: body[name] for name in Question.__struct_fields__ if name in body}
    return Question(**fields)


@pytest.mark.parametrize("name", CASES)
def test_verdict_on_answers(name: str, real: Server, service: RawClient) -> None:
    compare(real, service, CLIENT, CASES[name], CALLOUT, HOUSE)


def compare(
    real: Server,
    service: RawClient,
    client: bytes,
    make: Answer,
    callout: AuthCallout,
    house: House,
) -> None:
    """A client comes, the service answers, both servers say what they make of it."""
    mark = len(real.log())
    with real.client(client + b"PING\r\n") as guest:
        line, body = service.read_frame().split(b"\r\n")[:2]
        asked = asked_by(decode(body.decode(), "authorization_request").claims)
        text = make(asked)
        verdict = answer(text, callout, asked, NOW, house)
        reply = line.split()[3]
        service.send(b"PUB %b %d\r\n%b\r\n" % (reply, len(text), text.encode()))
        said = guest.read_frame()
        if said == PONG:
            assert isinstance(verdict, UserOptions), verdict
            assert verdict.nkey == asked.user_nkey
            compare_rights(guest, verdict)
            return
        assert isinstance(verdict, Refusal), said
        assert said == f"-ERR '{verdict.answer}'\r\n".encode()
        real.wait_for_log(f"] {verdict.reason}\n", start=mark)


def compare_rights(guest: RawClient, verdict: UserOptions) -> None:
    info = json.loads(ask(guest, INFO))["data"]
    assert info["account"] == verdict.account
    assert sorted_permissions(info.get("permissions")) == shown(verdict.permissions)


# -- with an operator ------------------------------------------------------------------------------

APP_SIGNER, APP_SCOPE = Key(nkey.ACCOUNT, b"\x5a" * 32), Key(nkey.ACCOUNT, b"\x5b" * 32)
OWN_SIGNER = Key(nkey.ACCOUNT, b"\x5c" * 32)
MADE = Chain()
APP, CLOSED = (
    Account(MADE.operator, "APP", b"\x5d" * 32),
    Account(MADE.operator, "CLOSED", b"\x5e" * 32),
)
MADE.preload |= {
    MADE.account.public: MADE.account.jwt(nats={
        "signing_keys": [OWN_SIGNER.public],
        "authorization": {"auth_users": [MADE.user.public], "allowed_accounts": [APP.public]},
    }),
    APP.public: APP.jwt(nats={"signing_keys": [APP_SIGNER.public, {
        "kind": "user_scope", "key": APP_SCOPE.public,
        "template": {**NO_USER_LIMITS, "pub": {"allow": [INFO, "x.{{name()}}"]}},
    }]}),
    CLOSED.public: CLOSED.jwt(),
}  # fmt: skip
GUEST = User(MADE.account, "guest", b"\x5f" * 32)


def from_app(signer: Key = APP.key, by: Key = MADE.account.key, **nats: Any) -> Answer:
    return lambda asked: response(asked, user(asked.user_nkey, nats, signer, aud=None), signer=by)


def scoped(asked: Question) -> str:
    nats = {"issuer_account": APP.public}
    token = forge(claim("user", asked.user_nkey, APP_SCOPE.public, nats, name="bob"), APP_SCOPE)
    return response(asked, token, signer=MADE.account.key)


OPERATED: dict[str, Answer] = {
    "by the account": from_app(),
    "by its signing key": from_app(APP_SIGNER, issuer_account=APP.public),
    "by its signing key, account hidden": from_app(APP_SIGNER),
    "by its scope": scoped,
    "by a key that it does not know": from_app(STRANGER, issuer_account=APP.public),
    "of no account": from_app(STRANGER),
    "of an account that is not allowed": from_app(CLOSED.key),
    "of the callout's account": from_app(MADE.account.key),
    "answer by a signing key": from_app(by=OWN_SIGNER),
    "answer by a stranger": from_app(by=STRANGER),
    "answer by the user's account": from_app(by=APP.key),
}


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Servers(tmp_path_factory.mktemp("oracle")) as servers:
        yield servers.start(ORACLE, MADE.config(), ["-D"])


@pytest.fixture(scope="module")
def account_service(operated: Server) -> Iterator[RawClient]:
    client, refused = attempt(operated, Login(MADE.user.jwt(), MADE.user.key))
    assert refused == b""
    assert client.exchange(f"SUB {REQUEST_SUBJECT} 1\r\n".encode()) == b""
    with client:
        yield client


@pytest.mark.parametrize("name", OPERATED)
def test_verdict_with_an_operator(name: str, operated: Server, account_service: RawClient) -> None:
    mode = MADE.mode()
    account = mode.find(MADE.account.public)
    assert account.callout is not None
    house = Operated(account.callout, mode.trust, mode.find)
    guest = connect(jwt=GUEST.jwt(nats={"bearer_token": True}))
    compare(operated, account_service, guest, OPERATED[name], account.callout, house)


# -- requests and seals ----------------------------------------------------------------------------


def test_our_request_has_the_form_of_theirs(real: Server, service: RawClient) -> None:
    with real.client(CLIENT):
        body = service.read_frame().split(b"\r\n")[1].decode()
    theirs = decode(body, "authorization_request").claims
    server = Key(nkey.SERVER, b"\x55" * 32)
    ours = decode(
        request(asked_by(theirs), ISSUER.public, server.pair, theirs["iat"], 1.0),
        "authorization_request",
    ).claims
    own = ("iss", "jti")
    assert [*ours] == [*theirs]
    assert {name: ours[name] for name in ours if name not in own} == {
        name: theirs[name] for name in theirs if name not in own
    }
    assert ours["aud"] == REQUEST_AUDIENCE
    assert ours["iss"] == server.public


def test_sealed_both_ways(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        server = servers.start(ORACLE, CONFIG.replace("XKEY", f", xkey: {SERVICE.public}"))
        with judge_at(server) as service, server.client(CLIENT + b"PING\r\n") as client:
            line, _, rest = service.read_frame().partition(b"\r\n")
            size = int(line.split()[-2])
            sender = re.search(rb"Nats-Server-Xkey: (\w+)", rest[:size])
            assert sender
            opened = SERVICE.open(rest[size:-2], sender[1].decode())
            assert opened
            asked = asked_by(decode(opened.decode(), "authorization_request").claims)
            text = CASES["good"](asked).encode()
            sealed = SERVICE.seal(text, sender[1].decode(), b"\x56" * 24)
            service.send(b"PUB %b %d\r\n%b\r\n" % (line.split()[3], len(sealed), sealed))
            assert client.read_frame() == PONG


def test_seal_and_open() -> None:
    other = XKey(nkey.encode_seed(nkey.CURVE, b"\x57" * 32))
    third = XKey(nkey.encode_seed(nkey.CURVE, b"\x58" * 32))
    sealed = SERVICE.seal(b"secret", other.public, b"\x59" * 24)
    assert other.open(sealed, SERVICE.public) == b"secret"
    assert third.open(sealed, SERVICE.public) is None
    assert other.open(sealed, third.public) is None
    assert other.open(sealed, "junk") is None
    for at in range(len(sealed)):
        assert other.open(sealed[:at], SERVICE.public) is None
        broken = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        assert other.open(broken, SERVICE.public) is None
    with pytest.raises(ValueError, match="24 bytes"):
        SERVICE.seal(b"", other.public, b"short")
    with pytest.raises(ValueError, match="curve"):
        SERVICE.seal(b"", ISSUER.public, b"\x59" * 24)
    with pytest.raises(ValueError, match="curve"):
        XKey(ISSUER.seed)
