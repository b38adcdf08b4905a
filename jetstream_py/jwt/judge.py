"""Who a client with a JWT is: the whole way from its CONNECT to a `User`, or to a reason.

The token says of itself who signed it, so nothing in it counts until its issuer is found among the
keys of an account that a trusted operator signed. Then the client proves that it holds the key that
the token names by signing the server's nonce; a bearer token is its own proof. Last come the things
that may change from one connection to the next: revocations, addresses, hours of the day.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from jetstream_py import nkey
from jetstream_py.config.account_options import AccountOptions, User
from jetstream_py.gotext import quote
from jetstream_py.jwt.checks import network, user_issues
from jetstream_py.jwt.claims import UserClaims, UserLimits, read_user
from jetstream_py.jwt.convert import CONNECTION_TYPES, scoped_user, user_of
from jetstream_py.jwt.template import TemplateError, fill
from jetstream_py.jwt.times import comes_from, open_until
from jetstream_py.jwt.token import TokenError, signature
from jetstream_py.jwt.trust import AccountError, Trust


class Credentials(Protocol):
    """What CONNECT says that matters here."""

    @property
    def jwt(self) -> str: ...

    @property
    def sig(self) -> str: ...


class Refusal(msgspec.Struct, frozen=True):
    """Why a client may not in. The reason is for the log; the client is told the `answer`."""

    reason: str
    error: bool = False  # logged as an error, not as a debug line
    answer: str = "Authorization Violation"


class Refused(Exception):
    """Somewhere on the way it is found that the client may not in."""

    def __init__(self, reason: str, error: bool = False) -> None:
        self.refusal = Refusal(reason, error)


def user_from_jwt(
    trust: Trust,
    resolve_account: Callable[[str], AccountOptions],
    client: Credentials,
    nonce: bytes,
    now: float,
    address: str,
    connection_type: str,
) -> User | Refusal:
    """`resolve_account` raises `AccountError` for an account that cannot be had. Time is in seconds
    since 1970, the address the client's IP, the connection type `STANDARD`, `WEBSOCKET`, ..."""
    try:
        claims = _claims(client, now)
        account = _account(claims, resolve_account)
        user = made_user(claims, account, trust, client.jwt)
        user = _with_connection_types(user, connection_type)
        if account.disallow_bearer and user.bearer:
            raise Refused("Account does not allow bearer tokens")
        if not user.bearer:
            _check_signature(claims.sub, client.sig, nonce)
        _check_circumstances(user, account, now, address)
    except Refused as refused:
        return refused.refusal
    return user


def is_revoked(account: AccountOptions, user: User) -> bool:
    """Has the account taken back what was signed for the user, or for all, until some second?"""
    return any(
        key in (user.nkey, "*") and user.issued <= until for key, until in account.revocations
    )


def knows_issuer(account: AccountOptions, user: User, trust: Trust) -> bool:
    """May the key that signed the user still do so?"""
    if user.issuer == account.name:
        return not trust.is_strict(account)
    return user.issuer in account.signing_keys or user.issuer in dict(account.scopes)


def is_same(account: AccountOptions, user: User, trust: Trust) -> bool:
    """Would the user's token still make the same user? (Default permissions are not looked at: they
    hold for who comes.)"""
    try:
        made = made_user(read_user(user.jwt), account, trust, user.jwt)
    except (TokenError, Refused):
        return False
    template = dict(account.scopes).get(user.issuer)
    if template is None or template.permissions is None:
        made = msgspec.structs.replace(made, permissions=user.permissions)
    return msgspec.structs.replace(made, connection_types=user.connection_types) == user


def expiry(user: User, now: float) -> float | None:
    """The second at which the user has to leave: its token ends, or its hours do. None: never."""
    ends = [float(user.expires)] if user.expires > 0 else []
    if user.times:
        ends.append(open_until(user.times, user.times_location, now) or now)
    return min(ends, default=None)


def _claims(client: Credentials, now: float) -> UserClaims:
    try:
        claims = read_user(client.jwt)
    except TokenError:
        raise Refused("Authentication requires a user JWT") from None
    if issues := claims.time_issues(now) + user_issues(claims):
        raise Refused(f"User JWT no longer valid: &{{Issues:[{' '.join(issues)}]}}")
    return claims


def _account(claims: UserClaims, resolve: Callable[[str], AccountOptions]) -> AccountOptions:
    try:
        return resolve(claims.nats.issuer_account or claims.iss)
    except AccountError as error:
        raise Refused(error.reason) from None


def made_user(claims: UserClaims, account: AccountOptions, trust: Trust, text: str) -> User:
    """What the token and its signer say of the user."""
    user = user_of(claims, text)
    if not knows_issuer(account, user, trust):
        raise Refused("User JWT issuer is not known")
    template = dict(account.scopes).get(claims.iss)
    if template is not None:
        if not _says_nothing(claims.nats):
            raise Refused(
                "User JWT is not valid: scoped users require no permissions or limits set"
            )
        try:
            may = fill(template.permissions, claims, account)
        except TemplateError:
            raise Refused("User JWT generated invalid permissions") from None
        user = scoped_user(claims, text, template, may)
    if user.proxy_required:
        raise Refused("proxy connection required")
    if user.permissions is None:
        user = msgspec.structs.replace(user, permissions=account.default_permissions)
    return user


def _says_nothing(limits: UserLimits) -> bool:
    nothing = UserLimits()
    return all(
        getattr(limits, name) == getattr(nothing, name) for name in UserLimits.__struct_fields__
    )


def _with_connection_types(user: User, connection_type: str) -> User:
    known = user.connection_types & CONNECTION_TYPES
    if user.connection_types and not known:
        names = " ".join(map(quote, sorted(user.connection_types)))
        raise Refused(f"invalid connection types [{names}]")
    if known and connection_type not in known:
        raise Refused("Connection type not allowed")
    return msgspec.structs.replace(user, connection_types=known)


def _check_signature(public: str, sig: str, nonce: bytes) -> None:
    if not sig:
        raise Refused("Signature missing")
    proof = signature(sig)
    if proof is None:
        raise Refused("Signature not valid base64")
    if not nkey.is_public(public):
        raise Refused("User nkey not valid: nkeys: invalid encoded key")
    if not nonce or not nkey.verify(public, nonce, proof):
        raise Refused("Signature not verified")


def _check_circumstances(user: User, account: AccountOptions, now: float, address: str) -> None:
    if is_revoked(account, user):
        raise Refused("User authentication revoked")
    networks = [found for text in user.sources if (found := network(text)) is not None]
    if user.sources and not comes_from(address, networks):
        raise Refused(f"Bad src Ip {address}", error=True)
    if user.times and open_until(user.times, user.times_location, now) is None:
        raise Refused("Outside connect times", error=True)
