"""A token factory: operators, accounts and users with their keys, JWTs and creds, as `nsc` makes them.

Claims are plain dicts, so a test can write whatever it wants to see refused. Every token is signed
for real; `forge` signs with a key of the test's choice.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from typing import Any

from jetstream_py import nkey

Claims = dict[str, Any]
NO_LIMITS: Claims = {
    "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": True,
    "conn": -1, "leaf": -1,
}  # fmt: skip
NO_USER_LIMITS: Claims = {"subs": -1, "data": -1, "payload": -1}
V1, V2 = "ed25519", "ed25519-nkey"


def segment(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Key:
    """A key pair that knows its seed."""

    def __init__(self, kind: int, seed: bytes | None = None) -> None:
        self.seed = nkey.encode_seed(kind, seed or os.urandom(32))
        self.pair = nkey.KeyPair(self.seed)
        self.public = self.pair.public

    def sig(self, nonce: str) -> str:
        """The proof that a client sends."""
        return segment(self.pair.sign(nonce.encode()))


def forge(claims: Claims, key: Key, alg: str = V2, header: Claims | None = None) -> str:
    """A token with exactly these claims, signed by the key."""
    head = segment(json.dumps(header or {"typ": "JWT", "alg": alg}).encode())
    body = segment(json.dumps(claims).encode())
    signed = body if alg == V1 else f"{head}.{body}"
    return f"{head}.{body}.{segment(key.pair.sign(signed.encode()))}"


def claim(kind: str, subject: str, issuer: str, nats: Claims, **fields: Any) -> Claims:
    """Claims in the usual form. A field that is None is left out."""
    nats = {**nats, "type": kind, "version": 2}
    claims: Claims = {
        "iat": 1_700_000_000, "iss": issuer, "name": "", "sub": subject, "nats": nats, **fields,
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(claims).encode()).digest()
    claims.setdefault("jti", base64.b32encode(digest).decode().rstrip("="))
    return {name: value for name, value in claims.items() if value is not None}


class Operator:
    """The root of a chain."""

    def __init__(self, name: str = "OP", seed: bytes | None = None) -> None:
        self.key = Key(nkey.OPERATOR, seed)
        self.name = name

    def jwt(self, key: Key | None = None, nats: Claims | None = None, **fields: Any) -> str:
        key = key or self.key
        fields.setdefault("name", self.name)
        return forge(claim("operator", self.key.public, key.public, nats or {}, **fields), key)


class Account:
    """An account of an operator, with a signing key of its own in reserve."""

    def __init__(self, operator: Operator, name: str, seed: bytes | None = None) -> None:
        self.operator = operator
        self.name = name
        self.key = Key(nkey.ACCOUNT, seed)
        self.signer = Key(nkey.ACCOUNT, seed and hashlib.sha256(seed).digest())

    @property
    def public(self) -> str:
        return self.key.public

    def claims(self, issuer: Key, nats: Claims | None = None, **fields: Any) -> Claims:
        nats = dict(nats or {})
        nats["limits"] = {**NO_LIMITS, **nats.get("limits", {})}
        nats.setdefault("default_permissions", {"pub": {}, "sub": {}})
        fields.setdefault("name", self.name)
        return claim("account", self.public, issuer.public, nats, **fields)

    def jwt(self, key: Key | None = None, nats: Claims | None = None, **fields: Any) -> str:
        key = key or self.operator.key
        return forge(self.claims(key, nats, **fields), key)


class User:
    """A user of an account."""

    def __init__(self, account: Account, name: str = "u", seed: bytes | None = None) -> None:
        self.account = account
        self.name = name
        self.key = Key(nkey.USER, seed)

    @property
    def public(self) -> str:
        return self.key.public

    def claims(self, issuer: Key, nats: Claims | None = None, **fields: Any) -> Claims:
        nats = {**NO_USER_LIMITS, "pub": {}, "sub": {}, **(nats or {})}
        if issuer is not self.account.key:
            nats.setdefault("issuer_account", self.account.public)
        fields.setdefault("name", self.name)
        return claim("user", self.public, issuer.public, nats, **fields)

    def jwt(self, key: Key | None = None, nats: Claims | None = None, **fields: Any) -> str:
        key = key or self.account.key
        return forge(self.claims(key, nats, **fields), key)

    def scoped(self, key: Key, nats: Claims | None = None, **fields: Any) -> str:
        """A token without rights of its own, for a signing key that has a template."""
        nats = {"issuer_account": self.account.public, **(nats or {})}
        fields.setdefault("name", self.name)
        return forge(claim("user", self.public, key.public, nats, **fields), key)

    def creds(self, jwt: str) -> str:
        """What goes into a creds file."""
        return (
            f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{self.key.seed}\n------END USER NKEY SEED------\n"
        )
