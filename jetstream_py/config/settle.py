"""The last step to options: checks that need more than one of them.

nats-server makes these checks when it starts and when it reloads, not for `-t`; so a file can be
valid and still not start a server. Here `-t` gets the same verdict, but a warning says what would
happen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetstream_py import gotext
from jetstream_py.config import durations
from jetstream_py.config.draft import Draft
from jetstream_py.config.options import Options

_SYSTEM_ACCOUNT: Final = "$SYS"
_PORTS: Final = range(65_536)
# A negative number here would stop clients from working in obscure ways.
_NOT_NEGATIVE: Final = ("max_control_line", "max_pending", "max_closed_clients", "ping_max")
_NOT_NEGATIVE_TIMES: Final = ("ping_interval", "write_deadline")


def settle(draft: Draft) -> Options:
    """The options of the draft, complete but not checked."""
    draft.options.authorization = draft.authorization()
    return draft.options


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
    yield from _unknown_users(draft)
    yield from _out_of_range(options)
    yield from _bad_addresses(options)
    yield from _bad_domain(str(options.jetstream.settings.get("domain") or ""))


def _bad_domain(domain: str) -> Iterator[str]:
    """It is a token of a subject."""
    if any(char in domain for char in ".*>"):
        yield "invalid domain name: may not contain ., * or >"
    elif any(char in domain for char in " \t\r\n\f"):
        derived = gotext.quote(f"$JS.{domain}.API.>")
        yield f"invalid domain name: derived {derived} is not a valid subject"


def _unknown_users(draft: Draft) -> Iterator[str]:
    name = draft.options.no_auth_user
    if name and not draft.users:
        yield f"no_auth_user: {gotext.quote(name)} present, but users/nkeys are not defined"
    elif name and name not in [user.nkey or user.name for user in draft.users]:
        yield (
            f"no_auth_user: {gotext.quote(name)} not present as user or nkey in authorization "
            "block or account configuration"
        )
    if draft.options.system_account not in ("", _SYSTEM_ACCOUNT):
        yield "error resolving system account: account missing"


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
    if options.http_port is not None and options.http_port not in _PORTS:
        yield (
            "Can't start monitoring: can't listen to the monitor port: "
            f"listen tcp: address {options.http_port}: invalid port"
        )
    if reason := _bad_advertise(options.client_advertise):
        yield (
            "Error setting server INFO with ClientAdvertise value of "
            f"{options.client_advertise}, err={reason}"
        )


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
