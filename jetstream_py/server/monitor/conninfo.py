"""One connection in an answer of /connz."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext
from jetstream_py.server.certificates import PeerCert
from jetstream_py.server.monitor.details import SubDetail, detail
from jetstream_py.server.monitor.view import PeerView, SubView
from jetstream_py.server.tls_info import TlsInfo

GLOBAL_ACCOUNT: Final = "$G"
REDACTED: Final = "[REDACTED]"


class ConnInfo(msgspec.Struct, kw_only=True):
    cid: int
    kind: str
    type: str
    ip: str
    port: int
    start: str
    last_activity: str
    stop: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    rtt: str
    uptime: str
    idle: str
    pending_bytes: int
    in_msgs: int
    out_msgs: int
    in_bytes: int
    out_bytes: int
    stalls: int | UnsetType = UNSET
    subscriptions: int
    name: str | UnsetType = UNSET
    lang: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    tls_version: str | UnsetType = UNSET
    tls_cipher_suite: str | UnsetType = UNSET
    tls_peer_certs: list[PeerCert] | UnsetType = UNSET
    tls_first: bool | UnsetType = UNSET
    authorized_user: str | UnsetType = UNSET
    account: str | UnsetType = UNSET
    subscriptions_list: list[str] | UnsetType = UNSET
    subscriptions_list_detail: list[SubDetail] | UnsetType = UNSET
    jwt: str | UnsetType = UNSET
    issuer_key: str | UnsetType = UNSET
    name_tag: str | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET


def describe(peer: PeerView, now_ns: int, pending: int, tls: TlsInfo | None) -> ConnInfo:
    end_ns = peer.stop_ns or now_ns
    said = peer.connect
    info = ConnInfo(
        cid=peer.cid,
        kind=peer.kind,
        type=peer.client_type,
        ip=peer.ip,
        port=peer.port,
        start=gotext.rfc3339_nano(peer.start_ns),
        last_activity=gotext.rfc3339_nano(peer.last_activity_ns),
        rtt=round_trip(peer.rtt),
        uptime=gotext.uptime(end_ns - peer.start_ns),
        idle=gotext.uptime(end_ns - peer.last_activity_ns),
        pending_bytes=pending,
        in_msgs=peer.in_msgs,
        out_msgs=peer.out_msgs,
        in_bytes=peer.in_bytes,
        out_bytes=peer.out_bytes,
        stalls=peer.stalls or UNSET,
        subscriptions=len(peer.subs),
        name=said.name or UNSET,
        lang=said.lang or UNSET,
        version=said.version or UNSET,
    )
    if peer.tls is not None:
        info.tls_version = peer.tls.version
        info.tls_cipher_suite = peer.tls.cipher_suite
        info.tls_first = peer.tls.first or UNSET
    if peer.stop_ns:
        info.stop = gotext.rfc3339_nano(peer.stop_ns)
        info.reason = peer.reason
    if tls is not None:
        info.tls_version = tls.version
        info.tls_cipher_suite = tls.cipher_suite
        info.tls_first = tls.first or UNSET
    return info


def identify(info: ConnInfo, peer: PeerView, tls: TlsInfo | None) -> None:
    """Add who it is. A JWT that is as good as a password is not shown."""
    who = peer.identity
    info.jwt = (REDACTED if who.bearer else who.jwt) or UNSET
    info.issuer_key = who.issuer or UNSET
    info.tags = list(who.tags) or UNSET
    if tls is not None and tls.chain:
        info.tls_peer_certs = tls.peer_certs()
    account = peer.account.name
    named = account != GLOBAL_ACCOUNT
    info.authorized_user = user_name(peer) or UNSET
    info.account = account if named else UNSET
    info.name_tag = account if named or not peer.stop_ns else UNSET
    if peer.tls is not None and peer.tls.chain and not peer.stop_ns:
        info.tls_peer_certs = peer.tls.peer_certs()


def list_subs(info: ConnInfo, peer: PeerView, details: bool, room: int) -> int:
    """Add what it is subscribed to, as far as there is room. Returns how many were added."""
    subs = list(islice(subscriptions(peer), room))
    if not subs:
        return 0
    if not details:
        info.subscriptions_list = [gotext.utf8(sub.subject) for sub in subs]
        return len(subs)
    # Below an open connection the account goes without saying; a closed one has lost its limits.
    listed = [detail(sub, peer.cid, peer.account.name if peer.stop_ns else UNSET) for sub in subs]
    if peer.stop_ns:
        for each in listed:
            each.max = UNSET
    info.subscriptions_list_detail = listed
    return len(subs)


def subscriptions(peer: PeerView) -> Collection[SubView]:
    subs = peer.subs
    return subs.values() if isinstance(subs, Mapping) else subs


def user_name(peer: PeerView) -> str:
    """Who the client says to be, also when it was refused; a token is never shown."""
    said = peer.connect
    return said.nkey or said.user or (REDACTED if said.auth_token else peer.user)


def round_trip(seconds: float | None) -> str:
    """Below a millisecond whole microseconds are precise enough."""
    ns = round((seconds or 0.0) * 1e9)
    return gotext.duration(ns if ns >= 1_000_000 else ns // 1000 * 1000)
