"""Whom the server believes: operators and their keys, and what accounts prove to each other."""

from __future__ import annotations

import math

from jetstream_py import nkey
from jetstream_py.config.account_options import AccountOptions, Export, Import, Operator
from jetstream_py.jwt.account_checks import account_issues, mapping_fault
from jetstream_py.jwt.claims import read_account, read_activation, read_operator
from jetstream_py.jwt.convert import account_of
from jetstream_py.jwt.token import TokenError
from jetstream_py.subject import covers

MISSING = "account missing"
INVALID = "account validation failed"
EXPIRED = "Account JWT has expired"


class AccountError(Exception):
    """An account that cannot be had; the text says why."""

    @property
    def reason(self) -> str:
        """Why a user of the account is refused."""
        return f"Account JWT lookup error: {self}"


class AccountRefused(AccountError):
    """An account that is there, and not to be served."""

    @property
    def reason(self) -> str:
        return str(self)


class Trust:
    """Keys that may sign accounts. A `ValueError` for an operator that is none."""

    __slots__ = ("_strict", "keys", "system_account")

    def __init__(self, operator: Operator) -> None:
        self.system_account = ""
        keys: set[str] = set()
        strict: set[str] = set()
        for text in operator.jwts:
            claims = read_operator(text)
            signers = {
                key for key in claims.nats.signing_keys if nkey.is_public(key, nkey.OPERATOR)
            }
            if claims.nats.strict_signing_key_usage:
                strict |= signers
            else:
                keys.add(claims.sub)
            keys |= signers
            self.system_account = self.system_account or claims.nats.system_account
        for key in operator.trusted_keys:
            if not nkey.is_public(key, nkey.OPERATOR):
                raise ValueError("trusted key is not an operator's public key")
            keys.add(key)
        self.keys = frozenset(keys)
        self._strict = frozenset(strict)

    def is_strict(self, account: AccountOptions) -> bool:
        """May users of the account be signed with its signing keys only?"""
        return account.issuer in self._strict

    def account(self, name: str, text: str, now: float) -> AccountOptions:
        """The account of that name, if the token is its, makes sense, holds now and comes from an
        operator that is trusted; else an `AccountError`."""
        try:
            claims = read_account(text)
        except TokenError:
            raise AccountError(INVALID) from None
        if claims.sub != name or not nkey.is_public(name, nkey.ACCOUNT):
            raise AccountError(INVALID)
        if claims.iss not in self.keys or claims.time_issues(now):
            raise AccountError(INVALID)
        if account_issues(claims) or mapping_fault(claims):
            raise AccountError(INVALID)
        return account_of(claims, text)


def activated_until(
    importer: str, wanted: Import, exporter: AccountOptions, now: float
) -> float | None:
    """The second from which the import's token does not open the exporter's door any more; None if it does
    not even now. For exports with `token_required`."""
    try:
        token = read_activation(wanted.token)
    except TokenError:
        return None
    if token.iss != exporter.name and not (
        token.iss in exporter.signing_keys and token.nats.issuer_account == exporter.name
    ):
        return None
    if (
        token.sub != importer
        or token.time_issues(now)
        or _is_revoked(_export_of(wanted, exporter), importer, token.iat)
    ):
        return None
    return float(token.exp + 1) if token.exp > 0 else math.inf


def _is_revoked(export: Export | None, importer: str, issued: int) -> bool:
    """Has the exporter taken back what it signed until some second, for this importer or for all?"""
    if export is None:
        return True
    return any(key in (importer, "*") and issued <= until for key, until in export.revocations)


def _export_of(wanted: Import, exporter: AccountOptions) -> Export | None:
    subject = wanted.subject.encode()
    candidates = (e for e in exporter.exports if e.service == wanted.service)
    return next((e for e in candidates if covers(e.subject.encode(), subject)), None)
