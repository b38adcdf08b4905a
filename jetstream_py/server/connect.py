"""The options that a client states in CONNECT.

The real server reads them with Go's JSON rules, which clients lean on: names match in any case, null
leaves a field alone, unknown fields are passed over, a wrong type ends the connection. A second
CONNECT changes only what it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from jetstream_py import limits
from jetstream_py.server.proto import PROTOCOL_VIOLATION, Fault

_INT64 = 1 << 63


class ConnectOptions(msgspec.Struct, frozen=True):
    """What a client said of itself. The defaults hold before and without CONNECT."""

    verbose: bool = True
    pedantic: bool = True
    echo: bool = True
    headers: bool = False
    no_responders: bool = False
    tls_required: bool = False
    new_account: bool = False
    protocol: int = 0
    name: str = ""
    lang: str = ""
    version: str = ""
    account: str = ""
    user: str = ""
    password: str = msgspec.field(default="", name="pass")
    auth_token: str = ""
    jwt: str = ""
    nkey: str = ""
    sig: str = ""
    proxy_sig: str = ""

    def overlay(self, text: bytes) -> ConnectOptions:
        """These options, changed by a CONNECT's JSON."""
        given = decode(text)
        changed: dict[str, Any] = {}
        for key, value in given.items():
            field = _FIELDS.get(key) or _FIELDS.get(key.casefold())
            if field is None or value is None:
                continue
            attribute, kind = field
            if type(value) is not kind or (isinstance(value, int) and abs(value) >= _INT64):
                raise Fault(PROTOCOL_VIOLATION, log=f"CONNECT: bad value for {key!r}")
            if isinstance(value, str):
                value = value.encode(
                    "utf-8", "replace"
                ).decode()  # a lone surrogate cannot be sent on
            changed[attribute] = value
        for key in _FOR_SERVERS:
            changed.pop(key, None)
        return msgspec.structs.replace(self, **changed) if changed else self

    def fill(self, credentials: Mapping[str, str]) -> ConnectOptions:
        """These options, with credentials from elsewhere where they state none."""
        missing = {name: value for name, value in credentials.items() if not getattr(self, name)}
        return msgspec.structs.replace(self, **missing) if missing else self

    def without_secrets(self) -> ConnectOptions:
        """What may be remembered when the client has gone: who it was, in a text of bounded length."""
        changed = dict.fromkeys(_SECRETS, "")
        changed["auth_token"] = _REDACTED if self.auth_token else ""
        for name in _TEXTS:
            changed[name] = getattr(self, name)[: limits.CLOSED_TEXT]
        return msgspec.structs.replace(self, **changed)


_REDACTED = "[REDACTED]"
_SECRETS = ("password", "jwt", "sig", "proxy_sig")
_TEXTS = ("name", "lang", "version", "account", "user", "nkey")

# Fields between servers: read, so that a wrong type is refused, and passed over.
_FOR_SERVERS = ("import", "export")
_FIELDS: dict[str, tuple[str, type]] = {
    **{
        field.encode_name: (field.name, field.type)
        for field in msgspec.structs.fields(ConnectOptions)
    },
    **{name: (name, dict) for name in _FOR_SERVERS},
}


def decode(text: bytes) -> dict[str, Any]:
    """A JSON object (or null) as Go reads it, which is laxer about text than msgspec is."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _decode_lax(text)
    if value is None:
        return {}
    if type(value) is not dict:
        raise Fault(PROTOCOL_VIOLATION, log="CONNECT: not a JSON object")
    return value


def _decode_lax(text: bytes) -> Any:
    """Accept broken UTF-8, lone surrogates and numbers beyond a double; refuse all else."""
    import json

    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        return json.loads(text.decode("utf-8", "replace"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Fault(PROTOCOL_VIOLATION, log=f"CONNECT: {error}") from None
