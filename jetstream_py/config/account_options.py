"""Accounts, users and what they may, as plain data.

The configuration file and the claims of JWTs both end up here, so the server has one way to judge a
client, whatever its credentials are.
"""

from __future__ import annotations

import msgspec

from jetstream_py import limits
from jetstream_py.config.secret import Secret

GLOBAL_ACCOUNT = "$G"
SYSTEM_ACCOUNT = "$SYS"


class Rule(msgspec.Struct, frozen=True):
    """Subjects that one may use (None: all) and those among them that one may not. An entry for
    subscriptions may name a queue group behind a blank."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()


class Responses(msgspec.Struct, frozen=True):
    """Leave to answer what one was asked. 0 or less: no limit."""

    max: int = limits.RESPONSES_MAX
    expires: float = limits.RESPONSES_EXPIRE


class Permissions(msgspec.Struct, frozen=True):
    """What a user may do. None: everything, of its kind."""

    publish: Rule | None = None
    subscribe: Rule | None = None
    responses: Responses | None = None


class TimeRange(msgspec.Struct, frozen=True):
    """A part of the day, `HH:MM:SS`."""

    start: str
    end: str


class User(msgspec.Struct, frozen=True):
    """Somebody who may connect, by a password, or by a key when there is an `nkey`."""

    name: str = ""
    password: Secret = Secret("")
    nkey: str = ""
    account: str = GLOBAL_ACCOUNT
    permissions: Permissions | None = None
    connection_types: frozenset[str] = frozenset()  # upper case; none: any
    # From here on: what only a JWT can say.
    max_subscriptions: int = -1
    max_payload: int = -1
    sources: tuple[str, ...] = ()  # networks, `10.0.0.0/8`
    times: tuple[TimeRange, ...] = ()
    times_location: str = ""  # name of the time zone of `times`; "": the server's
    expires: int = 0  # seconds since 1970; 0: never
    issued: int = 0
    issuer: str = ""  # the key that signed
    jwt: str = ""
    bearer: bool = False
    proxy_required: bool = False
    tags: tuple[str, ...] = ()


class Latency(msgspec.Struct, frozen=True):
    """Measure a service: a sample in so many of a hundred goes to the subject."""

    subject: str
    sampling: int = 100  # 0: whenever a request's headers ask for it


class Export(msgspec.Struct, frozen=True):
    """What an account offers to others."""

    subject: str
    service: bool = False
    accounts: frozenset[str] | None = None  # None: to all
    response_type: str = "singleton"  # or stream, chunked
    response_threshold: float = 0.0  # seconds; 0: the server's default
    latency: Latency | None = None
    account_token_position: int = 0
    allow_trace: bool = False
    revocations: tuple[tuple[str, int], ...] = ()  # account or *, second until which it is void
    token_required: bool = False  # importers show an activation, signed by this account


class Import(msgspec.Struct, frozen=True):
    """What an account takes from another."""

    account: str
    subject: str  # as the exporter calls it
    to: str  # as the importer calls it
    service: bool = False
    share: bool = False  # the service is told who asks
    allow_trace: bool = False
    token: str = ""  # activation
    prefix: str = ""  # of a stream: `to` was made with it


class Destination(msgspec.Struct, frozen=True):
    """Where a mapping leads, for so many of a hundred messages."""

    subject: str
    weight: int = 100
    cluster: str = ""  # only there; a single server is in none


class Mapping(msgspec.Struct, frozen=True):
    source: str
    destinations: tuple[Destination, ...]


class StreamLimits(msgspec.Struct, frozen=True):
    """What an account may store. -1: no limit of its own."""

    max_memory: int = -1
    max_store: int = -1
    max_streams: int = -1
    max_consumers: int = -1
    max_ack_pending: int = -1
    memory_max_stream_bytes: int = -1
    store_max_stream_bytes: int = -1
    max_bytes_required: bool = False


class AuthCallout(msgspec.Struct, frozen=True):
    """Somebody else decides who may connect."""

    issuer: str
    account: str = GLOBAL_ACCOUNT
    users: tuple[str, ...] = ()  # who are judged here, as they have to be there to judge
    xkey: str = ""
    allowed_accounts: tuple[str, ...] = ()


class AccountOptions(msgspec.Struct, frozen=True):
    """A subject space and its rules."""

    name: str
    exports: tuple[Export, ...] = ()
    imports: tuple[Import, ...] = ()
    mappings: tuple[Mapping, ...] = ()
    jetstream: StreamLimits | None = None  # None: not enabled
    tiers: tuple[tuple[str, StreamLimits], ...] = ()  # "R1", ...
    max_connections: int = -1
    max_subscriptions: int = -1
    max_payload: int = -1
    max_leafnodes: int = -1
    trace_dest: str = ""  # where messages with a `traceparent` are traced to
    trace_sampling: int = 100
    nkey: str = ""  # public key, when the file names one
    # From here on: what only a JWT can say.
    tags: tuple[str, ...] = ()
    expires: int = 0
    issuer: str = ""
    jwt: str = ""
    issued: int = 0
    name_tag: str = ""  # what people call it; `name` is its key
    signing_keys: tuple[str, ...] = ()  # those whose users say themselves what they may
    scopes: tuple[tuple[str, User], ...] = ()  # those that say it for their users, in templates
    disallow_bearer: bool = False
    callout: AuthCallout | None = None
    revocations: tuple[tuple[str, int], ...] = ()  # user or *, second until which it is void
    default_permissions: Permissions | None = None

    @property
    def stores(self) -> bool:
        """May it use JetStream? With tiers there are no limits beside them."""
        return self.jetstream is not None or bool(self.tiers)


class Operator(msgspec.Struct, frozen=True):
    """JWT mode: whom to trust and where accounts are found."""

    jwts: tuple[str, ...] = ()  # of operators
    trusted_keys: tuple[str, ...] = ()
    resolver: str = ""  # memory, full, cache or url
    directory: str = ""
    url: str = ""
    allow_delete: bool = False
    hard_delete: bool = False  # remove files of deleted accounts instead of renaming them
    interval: float = 0.0  # of a full resolver: seconds between syncs, no effect on one server
    limit: int = 0  # accounts kept; 0: no limit
    ttl: float = 0.0  # of a cache resolver
    timeout: float = 0.0
    preload: tuple[tuple[str, str], ...] = ()  # account, its JWT
    pinned_accounts: tuple[str, ...] = ()
    default_sentinel: str = ""  # JWT for clients that present none


class Tls(msgspec.Struct, frozen=True):
    """A `tls` block."""

    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    certs: tuple[tuple[str, str], ...] = ()  # more pairs of certificate and key
    verify: bool = False
    verify_and_map: bool = False
    timeout: float = limits.TLS_TIMEOUT
    min_version: str = "1.2"
    cipher_suites: tuple[str, ...] = ()
    curve_preferences: tuple[str, ...] = ()
    pinned_certs: frozenset[str] = frozenset()  # SHA-256 of public keys, lower case hex
    handshake_first: bool = False
    handshake_fallback: float = 0.0  # seconds to wait for a handshake before INFO; 0: never plain
    connection_rate_limit: int = 0  # handshakes started in a second; 0: no limit
    digest: str = ""  # of the files' contents


class WebSocket(msgspec.Struct, frozen=True):
    """The `websocket` block."""

    host: str = "0.0.0.0"
    port: int = 0  # 0: any free port
    advertise: str = ""
    tls: Tls | None = None
    no_tls: bool = False  # plain text is meant
    same_origin: bool = False
    allowed_origins: tuple[str, ...] = ()
    compression: bool = False
    handshake_timeout: float = limits.WEBSOCKET_HANDSHAKE
    jwt_cookie: str = ""
    user_cookie: str = ""
    password_cookie: str = ""
    token_cookie: str = ""
    no_auth_user: str = ""
    user: str = ""
    password: Secret = Secret("")
    token: Secret = Secret("")
    auth_timeout: float = 0.0  # 0: as for other clients
    ping_interval: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()  # sent with the upgrade
