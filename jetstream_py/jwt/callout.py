"""Auth callout: the request that the server signs for a client, and the answer that it may believe.

The server makes a key for each client to be judged and asks for a token of a user with that key; an
answer for another key, another server or from another issuer is none. So an answer cannot be used
twice, nor elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from jetstream_py import nkey
from jetstream_py.config.account_options import (
    AccountOptions,
    AuthCallout,
    Permissions,
    Rule,
    User,
)
from jetstream_py.gotext import quote
from jetstream_py.jwt.checks import user_issues
from jetstream_py.jwt.claims import Claims, UserClaims, convert, read_user
from jetstream_py.jwt.convert import CONNECTION_TYPES, user_of
from jetstream_py.jwt.judge import Refusal, Refused, knows_issuer, made_user
from jetstream_py.jwt.times import open_until
from jetstream_py.jwt.token import TokenError, decode, encode
from jetstream_py.jwt.trust import MISSING, AccountError, Trust

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


class House(Protocol):
    """Where the user that an answer names may live."""

    def signs(self, key: str) -> bool:
        """May the key sign answers?"""
        ...

    def user(self, claims: UserClaims, text: str) -> User:
        """The user in its account; a `TokenError` if it may not live there."""
        ...


class Configured:
    """Accounts of a config file: the callout's issuer signs all, the token's audience is an account."""

    def __init__(self, callout: AuthCallout, account_exists: Callable[[str], bool]) -> None:
        self._callout = callout
        self._account_exists = account_exists

    def signs(self, key: str) -> bool:
        return key == self._callout.issuer

    def user(self, claims: UserClaims, text: str) -> User:
        where = _where(self._callout)
        if claims.iss != self._callout.issuer:
            raise TokenError(
                f"Wrong issuer for auth callout response {where}, "
                f"expected {quote(self._callout.issuer)} got {quote(claims.iss)}"
            )
        if not self._account_exists(claims.aud):
            raise TokenError(
                f"No valid account {quote(claims.aud)} for auth callout response {where}: {MISSING}"
            )
        return msgspec.structs.replace(user_of(claims, text), account=claims.aud)


class Operated:
    """Accounts of operators: the callout's account signs answers, users come from the accounts that
    it may place them in, signed by these."""

    def __init__(
        self, callout: AuthCallout, trust: Trust, find: Callable[[str], AccountOptions]
    ) -> None:
        self._callout = callout
        self._trust = trust
        self._find = find

    def signs(self, key: str) -> bool:
        account = self._account(self._callout.account)
        return key == account.name or key in account.signing_keys

    def user(self, claims: UserClaims, text: str) -> User:
        name, own = claims.nats.issuer_account or claims.iss, self._callout.account
        if name != own and not {name, "*"} & {*self._callout.allowed_accounts}:
            raise TokenError(
                f"Account {quote(name)} not permitted as valid account option "
                f"for auth callout for account {quote(own)}"
            )
        account = self._account(name)
        if not knows_issuer(account, user_of(claims, text), self._trust):
            raise TokenError(f"User JWT issuer {quote(claims.iss)} is not known")
        try:
            return made_user(claims, account, self._trust, text)
        except Refused as refused:
            raise TokenError(refused.refusal.reason) from None

    def _account(self, name: str) -> AccountOptions:
        try:
            return self._find(name)
        except AccountError as error:
            raise TokenError(
                f"No valid account {quote(name)} for auth callout response "
                f"{_where(self._callout)}: {error}"
            ) from None


def answer(
    text: str, callout: AuthCallout, question: Question, now: float, house: House
) -> User | Refusal:
    """The user that the callout's service made of the client.

    Networks and kinds of connections in the token are not looked at: its author saw the client."""
    try:
        return _answer(text, callout, question, now, house)
    except TokenError as error:
        reason = str(error)
        return Refusal(reason[:1].upper() + reason[1:], error=True)


def _answer(text: str, callout: AuthCallout, question: Question, now: float, house: House) -> User:
    where = _where(callout)
    if not text:
        raise TokenError(f'Auth callout violation: "no reason supplied" {where}')
    response = _response(text, question, now, house)
    claims = read_user(response.nats.jwt)
    if issues := claims.time_issues(now) + user_issues(claims):
        raise TokenError(f"Error validating user JWT: {issues[0]}")
    if claims.sub != question.user_nkey:
        raise TokenError(
            f"Expected authorized user of {quote(question.user_nkey)} "
            f"but got {quote(claims.sub)} {where}"
        )
    user = house.user(claims, response.nats.jwt)
    if user.connection_types and not user.connection_types & CONNECTION_TYPES:
        raise TokenError(f"Authorized user {where} using invalid connection type")
    if user.times and open_until(user.times, user.times_location, now) is None:
        raise TokenError(f"Authorized user {where} outside of valid connect times")
    return _kept_from_judging(user) if user.account == callout.account else user


def _kept_from_judging(user: User) -> User:
    """Who was let into the callout's own account may not ask its service on behalf of others."""
    given = user.permissions or Permissions()
    rule = given.publish or Rule()
    rule = Rule(rule.allow, (*rule.deny, REQUEST_SUBJECT))
    return msgspec.structs.replace(user, permissions=msgspec.structs.replace(given, publish=rule))


def _response(text: str, question: Question, now: float, house: House) -> ResponseClaims:
    claims = convert(decode(text, "authorization_response").claims, ResponseClaims)
    issues = claims.time_issues(now)
    if not nkey.is_public(claims.aud, nkey.SERVER):
        issues.append("Audience must be a server public key")
    if bool(claims.nats.error) == bool(claims.nats.jwt):
        given = "Only Error or Jwt can be set" if claims.nats.jwt else "Error or Jwt is required"
        issues.append(given)
    if issues:
        raise TokenError(f"Authorization response had validation errors: {issues[0]}")
    if not house.signs(claims.iss):
        raise TokenError("Auth callout signing key is unknown")
    if claims.sub != question.user_nkey:
        raise TokenError("Auth callout violation: auth callout response is not for expected user")
    if claims.aud != question.server_id.get("id"):
        raise TokenError("Auth callout violation: auth callout response is not for server")
    if claims.nats.error:
        raise TokenError(f"Auth callout service returned an error: {claims.nats.error}")
    return claims


def _where(callout: AuthCallout) -> str:
    return f"on account {quote(callout.account)}"
