"""Auth callout: the request that the server signs for a client, and the answer that it may believe.

The server makes a key for each client to be judged and asks for a token of a user with that key; an
answer for another key, another server or from another issuer is none. So an answer cannot be used
twice, nor elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from jetstream_py import nkey
from jetstream_py.config.account_options import AuthCallout, User
from jetstream_py.gotext import quote
from jetstream_py.jwt.checks import user_issues
from jetstream_py.jwt.claims import Claims, UserClaims, convert, read_user
from jetstream_py.jwt.convert import user_of
from jetstream_py.jwt.judge import Refusal
from jetstream_py.jwt.token import TokenError, decode, encode

REQUEST_SUBJECT = "$SYS.REQ.USER.AUTH"
REQUEST_AUDIENCE = "nats-authorization-request"
XKEY_HEADER = "Nats-Server-Xkey"


class ResponseBody(msgspec.Struct):
    jwt: str = ""
    error: str = ""
    issuer_account: str = ""


class ResponseClaims(Claims):
    nats: ResponseBody = msgspec.field(default_factory=ResponseBody)


class Question(msgspec.Struct, frozen=True):
    """What the server asks about a client. Empty parts are left out."""

    server_id: dict[str, Any]  # name, host, id, version, xkey
    user_nkey: str  # made for this client alone
    client_info: dict[str, Any]
    connect_opts: dict[str, Any]
    client_tls: dict[str, Any] = {}
    request_nonce: str = ""


def request(
    question: Question, issuer: str, server: nkey.KeyPair, now: float, timeout: float
) -> str:
    """The token to send to `REQUEST_SUBJECT` (sealed, when the callout has an xkey)."""
    body = {name: value for name, value in msgspec.structs.asdict(question).items() if value}
    claims = {
        "aud": REQUEST_AUDIENCE,
        "exp": int(now + timeout),
        "iat": int(now),
        "sub": issuer,
        "nats": {**body, "type": "authorization_request", "version": 2},
    }
    return encode(claims, server)


def answer(
    text: str, callout: AuthCallout, question: Question, now: float, accounts: Callable[[str], bool]
) -> User | Refusal:
    """The user that the callout's service made of the client. `accounts` tells which there are."""
    try:
        claims = convert(decode(text, "authorization_response").claims, ResponseClaims)
        user = read_user(claims.nats.jwt) if claims.nats.jwt else None
    except TokenError as error:
        return _refused(f"Error decoding authorization response: {error}")
    if reason := _distrust(claims, callout, question, now):
        return _refused(reason)
    if claims.nats.error or user is None:
        return _refused(f"Authorization callout service rejected: {claims.nats.error}")
    if reason := _distrust_user(user, callout, question, now):
        return _refused(reason)
    account = user.aud or user.nats.issuer_account
    if not accounts(account):
        return _refused(f"No valid account {quote(account)} for auth callout response")
    found = user_of(user, claims.nats.jwt)
    return msgspec.structs.replace(found, account=account)


def _distrust(claims: ResponseClaims, callout: AuthCallout, asked: Question, now: float) -> str:
    if claims.iss != callout.issuer:
        return f"Wrong issuer for auth callout response, expected {callout.issuer}"
    if claims.aud != asked.server_id.get("id"):
        return "Auth callout response is not for this server"
    if claims.sub != asked.user_nkey:
        return f"Auth callout response is for another user, expected {asked.user_nkey}"
    return " ".join(claims.time_issues(now))


def _distrust_user(user: UserClaims, callout: AuthCallout, asked: Question, now: float) -> str:
    if user.iss != callout.issuer:
        return f"Wrong issuer for user of auth callout, expected {callout.issuer}"
    if user.sub != asked.user_nkey:
        return f"Expected authorized user of {quote(asked.user_nkey)} but got {quote(user.sub)}"
    return " ".join(user.time_issues(now) + user_issues(user))


def _refused(reason: str) -> Refusal:
    return Refusal(reason, error=True)
