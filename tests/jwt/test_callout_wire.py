"""Auth callout with a service of our own, on both servers: who gets in, where, and with which rights."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py import nkey
from jetstream_py.jwt.xkey import XKey
from tests.support.raw import RawClient
from tests.support.server import KINDS, Kind, Server, Servers
from tests.support.tokens import NO_USER_LIMITS, Claims, Key, claim, forge
from tests.support.wire import UNAUTHORIZED, connect

ISSUER = Key(nkey.ACCOUNT, bytes(range(32)))
SEALER = XKey(nkey.encode_seed(nkey.CURVE, bytes(range(1, 33))))
CONFIG = """
accounts {
  AUTH { users: [{user: judge, password: judge}] }
  APP {}
  OTHER {}
}
authorization { timeout: %s, auth_callout { issuer: %s, account: AUTH, auth_users: [judge]%s } }
"""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    chosen: Kind = request.param
    return chosen


@pytest.fixture
def start(kind: Kind, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    with Servers(tmp_path) as servers:

        def run(more: str = "", timeout: float = 5.0) -> Server:
            return servers.start(kind, CONFIG % (timeout, ISSUER.public, more))

        yield run


class Judge:
    """The service."""

    def __init__(self, server: Server, sealed: bool = False) -> None:
        self._client = RawClient(server.port)
        self._sealed = sealed
        self._client.read_info()
        opening = connect(user="judge", **{"pass": "judge"}, headers=True)
        assert self._client.exchange(opening + b"SUB $SYS.REQ.USER.AUTH 1\r\n") == b""

    def question(self) -> Claims:
        """What the server asks."""
        head, _, rest = self._client.read_frame().partition(b"\r\n")
        self._reply = head.split()[3]
        if self._sealed:
            block, _, rest = rest.partition(b"\r\n\r\n")
            self._server_key = block.rpartition(b": ")[2].decode()
            opened = SEALER.open(rest[:-2], self._server_key)
            assert opened is not None
            rest = opened
        body = rest.split(b".")[1]
        asked: Claims = json.loads(base64.urlsafe_b64decode(body + b"=="))
        return asked

    def answer(self, asked: Claims, user: Claims | None, error: str = "") -> None:
        nats: dict[str, Any] = {"error": error} if error else {}
        subject = asked["nats"]["user_nkey"]
        if user is not None:
            rights = {**NO_USER_LIMITS, "pub": {}, "sub": {}, **user.pop("nats", {})}
            claims = claim("user", subject, ISSUER.public, rights, **{"aud": "APP", **user})
            nats["jwt"] = forge(claims, ISSUER)
        response = claim(
            "authorization_response",
            subject,
            ISSUER.public,
            nats,
            aud=asked["nats"]["server_id"]["id"],
        )
        token = forge(response, ISSUER).encode()
        if self._sealed:
            token = SEALER.seal(token, self._server_key, os.urandom(24))
        self._client.send(b"PUB %b %d\r\n%b\r\n" % (self._reply, len(token), token))

    def close(self) -> None:
        self._client.close()


def guest(server: Server, **options: object) -> RawClient:
    client = RawClient(server.port)
    client.read_info()
    client.send(connect(headers=True, protocol=1, **options) + b"PING\r\n")
    return client


@pytest.mark.behaviour("AUTH-046")
@pytest.mark.parametrize("sealed", [False, True])
def test_the_service_decides(start: Callable[..., Server], sealed: bool) -> None:
    server = start(f", xkey: {SEALER.public}" if sealed else "")
    judge = Judge(server, sealed)
    client = guest(server, user="joe", **{"pass": "secret"}, name="joey")
    asked = judge.question()
    assert asked["aud"] == "nats-authorization-request"
    assert asked["sub"] == ISSUER.public
    told = asked["nats"]["connect_opts"]
    assert (told["user"], told["pass"], told["name"]) == ("joe", "secret", "joey")
    info = asked["nats"]["client_info"]
    assert (info["user"], info["kind"], info["type"]) == ("joe", "Client", "nats")
    assert ("xkey" in asked["nats"]["server_id"]) is sealed
    judge.answer(asked, {"name": "Joe", "nats": {"pub": {"allow": ["ok"]}}})
    assert client.read_frame() == b"PONG\r\n"
    assert client.read_info()["remote_account"] == "APP"
    said = client.exchange(b"SUB ok 1\r\nPUB ok 1\r\nx\r\nPUB no 1\r\nx\r\n")
    assert said == b"MSG ok 1 1\r\nx\r\n-ERR 'Permissions Violation for Publish to \"no\"'\r\n"
    judge.close()


@pytest.mark.behaviour("AUTH-046")
@pytest.mark.parametrize(
    ("user", "error"),
    [(None, "no way"), ({"aud": "NOWHERE"}, ""), ({"exp": 1}, ""), ({"aud": "OTHER"}, "both")],
)
def test_the_service_refuses(start: Callable[..., Server], user: Claims | None, error: str) -> None:
    server = start()
    judge = Judge(server)
    client = guest(server, user="joe", **{"pass": "secret"})
    judge.answer(judge.question(), None if user is None else dict(user), error)
    assert client.read_all() == UNAUTHORIZED
    judge.close()


@pytest.mark.behaviour("AUTH-046")
def test_nobody_decides(start: Callable[..., Server]) -> None:
    server = start(timeout=0.3)
    client = guest(server, user="joe", **{"pass": "secret"})
    assert client.read_all() == UNAUTHORIZED  # nobody serves
    judge = Judge(server)
    client = guest(server, user="joe", **{"pass": "secret"})
    judge.question()  # and does not answer
    assert client.read_all() == UNAUTHORIZED
    stranger = guest(server, user="judge", **{"pass": "wrong"})
    assert stranger.read_all() == UNAUTHORIZED  # judges are judged by the file
    judge.close()
