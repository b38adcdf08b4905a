"""Accounts pushed to nats-server and to us: the same answer, and the same fate of a user of theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from jetstream_py.config.account_options import User as UserOptions
from jetstream_py.jwt import OperatorMode, Refusal, handle
from tests.jwt.account_cases import CASES, EXPORTS, OPERATOR_SIGNER, exporter
from tests.jwt.world import Chain, Login, attempt, judge, reason, request
from tests.support.raw import RawClient
from tests.support.server import ORACLE, Server, Servers
from tests.support.tokens import Account, User

UPDATE = "$SYS.REQ.CLAIMS.UPDATE"
# Texts of Go's JSON reader, and of its lists of expected keys.
UNEQUAL = {"number for a text", "by a user", "cut", "mappings with too much weight"}


@pytest.fixture(scope="module")
def made() -> Chain:
    made = Chain({"signing_keys": [OPERATOR_SIGNER.public]})
    account = exporter(made)
    made.preload[account.public] = account.jwt(nats={"exports": EXPORTS})
    return made


@pytest.fixture(scope="module")
def mode(made: Chain, tmp_path_factory: pytest.TempPathFactory) -> OperatorMode:
    return made.mode(resolver="full", directory=str(tmp_path_factory.mktemp("ours")))


@pytest.fixture(scope="module")
def real(made: Chain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path: Path = tmp_path_factory.mktemp("oracle")
    resolver = f'resolver {{ type: full, dir: "{path / "jwt"}", timeout: "50ms" }}'
    with Servers(path) as servers:
        yield servers.start(ORACLE, made.config(resolver), ["-D"])


@pytest.fixture(scope="module")
def admin(made: Chain, real: Server) -> Iterator[RawClient]:
    client, answer = attempt(real, Login(made.system_user.jwt(), made.system_user.key))
    assert answer == b""
    with client:
        yield client


@pytest.mark.parametrize("name", CASES)
def test_push(name: str, made: Chain, mode: OperatorMode, real: Server, admin: RawClient) -> None:
    account = Account(made.operator, name, name.encode().ljust(32)[:32])
    token = CASES[name](made, account)
    reply = handle(mode, UPDATE, token.encode(), lambda: msgspec.Raw(b"{}"))
    assert reply is not None
    mine, theirs = json.loads(reply.bodies[0]), json.loads(request(admin, UPDATE, token.encode()))
    assert theirs.pop("server")
    if name in UNEQUAL:
        assert mine["error"]["code"] == theirs["error"]["code"] == 500
        return
    assert mine == {"server": {}, **theirs}
    if "error" in theirs:
        return
    user = User(account, "u", b"\x70" * 32)
    compare_fate(mode, real, Login(user.jwt(), user.key))


def compare_fate(mode: OperatorMode, real: Server, login: Login) -> None:
    verdict = judge(mode, login)
    client, answer = attempt(real, login)
    with client:
        if b"Authorization Violation" in answer:
            assert isinstance(verdict, Refusal)
            assert verdict.reason == reason(real, client)
        else:
            assert isinstance(verdict, UserOptions), verdict
            account = mode.account(verdict.account)
            assert account is not None
            assert (account.max_connections == 0) == (b"maximum account active" in answer)


def test_errors_of_json_name_no_secret(mode: OperatorMode) -> None:
    reply = handle(mode, UPDATE, b"e30.e30.e30", lambda: msgspec.Raw(b"{}"))
    assert reply is not None
    assert re.match(rb'\{"server":\{\},"error":\{"account":"n/a","code":500,', reply.bodies[0])
