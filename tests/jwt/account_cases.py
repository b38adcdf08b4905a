"""Claims of accounts, from good to useless, for a push to a server that keeps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jetstream_py import nkey
from tests.jwt.cases import NOW
from tests.jwt.world import Chain
from tests.support.tokens import Account, Claims, Key, Operator, User, claim, forge

Make = Callable[[Chain, Account], str]
EXPORTER = "EXPORTER"
OPERATOR_SIGNER = Key(nkey.OPERATOR, b"\x60" * 32)
STRANGER = Operator("STRANGER", b"\x61" * 32)


def exporter(made: Chain) -> Account:
    return Account(made.operator, EXPORTER, b"\x62" * 32)


EXPORTS: list[Claims] = [
    {"name": "s", "subject": "s.>", "type": "stream"},
    {"subject": "r.*", "type": "service", "response_type": "Chunked", "token_req": True,
     "response_threshold": 1_000_000_000, "account_token_position": 2},
    {"subject": "l", "type": "service", "service_latency": {"sampling": 50, "results": "lat.x"}},
    {"subject": "lh", "type": "service", "service_latency": {"sampling": "headers", "results": "y"}},
    {"subject": "tr", "type": "stream", "token_req": True, "revocations": {"*": 5}},
]  # fmt: skip


def body(nats: Claims | None = None, **fields: Any) -> Make:
    return lambda made, account: account.jwt(nats=nats, **fields)


def by(key: Callable[[Chain, Account], Key]) -> Make:
    return lambda made, account: account.jwt(key=key(made, account))


def exports(*claims: Claims) -> Make:
    return body({"exports": list(claims)})


def imports(*claims: Claims) -> Make:
    def make(made: Chain, account: Account) -> str:
        default = {"account": exporter(made).public}
        return account.jwt(nats={"imports": [{**default, **claim} for claim in claims]})

    return make


def activated(
    signer: Callable[[Chain, Account], Key] | None = None, whom: str = "", subject: str = "tr",
    kind: str = "stream", **fields: Any,
) -> Make:  # fmt: skip
    """An import with an activation in it."""

    def make(made: Chain, account: Account) -> str:
        key = signer(made, account) if signer else exporter(made).key
        nats: Claims = {"subject": subject, "kind": kind}
        token = forge(claim("activation", whom or account.public, key.public, nats, **fields), key)
        return imports({"subject": "tr", "type": "stream", "token": token})(made, account)

    return make


USER = User(Account(STRANGER, "x", b"\x63" * 32), "u", b"\x64" * 32)

CASES: dict[str, Make] = {
    "plain": body(),
    "by a signing key of the operator": by(lambda made, account: OPERATOR_SIGNER),
    "by another operator": by(lambda made, account: STRANGER.key),
    "by itself": by(lambda made, account: account.key),
    "by a user": by(lambda made, account: USER.key),
    "expired": body(exp=NOW - 5),
    "not yet": body(nbf=NOW + 86_400),
    "a user's token": lambda made, account: made.user.jwt(),
    "no token": lambda made, account: "junk",
    "nothing": lambda made, account: "",
    "three letters": lambda made, account: "a.b.c",
    "no base64": lambda made, account: "eyJhIjoxfQ.e*.c",
    "cut": lambda made, account: account.jwt()[:-5],
    "limits": body({"limits": {"conn": 3, "subs": 30, "payload": 5, "leaf": 2, "data": 7}}),
    "JetStream": body({"limits": {"mem_storage": 100, "disk_storage": 200, "streams": 3}}),
    "tiers": body(
        {"limits": {"tiered_limits": {"R1": {"mem_storage": 9}, "R3": {"disk_storage": -1}}}}
    ),
    "no connections": body({"limits": {"conn": 0}}),
    "exports": exports(*EXPORTS),
    "more exports than allowed": body({"limits": {"exports": 0}, "exports": EXPORTS[:1]}),
    "more imports than allowed": body({
        "limits": {"imports": 0},
        "imports": [{"subject": "a", "account": USER.account.public, "type": "stream"}],
    }),
    "exports, no wildcards": body({"limits": {"wildcards": False}, "exports": EXPORTS[:1]}),
    "export of an unknown type": exports({"subject": "x", "type": "foo"}),
    "export without a type": exports({"subject": "x"}),
    "stream with a response type": exports(
        {"subject": "x", "type": "stream", "response_type": "Stream"}
    ),
    "stream with latency": exports(
        {"subject": "y", "type": "stream", "service_latency": {"sampling": 5, "results": "r"}}
    ),
    "stream with a threshold": exports({"subject": "q", "type": "stream", "response_threshold": 5}),
    "service with a negative threshold": exports(
        {"subject": "q", "type": "service", "response_threshold": -5}
    ),
    "unknown response type": exports({"subject": "z", "type": "service", "response_type": "bad"}),
    "token position on a word": exports(
        {"subject": "q.*", "type": "service", "account_token_position": 1}
    ),
    "token position without wildcards": exports(
        {"subject": "q.a", "type": "service", "account_token_position": 2}
    ),
    "token position behind the end": exports(
        {"subject": "q.*", "type": "service", "account_token_position": 9}
    ),
    "latency out of range": exports(
        {"subject": "l", "type": "service", "service_latency": {"sampling": 500, "results": "r.*"}}
    ),
    "export of nothing": exports({"subject": "", "type": "stream"}),
    "export with a blank": exports({"subject": "a b", "type": "stream"}),
    "export with an empty word": exports({"subject": ".a..b.", "type": "stream"}),
    "exports twice": exports(
        {"subject": "x", "type": "stream"}, {"subject": "x", "type": "stream"}
    ),
    "services in each other": exports(
        {"subject": "q.*", "type": "service"}, {"subject": "q.a", "type": "service"}
    ),
    "imports": imports(
        {"subject": "s.>", "type": "stream", "local_subject": "in.>"},
        {"subject": "lh", "type": "service", "local_subject": "lh2"},
        {"subject": "s.a", "type": "stream", "to": "pre"},
        {"subject": "s.*.*", "type": "stream", "local_subject": "x.$2.$1"},
    ),
    "import from nobody": imports({"subject": "a", "type": "stream", "account": ""}),
    "import of nothing": imports({"subject": "", "type": "stream"}),
    "import without a type": imports({"subject": "s.a"}),
    "import that shares": imports({"subject": "s.a", "type": "stream", "share": True}),
    "import with two names": imports(
        {"subject": "s.a", "type": "stream", "to": "x", "local_subject": "y"}
    ),
    "import with too many wildcards": imports(
        {"subject": "s.*", "type": "stream", "local_subject": "y.*.*"}
    ),
    "two services under one name": imports(
        {"subject": "l", "type": "service", "local_subject": "x"},
        {"subject": "lh", "type": "service", "local_subject": "x"},
    ),
    "services that overlap": imports(
        {"subject": "l.*", "type": "service", "local_subject": "x.*"},
        {"subject": "lh", "type": "service", "local_subject": "x.y"},
    ),
    "services of two accounts that overlap": imports(
        {"subject": "l", "type": "service", "local_subject": "x"},
        {"subject": "l", "type": "service", "local_subject": "x", "account": USER.account.public},
    ),
    "activation": activated(),
    "activation by another": activated(lambda made, account: account.key),
    "activation for another": activated(whom=USER.account.public),
    "activation, expired": activated(exp=NOW - 5),
    "activation, revoked": activated(iat=3),
    "activation of another subject": activated(subject="zz"),
    "activation of a wider subject": activated(subject=">"),
    "activation of another kind": activated(kind="service"),
    "activation that is none": imports({"subject": "tr", "type": "stream", "token": "junk"}),
    "mappings": body({"mappings": {
        "a": [{"subject": "b", "weight": 40}, {"subject": "c", "weight": 60}], "w.*": [{"subject": "z.$1"}],
    }}),
    "mappings to too much": body(
        {"mappings": {"a": [{"subject": "b", "weight": 40}, {"subject": "c"}]}}
    ),
    "mappings to nothing": body({"mappings": {"a": [{"subject": "b..", "weight": 60}]}}),
    "mappings from nothing": body({"mappings": {"a..b": [{"subject": "b", "weight": 60}]}}),
    "mappings in two clusters": body({"mappings": {
        "a": [{"subject": "b", "weight": 80, "cluster": "A"}, {"subject": "b", "weight": 80, "cluster": "B"}],
    }}),
    "mappings to the same": body(
        {"mappings": {"a": [{"subject": "b", "weight": 3}, {"subject": "b", "weight": 3}]}}
    ),
    "mappings in one cluster": body({"mappings": {
        "a": [{"subject": "b", "weight": 80, "cluster": "A"}, {"subject": "c", "weight": 30, "cluster": "A"}],
    }}),
    "mappings of one cluster each": body({"mappings": {
        "a": [{"subject": "b", "weight": 80, "cluster": "A"}, {"subject": "c", "weight": 80, "cluster": "B"}],
    }}),
    "mappings with weight": body({"mappings": {"a": [{"subject": "b", "weight": 101}]}}),
    "mappings with too much weight": body({"mappings": {"a": [{"subject": "b", "weight": 256}]}}),
    "mappings from an odd subject": body({"mappings": {"a.>.b": [{"subject": "b"}]}}),
    "signing key that is none": body({"signing_keys": ["x"]}),
    "signing key of an operator": body({"signing_keys": [STRANGER.key.public]}),
    "scope of an unknown kind": body({"signing_keys": [{"kind": "foo", "key": "x"}]}),
    "scope with a key that is none": body({"signing_keys": [{"kind": "user_scope", "key": "x"}]}),
    "scope with odd subjects": body({"signing_keys": [
        {"kind": "user_scope", "key": USER.account.public, "template": {"pub": {"allow": ["a..b"]}}},
    ]}),
    "default permissions": body(
        {"default_permissions": {"pub": {"allow": ["x"]}, "sub": {"deny": ["y"]}}}
    ),
    "odd default permissions": body(
        {"default_permissions": {"pub": {"allow": ["x q"]}, "sub": {"deny": ["y..z"]}}}
    ),
    "trace": body({"trace": {"dest": "a.b", "sampling": 50}}),
    "trace to everywhere": body({"trace": {"dest": "a.*", "sampling": 500}}),
    "trace to nowhere": body({"trace": {"dest": "", "sampling": -1}}),
    "callout without users": body({"authorization": {"allowed_accounts": ["*"]}}),
    "callout of nobody": body(
        {"authorization": {"auth_users": ["x"], "allowed_accounts": ["*", "y"], "xkey": "z"}}
    ),
    "traffic of the owner": body({"cluster_traffic": "owner"}),
    "traffic of others": body({"cluster_traffic": "foo"}),
    "revocations": body({"revocations": {"UABC": 5, "*": 6}}),
    "number for a text": body({"exports": [{"subject": 5, "type": "stream"}]}),
}  # fmt: skip
