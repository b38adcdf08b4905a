"""The claims services of nats-server and ours, request by request, for each kind of resolver."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from jetstream_py.jwt import OperatorMode, Reply, handle
from tests.jwt.cases import NOW
from tests.jwt.world import Chain, Login, attempt, judge, requests
from tests.support.raw import RawClient
from tests.support.server import ORACLE, Server, Servers
from tests.support.tokens import Account, Claims, Key, Operator, claim, forge

SERVER = re.compile(rb'"server":\{[^{}]*(\{[^{}]*\})?[^{}]*\}')
ALL = "$SYS.REQ.CLAIMS."
STRANGER = Operator("STRANGER", b"\x61" * 32)


class Pair(NamedTuple):
    """A server and ours, with the same accounts."""

    made: Chain
    mode: OperatorMode
    real: Server
    admin: RawClient
    path: Path

    def ask(self, subject: str, payload: str | bytes = b"") -> Reply | None:
        """The answers of both, which have to be the same."""
        body = payload.encode() if isinstance(payload, str) else payload
        reply = handle(self.mode, subject, body, lambda: msgspec.Raw(b"{}"))
        if reply is None:
            assert b"NATS/1.0 503" in requests(self.admin, subject, body, 1)[0]
            return None
        theirs = requests(self.admin, subject, body, len(reply.bodies))
        assert reply.bodies == [SERVER.sub(b'"server":{}', answer) for answer in theirs]
        assert self.admin.exchange() == b""
        for line in (*reply.debug, *reply.errors):
            assert line in self.real.wait_for_log(line)
        return reply

    def may_connect(self) -> bool:
        """The account's user, at both."""
        login = Login(self.made.user.jwt(), self.made.user.key)
        mine = getattr(judge(self.mode, login), "answer", "")
        client, answer = attempt(self.real, login)
        client.close()
        assert bool(answer) == bool(mine)
        return not answer


@pytest.fixture
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """Indirect: the resolver's kind and settings."""
    kind, settings = request.param
    made = Chain()
    ours = {"resolver": kind, "directory": str(tmp_path / "ours"), **settings}
    lines = [f"{name}: {str(value).lower()}" for name, value in settings.items()]
    block = "\n".join([f"type: {kind}", f'dir: "{tmp_path / "theirs"}"', 'timeout: "50ms"', *lines])
    config = made.config("resolver: MEMORY" if kind == "memory" else f"resolver {{\n{block}\n}}")
    with Servers(tmp_path) as servers:
        real = servers.start(ORACLE, config, ["-D"])
        client, answer = attempt(real, Login(made.system_user.jwt(), made.system_user.key))
        assert answer == b""
        with client:
            yield Pair(made, made.mode(**ours), real, client, tmp_path)


def resolver(kind: str, **settings: object) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("pair", [(kind, settings)], indirect=True, ids=[kind])


def account(pair: Pair, name: str = "NEW") -> Account:
    return Account(pair.made.operator, name, name.encode().ljust(32))


def deletion(accounts: object, key: Key, subject: str = "", **fields: object) -> str:
    nats: Claims = {} if accounts is None else {"accounts": accounts}
    return forge(claim("generic", subject or key.public, key.public, nats, **fields), key)


@resolver("full")
def test_update_and_look_up(pair: Pair) -> None:
    new = account(pair)
    look_up = f"$SYS.REQ.ACCOUNT.{new.public}.CLAIMS.LOOKUP"
    pair.ask(look_up)
    pair.ask(ALL + "UPDATE", new.jwt())
    pair.ask(look_up)
    pair.ask(ALL + "UPDATE", new.jwt(iat=1_600_000_000))
    pair.ask(look_up)
    pair.ask(f"$SYS.REQ.ACCOUNT.{new.public}.CLAIMS.UPDATE", new.jwt(iat=1_700_000_005))
    pair.ask(look_up)
    for wrong in (pair.made.account.public, "junk"):
        pair.ask(f"$SYS.REQ.ACCOUNT.{wrong}.CLAIMS.UPDATE", new.jwt())
    for wrong in ("junk", "a/b"):
        pair.ask(f"$SYS.REQ.ACCOUNT.{wrong}.CLAIMS.LOOKUP")
    pair.ask(ALL + "LIST")
    pair.ask(ALL + "LIST", "x")
    pair.ask(ALL + "FOO")


@resolver("full")
def test_pack(pair: Pair) -> None:
    pair.ask(ALL + "PACK")
    pair.ask(ALL + "PACK", "x")
    total = 0
    for file in (pair.path / "theirs").glob("*.jwt"):
        total ^= int.from_bytes(hashlib.sha256(file.read_bytes()).digest())
    reply = pair.ask(ALL + "PACK", total.to_bytes(32))
    assert reply is not None
    assert reply.bodies == [b""]


@resolver("full")
def test_live_account_follows_only_whom_it_trusts(pair: Pair) -> None:
    mine = pair.made.account
    assert pair.may_connect()
    for fields in ({"iat": 1_600_000_000}, {"iat": 1_700_000_100, "nats": {"limits": {"subs": 4}}}):
        reply = pair.ask(ALL + "UPDATE", mine.jwt(**fields))
        assert reply is not None
        assert reply.changed is not None
    for token in (mine.jwt(key=STRANGER.key), mine.jwt(exp=NOW - 5), mine.jwt(nbf=NOW + 86_400)):
        reply = pair.ask(ALL + "UPDATE", token)
        assert reply is not None
        assert reply.changed is None
        assert pair.may_connect()
    pair.ask(ALL + "UPDATE", mine.jwt(nats={"revocations": {pair.made.user.public: NOW}}))
    assert not pair.may_connect()
    pair.ask(ALL + "UPDATE", mine.jwt())
    assert pair.may_connect()


@resolver("full", limit=4)
def test_a_full_store_refuses(pair: Pair) -> None:
    for at in range(4):
        pair.ask(ALL + "UPDATE", account(pair, f"N{at}").jwt())
    pair.ask(ALL + "UPDATE", account(pair, "N1").jwt(iat=1_700_000_005))
    pair.ask(ALL + "LIST")


@resolver("full", allow_delete=True)
def test_delete(pair: Pair) -> None:
    made = pair.made
    trusted, first, second = made.operator.key, account(pair, "A"), account(pair, "B")
    for new in (first, second):
        pair.ask(ALL + "UPDATE", new.jwt())
    for wrong in (
        "", "a.b.c", deletion(None, trusted), deletion("x", trusted), deletion([1], trusted),
        deletion(["../x"], trusted), deletion([first.public, "x"], trusted),
        deletion([first.public], STRANGER.key), deletion([first.public], first.key),
        deletion([first.public], trusted, STRANGER.key.public),
        deletion([made.system.public], trusted),
    ):  # fmt: skip
        reply = pair.ask(ALL + "DELETE", wrong)
        assert reply is not None
        assert not reply.deleted
    pair.ask(ALL + "LIST")
    pair.ask(ALL + "DELETE", deletion([], trusted))
    pair.ask(ALL + "DELETE", deletion([account(pair, "UNKNOWN").public], trusted))
    pair.ask(ALL + "DELETE", deletion([first.public, second.public], trusted, exp=NOW - 5))
    pair.ask(ALL + "LIST")
    assert pair.may_connect()
    pair.ask(ALL + "DELETE", deletion([made.account.public], trusted))
    assert not pair.may_connect()
    assert listing(pair.path / "ours") == listing(pair.path / "theirs")


@resolver("full", allow_delete=True, hard_delete=True)
def test_hard_delete(pair: Pair) -> None:
    pair.ask(ALL + "DELETE", deletion([pair.made.account.public], pair.made.operator.key))
    assert listing(pair.path / "ours") == listing(pair.path / "theirs")


@resolver("full")
def test_delete_has_to_be_allowed(pair: Pair) -> None:
    pair.ask(ALL + "DELETE", deletion([pair.made.account.public], pair.made.operator.key))
    assert pair.may_connect()


@resolver("cache")
def test_cache(pair: Pair) -> None:
    new, mine = account(pair), pair.made.account
    assert pair.may_connect()
    pair.ask(ALL + "PACK")
    pair.ask(ALL + "LIST")
    pair.ask(ALL + "UPDATE", new.jwt())
    pair.ask(ALL + "UPDATE", mine.jwt(iat=1_700_000_100))
    pair.ask(ALL + "UPDATE", mine.jwt(key=STRANGER.key))
    pair.ask(f"$SYS.REQ.ACCOUNT.{mine.public}.CLAIMS.LOOKUP")
    assert pair.may_connect()
    pair.ask(ALL + "DELETE", deletion([mine.public, new.public], pair.made.operator.key))
    pair.ask(ALL + "LIST")
    assert listing(pair.path / "ours") == listing(pair.path / "theirs")


@resolver("memory")
def test_memory(pair: Pair) -> None:
    new, mine = account(pair), pair.made.account
    assert pair.may_connect()
    for verb in ("PACK", "LIST", "UPDATE", "DELETE"):
        pair.ask(ALL + verb, new.jwt())
    pair.ask(f"$SYS.REQ.ACCOUNT.{mine.public}.CLAIMS.LOOKUP")
    for who, token in (
        (new, new.jwt()), (mine, mine.jwt(iat=1_700_000_100)), (mine, mine.jwt(key=STRANGER.key)),
        (mine, "a.b.c"), (mine, new.jwt()),
    ):  # fmt: skip
        pair.ask(f"$SYS.REQ.ACCOUNT.{who.public}.CLAIMS.UPDATE", token)
    assert pair.may_connect()
    pair.ask(
        f"$SYS.REQ.ACCOUNT.{mine.public}.CLAIMS.UPDATE", mine.jwt(nats={"revocations": {"*": NOW}})
    )
    assert not pair.may_connect()


def listing(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}
