"""Who may in: the one place where credentials are judged.

Sans-IO and without side effects. Comparisons take the same time for every wrong answer, and a missing
or empty password never matches.
"""

from __future__ import annotations

import hmac

from jetstream_py.config.options import Options
from jetstream_py.server.connect import ConnectOptions


def authenticate(options: Options, client: ConnectOptions) -> str | None:
    """The name of the user that the client proved to be ("" for token holders and where nobody is
    asked), or None when it is refused."""
    auth = options.authorization
    if not auth.required:
        return client.user
    if options.no_auth_user and not _has_credentials(client):
        return options.no_auth_user
    if auth.token:
        return "" if _equal(auth.token, client.auth_token) else None
    for user in auth.users:
        if user.name == client.user:
            return user.name if _equal(user.password, client.password) else None
    return None


def still_valid(options: Options, client: ConnectOptions, user: str) -> bool:
    """After a reload: would the same client get in as the same user?"""
    return authenticate(options, client) == user


def _has_credentials(client: ConnectOptions) -> bool:
    return bool(client.user or client.password or client.auth_token)


def _equal(secret: str, given: str) -> bool:
    # "surrogatepass": what a client sends may be any text; it only has to compare, not to be valid.
    known, offered = (text.encode("utf-8", "surrogatepass") for text in (secret, given))
    return bool(secret) and hmac.compare_digest(known, offered)
