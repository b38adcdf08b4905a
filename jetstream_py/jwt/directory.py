"""Tokens of accounts as files: the resolvers `full` and `cache`.

Each account is a file `<public key>.jwt`. The names in the directory are read once; after that this
process alone writes there. `full` keeps every account until it is deleted and refuses new ones beyond
its limit. `cache` forgets the one that was not asked for the longest, and all that nobody asked for
during its TTL.

A file is written beside its place, synced and renamed: after a crash an account has its old token or
its new one.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from jetstream_py import limits, nkey
from jetstream_py.config.account_options import Operator
from jetstream_py.jwt.claims import read_account
from jetstream_py.jwt.resolver import ResolverError, checked_preload
from jetstream_py.jwt.token import TokenError

_SUFFIX = ".jwt"
_DELETED = ".deleted"


class Directory:
    """A directory of tokens."""

    blocking = False

    def __init__(self, operator: Operator, now: float) -> None:
        self.is_cache = operator.resolver == "cache"
        self.may_delete = operator.allow_delete or self.is_cache
        self._hard_delete = operator.hard_delete or self.is_cache
        self._limit = operator.limit or (limits.JWT_CACHE if self.is_cache else 0)
        self._ttl = (operator.ttl or limits.JWT_CACHE_TTL) if self.is_cache else 0.0
        self._path = Path(operator.directory)
        self._path.mkdir(parents=True, exist_ok=True)
        # When each account was last asked for, the longest forgotten first.
        self._used: dict[str, float] = {}
        self._digests: dict[str, bytes] = {}
        self._scan()
        for account, text in checked_preload(operator).items():
            self._preload(account, text, now)

    def fetch(self, account: str, now: float) -> str | None:
        self._expire(now)
        if account not in self._used:
            return None
        self._touch(account, now)
        return self._read(account)

    def store(self, account: str, text: str, now: float) -> None:
        """Keep the token, in place of the one before. A `ResolverError` if it cannot be."""
        if not nkey.is_public(account, nkey.ACCOUNT):
            raise ResolverError("invalid public key")
        self._expire(now)
        if account not in self._used and self._limit and len(self._used) >= self._limit:
            if not self.is_cache:
                raise ResolverError("jwt store is full")
            self._remove(next(iter(self._used)))
        self._write(account, text)
        self._touch(account, now)

    def delete(self, account: str) -> None:
        """Forget the account, if it is known."""
        if account in self._used:
            self._remove(account)

    def knows(self, account: str) -> bool:
        return account in self._used

    def accounts(self) -> list[str]:
        return sorted(self._used)

    def digest(self) -> bytes:
        """The same for the same tokens: how servers find out that they have nothing to tell."""
        total = 0
        for digest in self._digests.values():
            total ^= int.from_bytes(digest)
        return total.to_bytes(32)

    def tokens(self) -> list[tuple[str, str]]:
        """All accounts and their tokens."""
        found = ((account, self._read(account)) for account in self.accounts())
        return [(account, text) for account, text in found if text is not None]

    def _scan(self) -> None:
        found = []
        for entry in os.scandir(self._path):
            account = entry.name.removesuffix(_SUFFIX)
            if account != entry.name and nkey.is_public(account, nkey.ACCOUNT) and entry.is_file():
                found.append((entry.stat().st_mtime, account))
        for modified, account in sorted(found):
            text = self._read(account)
            if text is not None:
                self._digests[account] = hashlib.sha256(text.encode()).digest()
                self._used[account] = modified

    def _preload(self, account: str, text: str, now: float) -> None:
        """A token from the configuration does not replace a newer one that was pushed."""
        known = self._read(account) if account in self._used else None
        if known is None or _issued(known) <= _issued(text):
            self.store(account, text, now)

    def _touch(self, account: str, now: float) -> None:
        self._used.pop(account, None)
        self._used[account] = now

    def _expire(self, now: float) -> None:
        while self._ttl and self._used:
            account, used = next(iter(self._used.items()))
            if now - used < self._ttl:
                return
            self._remove(account)

    def _file(self, account: str) -> Path:
        return self._path / f"{account}{_SUFFIX}"

    def _read(self, account: str) -> str | None:
        try:
            with self._file(account).open("rb") as file:
                data = file.read(limits.JWT_SIZE + 1)
        except OSError:
            return None
        if len(data) > limits.JWT_SIZE or not data.isascii():
            return None
        return data.decode()

    def _write(self, account: str, text: str) -> None:
        data = text.encode()
        beside = self._path / f".{account}"
        try:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._file(account))
        except OSError as error:
            raise ResolverError(error.strerror or "cannot write") from None
        self._digests[account] = hashlib.sha256(data).digest()

    def _remove(self, account: str) -> None:
        file = self._file(account)
        try:
            if self._hard_delete:
                file.unlink(missing_ok=True)
            else:
                file.replace(file.with_name(file.name + _DELETED))
        except OSError as error:
            raise ResolverError(error.strerror or "cannot delete") from None
        del self._used[account]
        del self._digests[account]


def _issued(text: str) -> int:
    try:
        return read_account(text).iat
    except TokenError:
        return 0
