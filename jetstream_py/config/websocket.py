"""The block `websocket`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetstream_py import gotext, limits
from jetstream_py.config import durations, kinds
from jetstream_py.config.account_options import WebSocket
from jetstream_py.config.authorization import timeout_kind
from jetstream_py.config.draft import Draft, Refusal
from jetstream_py.config.parser import Data, Value
from jetstream_py.config.secret import Secret
from jetstream_py.config.tables import Fields, Key, Table, key, read_fields, table
from jetstream_py.config.tls import TLS

_OWN_HEADERS: Final = ("upgrade", "connection")
_OWN_PREFIX: Final = "sec-websocket-"


def set_websocket(draft: Draft, value: Value, data: Data) -> None:
    """Without a port there is no listener."""
    if type(data) is not dict:
        raise Refusal(f"Expected websocket to be a map, got {kinds.go_type(data)}")
    fields = read_fields(WEBSOCKET_KEYS, data, draft, "websocket.")
    host, port = fields.get("listen", ("", 0))
    host, port = fields.get("host") or host, fields.get("port") or port
    if port:
        websocket = _websocket(fields, host or WebSocket().host, 0 if port == -1 else port)
        draft.options.websocket = websocket


def _websocket(fields: Fields, host: str, port: int) -> WebSocket:
    login = fields.get("authorization", {})
    return WebSocket(
        host=host,
        port=port,
        advertise=fields.get("advertise", ""),
        tls=fields.get("tls"),
        no_tls=fields.get("no_tls", False),
        same_origin=fields.get("same_origin", False),
        allowed_origins=fields.get("allowed_origins", ()),
        compression=fields.get("compression", False),
        handshake_timeout=fields.get("handshake_timeout") or limits.WEBSOCKET_HANDSHAKE,
        jwt_cookie=fields.get("jwt_cookie", ""),
        user_cookie=fields.get("user_cookie", ""),
        password_cookie=fields.get("pass_cookie", ""),
        token_cookie=fields.get("token_cookie", ""),
        no_auth_user=fields.get("no_auth_user", ""),
        user=login.get("user", ""),
        password=Secret(login.get("password", "")),
        token=Secret(login.get("token", "")),
        auth_timeout=login.get("timeout", 0.0),
        ping_interval=fields.get("ping_interval", 0.0),
        headers=fields.get("headers", ()),
    )


# -- values ----------------------------------------------------------------------------------------


def read_origins(key: str, value: Value, draft: Draft) -> tuple[str, ...]:
    data = value.data
    if type(data) is str:
        return (data,)
    if type(data) is not list:
        raise Refusal(f"error parsing allowed origins: unsupported type {kinds.go_type(data)}")
    for item in data:
        if type(item.data) is not str:
            got = kinds.go_type(item.data)
            raise Refusal(
                f"error parsing allowed origins: unsupported type in array {got}", item.at
            )
    return tuple(kinds.texts(key, value, draft))


def _handshake_timeout(key: str, value: Value, draft: Draft) -> float:
    data = value.data
    if type(data) is int:
        return float(data)
    if type(data) is not str:
        raise Refusal(f"error parsing handshake timeout: unsupported type {kinds.go_type(data)}")
    try:
        return durations.seconds(data)
    except ValueError as error:
        raise Refusal(str(error)) from None


def _headers(key: str, value: Value, draft: Draft) -> tuple[tuple[str, str], ...]:
    data = value.data
    if type(data) is not dict:
        raise Refusal(f"error parsing headers: unsupported type {kinds.go_type(data)}")
    for name, item in data.items():
        if type(item.data) is not str:
            got = kinds.go_type(item.data)
            raise Refusal(f"error parsing header key {name}: unsupported type {got}", item.at)
        if any(mark in text for mark in "\r\n\0" for text in (name, item.data)):
            raise Refusal(f"error parsing header key {name!r}: no line breaks in headers", item.at)
    return tuple((name, kinds.text(name, item, draft)) for name, item in data.items())


def _login(key: str, value: Value, draft: Draft) -> dict[str, object]:
    block = kinds.block(key, value, draft)
    return read_fields(WEBSOCKET_LOGIN_KEYS, block, draft, "websocket.authorization.").data


# -- what keeps a server from starting -------------------------------------------------------------


def websocket_faults(websocket: WebSocket, with_users: bool, trusts: bool) -> Iterator[str]:
    """`with_users`: there are users or nkeys; `trusts`: there are operators or trusted keys."""
    if websocket.tls is None and not websocket.no_tls:
        yield "websocket requires TLS configuration"
    for origin in websocket.allowed_origins:
        if fault := origin_fault(origin):
            yield f"unable to parse allowed origin{fault}"
    if websocket.jwt_cookie and not trusts:
        yield (
            "trusted operators or trusted keys configuration is required for JWT authentication "
            f"via cookie {gotext.quote(websocket.jwt_cookie)}"
        )
    for name, value in (("username", websocket.user), ("token", websocket.token)):
        if value and with_users:
            yield f"websocket authentication {name} not compatible with presence of users/nkeys"
    for name, _ in websocket.headers:
        yield from _header_faults(name)


def _header_faults(name: str) -> Iterator[str]:
    problem = f"websocket: invalid header {gotext.quote(name)}"
    if name.lower() in _OWN_HEADERS:
        yield f"{problem} not allowed"
    elif name.lower().startswith(_OWN_PREFIX):
        yield f'{problem}, "Sec-WebSocket-" prefix not allowed'
    elif not name.isascii() or any(char in name for char in " \t\r\n:") or not name:
        # nats-server would send it, and clients could not read what follows.
        yield f"{problem}: not the name of a header"


def origin_fault(origin: str) -> str:
    """Why an origin is none, as it goes on in the message; empty when it is one."""
    quoted = gotext.quote(origin)
    scheme, separator, rest = origin.partition("://")
    if not separator:
        return f": parse {quoted}: invalid URI for request"
    if scheme.lower() not in ("http", "https"):
        return f" {quoted}: allowed origins must be absolute URLs with http or https scheme"
    authority = rest.partition("/")[0]
    host, colon, port = authority.partition(":")
    if not host.strip("[]"):
        return f" {quoted}: host is required"
    if colon and not authority.startswith("[") and port and not port.isdigit():
        return f": parse {quoted}: invalid port {gotext.quote(colon + port)} after host"
    return ""


# -- tables ----------------------------------------------------------------------------------------


def _of(names: str, kind: kinds.Kind, note: str) -> Key:
    return key(names, kind, "websocket", note)


WEBSOCKET_LOGIN_KEYS: Final[Table] = table(
    _of("user username", kinds.TEXT, "the single user"),
    _of("password pass", kinds.TEXT, "its password, or a bcrypt hash"),
    _of("token", kinds.TEXT, "the token that clients present, or its bcrypt hash"),
    _of(
        "timeout",
        timeout_kind("authorization", limit=float("inf")),
        "time that clients have to log in",
    ),
)

WEBSOCKET_KEYS: Final[Table] = table(
    _of("listen", kinds.LISTEN, "host and port in one"),
    _of("host net", kinds.TEXT, "address to bind to"),
    _of("port", kinds.PORT, "-1: any free port; without one there is no listener"),
    _of("advertise", kinds.TEXT, "host[:port] that clients are told"),
    _of("tls", TLS, "as for other clients"),
    _of("no_tls", kinds.BOOLEAN, "plain text, behind a proxy that does TLS"),
    _of("same_origin", kinds.BOOLEAN, "only pages of this very host"),
    _of(
        "allowed_origins allowed_origin allow_origins allow_origin origins origin",
        kinds.Kind("string or array", read_origins),
        "only pages of these hosts",
    ),
    _of("compression", kinds.BOOLEAN, "for clients that ask for it"),
    _of(
        "handshake_timeout",
        kinds.Kind("seconds or duration", _handshake_timeout),
        "for the upgrade; 2 s by default",
    ),
    _of("jwt_cookie", kinds.TEXT, "cookie with the user's JWT"),
    _of("user_cookie", kinds.TEXT, "cookie with the user's name"),
    _of("pass_cookie", kinds.TEXT, "cookie with the password"),
    _of("token_cookie", kinds.TEXT, "cookie with the token"),
    _of("no_auth_user", kinds.TEXT, "user of clients without credentials"),
    _of(
        "authorization authentication",
        kinds.Kind("block", _login),
        "instead of that of other clients: `user`, `password`, `token`, `timeout`",
    ),
    _of("ping_interval", kinds.DURATION_OR_SECONDS, "of idle clients"),
    _of("headers", kinds.Kind("block of strings", _headers), "sent with the upgrade"),
)
