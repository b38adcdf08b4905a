"""Operator mode as the server uses it: accounts as plain data, time, updates, resolvers that block."""

from __future__ import annotations

import http.server
import math
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from jetstream_py import limits, nkey
from jetstream_py.clock import ManualClock
from jetstream_py.config.account_options import (
    AccountOptions,
    Destination,
    Export,
    Import,
    Latency,
    Mapping,
    Permissions,
    Rule,
    StreamLimits,
)
from jetstream_py.config.account_options import Operator as OperatorOptions
from jetstream_py.config.account_options import User as UserOptions
from jetstream_py.jwt import AccountError, OperatorMode, Refusal, activated_until, expiry
from tests.jwt.account_cases import EXPORTS, activated, exporter
from tests.jwt.world import Chain, Connect, Login, judge
from tests.support.tokens import Account, Claims, Key, Operator, User, claim, forge

NOW = 1_700_000_000
HOUR = 3600


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW * 10**9)


@pytest.fixture
def made() -> Chain:
    return Chain()


@pytest.fixture
def mode(made: Chain, clock: ManualClock) -> OperatorMode:
    return OperatorMode(made.options(), clock, made.system.public)


def converted(made: Chain, mode: OperatorMode, nats: Claims, **fields: Any) -> AccountOptions:
    return mode.update(made.account.jwt(nats=nats, **fields))


def log_in(
    made: Chain, mode: OperatorMode, nats: Claims | None = None, **fields: Any
) -> UserOptions:
    user = judge(mode, Login(made.user.jwt(nats=nats, **fields), made.user.key))
    assert isinstance(user, UserOptions), user
    return user


def test_an_account_as_plain_data(made: Chain, mode: OperatorMode) -> None:
    other = exporter(made).public
    found = converted(made, mode, {
        "limits": {"conn": 1, "subs": 2, "payload": 3, "leaf": 4, "mem_storage": 0, "disk_storage": 7,
                   "streams": 8, "max_bytes_required": True, "disallow_bearer": True},
        "exports": EXPORTS,
        "imports": [
            {"subject": "s.>", "account": other, "type": "stream", "local_subject": "in.>"},
            {"subject": "s.a", "account": other, "type": "stream", "to": "pre"},
            {"subject": "s.b", "account": other, "type": "stream"},
            {"subject": "mine", "account": other, "type": "service", "to": "theirs", "share": True},
            {"subject": "l", "account": other, "type": "service", "local_subject": "l2"},
        ],
        "mappings": {"a": [{"subject": "b", "weight": 40}], "c": [{"subject": "d"}]},
        "default_permissions": {"pub": {"deny": ["x"]}},
        "authorization": {"auth_users": [made.user.public], "allowed_accounts": ["*"]},
        "trace": {"dest": "t.u"},
        "tags": ["a:b"],
        "revocations": {"*": 5},
    }, exp=NOW + HOUR)  # fmt: skip
    assert (found.name, found.nkey, found.name_tag) == (made.account.public,) * 2 + ("ACC",)
    assert (found.max_connections, found.max_subscriptions) == (1, 2)
    assert (found.max_payload, found.max_leafnodes) == (3, 4)
    assert found.jetstream == StreamLimits(0, 7, 8, 0, max_bytes_required=True)
    assert found.stores
    assert found.exports == (
        Export("s.>"),
        Export("r.*", True, None, "chunked", 1.0, None, 2, token_required=True),
        Export("l", True, latency=Latency("lat.x", 50)),
        Export("lh", True, latency=Latency("y", 0)),
        Export("tr", token_required=True, revocations=(("*", 5),)),
    )
    assert found.imports == (
        Import(other, "s.>", "in.>"),
        Import(other, "s.a", "pre.s.a"),
        Import(other, "s.b", "s.b"),
        Import(other, "theirs", "mine", True, True),
        Import(other, "l", "l2", True),
    )
    assert found.mappings == (
        Mapping("a", (Destination("b", 40),)),
        Mapping("c", (Destination("d"),)),
    )
    assert found.default_permissions == Permissions(Rule(deny=("x",)))
    assert found.callout is not None
    assert (found.callout.users, found.callout.allowed_accounts) == ((made.user.public,), ("*",))
    assert (found.trace_dest, found.trace_sampling) == ("t.u", 100)
    assert (found.tags, found.expires, found.disallow_bearer) == (("a:b",), NOW + HOUR, True)
    assert found.revocations == (("*", 5),)
    assert found.issuer == made.operator.key.public


def test_tiers_stand_instead_of_limits(made: Chain, mode: OperatorMode) -> None:
    tiers = {"R1": {"disk_storage": 5, "mem_storage": -1}, "R3": {}}
    found = converted(made, mode, {"limits": {"tiered_limits": tiers, "mem_storage": 9}})
    assert found.jetstream is None
    assert found.tiers == (("R1", StreamLimits(-1, 5, 0, 0)),)
    assert found.stores
    assert not converted(made, mode, {}).stores


def test_answers_only(made: Chain, mode: OperatorMode) -> None:
    """Who may answer, and is not told what to publish, may publish nothing else."""
    user = log_in(made, mode, {"resp": {"max": 2, "ttl": 10**9}})
    assert user.permissions is not None
    assert user.permissions.publish == Rule(allow=())
    assert user.permissions.subscribe is None


def test_expiry(made: Chain, mode: OperatorMode, clock: ManualClock) -> None:
    assert expiry(log_in(made, mode), mode.now()) is None
    assert expiry(log_in(made, mode, exp=NOW + 10), mode.now()) == NOW + 10
    # 2023-11-14 22:13:20 UTC
    until = {"times": [{"start": "22:00:00", "end": "22:20:00"}], "times_location": "UTC"}
    assert expiry(log_in(made, mode, until), mode.now()) == NOW + 400
    assert expiry(log_in(made, mode, until, exp=NOW + 10), mode.now()) == NOW + 10
    over = {"times": [{"start": "22:00:00", "end": "01:00:00"}], "times_location": "UTC"}
    assert expiry(log_in(made, mode, over), mode.now()) == NOW + 400 + 160 * 60
    clock.advance(3 * HOUR - 1000)
    assert expiry(log_in(made, mode, over), mode.now()) == NOW + 400 + 160 * 60
    clock.advance(HOUR)
    assert isinstance(judge(mode, Login(made.user.jwt(nats=over), made.user.key)), Refusal)


def test_time_zones(made: Chain, mode: OperatorMode) -> None:
    hours = [{"start": "17:00:00", "end": "17:30:00"}]
    there = {"times": hours, "times_location": "America/New_York"}
    assert expiry(log_in(made, mode, there), mode.now()) == NOW + 1000


def test_a_token_ends_to_the_second(made: Chain, mode: OperatorMode, clock: ManualClock) -> None:
    login = Login(made.user.jwt(exp=NOW + 10), made.user.key)
    clock.advance(10.5)
    assert isinstance(judge(mode, login), UserOptions)
    clock.advance(0.5)
    assert isinstance(judge(mode, login), Refusal)


def test_an_account_ends(made: Chain, clock: ManualClock) -> None:
    made.preload[made.account.public] = made.account.jwt(exp=NOW + 10)
    mode = OperatorMode(made.options(), clock, made.system.public)
    user = log_in(made, mode)
    clock.advance(10)
    assert mode.recheck(user) is None
    clock.advance(1)
    gone = mode.recheck(user)
    assert gone is not None
    assert gone.answer == "Account Authentication Expired"
    login = Login(made.user.jwt(), made.user.key)
    assert judge(mode, login) == Refusal("Account JWT has expired")
    mode.update(made.account.jwt())
    assert isinstance(judge(mode, login), UserOptions)


def test_recheck_after_an_update(made: Chain, mode: OperatorMode) -> None:
    scope = Key(nkey.ACCOUNT, b"\x31" * 32)
    signer = Key(nkey.ACCOUNT, b"\x32" * 32)
    template: Claims = {"subs": -1, "payload": -1, "pub": {"allow": ["a"]}}

    def keys(template: Claims) -> Claims:
        scoped = {"kind": "user_scope", "key": scope.public, "template": template}
        return {"signing_keys": [scoped, signer.public]}

    converted(made, mode, keys(template))
    scoped = judge(mode, Login(made.user.scoped(scope), made.user.key))
    signed = judge(mode, Login(made.user.jwt(key=signer), made.user.key))
    plain = log_in(made, mode)
    assert isinstance(scoped, UserOptions)
    assert isinstance(signed, UserOptions)
    users = (scoped, signed, plain)

    def answers(nats: Claims) -> list[str | None]:
        converted(made, mode, nats)
        return [found.answer if found else None for found in map(mode.recheck, users)]

    assert answers(keys(template)) == [None, None, None]
    assert answers({**keys(template), "tags": ["x"]}) == [None, None, None]
    defaults = {"default_permissions": {"pub": {"deny": ["z"]}}}
    assert answers({**keys(template), **defaults}) == [None, None, None]
    assert answers(keys({**template, "pub": {"allow": ["b"]}})) == ["", None, None]
    assert answers({}) == ["", "", None]
    revoked = "User Authentication Revoked"
    assert answers({"revocations": {made.user.public: NOW}}) == [revoked] * 3
    assert answers({"revocations": {"*": NOW - 1}}) == ["", "", None]
    with pytest.raises(AccountError, match="account validation failed"):
        mode.update(made.account.jwt(key=Operator().key))
    assert mode.recheck(plain) is None


def test_strict_signing_keys(clock: ManualClock) -> None:
    """The operator's own key signs no accounts, accounts' own keys sign no users."""
    signer = Key(nkey.OPERATOR, b"\x33" * 32)
    made = Chain({"signing_keys": [signer.public], "strict_signing_key_usage": True})
    with pytest.raises(
        ValueError, match="error resolving system account: account validation failed"
    ):
        OperatorMode(made.options(), clock, made.system.public)
    nats = {"signing_keys": [made.account.signer.public]}
    made.preload = {
        made.system.public: made.system.jwt(key=signer),
        made.account.public: made.account.jwt(key=signer, nats=nats),
    }
    mode = OperatorMode(made.options(), clock, made.system.public)
    refused = judge(mode, Login(made.user.jwt(), made.user.key))
    assert refused == Refusal("User JWT issuer is not known")
    by_signer = Login(made.user.jwt(key=made.account.signer), made.user.key)
    assert isinstance(judge(mode, by_signer), UserOptions)


def test_the_operator_names_the_system_account(clock: ManualClock) -> None:
    made = Chain()
    made.operator_nats = {"system_account": made.system.public}
    assert OperatorMode(made.options(), clock).system_account == made.system.public


def test_pinned_accounts(made: Chain, clock: ManualClock) -> None:
    pinned = exporter(made).public
    mode = OperatorMode(made.options(pinned_accounts=(pinned,)), clock, made.system.public)
    verdict = judge(mode, Login(made.user.jwt(), made.user.key))
    assert isinstance(verdict, Refusal)
    name = made.account.public
    assert verdict.reason == f"Account {name} not listed as operator pinned account"
    login = Login(made.system_user.jwt(), made.system_user.key)
    assert isinstance(judge(mode, login), UserOptions)


@pytest.mark.parametrize(
    ("account", "jwt"), [("junk", ""), ("../x", ""), (None, "junk"), (None, "other")]
)
def test_preloads_are_checked(
    made: Chain, clock: ManualClock, account: str | None, jwt: str
) -> None:
    name = account or made.account.public
    text = exporter(made).jwt() if jwt == "other" else jwt
    with pytest.raises(ValueError, match="preload account"):
        OperatorMode(made.options(preload=((name, text),)), clock)


def test_operators_are_checked(made: Chain, clock: ManualClock) -> None:
    for wrong in (made.account.jwt(), "junk", made.operator.jwt()[:-2]):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever is wrong with it
            OperatorMode(OperatorOptions(jwts=(wrong,)), clock)
    with pytest.raises(ValueError, match="operator"):
        OperatorMode(OperatorOptions(trusted_keys=(made.account.public,)), clock)


def test_trusted_keys_instead_of_an_operator(made: Chain, clock: ManualClock) -> None:
    options = OperatorOptions(
        trusted_keys=(made.operator.key.public,), preload=tuple(made.preload.items())
    )
    log_in(made, OperatorMode(options, clock))


def test_activations(made: Chain, mode: OperatorMode, clock: ManualClock) -> None:
    offering = mode.update(exporter(made).jwt(nats={"exports": EXPORTS}))
    importer = Account(made.operator, "I", b"\x34" * 32)

    def holds(token: str, name: str = importer.public) -> bool:
        wanted = mode.update(token).imports[0]
        return activated_until(name, wanted, offering, mode.now()) is not None

    assert holds(activated()(made, importer))
    assert not holds(activated()(made, importer), made.account.public)
    assert not holds(activated(exp=NOW - 5)(made, importer))
    assert not holds(activated(iat=3)(made, importer))
    assert not holds(importer.jwt(nats={"imports": [
        {"subject": "tr", "account": offering.name, "type": "stream"},
    ]}))  # fmt: skip
    later = activated(exp=NOW + 5)(made, importer)
    assert holds(later)
    clock.advance(10)
    assert not holds(later)


def test_activations_by_a_signing_key(made: Chain, mode: OperatorMode) -> None:
    owner = exporter(made)
    nats = {"exports": EXPORTS, "signing_keys": [owner.signer.public]}
    offering = mode.update(owner.jwt(nats=nats))
    key = owner.signer
    for named, holds in ((owner.public, True), (made.account.public, False), ("", False)):
        body = {"subject": "tr", "kind": "stream", "issuer_account": named}
        token = forge(claim("activation", made.account.public, key.public, body), key)
        wanted = Import(owner.public, "tr", "tr", token=token)
        until = activated_until(made.account.public, wanted, offering, NOW)
        assert until == (math.inf if holds else None)


# -- a resolver that blocks ------------------------------------------------------------------------


class _Accounts(http.server.BaseHTTPRequestHandler):
    tokens: dict[str, bytes] = {}

    def do_GET(self) -> None:
        body = self.tokens.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url(made: Chain) -> Iterator[str]:
    _Accounts.tokens = {
        f"/jwt/v1/accounts/{name}": token.encode() for name, token in made.preload.items()
    }
    with http.server.HTTPServer(("127.0.0.1", 0), _Accounts) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/jwt/v1/accounts/"
        server.shutdown()
        thread.join()


def test_an_account_server(made: Chain, clock: ManualClock, url: str) -> None:
    options = made.options(resolver="url", url=url, preload=())
    mode = OperatorMode(options, clock, made.system.public)
    login = Login(made.user.jwt(), made.user.key)
    client = Connect(login.jwt)
    assert isinstance(judge(mode, login), Refusal)
    name = mode.wanted(client)
    assert name == made.account.public
    mode.learn(name, mode.resolver.fetch(name, NOW))
    assert mode.wanted(client) is None
    assert isinstance(judge(mode, login), UserOptions)
    assert mode.wanted(Connect("junk")) is None
    stranger = User(Account(Operator(), "X"), "x")
    unknown = mode.wanted(Connect(stranger.jwt()))
    assert unknown == stranger.account.public
    assert mode.resolver.fetch(unknown, NOW) is None
    mode.learn(unknown, stranger.account.jwt())
    assert mode.account(unknown) is None
    assert mode.resolver.fetch("../../secret", NOW) is None


def test_an_account_server_that_says_too_much(
    made: Chain, clock: ManualClock, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mode = OperatorMode(made.options(resolver="url", url=url, preload=()), clock)
    assert mode.resolver.fetch(made.account.public, NOW)
    monkeypatch.setattr(limits, "JWT_SIZE", 100)
    assert mode.resolver.fetch(made.account.public, NOW) is None


def test_an_account_server_is_no_file(made: Chain, clock: ManualClock) -> None:
    with pytest.raises(ValueError, match="http"):
        OperatorMode(made.options(resolver="url", url="file:///etc/"), clock)
