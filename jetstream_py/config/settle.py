"""The last step to options: checks that need more than one of them.

nats-server makes these checks when it starts and when it reloads, not for `-t`; so a file can be
valid and still not start a server. Here `-t` gets the same verdict, but a warning says what would
happen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetstream_py import gotext, nkey
from jetstream_py.config import durations
from jetstream_py.config.account_options import GLOBAL_ACCOUNT
from jetstream_py.config.draft import Draft
from jetstream_py.config.operators import operator_faults
from jetstream_py.config.options import Options
from jetstream_py.config.websocket import websocket_faults

_AFTER_HANDSHAKE: Final = 1.0  # seconds to log in, unless the file says otherwise
_PORTS: Final = range(65_536)
# A negative number here would stop clients from working in obscure ways.
_NOT_NEGATIVE: Final = ("max_control_line", "max_pending", "max_closed_clients", "ping_max")
_NOT_NEGATIVE_TIMES: Final = ("ping_interval", "write_deadline")


def settle(draft: Draft) -> Options:
    """The options of the draft, complete but not checked."""
    options = draft.options
    if not draft.login.timeout and options.tls is not None:
        draft.login.timeout = options.tls.timeout + _AFTER_HANDSHAKE
    options.authorization = draft.authorization()
    return options


def complaints(draft: Draft) -> Iterator[str]:
    """Why a server with these options would not start, most telling first."""
    options = draft.options
    if 0 <= options.max_pending < options.max_payload:
        yield (
            f"max_payload ({options.max_payload}) cannot be higher than "
            f"max_pending ({options.max_pending})"
        )
    if options.lame_duck_grace_period >= options.lame_duck_duration:
        grace = durations.text(options.lame_duck_grace_period)
        period = durations.text(options.lame_duck_duration)
        yield (
            f"lame duck grace period ({grace}) should be strictly lower than "
            f"lame duck duration ({period})"
        )
    yield from operator_faults(draft)
    yield from _unknown_users(draft)
    yield from _out_of_range(options)
    yield from _bad_domain(str(options.jetstream.settings.get("domain") or ""))
    yield from _bad_listeners(draft)
    yield from _unknown_system_account(draft)
    yield from _bad_addresses(options)


def _bad_domain(domain: str) -> Iterator[str]:
    """It is a token of a subject."""
    if any(char in domain for char in ".*>"):
        yield "invalid domain name: may not contain ., * or >"
    elif any(char in domain for char in " \t\r\n\f"):
        derived = gotext.quote(f"$JS.{domain}.API.>")
        yield f"invalid domain name: derived {derived} is not a valid subject"


def _unknown_users(draft: Draft) -> Iterator[str]:
    websocket = draft.options.websocket
    for name in (draft.options.no_auth_user, websocket.no_auth_user if websocket else ""):
        if name and not draft.users:
            yield f"no_auth_user: {gotext.quote(name)} present, but users/nkeys are not defined"
        elif name and name not in [user.nkey or user.name for user in draft.users]:
            yield (
                f"no_auth_user: {gotext.quote(name)} not present as user or nkey in authorization "
                "block or account configuration"
            )


def _unknown_system_account(draft: Draft) -> Iterator[str]:
    name, operator = draft.system_account, draft.operator
    if not name or name == GLOBAL_ACCOUNT:
        return
    if not operator.jwts and not operator.trusted_keys:
        missing = name not in draft.accounts
    elif not nkey.is_public(name, nkey.ACCOUNT):
        yield "error resolving system account: will only fetch valid account keys"
        return
    else:
        missing = operator.resolver == "memory" and name not in dict(operator.preload)
    if missing:
        yield "error resolving system account: account missing"


def _bad_listeners(draft: Draft) -> Iterator[str]:
    options, operator = draft.options, draft.operator
    if options.websocket is not None:
        trusts = bool(operator.jwts or operator.trusted_keys)
        yield from websocket_faults(options.websocket, bool(draft.users), trusts)
    for tls in (options.tls, options.websocket.tls if options.websocket else None):
        if tls is not None and not tls.cert_file and not tls.certs:
            # nats-server starts, and no handshake ever succeeds.
            yield "missing 'cert_file' in TLS configuration"


def _out_of_range(options: Options) -> Iterator[str]:
    for field in _NOT_NEGATIVE:
        if (number := getattr(options, field)) < 0:
            yield f"{field} ({number}) cannot be negative"
    for field in _NOT_NEGATIVE_TIMES:
        if (period := getattr(options, field)) < 0:
            yield f"{field} ({durations.text(period)}) cannot be negative"


def _bad_addresses(options: Options) -> Iterator[str]:
    host, port = options.host, options.port
    if port not in _PORTS:
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        yield f'Error listening on port: {shown}, "listen tcp: address {port}: invalid port"'
    yield from _bad_monitoring(options)
    if reason := _bad_advertise(options.client_advertise):
        yield (
            "Error setting server INFO with ClientAdvertise value of "
            f"{options.client_advertise}, err={reason}"
        )


def _bad_monitoring(options: Options) -> Iterator[str]:
    plain, secure = options.http_port, options.https_port
    problem = "Can't start monitoring:"
    if plain is not None and secure is not None:
        ports = f"HTTP ({plain or -1}) and HTTPs ({secure or -1})"
        yield f"{problem} can't specify both {ports} ports"
    elif secure is not None and options.tls is None:
        yield f"{problem} TLS cert and key required for HTTPS"
    if options.http_gateway.enabled and plain is None and secure is None:
        yield "http_gateway needs a monitoring port: http or https"
    for port in (plain, secure):
        if port is not None and port not in _PORTS:
            text = f"can't listen to the monitor port: listen tcp: address {port}: invalid port"
            yield f"{problem} {text}"


def _bad_advertise(address: str) -> str:
    """Why `host[:port]` is wrong; empty when it is right."""
    host, colon, port = address.rpartition(":")
    if not colon or (address.startswith("[") and address.endswith("]")):
        return ""
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        return f"address {address}: too many colons in address"
    try:
        gotext.atoi(port)
    except ValueError as error:
        return str(error)
    return ""
