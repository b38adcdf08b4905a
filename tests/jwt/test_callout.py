"""Requests of nats-server to an auth callout service, read by us, and what both make of answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py import nkey
from jetstream_py.config.account_options import AuthCallout
from jetstream_py.config.account_options import User as UserOptions
from jetstream_py.jwt.callout import REQUEST_AUDIENCE, REQUEST_SUBJECT, Question, answer, request
from jetstream_py.jwt.judge import Refusal
from jetstream_py.jwt.token import decode
from jetstream_py.jwt.xkey import XKey
from tests.jwt.cases import NOW
from tests.jwt.world import reason
from tests.support.raw import RawClient
from tests.support.server import ORACLE, Server, Servers
from tests.support.tokens import NO_USER_LIMITS, Claims, Key, claim, forge
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
    "not yet": odd(nbf=NOW + 500),
    "a user by another issuer": usual(signer=STRANGER),
    "another user": lambda asked: response(asked, user(SOMEBODY)),
    "a user of no account": usual(aud="NOPE"),
    "a user without an account": usual(aud=None),
    "an expired user": usual(exp=NOW - 5),
    "a user with odd subjects": usual({"pub": {"allow": ["a..b"]}}),
    "a user of an unknown kind": usual({"allowed_connection_types": ["FOO"]}),
    "a user of another kind": usual({"allowed_connection_types": ["MQTT"]}),
    "a user from elsewhere": usual({"src": ["10.0.0.0/8"]}),
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
    mark = len(real.log())
    with real.client(CLIENT + b"PING\r\n") as client:
        line, body = service.read_frame().split(b"\r\n")[:2]
        asked = asked_by(decode(body.decode(), "authorization_request").claims)
        text = CASES[name](asked)
        verdict = answer(text, CALLOUT, asked, NOW, lambda account: account == "APP")
        reply = line.split()[3]
        service.send(b"PUB %b %d\r\n%b\r\n" % (reply, len(text), text.encode()))
        said = client.read_frame()
        if said == PONG:
            assert isinstance(verdict, UserOptions), verdict
            assert (verdict.account, verdict.nkey) == ("APP", asked.user_nkey)
            return
        assert isinstance(verdict, Refusal)
        assert said == f"-ERR '{verdict.answer}'\r\n".encode()
        reason(real, client)
        assert re.search(rf"\] {re.escape(verdict.reason)}$", real.log()[mark:], re.MULTILINE)


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
