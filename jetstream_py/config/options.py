"""The options of a server as plain data: what flags and the configuration file end up as.

Sizes are bytes, times are seconds, an empty string means "not given". No option has behaviour.
"""

from __future__ import annotations

import msgspec

from jetstream_py import limits
from jetstream_py.config.account_options import (
    SYSTEM_ACCOUNT,
    AccountOptions,
    AuthCallout,
    Mapping,
    Operator,
    Tls,
    User,
    WebSocket,
)
from jetstream_py.config.secret import Secret


class Authorization(msgspec.Struct, frozen=True):
    """Who may connect. Without users (of any account), token and operator nobody has to say who they
    are."""

    users: tuple[User, ...] = ()  # of all accounts
    single: bool = False  # the one user stands alone, not in a list
    token: Secret = Secret("")
    timeout: float = limits.AUTH_TIMEOUT
    callout: AuthCallout | None = None
    operator: Operator | None = None

    @property
    def required(self) -> bool:
        return bool(self.users or self.token or self.operator)


class JetStreamOptions(msgspec.Struct):
    """The `jetstream` block."""

    enabled: bool = False
    store_dir: str = ""  # "" : a directory below the system's temporary one
    # For embedded servers; no file can ask for it.
    in_memory: bool = False  # no directory at all
    ahead: int = 0  # bytes by which the store's file grows; 0: as usual
    settings: dict[str, object] = {}  # the other keys of the block, under their first names


class HttpGateway(msgspec.Struct, frozen=True):
    """The `http_gateway` block."""

    enabled: bool = False
    max_upload: int = limits.GATEWAY_UPLOAD
    allowed_origins: tuple[str, ...] = ()  # of web pages that may use it; "*": all


class Options(msgspec.Struct):
    """Everything a user can set."""

    host: str = "0.0.0.0"
    port: int = limits.DEFAULT_PORT  # -1 on the command line and in files becomes 0: any free port
    server_name: str = ""
    client_advertise: str = ""
    server_tags: list[str] = []
    server_metadata: dict[str, str] = {}

    authorization: Authorization = Authorization()
    no_auth_user: str = ""
    accounts: tuple[AccountOptions, ...] = ()  # those that the file names
    mappings: tuple[Mapping, ...] = ()  # of the global account
    system_account: str = SYSTEM_ACCOUNT
    tls: Tls | None = None
    allow_non_tls: bool = False
    websocket: WebSocket | None = None

    max_control_line: int = limits.MAX_CONTROL_LINE
    max_payload: int = limits.MAX_PAYLOAD  # negative: no limit
    max_pending: int = limits.MAX_PENDING
    max_connections: int = limits.MAX_CONNECTIONS  # 0 or less: nobody
    max_subscriptions: int = 0  # per connection; 0 or less: no limit
    max_sub_tokens: int = 0  # 0: no limit
    max_closed_clients: int = limits.MAX_CLOSED_CLIENTS
    ping_interval: float = limits.PING_INTERVAL
    ping_max: int = limits.PING_MAX
    write_deadline: float = limits.WRITE_DEADLINE
    write_timeout: str = "default"  # what a missed write_deadline does: default, close or retry
    no_fast_producer_stall: bool = False
    no_header_support: bool = False
    disable_sublist_cache: bool = False
    lame_duck_duration: float = limits.LAME_DUCK_DURATION
    lame_duck_grace_period: float = limits.LAME_DUCK_GRACE

    http_host: str = ""  # "" : as host
    http_port: int | None = None  # None: no monitoring; 0: any free port
    http_base_path: str = ""
    https_port: int | None = None  # as http_port; only one of both
    http_gateway: HttpGateway = HttpGateway()

    jetstream: JetStreamOptions = msgspec.field(default_factory=JetStreamOptions)

    debug: bool = False
    trace: bool = False
    trace_verbose: bool = False
    trace_headers: bool = False
    max_traced_msg_len: int = 0  # 0: no limit
    logtime: bool = True
    logtime_utc: bool = False
    log_file: str = ""
    logfile_size_limit: int = 0  # 0: no rotation
    logfile_max_num: int = 0
    syslog: bool = False
    remote_syslog: str = ""
    pid_file: str = ""
    ports_file_dir: str = ""
    feature_flags: dict[str, bool] = {}

    config_file: str = ""
    config_digest: str = ""  # sha256:... of the file as read
