"""What a running server can change when it reads its configuration again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from jetstream_py.config import durations
from jetstream_py.config import reload_values as values
from jetstream_py.config.errors import NotReloadable
from jetstream_py.config.options import Options

Show: TypeAlias = Callable[[Any], str]
Read: TypeAlias = Callable[[Options], Any]


class Option(msgspec.Struct, frozen=True):
    """How an option reloads.

    `name` is what the log calls the change, with the new value in its braces. Options that cannot
    reload have no such name, only the name that nats-server gives them in its error.
    """

    field: str
    name: str = ""
    fixed: str = ""
    show: Show = values.plain
    read: Read | None = None  # what of the options counts, when it is not just the field
    always: bool = False  # named with every reload, as by nats-server


def _reloads(
    field: str,
    name: str = "",
    show: Show = values.plain,
    read: Read | None = None,
    always: bool = False,
) -> Option:
    return Option(field, name or f"{field} = {{}}", "", show, read, always)


def _fixed(field: str, go_name: str, show: Show = values.plain, read: Read | None = None) -> Option:
    return Option(field, "", go_name, show, read)


# In the order of nats-server, because the first change that is not possible is the one it names.
OPTIONS: Final = (
    _fixed("server_name", "ServerName"),
    _fixed("host", "Host"),
    _fixed("port", "Port", values.port),
    _reloads("client_advertise"),
    _reloads("trace"),
    _reloads("debug"),
    _reloads("trace_verbose"),
    _reloads("trace_headers"),
    _reloads("logtime"),
    _reloads("logtime_utc"),
    _reloads("max_connections"),
    _fixed("max_subscriptions", "MaxSubs"),
    _fixed("max_sub_tokens", "MaxSubTokens"),
    _reloads("authorization.users", "authorization nkey users", read=values.nkey_users),
    _reloads("authorization.users", "authorization users", always=True),
    _reloads("accounts", "accounts", always=True),
    Option("mappings"),  # named by the row above: they are those of an account, too
    _fixed("no_auth_user", "NoAuthUser"),
    _fixed("system_account", "SystemAccount", values.account),
    _reloads(
        "authorization.single",
        "authorization username",
        read=lambda options: values.single_user(options).name,
    ),
    _reloads(
        "authorization.single",
        "authorization password",
        read=lambda options: values.single_user(options).password,
    ),
    _reloads("authorization.token", "authorization token"),
    _fixed("authorization.callout", "AuthCallout", values.callout),
    _fixed("disable_sublist_cache", "NoSublistCache"),
    _fixed("no_header_support", "NoHeaderSupport"),
    _reloads("ping_interval", show=durations.text),
    _reloads("ping_max"),
    _fixed("http_host", "HTTPHost"),
    _fixed("http_base_path", "HTTPBasePath"),
    _fixed("http_port", "HTTPPort", values.port),
    _fixed("https_port", "HTTPSPort", values.port),
    _fixed("http_gateway", "HTTPGateway"),
    _reloads("authorization.timeout", "authorization timeout = {}"),
    _reloads("max_control_line"),
    _reloads("max_payload"),
    _fixed("max_pending", "MaxPending"),
    _reloads("no_fast_producer_stall"),
    _fixed("websocket", "Websocket", values.websocket, values.listener),
    _reloads("pid_file"),
    _reloads("ports_file_dir"),
    _reloads("log_file"),
    _fixed("logfile_size_limit", "LogSizeLimit"),
    _fixed("logfile_max_num", "LogMaxFiles"),
    _reloads("syslog"),
    _reloads("remote_syslog"),
    _reloads("tls", "tls timeout = {}", read=lambda options: values.tls(options).timeout),
    _fixed("tls", "TLSMap", read=lambda options: values.tls(options).verify_and_map),
    _reloads("tls", "tls = {}", values.on_off, values.certificates),
    _reloads(
        "tls",
        "{} pinned_certs",
        lambda pins: str(len(pins)),
        lambda options: values.tls(options).pinned_certs,
    ),
    _fixed("tls", "TLSRateLimit", read=lambda options: values.tls(options).connection_rate_limit),
    _reloads(
        "tls",
        "Client TLS handshake first: {}",
        read=lambda options: values.tls(options).handshake_first,
    ),
    _reloads(
        "tls",
        "Client TLS handshake first fallback delay: {}",
        durations.text,
        lambda options: values.tls(options).handshake_fallback,
    ),
    _fixed("allow_non_tls", "AllowNonTLS"),
    _reloads("max_traced_msg_len"),
    _reloads("write_deadline", show=durations.text),
    _fixed("write_timeout", "WriteTimeout"),
    _fixed("max_closed_clients", "MaxClosedClients"),
    _fixed("lame_duck_duration", "LameDuckDuration", durations.text),
    _fixed("lame_duck_grace_period", "LameDuckGracePeriod", durations.text),
    _fixed(
        "authorization.operator",
        "TrustedKeys",
        values.array,
        lambda options: values.operator(options).trusted_keys,
    ),
    _fixed(
        "authorization.operator",
        "TrustedOperators",
        values.tokens,
        lambda options: values.operator(options).jwts,
    ),
    _reloads("server_tags", "tags"),
    _reloads("server_metadata", "metadata"),
    _fixed("feature_flags", "FeatureFlags"),
    _reloads("jetstream.enabled", "JetStream"),
)


def changes(old: Options, new: Options) -> list[str]:
    """The names of the options that differ, as the log shows them after `Reloaded: `.

    Raises NotReloadable when one of them cannot change while the server runs.
    """
    names = []
    for option in OPTIONS:
        before, after = _value(old, option), _value(new, option)
        if before == after and not option.always:
            continue
        if option.fixed:
            shown = f"old={option.show(before)}, new={option.show(after)}"
            raise NotReloadable(f"config reload not supported for {option.fixed}: {shown}")
        if option.name:
            names.append(option.name.format(option.show(after)))
    _check_jetstream(old, new)
    _check_resolver(old, new)
    return names


def _value(options: Options, option: Option) -> Any:
    return option.read(options) if option.read else get(options, option.field)


def _check_resolver(old: Options, new: Options) -> None:
    if bool(values.operator(old).resolver) != bool(values.operator(new).resolver):
        raise NotReloadable("config reload does not support moving to or from an account resolver")


def _check_jetstream(old: Options, new: Options) -> None:
    """A running JetStream keeps its settings; it can only be turned on and off."""
    if not (old.jetstream.enabled and new.jetstream.enabled):
        return
    if old.jetstream.store_dir != new.jetstream.store_dir:
        raise NotReloadable("config reload not supported for jetstream storage directory")
    if old.jetstream.settings != new.jetstream.settings:
        raise NotReloadable("config reload not supported for jetstream settings")


def get(options: Options, path: str) -> Any:
    """The field of a dotted path."""
    value: Any = options
    for name in path.split("."):
        value = getattr(value, name)
    return value
