"""Logins, on both servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyspark_jetstream.connection import connect
from pyspark_jetstream.errors import ConnectError
from pyspark_jetstream.options import parse
from tests.support.certs import Authority
from tests.support.server import Start
from tests.support.tokens import Account, Operator, User


def greet(**options: str) -> None:
    named = {name.replace("_", "."): value for name, value in options.items()}
    with connect(parse(named)) as link:
        assert link.info["max_payload"] > 0


def test_password_and_address(start: Start) -> None:
    server = start('authorization { user: ann, password: "p@ss" }')
    greet(servers=server.url, user="ann", password="p@ss")
    greet(servers=server.url.replace("//", "//ann:p%40ss@"))
    for wrong in ({"user": "ann", "password": "no"}, {"user": "ann"}, {"token": "p@ss"}, {}):
        with pytest.raises(ConnectError, match="Authorization Violation"):
            greet(servers=server.url, **wrong)


def test_token(start: Start) -> None:
    server = start("authorization { token: secret }")
    greet(servers=server.url, token="secret")
    greet(servers=server.url.replace("//", "//secret@"))


def test_credentials(start: Start, tmp_path: Path) -> None:
    operator = Operator()
    account = Account(operator, "A")
    user = User(account)
    server = start(
        f"operator: {operator.jwt()}\nresolver: MEMORY\n"
        f"resolver_preload {{ {account.public}: {account.jwt()} }}"
    )
    file = tmp_path / "user.creds"
    file.write_text(user.creds(user.jwt()))
    greet(servers=server.url, credentials=str(file))
    file.write_text("nothing")
    with pytest.raises(ConnectError, match="is no credentials file"):
        greet(servers=server.url, credentials=str(file))


def test_tls(start: Start, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair, client = authority.server(), authority.server("client")
    server = start(
        f'tls {{ cert_file: "{pair.cert}", key_file: "{pair.key}", '
        f'ca_file: "{authority.cert}", verify: true }}'
    )
    mine = {"tls_ca": str(authority.cert), "tls_cert": str(client.cert)}
    greet(servers=server.url, **mine, tls_key=str(client.key))
    with pytest.raises(ConnectError, match="certificate"):
        greet(servers=server.url)  # an authority that this machine does not know
    plain = start()
    with pytest.raises(ConnectError, match="TLS was asked for, the server has none"):
        greet(servers=plain.url, tls_ca=str(authority.cert))
