"""Parts of the options, and how nats-server shows them when a reload names them."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from jetstream_py.config import durations
from jetstream_py.config.account_options import (
    SYSTEM_ACCOUNT,
    AuthCallout,
    Operator,
    Tls,
    User,
    WebSocket,
)
from jetstream_py.config.options import Options

# -- what of the options counts --------------------------------------------------------------------


def nkey_users(options: Options) -> Any:
    return [user for user in options.authorization.users if user.nkey]


def single_user(options: Options) -> User:
    """The user that is not in a list."""
    return options.authorization.users[0] if options.authorization.single else User()


def tls(options: Options) -> Tls:
    return options.tls or Tls()


def certificates(options: Options) -> Tls | None:
    """What a handshake depends on; the rest of the block has rows of its own."""
    return options.tls and replace(
        options.tls,
        timeout=0.0,
        verify_and_map=False,
        pinned_certs=frozenset(),
        handshake_first=False,
        handshake_fallback=0.0,
        connection_rate_limit=0,
    )


def listener(options: Options) -> WebSocket | None:
    """Certificates of the WebSocket listener may change in silence."""
    websocket = options.websocket
    if websocket is None or websocket.tls is None:
        return websocket
    same = Tls(verify_and_map=websocket.tls.verify_and_map)
    return replace(websocket, tls=same)


def operator(options: Options) -> Operator:
    return options.authorization.operator or Operator()


# -- how it looks --------------------------------------------------------------------------------


def plain(value: Any) -> str:
    """A value as Go prints it."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case dict():
            return f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]"
    return str(value)


def port(value: int | None) -> str:
    """Ports as users write them: -1 for any, 0 for none."""
    return {None: "0", 0: "-1"}.get(value, str(value))


def on_off(value: Any) -> str:
    return "enabled" if value else "disabled"


def account(name: str) -> str:
    return "" if name == SYSTEM_ACCOUNT else name


def callout(callout: AuthCallout | None) -> str:
    if callout is None:
        return "<nil>"
    users, accounts = " ".join(callout.users), " ".join(callout.allowed_accounts)
    return f"&{{{callout.issuer} {callout.account} [{users}] {callout.xkey} [{accounts}]}}"


def websocket(websocket: WebSocket | None) -> str:
    """As Go prints it, without passwords, and without the insides of the TLS settings."""
    ws = websocket or WebSocket("")
    secrets = ("[REDACTED]" if secret else "" for secret in (ws.password, ws.token))
    words: tuple[Any, ...] = (
        ws.host,
        port(ws.port) if websocket else 0,
        ws.advertise,
        ws.no_auth_user,
        ws.jwt_cookie,
        ws.user_cookie,
        ws.password_cookie,
        ws.token_cookie,
        ws.user,
        *secrets,
        ws.auth_timeout,
        ws.no_tls,
        "<tls>" if ws.tls else "<nil>",
        bool(ws.tls and ws.tls.verify_and_map),
        "map[]",
        ws.same_origin,
        f"[{' '.join(ws.allowed_origins)}]",
        ws.compression,
        durations.text(0.0 if ws.handshake_timeout == _HANDSHAKE else ws.handshake_timeout),
        durations.text(ws.ping_interval),
        plain(dict(ws.headers)),
        "<nil>",
    )
    return f"{{{' '.join(map(plain, words))}}}"


_HANDSHAKE: Final = WebSocket().handshake_timeout


def array(words: tuple[str, ...]) -> str:
    return f"[{' '.join(words)}]"


def tokens(jwts: tuple[str, ...]) -> str:
    return f"{len(jwts)} JWTs"
