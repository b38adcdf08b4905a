"""All flags, in one table: how they are spelled in the usage, what they do, what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import msgspec

from jetstream_py.config import schema
from jetstream_py.config.draft import Draft
from jetstream_py.config.kinds import checked_server_name

# What a flag does to the options; the text is the flag as written, for messages.
Effect: TypeAlias = Callable[[Draft, str, Any], None]
Type: TypeAlias = Literal["bool", "int", "string"]

SIGNALS: Final = ("ldm", "stop", "quit", "term", "reopen", "reload")


class Flag(msgspec.Struct, frozen=True):
    """One flag. `spelling` and `help` are its lines in the usage."""

    names: tuple[str, ...]
    type: Type
    effect: Effect
    spelling: str
    help: str


def _flag(spelling: str, effect: Effect, help: str, type: Type | None = None) -> Flag:
    """Names and, mostly, the type can be read off the spelling."""
    names = tuple(re.findall(r"--?(\w+)", re.sub("<.*?>", "", spelling)))
    return Flag(names, type or ("string" if "<" in spelling else "bool"), effect, spelling, help)


# -- what flags do ---------------------------------------------------------------------------------


def _nothing(draft: Draft, name: str, value: Any) -> None:
    """For flags that decide what the program does; see `flags.action`."""


def _option(*fields: str) -> Effect:
    def set_fields(draft: Draft, name: str, value: Any) -> None:
        for field in fields:
            setattr(draft.options, field, value)

    return set_fields


def _login(field: str) -> Effect:
    def set_part(draft: Draft, name: str, value: str) -> None:
        setattr(draft.login, field, value)

    return set_part


def _ignored(why: str) -> Effect:
    def warn(draft: Draft, name: str, value: Any) -> None:
        draft.warnings.append(f"the flag {name} has no effect here: {why}")

    return warn


def _server_name(draft: Draft, name: str, value: str) -> None:
    draft.options.server_name = checked_server_name(value)


def _port(draft: Draft, name: str, value: int) -> None:
    schema.set_port(draft, None, value)


def _http_port(draft: Draft, name: str, value: int) -> None:
    schema.set_http_port(draft, None, value)


def _jetstream(draft: Draft, name: str, value: bool) -> None:
    draft.options.jetstream.enabled = value


def _store_dir(draft: Draft, name: str, value: str) -> None:
    draft.options.jetstream.store_dir = value


def _https_port(draft: Draft, name: str, value: int) -> None:
    schema.set_https_port(draft, None, value)


def _tls(draft: Draft, name: str, value: Any) -> None:
    """They count together, when all are known."""
    draft.tls_flags[name.lstrip("-")] = value


_cluster: Final = _ignored("this server runs on its own")
_profiler: Final = _ignored("there is no Go profiler")


# -- the table -------------------------------------------------------------------------------------

GROUPS: Final[tuple[tuple[str, tuple[Flag, ...]], ...]] = (
    (
        "Server",
        (
            _flag(
                "-a, --addr, --net <host>",
                _option("host"),
                "Bind to host address (default: 0.0.0.0)",
            ),
            _flag("-p, --port <port>", _port, "Use port for clients (default: 4222)", "int"),
            _flag(
                "-n, --name\n    --server_name <server_name>",
                _server_name,
                "Server name (default: auto)",
            ),
            _flag("-P, --pid <file>", _option("pid_file"), "File to store PID"),
            _flag("-m, --http_port <port>", _http_port, "Use port for http monitoring", "int"),
            _flag("-ms,--https_port <port>", _https_port, "Use port for https monitoring", "int"),
            _flag("-c, --config <file>", _option("config_file"), "Configuration file"),
            _flag("-t", _nothing, "Test configuration and exit"),
            _flag(
                "-sl,--signal <signal>[=<pid>]",
                _nothing,
                f"Send signal to {{prog}} process ({', '.join(SIGNALS)})\n"
                "<pid> can be either a PID (e.g. 1) or the path to a PID file "
                "(e.g. /var/run/{prog}.pid)",
            ),
            _flag(
                "    --client_advertise <string>",
                _option("client_advertise"),
                "Client URL to advertise to other servers",
            ),
            _flag(
                "    --ports_file_dir <dir>",
                _option("ports_file_dir"),
                "Creates a ports file in the specified directory (<executable_name>_<pid>.ports).",
            ),
        ),
    ),
    (
        "Logging",
        (
            _flag("-l, --log <file>", _option("log_file"), "File to redirect log output"),
            _flag("-T, --logtime", _option("logtime"), "Timestamp log entries (default: true)"),
            _flag(
                "    --logtime_utc",
                _option("logtime_utc"),
                "Timestamps in UTC instead of local timezone (default: false)",
            ),
            _flag("-s, --syslog", _option("syslog"), "Log to syslog or windows event log"),
            _flag(
                "-r, --remote_syslog <addr>",
                _option("remote_syslog"),
                "Syslog server addr (udp://localhost:514)",
            ),
            _flag("-D, --debug", _option("debug"), "Enable debugging output"),
            _flag("-V, --trace", _option("trace"), "Trace the raw protocol"),
            _flag(
                "-VV",
                _option("trace", "trace_verbose"),
                "Verbose trace (traces system account as well)",
            ),
            _flag("-DV", _option("debug", "trace"), "Debug and trace"),
            _flag(
                "-DVV",
                _option("debug", "trace", "trace_verbose"),
                "Debug and verbose trace (traces system account as well)",
            ),
            _flag(
                "    --log_size_limit <limit>",
                _option("logfile_size_limit"),
                "Logfile size limit (default: auto)",
                "int",
            ),
            _flag(
                "    --max_traced_msg_len <len>",
                _option("max_traced_msg_len"),
                "Maximum printable length for traced messages (default: unlimited)",
                "int",
            ),
        ),
    ),
    (
        "JetStream",
        (
            _flag("-js, --jetstream", _jetstream, "Enable JetStream functionality"),
            _flag("-sd, --store_dir <dir>", _store_dir, "Set the storage directory"),
        ),
    ),
    (
        "Authorization",
        (
            _flag("    --user <user>", _login("user"), "User required for connections"),
            _flag("    --pass <password>", _login("password"), "Password required for connections"),
            _flag(
                "    --auth <token>",
                _login("token"),
                "Authorization token required for connections",
            ),
        ),
    ),
    (
        "TLS",
        (
            _flag("    --tls", _tls, "Enable TLS, do not verify clients (default: false)"),
            _flag("    --tlscert <file>", _tls, "Server certificate file"),
            _flag("    --tlskey <file>", _tls, "Private key for server certificate"),
            _flag("    --tlsverify", _tls, "Enable TLS, verify client certificates"),
            _flag("    --tlscacert <file>", _tls, "Client certificate CA for verification"),
        ),
    ),
    (
        "Cluster",
        (
            _flag("    --routes <rurl-1, rurl-2>", _cluster, "Routes to solicit and connect"),
            _flag("    --cluster <cluster-url>", _cluster, "Cluster URL for solicited routes"),
            _flag(
                "    --cluster_name <string>",
                _cluster,
                "Cluster Name, if not set one will be dynamically generated",
            ),
            _flag(
                "    --no_advertise <bool>",
                _cluster,
                "Do not advertise known cluster information to clients",
                "bool",
            ),
            _flag(
                "    --cluster_advertise <string>",
                _cluster,
                "Cluster URL to advertise to other servers",
            ),
            _flag(
                "    --connect_retries <number>",
                _cluster,
                "For implicit routes, number of connect retries",
                "int",
            ),
            _flag(
                "    --cluster_listen <url>",
                _cluster,
                "Cluster url from which members can solicit routes",
            ),
        ),
    ),
    (
        "Profiling",
        (_flag("    --profile <port>", _profiler, "Profiling HTTP port", "int"),),
    ),
    (
        "Common",
        (
            _flag("-h, --help", _nothing, "Show this message"),
            _flag("-v, --version", _nothing, "Show version"),
            _flag("    --help_tls", _nothing, "TLS help"),
        ),
    ),
)

FLAGS: Final = {name: flag for _, group in GROUPS for flag in group for name in flag.names}
