"""JWTs as text: three parts in base64, the last a signature by the issuer that the second names.

Version 2 signs header and claims, version 1 the claims alone; the claims say which they are. Whoever
made a token, `decode` proves that the issuer's key signed exactly this text and no more: whether the
issuer may be believed is for others to judge (`judge`, `trust`).

Base64 has to be canonical, so that a token has one spelling.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any, Final

import msgspec

from jetstream_py import limits, nkey
from jetstream_py.gotext import quote

_ALGORITHMS: Final = ("ed25519", "ed25519-nkey")
_ALPHABET: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)  # fmt: skip
_ISSUERS: Final = {
    "operator": (nkey.OPERATOR,),
    "account": (nkey.OPERATOR, nkey.ACCOUNT),
    "user": (nkey.ACCOUNT,),
    "activation": (nkey.OPERATOR, nkey.ACCOUNT),
    "authorization_request": (nkey.SERVER,),
    "authorization_response": (nkey.ACCOUNT,),
    "generic": (nkey.OPERATOR, nkey.ACCOUNT, nkey.USER, nkey.SERVER, nkey.CLUSTER),
}
# Objects whose names are data, not the names of fields.
_MAPS: Final = frozenset(("revocations", "mappings", "tiered_limits"))


_NOT: Final = {"authorization_response": "not an authorization request claim"}  # as it is said
_ORDER: Final = ("aud", "exp", "jti", "iat", "iss", "name", "nbf", "sub", "nats")


class TokenError(ValueError):
    """Not a token, or not one to believe; the text says why."""


class Token(msgspec.Struct, frozen=True):
    """Claims that their issuer signed."""

    kind: str
    version: int
    issuer: str
    claims: dict[str, Any]
    text: str


def decode(text: str, kind: str | None = None) -> Token:
    """The token, if its signature holds and it is of the kind. All else is a `TokenError`."""
    if len(text) > limits.JWT_SIZE:
        raise TokenError("token is too long")
    text = text.replace("\r", "").replace("\n", "")
    parts = text.split(".")
    if len(parts) != 3:
        raise TokenError("expected 3 chunks")
    _check_header(_json(_from_base64(parts[0])))
    claims = _json(_from_base64(parts[1]))
    if type(claims) is not dict:
        raise TokenError("claims are not an object")
    found, version = _identify(claims)
    if kind is not None and found != kind:
        raise TokenError(_NOT.get(kind, f"not {kind} claim"))
    issuer = claims.get("iss", "")
    if type(issuer) is not str or not nkey.is_public(issuer, *_ISSUERS.get(found, ())):
        raise TokenError("unable to validate expected prefixes")
    signed = parts[1] if version == 1 else f"{parts[0]}.{parts[1]}"
    if not nkey.verify(issuer, signed.encode(), _from_base64(parts[2])):
        raise TokenError(f"claim failed V{version} signature verification")
    return Token(found, version, issuer, claims, text)


def encode(claims: dict[str, Any], key: nkey.KeyPair) -> str:
    """A token of version 2 with these claims; issuer and id are filled in."""
    claims = {**claims, "iss": key.public}
    digest = hashlib.sha256(msgspec.json.encode(claims)).digest()
    claims["jti"] = base64.b32encode(digest).decode().rstrip("=")
    claims = {name: claims[name] for name in _ORDER if name in claims}
    head = _to_base64(b'{"typ":"JWT","alg":"ed25519-nkey"}')
    signed = f"{head}.{_to_base64(msgspec.json.encode(claims))}"
    return f"{signed}.{_to_base64(key.sign(signed.encode()))}"


def signature(text: str) -> bytes | None:
    """What a client sends as `sig`: base64 for URLs without padding, or plain base64 with it."""
    text = text.replace("\r", "").replace("\n", "")
    try:
        return _from_base64(text)
    except TokenError:
        pass
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _check_header(header: Any) -> None:
    fields = header if type(header) is dict else {}
    kind, algorithm = fields.get("typ", ""), fields.get("alg", "")
    if type(kind) is not str or type(algorithm) is not str:
        raise TokenError("header is not one of a token")
    if kind.upper() != "JWT":
        raise TokenError(f"not supported type {quote(kind)}")
    if algorithm.lower() not in _ALGORITHMS:
        raise TokenError(f"unexpected {quote(algorithm)} algorithm")


def _identify(claims: dict[str, Any]) -> tuple[str, int]:
    """Kind and version. The first version had its kind among the outer fields."""
    body = claims.setdefault("nats", {})
    if type(body) is not dict:
        raise TokenError("claims without a body")
    version: object = body.get("version")
    kind = body.get("type")
    if "type" in claims:
        version, kind = 1, claims["type"]
    if type(kind) is not str or type(version) is not int or version not in (1, 2):
        raise TokenError("library supports version 2 or less")
    return kind, version


def _json(data: bytes) -> Any:
    try:
        return _fold(msgspec.json.decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TokenError(str(error)) from None


def _fold(value: Any, fields: bool = True) -> Any:
    """Field names match in any case, and null is as good as nothing: so does Go read JSON."""
    if type(value) is dict:
        return {
            name.lower() if fields else name: _fold(item, not (fields and name.lower() in _MAPS))
            for name, item in value.items()
            if item is not None
        }
    return [_fold(item) for item in value] if type(value) is list else value


def _to_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _from_base64(text: str) -> bytes:
    bad = next((at for at, char in enumerate(text) if char not in _ALPHABET), -1)
    if bad >= 0 or len(text) % 4 == 1:
        raise TokenError(f"illegal base64 data at input byte {bad if bad >= 0 else len(text) - 1}")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _to_base64(data) != text:
        raise TokenError(f"illegal base64 data at input byte {len(text) - 1}")
    return data
