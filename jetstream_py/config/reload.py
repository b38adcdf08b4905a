"""What a running server can change when it reads its configuration again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from jetstream_py.config import durations
from jetstream_py.config.errors import NotReloadable
from jetstream_py.config.options import Options

Show: TypeAlias = Callable[[Any], str]


def _plain(value: Any) -> str:
    """A value as Go prints it."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case dict():
            return f"map[{' '.join(f'{key}:{_plain(value[key])}' for key in sorted(value))}]"
    return str(value)


def _port(value: int | None) -> str:
    """Ports as users write them: -1 for any, 0 for none."""
    return {None: "0", 0: "-1"}.get(value, str(value))


class Option(msgspec.Struct, frozen=True):
    """How an option reloads.

    `name` is what the log calls the change; with `=` the new value follows. Options that cannot
    reload have no such name, only the name that nats-server gives them in its error.
    """

    field: str
    name: str = ""
    fixed: str = ""
    show: Show = _plain


def _reloads(field: str, name: str = "", show: Show = _plain) -> Option:
    return Option(field, name or f"{field} =", show=show)


def _fixed(field: str, go_name: str, show: Show = _plain) -> Option:
    return Option(field, fixed=go_name, show=show)


# In the order of nats-server, because the first change that is not possible is the one it names.
OPTIONS: Final = (
    _fixed("server_name", "ServerName"),
    _fixed("host", "Host"),
    _fixed("port", "Port", _port),
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
    _reloads("authorization.users", "authorization users"),
    _fixed("no_auth_user", "NoAuthUser"),
    _fixed("system_account", "SystemAccount"),
    _reloads("authorization.token", "authorization token"),
    _fixed("disable_sublist_cache", "NoSublistCache"),
    _fixed("no_header_support", "NoHeaderSupport"),
    _reloads("ping_interval", show=durations.text),
    _reloads("ping_max"),
    _fixed("http_host", "HTTPHost"),
    _fixed("http_base_path", "HTTPBasePath"),
    _fixed("http_port", "HTTPPort", _port),
    _reloads("authorization.timeout", "authorization timeout ="),
    _reloads("max_control_line"),
    _reloads("max_payload"),
    _fixed("max_pending", "MaxPending"),
    _reloads("no_fast_producer_stall"),
    _reloads("pid_file"),
    _reloads("ports_file_dir"),
    _reloads("log_file"),
    _fixed("logfile_size_limit", "LogSizeLimit"),
    _fixed("logfile_max_num", "LogMaxFiles"),
    _reloads("syslog"),
    _reloads("remote_syslog"),
    _reloads("max_traced_msg_len"),
    _reloads("write_deadline", show=durations.text),
    _fixed("write_timeout", "WriteTimeout"),
    _fixed("max_closed_clients", "MaxClosedClients"),
    _fixed("lame_duck_duration", "LameDuckDuration", durations.text),
    _fixed("lame_duck_grace_period", "LameDuckGracePeriod", durations.text),
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
        before, after = get(old, option.field), get(new, option.field)
        if before == after:
            continue
        if option.fixed:
            shown = f"old={option.show(before)}, new={option.show(after)}"
            raise NotReloadable(f"config reload not supported for {option.fixed}: {shown}")
        names.append(f"{option.name} {option.show(after)}" if "=" in option.name else option.name)
    _check_jetstream(old, new)
    return names


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
