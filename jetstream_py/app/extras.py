"""Libraries that only some options need. A server that lacks one says so before it lets clients in,
instead of refusing them one by one.
"""

from __future__ import annotations

from collections.abc import Callable

from jetstream_py.config.options import Options
from jetstream_py.server.auth import is_hash

HINT = "Install it: pip install 'jetstream-py[auth]'"


def find(name: str) -> object:
    from importlib.util import find_spec  # only servers that need something pay for it

    return find_spec(name)


def missing(options: Options, installed: Callable[[str], object] = find) -> str:
    """What the options need and this Python does not have; "" when all is there."""
    auth, own = options.authorization, options.websocket
    secrets = [auth.token, *(user.password for user in auth.users)]
    if own is not None:
        secrets += [own.password, own.token]
    if any(is_hash(secret) for secret in secrets) and not installed("bcrypt"):
        return "Passwords that are bcrypt hashes need bcrypt, which is not installed"
    signs = auth.operator or auth.callout or any(user.nkey for user in auth.users)
    if signs and not installed("nacl"):
        return "Users with nkeys or JWTs need PyNaCl, which is not installed"
    return ""
