"""What stays of connections that are gone."""

from __future__ import annotations

import msgspec

from jetstream_py.config.account_options import User
from jetstream_py.server.accounts import Account
from jetstream_py.server.connect import ConnectOptions
from jetstream_py.server.tls_info import TlsInfo


class ClosedSub(msgspec.Struct, frozen=True):
    """A subscription of a closed connection, for /connz."""

    subject: bytes
    queue: bytes
    sid: bytes
    msgs: int
    max: int


class ClosedSession(msgspec.Struct, frozen=True):
    """What stays of a connection, for /connz?state=closed."""

    cid: int
    kind: str
    ip: str
    port: int
    start_ns: int
    last_activity_ns: int
    stop_ns: int
    reason: str
    rtt: float | None
    in_msgs: int
    out_msgs: int
    in_bytes: int
    out_bytes: int
    stalls: int
    connect: ConnectOptions
    identity: User
    user: str
    account: Account
    client_type: str
    tls: TlsInfo | None
    subs: tuple[ClosedSub, ...]
