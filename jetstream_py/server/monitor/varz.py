"""/varz: the server's settings, resources and counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext, limits
from jetstream_py.config.account_options import Tls, WebSocket
from jetstream_py.config.options import Options
from jetstream_py.server.info import advertised
from jetstream_py.server.monitor import usage
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.monitor.view import BrokerView
from jetstream_py.version import NATS_VERSION, __version__

# The switches that the compatible level knows, with their defaults.
FEATURE_FLAGS: Final[Mapping[str, bool]] = {
    "js_ack_fc_v2": False,
    "js_api_reply_v2": False,
    "js_raft_delete_range": True,
    "js_snapshot_sources": False,
}


class Nothing(msgspec.Struct, frozen=True):
    """A part of a cluster's server that this one does not have: `{}`."""


class WebSocketVarz(msgspec.Struct, kw_only=True):
    host: str
    port: int
    advertise: str | UnsetType = UNSET
    no_auth_user: str | UnsetType = UNSET
    jwt_cookie: str | UnsetType = UNSET
    handshake_timeout: int | UnsetType = UNSET
    auth_timeout: int | float | UnsetType = UNSET
    no_tls: bool | UnsetType = UNSET
    same_origin: bool | UnsetType = UNSET
    allowed_origins: list[str] | UnsetType = UNSET
    compression: bool | UnsetType = UNSET
    tls_cert_not_after: str | UnsetType = UNSET


class KindStats(msgspec.Struct):
    """A counter by kind of connection. Clients are all that we have."""

    clients: int
    routes: int = 0
    gateways: int = 0
    leafs: int = 0


class DiskWaitStats(msgspec.Struct, frozen=True):
    waiters: int = 0
    waits: int = 0
    wait_time: int = 0
    max_wait_time: int = 0


class Varz(msgspec.Struct, kw_only=True):
    """The fields of nats-server in its order, and one of ours at the end."""

    server_id: str
    server_name: str
    version: str = NATS_VERSION
    proto: int = 1
    git_commit: str = f"py{__version__}"
    go: str = "python"
    host: str
    port: int
    auth_required: bool | UnsetType = UNSET
    tls_required: bool | UnsetType = UNSET
    tls_verify: bool | UnsetType = UNSET
    max_connections: int
    max_subscriptions: int | UnsetType = UNSET
    ping_interval: int
    ping_max: int
    http_host: str
    http_port: int
    http_base_path: str
    https_port: int
    auth_timeout: int | float
    max_control_line: int
    max_payload: int
    max_pending: int
    cluster: Nothing = Nothing()
    gateway: Nothing = Nothing()
    leaf: Nothing = Nothing()
    mqtt: Nothing = Nothing()
    websocket: Nothing | WebSocketVarz = Nothing()
    jetstream: Nothing | dict[str, object] = Nothing()
    tls_timeout: int | float
    write_deadline: int
    write_timeout: str | UnsetType = UNSET
    start: str
    now: str
    uptime: str
    mem: int
    cores: int
    gomaxprocs: int
    cpu: int | float
    connections: int
    total_connections: int
    routes: int = 0
    remotes: int = 0
    leafnodes: int = 0
    in_msgs: int
    in_bytes: int
    in_client_msgs: int
    in_client_bytes: int
    out_msgs: int
    out_bytes: int
    out_client_msgs: int
    out_client_bytes: int
    slow_consumers: int
    stale_connections: int
    stalled_clients: int
    subscriptions: int
    http_req_stats: dict[str, int]
    config_load_time: str
    config_digest: str
    tags: list[str] | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    feature_flags: dict[str, bool]
    system_account: str
    slow_consumer_stats: KindStats
    stale_connection_stats: KindStats
    disk_io_wait_stats: DiskWaitStats = DiskWaitStats()
    tls_cert_not_after: str | UnsetType = UNSET
    jetstream_py_version: str = __version__


def varz(broker: BrokerView, state: MonitorState) -> Varz:
    options, tls = broker.options, broker.options.tls
    now_ns = broker.clock.now_ns()
    host, port = advertised(options.client_advertise, broker.host, broker.port)
    in_msgs, in_bytes, out_msgs, out_bytes = broker.totals()
    return Varz(
        server_id=broker.server_id,
        server_name=broker.server_name,
        host=host,
        port=port,
        auth_required=options.authorization.required or UNSET,
        tls_required=(tls is not None and not options.allow_non_tls) or UNSET,
        tls_verify=(tls is not None and (tls.verify or tls.verify_and_map)) or UNSET,
        # The file's 0 and every negative number are told as -1.
        max_connections=options.max_connections if options.max_connections > 0 else -1,
        max_subscriptions=options.max_subscriptions or UNSET,
        ping_interval=nanoseconds(options.ping_interval),
        ping_max=options.ping_max,
        http_host=state.host or options.http_host or options.host,
        http_port=0 if state.secure else state.port,
        http_base_path=options.http_base_path,
        https_port=state.port if state.secure else 0,
        auth_timeout=gotext.number(options.authorization.timeout),
        max_control_line=options.max_control_line,
        max_payload=options.max_payload,
        max_pending=options.max_pending,
        websocket=_websocket(options.websocket) if options.websocket is not None else Nothing(),
        tls_timeout=gotext.number(tls.timeout if tls is not None else limits.TLS_TIMEOUT),
        write_deadline=nanoseconds(options.write_deadline),
        write_timeout=options.write_timeout if options.write_timeout != "default" else UNSET,
        start=gotext.rfc3339_nano(broker.started_ns),
        now=gotext.rfc3339_nano(now_ns),
        uptime=gotext.uptime(now_ns - broker.started_ns),
        mem=usage.resident_bytes(),
        cores=usage.cores(),
        gomaxprocs=usage.usable_cores(),
        cpu=gotext.number(state.usage.cpu()),
        connections=len(broker.sessions),
        total_connections=broker.total_connections,
        in_msgs=in_msgs,
        in_bytes=in_bytes,
        in_client_msgs=in_msgs,
        in_client_bytes=in_bytes,
        out_msgs=out_msgs,
        out_bytes=out_bytes,
        out_client_msgs=out_msgs,
        out_client_bytes=out_bytes,
        slow_consumers=broker.slow_consumers,
        stale_connections=broker.stale_connections,
        stalled_clients=broker.stalled_clients,
        subscriptions=sum(account.router.sublist.count for account in broker.accounts.values()),
        http_req_stats=dict(sorted(state.requests.items())),
        config_load_time=gotext.rfc3339_nano(broker.config_loaded_ns),
        config_digest=options.config_digest,
        tags=options.server_tags or UNSET,
        metadata=dict(sorted(options.server_metadata.items())) or UNSET,
        feature_flags=feature_flags(options),
        system_account=options.system_account,
        jetstream=broker.jetstream_view.varz() if broker.jetstream_view is not None else Nothing(),
        slow_consumer_stats=KindStats(broker.slow_consumers),
        stale_connection_stats=KindStats(broker.stale_connections),
        tls_cert_not_after=_not_after(tls),
    )


def _websocket(options: WebSocket) -> WebSocketVarz:
    return WebSocketVarz(
        host=options.host,
        port=options.port,
        advertise=options.advertise or UNSET,
        no_auth_user=options.no_auth_user or UNSET,
        jwt_cookie=options.jwt_cookie or UNSET,
        handshake_timeout=UNSET
        if options.handshake_timeout == limits.WEBSOCKET_HANDSHAKE
        else nanoseconds(options.handshake_timeout),
        auth_timeout=gotext.number(options.auth_timeout) if options.auth_timeout else UNSET,
        no_tls=options.tls is None or UNSET,
        same_origin=options.same_origin or UNSET,
        allowed_origins=list(options.allowed_origins) or UNSET,
        compression=options.compression or UNSET,
        tls_cert_not_after=_not_after(options.tls),
    )


def _not_after(tls: Tls | None) -> str | UnsetType:
    """When the certificate expires, of those that name one."""
    if tls is None or not tls.cert_file:
        return UNSET
    from jetstream_py.server.certificates import not_after

    try:
        return gotext.rfc3339_nano(not_after(tls.cert_file) * 1_000_000_000)
    except (ImportError, OSError, ValueError):  # the file may be gone by now
        return UNSET


def feature_flags(options: Options) -> dict[str, bool]:
    return {name: options.feature_flags.get(name, on) for name, on in FEATURE_FLAGS.items()}


def nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
