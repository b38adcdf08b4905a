"""Where the tokens of accounts come from.

A resolver keeps text under the names of accounts and believes nothing: whoever takes a token from it
checks it (`Trust.account`). Names are public keys of accounts, so no path and no URL is ever made of
anything else.
"""

from __future__ import annotations

from typing import Protocol

from jetstream_py import nkey
from jetstream_py.config.account_options import Operator
from jetstream_py.jwt.claims import read_account
from jetstream_py.jwt.token import TokenError


class ResolverError(Exception):
    """A token that cannot be kept, or an account that cannot be deleted; the text says why."""


class Resolver(Protocol):
    """`blocking` ones are asked in a worker thread."""

    blocking: bool

    def fetch(self, account: str, now: float) -> str | None:
        """The account's token, or None."""
        ...


class Memory:
    """What the configuration preloads."""

    blocking = False

    def __init__(self, preload: dict[str, str]) -> None:
        self._tokens = dict(preload)

    def fetch(self, account: str, now: float) -> str | None:
        return self._tokens.get(account)


def checked_preload(operator: Operator) -> dict[str, str]:
    """The tokens of `resolver_preload`. A `ValueError` for one that is not what its name says."""
    tokens = dict(operator.preload)
    for account, text in tokens.items():
        if not nkey.is_public(account, nkey.ACCOUNT):
            raise ValueError("preload account is not an account's public key")
        try:
            claims = read_account(text)
        except TokenError as error:
            raise ValueError(f"preload account error for {account}: {error}") from None
        if claims.sub != account:
            raise ValueError(f"preload account error for {account}: subject does not match")
    return tokens
