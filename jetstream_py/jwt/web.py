"""Tokens of accounts from an account server: `GET <url><public key>`. Blocks: for worker threads."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from jetstream_py import limits, nkey
from jetstream_py.config.account_options import Operator


class Web:
    """The resolver `URL(...)`."""

    blocking = True

    def __init__(self, operator: Operator) -> None:
        if urlsplit(operator.url).scheme not in ("http", "https"):
            raise ValueError("the account server's URL has to start with http:// or https://")
        self._url = operator.url.rstrip("/") + "/"
        self._timeout = operator.timeout or limits.JWT_FETCH

    def fetch(self, account: str, now: float) -> str | None:
        if not nkey.is_public(account, nkey.ACCOUNT):
            return None
        try:
            with urllib.request.urlopen(self._url + account, timeout=self._timeout) as answer:  # noqa: S310 - http(s) only, see above
                data: bytes = answer.read(limits.JWT_SIZE + 1)
        except (OSError, http.client.HTTPException):
            return None
        if len(data) > limits.JWT_SIZE or not data.isascii():
            return None
        return data.decode().strip()
