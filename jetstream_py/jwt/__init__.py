"""Decentralised authentication: operators sign accounts, accounts sign users, as JWTs.

The server needs few names:

* `OperatorMode(options, clock, system_account)`: everything below under one roof.
  `authenticate(client, nonce, address, connection_type)` gives a `User` or a `Refusal`,
  `account(name)` an `AccountOptions` or None, `update(jwt)` the account as it is from now on,
  `recheck(user)` why a connected user has to leave after an update, if it has to.
* `expiry(user, now)`: when a connected user has to leave by itself.
* `handle(mode, subject, payload, server)`: the `$SYS.REQ...CLAIMS...` services.
* `activated_until(importer, import, exporter, now)`: how long may an account import what needs a token?
* `callout`, `xkey`: requests to and answers from an auth callout service.

The way of a token: `token` (text, signature) → `claims` (fields) → `checks`, `account_checks` (sense)
→ `trust`, `judge` (belief) → `convert`, `template` (plain data of `config.account_options`). All of it
is sans-IO. Files are touched in `directory`, the network in `web`, both behind `resolver`.

Signatures need PyNaCl: `pip install jetstream-py[auth]`.
"""

from jetstream_py.jwt.judge import Credentials, Refusal, expiry, is_revoked, user_from_jwt
from jetstream_py.jwt.mode import OperatorMode
from jetstream_py.jwt.resolver import Resolver
from jetstream_py.jwt.services import Reply, handle
from jetstream_py.jwt.trust import AccountError, Trust, activated_until

__all__ = [
    "AccountError",
    "Credentials",
    "OperatorMode",
    "Refusal",
    "Reply",
    "Resolver",
    "Trust",
    "activated_until",
    "expiry",
    "handle",
    "is_revoked",
    "user_from_jwt",
]
