"""Operator mode: the server's one door to JWTs.

Accounts are read from the resolver when somebody asks for them, checked, and kept until their token is
replaced or ends. A blocking resolver is never asked from here: `wanted` names the account that the
server has to fetch first (in a worker thread), `learn` takes the answer.
"""

from __future__ import annotations

from jetstream_py import nkey
from jetstream_py.clock import Clock
from jetstream_py.config.account_options import AccountOptions, Operator, User
from jetstream_py.jwt.claims import AccountClaims, read_account, read_user
from jetstream_py.jwt.directory import Directory
from jetstream_py.jwt.judge import Credentials, Refusal, is_revoked, is_same, user_from_jwt
from jetstream_py.jwt.resolver import Memory, Resolver, checked_preload
from jetstream_py.jwt.token import TokenError
from jetstream_py.jwt.trust import EXPIRED, MISSING, AccountError, AccountRefused, Trust

REVOKED = Refusal("User authentication revoked", answer="User Authentication Revoked")
GONE = Refusal(EXPIRED, answer="Account Authentication Expired")
CHANGED = Refusal("User JWT issuer is not known", answer="")


class OperatorMode:
    """Operators, accounts and users of a server. A `ValueError` for options that cannot work."""

    def __init__(self, operator: Operator, clock: Clock, system_account: str = "") -> None:
        self._clock = clock
        self.trust = Trust(operator)
        self.system_account = system_account or self.trust.system_account
        self.resolver: Resolver = _resolver(operator, self.now())
        self._pinned = {*operator.pinned_accounts, self.system_account}
        self._has_pinned = bool(operator.pinned_accounts)
        self._accounts: dict[str, AccountOptions] = {}
        if self.system_account and not self.resolver.blocking:
            self._check_system_account()

    def now(self) -> float:
        return self._clock.now_ns() / 1e9

    def account(self, name: str) -> AccountOptions | None:
        """The account of that name, if there is one to believe."""
        try:
            return self.find(name)
        except AccountError:
            return None

    def find(self, name: str) -> AccountOptions:
        """As `account`, with an `AccountError` that says why not."""
        now = self.now()
        known = self._accounts.get(name)
        if known is not None and not 0 < known.expires < int(now):
            return known
        try:
            return self._load(name, now)
        except AccountError:
            if known is not None:
                raise AccountRefused(EXPIRED) from None
            raise

    def _load(self, name: str, now: float) -> AccountOptions:
        if not nkey.is_public(name, nkey.ACCOUNT) or self.resolver.blocking:
            raise AccountError(MISSING)
        text = self.resolver.fetch(name, now)
        if text is None:
            raise AccountError(MISSING)
        return self._keep(name, text)

    def is_loaded(self, name: str) -> bool:
        """Has anybody asked for the account yet?"""
        return name in self._accounts

    def wanted(self, client: Credentials) -> str | None:
        """The account that has to be fetched before the client can be judged. None: judge it."""
        if not self.resolver.blocking:
            return None
        try:
            claims = read_user(client.jwt)
        except TokenError:
            return None
        name = claims.nats.issuer_account or claims.iss
        if not nkey.is_public(name, nkey.ACCOUNT) or self.account(name) is not None:
            return None
        return name

    def learn(self, name: str, text: str | None) -> None:
        """What a blocking resolver answered."""
        if text is not None:
            try:
                self._keep(name, text)
            except AccountError:
                pass  # the client is refused when it is judged

    def authenticate(
        self, client: Credentials, nonce: bytes, address: str, connection_type: str = "STANDARD"
    ) -> User | Refusal:
        """The user that the client proved to be, or why it did not."""
        return user_from_jwt(
            self.trust, self._resolve, client, nonce, self.now(), address, connection_type
        )

    def recheck(self, user: User) -> Refusal | None:
        """After an update of its account: why a connected user has to leave, if it has to. With an
        empty answer the connection is closed without a word."""
        account = self.account(user.account)
        if account is None:
            return GONE
        if is_revoked(account, user):
            return REVOKED
        return None if is_same(account, user, self.trust) else CHANGED

    def update(self, text: str) -> AccountOptions:
        """A new token of an account that is loaded: the account as it is from now on. An
        `AccountError` leaves it as it was."""
        try:
            claims: AccountClaims = read_account(text)
        except TokenError as error:
            raise AccountError(str(error)) from None
        return self._keep(claims.sub, text)

    def forget(self, name: str) -> None:
        """The account was deleted."""
        self._accounts.pop(name, None)

    def _keep(self, name: str, text: str) -> AccountOptions:
        account = self.trust.account(name, text, self.now())
        self._accounts[name] = account
        return account

    def _resolve(self, name: str) -> AccountOptions:
        if self._has_pinned and name not in self._pinned:
            raise AccountRefused(f"Account {name} not listed as operator pinned account")
        return self.find(name)

    def _check_system_account(self) -> None:
        try:
            self.find(self.system_account)
        except AccountError as error:
            raise ValueError(f"error resolving system account: {error}") from None


def _resolver(operator: Operator, now: float) -> Resolver:
    if operator.resolver in ("full", "cache"):
        return Directory(operator, now)
    if operator.resolver == "url":
        from jetstream_py.jwt.web import Web  # most servers need no HTTP client

        return Web(operator)
    return Memory(checked_preload(operator))
