"""Tokens with a bit or an end missing: never believed, and never more than a refusal."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetstream_py.config.account_options import User as UserOptions
from jetstream_py.jwt import OperatorMode, Refusal, Trust, expiry, handle
from jetstream_py.jwt.callout import Question, answer
from jetstream_py.jwt.claims import read_account, read_activation, read_operator, read_user
from jetstream_py.jwt.token import TokenError
from jetstream_py.jwt.trust import AccountError
from tests.jwt.account_cases import EXPORTS
from tests.jwt.cases import SCOPES, SIGNER, chain
from tests.jwt.test_callout import CALLOUT, HOUSE
from tests.jwt.world import NONCE, Connect, Login, judge
from tests.support.tokens import Account, Claims, User, forge, segment

MADE = chain()
MODE: OperatorMode = MADE.mode()
GOOD = MADE.user.jwt(nats={"bearer_token": True, "src": ["127.0.0.0/8"], "tags": ["a:b"]})
ACCOUNT = MADE.account.jwt(nats={"exports": EXPORTS, "signing_keys": [SIGNER.public]})


def flipped(text: str, at: int, bit: int) -> str:
    return text[:at] + chr(ord(text[at]) ^ 1 << bit) + text[at + 1 :]


def test_the_whole_tokens_are_good() -> None:
    assert isinstance(MODE.authenticate(Connect(GOOD), b"x", "127.0.0.1"), UserOptions)
    assert Trust(MADE.options()).account(MADE.account.public, ACCOUNT, MODE.now())


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 6))
def test_one_bit_of_a_user(at: int, bit: int) -> None:
    verdict = MODE.authenticate(Connect(flipped(GOOD, at, bit)), b"x", "127.0.0.1")
    assert isinstance(verdict, Refusal)


@settings(deadline=None)
@given(st.integers(0, len(GOOD) - 1))
def test_the_end_of_a_user(at: int) -> None:
    for text in (GOOD[:at], GOOD[at + 1 :], GOOD[:at] + GOOD[at + 1 :]):
        assert isinstance(MODE.authenticate(Connect(text), b"x", "127.0.0.1"), Refusal)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(ACCOUNT) - 1), st.integers(0, 6))
def test_one_bit_of_an_account(at: int, bit: int) -> None:
    for text in (flipped(ACCOUNT, at, bit), ACCOUNT[:at]):
        with pytest.raises(AccountError):
            MODE.trust.account(MADE.account.public, text, MODE.now())
        reply = handle(MODE, CLAIMS, text.encode(), lambda: msgspec.Raw(b"{}"))
        assert reply is not None
        assert reply.changed is None


CLAIMS = f"$SYS.REQ.ACCOUNT.{MADE.account.public}.CLAIMS.UPDATE"


@settings(deadline=None)
@given(st.integers(0, 85), st.integers(0, 6))
def test_one_bit_of_a_proof(at: int, bit: int) -> None:
    sig = flipped(MADE.user.key.sig(NONCE), at, bit)
    assert isinstance(judge(MODE, Login(MADE.user.jwt(), MADE.user.key, sig)), Refusal)


@settings(deadline=None)
@given(st.text(max_size=20))
def test_a_proof_of_another_nonce(nonce: str) -> None:
    sig = MADE.user.key.sig(nonce + "x")
    client = Connect(MADE.user.jwt(), sig)
    assert isinstance(MODE.authenticate(client, nonce.encode(), "127.0.0.1"), Refusal)
    empty = Connect(MADE.user.jwt(), MADE.user.key.sig(""))
    assert isinstance(MODE.authenticate(empty, b"", "127.0.0.1"), Refusal)


segments = st.text(st.sampled_from("ABCabc019-_=+/\n é"), max_size=12)
texts = st.one_of(st.text(max_size=50), st.lists(segments, max_size=5).map(".".join))


@settings(deadline=None)
@given(texts, texts)
def test_any_text(jwt: str, sig: str) -> None:
    assert isinstance(MODE.authenticate(Connect(jwt, sig), b"x", "127.0.0.1"), Refusal)
    question = Question({"id": "N"}, "U", {}, {})
    assert isinstance(answer(jwt, CALLOUT, question, 0.0, HOUSE), Refusal)
    for read in (read_user, read_account, read_operator, read_activation):
        with pytest.raises(TokenError):
            read(jwt)


@pytest.mark.parametrize("depth", [10, 300, 600, 1_000, 5_000, 100_000])
def test_deep_nesting(depth: int) -> None:
    nest = b"[" * depth + b"]" * depth
    for head, body in ((nest, b"{}"), (b'{"typ":%b}' % nest, b"{}"), (HEAD, nest)):
        text = ".".join((segment(head), segment(body), ""))
        assert isinstance(MODE.authenticate(Connect(text), b"x", "127.0.0.1"), Refusal)
    nested = segment(b'{"nats":{"type":"user","version":2,"tags":%b}}' % nest)
    text = ".".join((segment(HEAD), nested, ""))
    assert isinstance(MODE.authenticate(Connect(text), b"x", "127.0.0.1"), Refusal)


HEAD = b'{"typ":"JWT","alg":"ed25519-nkey"}'


@pytest.mark.parametrize("value", [10**18, 10**30, 10**400, -(10**30), 1e30])
@pytest.mark.parametrize("name", ["subs", "payload", "data", "resp"])
def test_large_numbers(name: str, value: float) -> None:
    nats = {name: {"max": value, "ttl": value} if name == "resp" else value}
    verdict = judge(MODE, Login(MADE.user.jwt(nats=nats), MADE.user.key))
    assert isinstance(verdict, UserOptions) == (value == 10**18)


@pytest.mark.parametrize("name", ["exp", "nbf", "iat"])
def test_large_times(name: str) -> None:
    for value in (10**18, 10**30, 10**400, -(10**18)):
        fields: Claims = {name: value}
        verdict = judge(MODE, Login(MADE.user.jwt(**fields), MADE.user.key))
        if isinstance(verdict, UserOptions):
            assert abs(value) == 10**18
            expiry(verdict, MODE.now())


def test_half_characters() -> None:
    body = b'{"iss":"\\ud800","nats":{"type":"user","version":2,"tags":["\\ud800"]}}'
    text = ".".join((segment(HEAD), segment(body), ""))
    assert isinstance(MODE.authenticate(Connect(text), b"x", "127.0.0.1"), Refusal)
    for name in ("src", "tags", "allowed_connection_types"):
        token = MADE.user.jwt(nats={name: ["\ud800"], "times_location": "\ud800"}, name="\ud800")
        judge(MODE, Login(token, MADE.user.key))


# Whoever holds an account's key can sign anything: all of it may be odd, none of it may surprise.
fields = st.sampled_from([
    "pub", "sub", "resp", "allow", "deny", "max", "ttl", "src", "times", "start", "end", "subs",
    "times_location", "bearer_token", "allowed_connection_types", "tags", "issuer_account",
    "exports", "imports", "limits", "mappings", "revocations", "signing_keys", "subject", "type",
    "trace", "dest", "sampling", "authorization", "default_permissions", "service_latency", "a",
    "account", "token", "to", "local_subject", "account_token_position", "template", "key", "kind",
    "weight", "tiered_limits", "R1", "conn", "exp", "nbf", "iat", "sub", "*",
])  # fmt: skip
values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
    | st.sampled_from(["*", ">", "a.>", "{{tag(x)}}", "00:00:00", "UTC", "::/0", "headers"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=4),
    max_leaves=6,
)  # fmt: skip
bodies = st.dictionaries(fields, values, max_size=6)


@settings(max_examples=100, deadline=None)
@given(bodies, bodies)
def test_any_claims_of_a_user(body: Claims, outer: Claims) -> None:
    claims = MADE.user.claims(MADE.account.key)
    claims = {**claims, **outer, "nats": {**claims["nats"], **body}}
    token = forge(claims, MADE.account.key)
    assert isinstance(judge(MODE, Login(token, MADE.user.key)), Refusal | UserOptions)


@settings(max_examples=100, deadline=None)
@given(bodies)
def test_any_claims_of_an_account(body: Claims) -> None:
    account = Account(MADE.operator, "ANY", b"\x75" * 32)
    claims = account.claims(MADE.operator.key)
    claims["nats"] |= {**body, "type": "account", "version": 2}
    token = forge(claims, MADE.operator.key)
    try:
        found = MODE.trust.account(account.public, token, MODE.now())
    except AccountError:
        return
    assert found.name == account.public


@settings(max_examples=100, deadline=None)
@given(bodies)
def test_any_template(body: Claims) -> None:
    """Nobody checks the template of a scope before it is used."""
    account = Account(MADE.operator, "ANY", b"\x76" * 32)
    template = {**SCOPES["free"], **body}
    scope = {"kind": "user_scope", "key": SIGNER.public, "template": template}
    token = account.jwt(nats={"signing_keys": [scope]})
    MODE.forget(account.public)
    MODE.learn(account.public, token)
    user = User(account, "u", b"\x77" * 32)
    verdict = judge(MODE, Login(user.scoped(SIGNER, {"tags": ["x:1"]}), user.key))
    assert isinstance(verdict, Refusal | UserOptions)
