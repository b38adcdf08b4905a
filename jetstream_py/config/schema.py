"""All top-level keys of the configuration file, in one table."""

from __future__ import annotations

from typing import Final

from jetstream_py.config import kinds
from jetstream_py.config.accounts import set_accounts
from jetstream_py.config.authorization import callout_faults, set_authorization
from jetstream_py.config.draft import Draft, Problem
from jetstream_py.config.http_gateway import set_http_gateway
from jetstream_py.config.jetstream import set_jetstream, set_store_dir
from jetstream_py.config.mappings import MAPPINGS
from jetstream_py.config.operators import OPERATOR_KEYS
from jetstream_py.config.parser import Block, Value
from jetstream_py.config.tables import Table, ignored, key, read_block, refused, table
from jetstream_py.config.tls import TLS
from jetstream_py.config.websocket import set_websocket

# Why a key is refused: what would happen if it was ignored.
_OPEN_TO_ALL: Final = "without it, clients could do what they should not"
# Why a key has no effect.
_ONE_NODE: Final = "this server runs on its own"
_NO_OCSP: Final = "this server staples nothing"


def _listen(draft: Draft, value: Value, address: tuple[str, int]) -> None:
    host, port = address
    draft.options.host = host or draft.options.host
    set_port(draft, value, port)


def set_port(draft: Draft, value: Value | None, port: int) -> None:
    """-1 is any free port, which the options call 0; 0 is the default."""
    if port:
        draft.options.port = 0 if port == -1 else port


def _http(draft: Draft, value: Value, address: tuple[str, int]) -> None:
    host, port = address
    draft.options.http_host = host
    set_http_port(draft, value, port)


def set_http_port(draft: Draft, value: Value | None, port: int) -> None:
    """As for `port`, but 0 is no monitoring."""
    draft.options.http_port = {0: None, -1: 0}.get(port, port)


def _https(draft: Draft, value: Value, address: tuple[str, int]) -> None:
    host, port = address
    draft.options.http_host = host
    set_https_port(draft, value, port)


def set_https_port(draft: Draft, value: Value | None, port: int) -> None:
    draft.options.https_port = {0: None, -1: 0}.get(port, port)


def _system_account(draft: Draft, value: Value, name: str) -> None:
    draft.system_account = name
    draft.options.system_account = name or draft.options.system_account


def _trace_verbose(draft: Draft, value: Value, on: bool) -> None:
    draft.options.trace_verbose = on
    draft.options.trace = on or draft.options.trace


def _trace_headers(draft: Draft, value: Value, on: bool) -> None:
    draft.options.trace_headers = on
    draft.options.trace = on or draft.options.trace


KEYS: Final[Table] = table(
    # -- the server ----
    key("listen", kinds.LISTEN, "host port", "host and port in one", _listen),
    key("host net", kinds.TEXT, "host", "address to bind to"),
    key("port", kinds.PORT, "port", "-1: any free port", set_port),
    key("server_name", kinds.SERVER_NAME, "server_name", "by default the server's public key"),
    key("client_advertise", kinds.TEXT, "client_advertise", "host[:port] that clients are told"),
    key("server_tags", kinds.TAGS, "server_tags", "shown in server information"),
    key("server_metadata", kinds.METADATA, "server_metadata", "shown in server information"),
    key(
        "feature_flags",
        kinds.FEATURE_FLAGS,
        "feature_flags",
        "`js_ack_fc_v2`: replies of messages name domain and account; `/varz` reports all",
    ),
    key("pid_file pidfile", kinds.TEXT, "pid_file", "file for the process id"),
    key("ports_file_dir", kinds.TEXT, "ports_file_dir", "directory for the file that lists ports"),
    # -- who may connect ----
    key("authorization", kinds.BLOCK, "authorization", "see below", set_authorization),
    key("no_auth_user", kinds.TEXT, "no_auth_user", "user of clients without credentials"),
    key(
        "system_account system",
        kinds.ACCOUNT_NAME,
        "system_account",
        "account of the server's own messages",
        _system_account,
    ),
    key(
        "accounts",
        kinds.Kind("block or array of names", kinds.anything),
        "accounts",
        "see below",
        set_accounts,
    ),
    key("mappings maps", MAPPINGS, "mappings", "of clients without an account"),
    *OPERATOR_KEYS,
    refused("proxies", _OPEN_TO_ALL),
    refused("proxy_protocol", "without it, clients behind a proxy could not connect"),
    ignored("no_system_account no_system no_sys_acc", kinds.BOOLEAN, "there always is one"),
    # -- TLS and other listeners ----
    key("tls", TLS, "tls", "see below"),
    key("allow_non_tls", kinds.BOOLEAN, "allow_non_tls", "clients without TLS are welcome, too"),
    key(
        "websocket ws",
        kinds.Kind("block", kinds.anything),
        "websocket",
        "see below",
        set_websocket,
    ),
    ignored("ocsp", kinds.ANYTHING, _NO_OCSP),
    ignored("ocsp_cache", kinds.ANYTHING, _NO_OCSP),
    ignored("mqtt", kinds.BLOCK, "this server does not speak MQTT"),
    # -- limits ----
    key(
        "max_control_line",
        kinds.SIZE32,
        "max_control_line",
        "longest protocol line",
        zero_is_default=True,
    ),
    key(
        "max_payload",
        kinds.SIZE32,
        "max_payload",
        "largest message, headers included",
        zero_is_default=True,
    ),
    key(
        "max_pending",
        kinds.SIZE,
        "max_pending",
        "bytes waiting for a slow client",
        zero_is_default=True,
    ),
    key(
        "max_connections max_conn",
        kinds.INTEGER,
        "max_connections",
        "0 or less: nobody",
    ),
    key("max_subscriptions max_subs", kinds.INTEGER, "max_subscriptions", "per connection"),
    key(
        "max_sub_tokens", kinds.TOKEN_COUNT, "max_sub_tokens", "tokens of a subscription's subject"
    ),
    key(
        "max_closed_clients",
        kinds.INTEGER,
        "max_closed_clients",
        "remembered for `/connz`",
        zero_is_default=True,
    ),
    key(
        "ping_interval",
        kinds.DURATION_OR_SECONDS,
        "ping_interval",
        "of idle clients",
        zero_is_default=True,
    ),
    key(
        "ping_max",
        kinds.INTEGER,
        "ping_max",
        "unanswered pings before the end",
        zero_is_default=True,
    ),
    key(
        "write_deadline",
        kinds.DURATION_OR_SECONDS,
        "write_deadline",
        "for slow clients",
        zero_is_default=True,
    ),
    key("write_timeout", kinds.WRITE_TIMEOUT, "write_timeout", "what a missed deadline does"),
    key("no_fast_producer_stall", kinds.BOOLEAN, "no_fast_producer_stall", "never slow publishers"),
    key("no_header_support", kinds.BOOLEAN, "no_header_support", "no message headers"),
    key(
        "disable_sublist_cache no_sublist_cache",
        kinds.BOOLEAN,
        "disable_sublist_cache",
        "match subjects without a cache",
    ),
    key(
        "lame_duck_duration",
        kinds.LAME_DUCK_DURATION,
        "lame_duck_duration",
        "time over which clients are sent away",
    ),
    key(
        "lame_duck_grace_period",
        kinds.LAME_DUCK_GRACE_PERIOD,
        "lame_duck_grace_period",
        "wait before the first client is sent away",
        zero_is_default=True,
    ),
    # -- monitoring and logs ----
    key("http", kinds.LISTEN, "http_host http_port", "monitoring, host and port in one", _http),
    key(
        "http_port monitor_port",
        kinds.PORT,
        "http_port",
        "monitoring; -1: any free port",
        set_http_port,
    ),
    key("https", kinds.LISTEN, "http_host https_port", "the same with TLS", _https),
    key("https_port", kinds.PORT, "https_port", "the same with TLS", set_https_port),
    key("http_base_path", kinds.TEXT, "http_base_path", "prefix of the monitoring paths"),
    key(
        "http_gateway",
        kinds.Kind("boolean or block", kinds.anything),
        "http_gateway",
        "buckets, objects and streams on the monitoring port, see below; nats-server does not know it",
        set_http_gateway,
    ),
    key("debug", kinds.BOOLEAN, "debug", "debug messages in the log"),
    key("trace", kinds.BOOLEAN, "trace", "protocol messages in the log"),
    key(
        "trace_verbose",
        kinds.BOOLEAN,
        "trace_verbose",
        "those of the system account too",
        _trace_verbose,
    ),
    key(
        "trace_headers",
        kinds.BOOLEAN,
        "trace_headers",
        "only headers, not payloads",
        _trace_headers,
    ),
    key("max_traced_msg_len", kinds.INTEGER, "max_traced_msg_len", "0: no limit"),
    key("logtime", kinds.BOOLEAN, "logtime", "time in each line"),
    key("logtime_utc", kinds.BOOLEAN, "logtime_utc", "UTC instead of local time"),
    key("log_file logfile", kinds.TEXT, "log_file", "instead of stderr"),
    key("logfile_size_limit log_size_limit", kinds.SIZE, "logfile_size_limit", "0: no rotation"),
    key("logfile_max_num log_max_num", kinds.INTEGER, "logfile_max_num", "files kept; 0: all"),
    key("syslog", kinds.BOOLEAN, "syslog", "log to syslog"),
    key("remote_syslog", kinds.TEXT, "remote_syslog", "address of a syslog server"),
    ignored("prof_port", kinds.INTEGER, "there is no Go profiler"),
    ignored("prof_block_rate", kinds.INTEGER, "there is no Go profiler"),
    # -- JetStream ----
    key(
        "jetstream",
        kinds.Kind("boolean, enabled or block", kinds.anything),
        "jetstream.enabled",
        "see below",
        set_jetstream,
    ),
    key(
        "store_dir storedir",
        kinds.TEXT,
        "jetstream.store_dir",
        "directory of streams",
        set_store_dir,
    ),
    ignored("default_js_domain", kinds.BLOCK, _ONE_NODE),
    # -- other servers ----
    ignored("cluster", kinds.BLOCK, _ONE_NODE),
    ignored("gateway", kinds.BLOCK, _ONE_NODE),
    ignored("leafnodes leaf", kinds.BLOCK, _ONE_NODE),
    ignored("connect_error_reports", kinds.INTEGER, _ONE_NODE),
    ignored("reconnect_error_reports", kinds.INTEGER, _ONE_NODE),
)


def read_tree(tree: Block, draft: Draft) -> None:
    """Apply a parsed file to a draft."""
    read_block(KEYS, tree, draft)
    if not draft.errors:
        draft.errors.extend(Problem(None, text) for text in callout_faults(draft))
