"""Tokens of users, from good to forged. What becomes of them is what nats-server says."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import Any

from jetstream_py import nkey
from tests.jwt.world import INBOX, INFO, Chain, Login
from tests.support.tokens import V1, V2, Account, Claims, Key, User, claim, forge

Make = Callable[[Chain], Login]
NOW = int(time.time())
FREE: Claims = {"subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {}}
PUB, SUB = [INFO], [INBOX.decode()]  # so that a user with permissions can ask who it is
# Keys of the account with templates, by name.
SCOPES: dict[str, Claims] = {
    "free": FREE,
    "slots": {
        **FREE,
        "pub": {"allow": [
            *PUB, "a.{{name()}}.{{subject()}}", "b.{{account-name()}}.{{account-subject()}}",
            "c.{{tag(x)}}", "d.{{account-tag(y)}}", "e.{{tag(none)}}", "f.{{tag(x)}}.{{tag(z)}}",
            "g.x{{name()}}y", "h.{{ NAME() }}", "i.{{tag(X)}}", "j.{{name()", "k.{{tag(x)}}.{{tag(x)}}",
            "l.{{account-tag(z)}}", "m.{{tag( x )}}", "n.{{tag()}}", "o.>.p", "q*", "r.*s",
        ]},
        "sub": {"allow": [*SUB, "q.{{tag(x)}} {{name()}}", "q q"], "deny": ["s.{{name()}}", "z.a"]},
        "resp": {"max": 3, "ttl": 1_000_000_000},
    },
    "deny nothing": {**FREE, "sub": {"deny": ["s.{{tag(none)}}"]}},
    "deny a group": {**FREE, "sub": {"deny": ["s.t q"]}},
    "deny a group and a slot": {**FREE, "sub": {"deny": ["s.t q", "t.{{name()}}"]}},
    "slot in braces": {**FREE, "pub": {"allow": [*PUB, "s.{{{name()}}}"]}},
    "slot with a blank": {**FREE, "pub": {"allow": [*PUB, "s.{{name ()}}"]}},
    "unknown function": {**FREE, "pub": {"allow": [*PUB, "s.{{foo()}}"]}},
    "argument too many": {**FREE, "pub": {"allow": [*PUB, "s.{{name(x)}}"]}},
    "network": {**FREE, "src": ["10.0.0.0/8"]},
    "bearer": {**FREE, "bearer_token": True},
    "websocket": {**FREE, "allowed_connection_types": ["WEBSOCKET"]},
    "zero": {},
}  # fmt: skip
SCOPE_KEYS = {name: Key(nkey.ACCOUNT, bytes([50 + at]) * 32) for at, name in enumerate(SCOPES)}
SIGNER = Key(nkey.ACCOUNT, b"\x40" * 32)
STRANGER = Key(nkey.ACCOUNT, b"\x41" * 32)


def chain() -> Chain:
    """With accounts of all sorts."""
    made = Chain()
    scopes = [
        {"kind": "user_scope", "key": SCOPE_KEYS[name].public, "role": name, "template": template}
        for name, template in SCOPES.items()
    ]
    nats = {"signing_keys": [*scopes, SIGNER.public], "tags": ["y:1", "y:2", "Z:3"]}
    made.preload[made.account.public] = made.account.jwt(nats=nats)
    revocations = {other(made, "REVOKED").public: 0, user_of(made, "REVOKED").public: NOW, "*": 500}
    defaults = {"pub": {"allow": [*PUB, "dx", "{{name()}}"]}, "sub": {"deny": ["dy"]}}
    others: dict[str, Claims] = {
        "REVOKED": {"revocations": revocations},
        "NO BEARER": {"limits": {"disallow_bearer": True}},
        "DEFAULTS": {"default_permissions": defaults},
    }
    for name, nats in others.items():
        account = other(made, name)
        made.preload[account.public] = account.jwt(nats=nats)
    first = other(made, "FIRST VERSION")
    claims = first.claims(made.operator.key)
    claims |= {"type": "account", "tags": ["Foo:Bar"]}
    for field in ("type", "version", "default_permissions"):
        del claims["nats"][field]
    made.preload[first.public] = forge(claims, made.operator.key, V1)
    return made


def other(made: Chain, name: str) -> Account:
    return Account(made.operator, name, name.encode().ljust(32))


def user_of(made: Chain, name: str) -> User:
    return User(other(made, name), "u", name.encode().rjust(32))


def plain(nats: Claims | None = None, sig: str | None = None, **fields: Any) -> Make:
    return lambda made: Login(made.user.jwt(nats=nats, **fields), made.user.key, sig)


def raw(change: Callable[[Claims], None], key: Key | None = None, alg: str = V2) -> Make:
    """The usual claims, changed before they are signed."""

    def make(made: Chain) -> Login:
        claims = made.user.claims(made.account.key)
        change(claims)
        return Login(forge(claims, key or made.account.key, alg), made.user.key)

    return make


def text(change: Callable[[str], str]) -> Make:
    """The usual token, changed after it was signed."""
    return lambda made: Login(change(made.user.jwt()), made.user.key)


def header(**fields: str) -> Make:
    return lambda made: Login(
        forge(made.user.claims(made.account.key), made.account.key, header=fields), made.user.key
    )


def scoped(scope: str, nats: Claims | None = None, sig: str | None = None, **fields: Any) -> Make:
    return lambda made: Login(
        made.user.scoped(SCOPE_KEYS[scope], nats, **fields), made.user.key, sig
    )


def in_account(name: str, nats: Claims | None = None, **fields: Any) -> Make:
    def make(made: Chain) -> Login:
        user = user_of(made, name)
        return Login(user.jwt(nats=nats, **fields), user.key)

    return make


def signed(encode: Callable[[bytes], str]) -> Make:
    """With the nonce's signature in another spelling; the nonce is the harness's to know."""
    return lambda made: Login(made.user.jwt(), _Spelling(made.user.key, encode))


class _Spelling(Key):
    def __init__(self, key: Key, encode: Callable[[bytes], str]) -> None:
        self.pair, self.encode = key.pair, encode

    def sig(self, nonce: str) -> str:
        return self.encode(self.pair.sign(nonce.encode()))


def first_version(name: str = "FIRST VERSION", limits: bool = True, alg: str = V1) -> Make:
    def make(made: Chain) -> Login:
        user = user_of(made, name)
        claims = user.claims(user.account.key)
        claims |= {"type": "user", "tags": ["X:Y"]}
        for field in ("type", "version", *(() if limits else ("subs", "data", "payload"))):
            del claims["nats"][field]
        return Login(forge(claims, user.account.key, alg), user.key)

    return make


def by(key: Callable[[Chain], Key], **fields: Any) -> Make:
    return lambda made: Login(made.user.jwt(key=key(made), **fields), made.user.key)


def _set(path: str, value: object) -> Callable[[Claims], None]:
    def change(claims: Claims) -> None:
        *parents, last = path.split(".")
        for name in parents:
            claims = claims[name]
        claims[last] = value

    return change


def _cut(name: str) -> Callable[[Claims], None]:
    return lambda claims: claims.pop(name)


def _upper(claims: Claims) -> None:
    for name in [*claims]:
        claims[name.upper()] = claims.pop(name)


def _no_type(claims: Claims) -> None:
    del claims["nats"]["version"]


TAGS: Claims = {"tags": ["x:A", "x:b", "z:1", "z:2", ":q"]}
HOURS = [{"start": "00:00:00", "end": "00:00:00"}]

CASES: dict[str, Make] = {
    "good": plain(),
    "no jwt": lambda made: Login("", made.user.key),
    "no signature": plain(sig=""),
    "signature of something else": plain(sig="abcd"),
    "signature that is not base64": plain(sig="!!"),
    "signature by another key": lambda made: Login(made.user.jwt(), made.system_user.key),
    "signature in plain base64": signed(lambda data: base64.b64encode(data).decode()),
    "signature for URLs, padded": signed(lambda data: base64.urlsafe_b64encode(data).decode()),
    "signature in plain base64, not padded": signed(
        lambda data: base64.b64encode(data).decode().rstrip("=")
    ),
    "signature too short": signed(
        lambda data: base64.urlsafe_b64encode(data[:-1]).decode().rstrip("=")
    ),
    "signature too long": signed(
        lambda data: base64.urlsafe_b64encode(data + b"x").decode().rstrip("=")
    ),
    # text
    "junk": text(lambda jwt: "a.b.c"),
    "line end": text(lambda jwt: jwt + "\n"),
    "four parts": text(lambda jwt: jwt + ".a"),
    "two parts": text(lambda jwt: jwt.rpartition(".")[0]),
    "padded": text(lambda jwt: jwt.replace(".", "=.")),
    "no signature of the issuer": text(lambda jwt: jwt.rpartition(".")[0] + "."),
    "signature of another token": lambda made: Login(
        made.user.jwt(name="root").rpartition(".")[0] + "." + made.user.jwt().rpartition(".")[2],
        made.user.key,
    ),
    "header in other case": header(typ="jwt", alg="ED25519-NKEY"),
    "header without algorithm": header(typ="jwt", alg="none"),
    "header of another type": header(typ="x", alg=V2),
    # issuers
    "by a signing key": by(lambda made: SIGNER),
    "by a stranger": by(lambda made: STRANGER),
    "by the operator": by(lambda made: made.operator.key),
    "by the user": by(lambda made: made.user.key),
    "by a signing key that hides its account": by(lambda made: SIGNER, nats={"issuer_account": ""}),
    "account named": plain({"issuer_account": "MADE"}),
    "of an account that nobody knows": in_account("UNKNOWN"),
    "the account's own token": lambda made: Login(made.account.jwt(), made.user.key),
    "for another account's key": raw(_set("iss", STRANGER.public)),
    "issuer without a key": raw(_set("iss", "ABC")),
    "subject is the account": raw(_set("sub", STRANGER.public)),
    # versions
    "version 3": raw(_set("nats.version", 3)),
    "version 0": raw(_no_type),
    "version 1": first_version(),
    "version 1 without limits": first_version(limits=False),
    "version 1 signed as 2": first_version(alg=V2),
    "version 1 said in the body": raw(_set("nats.version", 1), alg=V1),
    "version 2 signed as 1": raw(lambda claims: None, alg=V1),
    "version 2 in an account of version 1": in_account("FIRST VERSION"),
    "of another kind": raw(_set("nats.type", "foo")),
    # fields
    "unknown field": raw(_set("zz", 1)),
    "names in upper case": raw(_upper),
    "no id": raw(_cut("jti")),
    "no issue time": plain(iat=None),
    "audience": plain(aud="foo"),
    "issued in the future": plain(iat=NOW + 1000),
    "text for a number": plain({"subs": "x"}),
    "fraction for a number": plain({"subs": 1.5}),
    "number for a text": raw(_set("name", 5)),
    "null for lists": plain({"pub": None, "src": None, "times": None}),
    "null for the body": raw(_set("nats", None)),
    "list for the body": raw(_set("nats", [])),
    # time
    "expired": plain(exp=NOW - 10),
    "expires later": plain(exp=NOW + 86_400),
    "not yet": plain(nbf=NOW + 86_400),
    "since": plain(nbf=NOW - 1000),
    "at no time of the day": plain({"times": HOURS}),
    "at all times": plain({
        "times": [{"start": "00:00:00", "end": "12:00:00"}, {"start": "12:00:00", "end": "23:59:59"}],
        "times_location": "America/New_York",
    }),
    "time zone of nobody": plain({"times": HOURS, "times_location": "Foo/Bar"}),
    "time zone of a path": plain({"times": HOURS, "times_location": "../../etc/passwd"}),
    "time of no day": plain({"times": [{"start": "25:00:00", "end": ""}]}),
    "time in short": plain({"times": [{"start": "1:2:3", "end": "24:00:00"}]}),
    # where from
    "from here": plain({"src": ["10.0.0.0/8", "127.3.3.3/8"]}),
    "from here, as text": plain({"src": "10.0.0.0/8,127.0.0.0/8"}),
    "from here, in IPv6": plain({"src": ["::ffff:127.0.0.1/128"]}),
    "from elsewhere": plain({"src": ["10.0.0.0/8"]}),
    "from nowhere": plain({"src": ["x", "1.2.3.4", "1.2.3.0/255.255.255.0"]}),
    "from elsewhere, signature wrong": plain({"src": ["10.0.0.0/8"]}, sig="x"),
    "by WebSocket only": plain({"allowed_connection_types": ["WEBSOCKET"]}),
    "by WebSocket only, signature wrong": plain({"allowed_connection_types": ["MQTT"]}, sig="x"),
    "by an unknown way": plain({"allowed_connection_types": ["FOO"]}),
    "by no way": plain({"allowed_connection_types": [""]}),
    "by this way among others": plain({"allowed_connection_types": ["FOO", "standard"]}),
    "by a proxy": plain({"proxy_required": True}),
    # what the token proves by itself
    "bearer": plain({"bearer_token": True}, sig=""),
    "bearer with a wrong signature": plain({"bearer_token": True}, sig="xx"),
    "bearer where none may be": in_account("NO BEARER", {"bearer_token": True}),
    "no bearer where none may be": in_account("NO BEARER"),
    # revocations
    "revoked": in_account("REVOKED"),
    "revoked to the second": in_account("REVOKED", iat=NOW),
    "issued after the revocation": in_account("REVOKED", iat=NOW + 1),
    # permissions
    "permissions": plain({
        "pub": {"allow": [*PUB, "a.>"], "deny": ["a.b"]}, "sub": {"allow": [*SUB, "z", "b q"], "deny": ["c"]},
    }),
    "deny only": plain({"pub": {"deny": ["a"]}, "sub": {"deny": ["b"]}}),
    "answers": plain({"pub": {"allow": PUB}, "resp": {"max": 5, "ttl": 7_000_000_000}}),
    "answers by default": plain({"pub": {"allow": PUB}, "resp": {}}),
    "answers without end": plain({"pub": {"allow": PUB}, "resp": {"max": -1, "ttl": -1}}),
    "default permissions": in_account("DEFAULTS"),
    "own permissions instead": in_account("DEFAULTS", {"sub": {"deny": ["z"]}}),
    "subjects that are none": plain({
        "pub": {"allow": ["a b c d", "", "a q", ".a", "a.", "x.>.y", "a*", ">a"]},
        "sub": {"allow": ["b q", "b  q", " b", "b *", "b a..c", "b\tq"], "deny": ["a..b"]},
    }),
    "everything wrong": plain(
        {"pub": {"allow": [".a"]}, "src": ["x"], "times": [{"start": "25:00:00", "end": ""}],
         "times_location": "Foo", "issuer_account": "x"},
        exp=NOW - 5, nbf=NOW + 86_400,
    ),
    # scopes
    "free scope": scoped("free"),
    "scope with slots": scoped("slots", TAGS),
    "scope with slots, tags missing": scoped("slots", {"tags": ["x:A.b", "x:*"]}, name="a.b"),
    "scope with slots, wild name": scoped("slots", TAGS, name="*"),
    "scope with slots, blank in name": scoped("slots", TAGS, name="a b"),
    "scope with slots, no name": scoped("slots", TAGS, name=""),
    "scope that denies nothing": scoped("deny nothing"),
    "scope that denies a group": scoped("deny a group"),
    "scope that denies a group and a slot": scoped("deny a group and a slot"),
    "scope with a slot in braces": scoped("slot in braces"),
    "scope with a blank in a slot": scoped("slot with a blank"),
    "scope with an unknown function": scoped("unknown function"),
    "scope with an argument too many": scoped("argument too many"),
    "scope for another network": scoped("network"),
    "scope for bearers": scoped("bearer", sig=""),
    "scope for WebSocket": scoped("websocket"),
    "scope with limits in the token": scoped("free", {"subs": -1}),
    "scope with permissions in the token": scoped("free", {"pub": {"allow": ["a"]}}),
    "scope with a network in the token": scoped("free", {"src": ["127.0.0.0/8"]}),
    "scope with bearer in the token": scoped("free", {"bearer_token": True}),
    "scope with zeros in the token": scoped("free", {"subs": 0, "data": 0, "payload": 0}),
    "scope, account hidden": lambda made: Login(
        forge(claim("user", made.user.public, SCOPE_KEYS["free"].public, {}), SCOPE_KEYS["free"]),
        made.user.key,
    ),
    "scope, account that is none": scoped("free", {"issuer_account": "ABC"}),
    "scope of nothing": scoped("zero"),
}  # fmt: skip
