"""/connz: the connections, open and closed.

A question is answered in four steps: pick (state, account, cid, user), sort, cut the page out, and
only then describe, so the cost of a page depends on its size and not on the number of connections.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import msgspec

from jetstream_py import gotext
from jetstream_py.server.monitor.conninfo import (
    GLOBAL_ACCOUNT,
    ConnInfo,
    describe,
    identify,
    list_subs,
    subscriptions,
    user_name,
)
from jetstream_py.server.monitor.page import SUBS_MAX, clamp
from jetstream_py.server.monitor.query import BadRequest, Query, boolean, integer, unsigned
from jetstream_py.server.monitor.view import BrokerView, PeerView
from jetstream_py.server.tls_info import TlsInfo
from jetstream_py.subject import overlap

STATES: Final = {"": "open", "open": "open", "closed": "closed", "any": "all", "all": "all"}


class ConnzOptions(msgspec.Struct, kw_only=True):
    """What was asked for, on either face."""

    sort: str = ""
    auth: bool = False
    subs: bool = False
    detail: bool = False
    offset: int = 0
    limit: int = 0
    cid: int = 0
    state: str = "open"
    user: str = ""
    account: str = ""
    mqtt_client: str = ""
    filter_subject: str = ""

    @classmethod
    def from_query(cls, query: Query) -> ConnzOptions:
        auth = boolean(query, "auth")
        detail = query.get("subs", "").lower() == "detail"
        subs = detail or boolean(query, "subs")
        offset, limit = integer(query, "offset"), integer(query, "limit")
        cid = unsigned(query, "cid")
        state = query.get("state", "")
        if state.lower() not in STATES:
            raise BadRequest(f"Error decoding state for {state}")
        return cls(
            sort=query.get("sort", ""),
            auth=auth,
            subs=subs,
            detail=detail,
            offset=offset,
            limit=limit,
            cid=cid,
            state=STATES[state.lower()],
            user=query.get("user", ""),
            account=query.get("acc", ""),
            mqtt_client=query.get("mqtt_client", ""),
        )


class Connz(msgspec.Struct):
    server_id: str
    now: str
    num_connections: int
    total: int
    offset: int
    limit: int
    connections: list[ConnInfo] | None


Order = tuple[Callable[[PeerView], Any], bool]  # key, descending
_CLOSED_ONLY: Final = frozenset({"stop", "reason"})


def orders(broker: BrokerView, now_ns: int) -> dict[str, Order]:
    """The values of `sort`. Connections come in the order of their cid, which equals keep."""
    return {
        "": (attrgetter("cid"), False),
        "cid": (attrgetter("cid"), False),
        "start": (attrgetter("start_ns"), False),
        "subs": (lambda peer: len(peer.subs), True),
        "pending": (lambda peer: _pending(broker, peer), True),
        "msgs_to": (attrgetter("out_msgs"), True),
        "msgs_from": (attrgetter("in_msgs"), True),
        "bytes_to": (attrgetter("out_bytes"), True),
        "bytes_from": (attrgetter("in_bytes"), True),
        "last": (attrgetter("last_activity_ns"), True),
        "idle": (attrgetter("last_activity_ns"), False),  # who is idle longest comes first
        "uptime": (lambda peer: (peer.stop_ns or now_ns) - peer.start_ns, False),
        "stop": (attrgetter("stop_ns"), True),
        "reason": (attrgetter("reason"), False),
        "rtt": (lambda peer: peer.rtt or 0.0, True),
    }


def connz(broker: BrokerView, options: ConnzOptions) -> Connz:
    now_ns = broker.clock.now_ns()
    now = gotext.rfc3339_nano(now_ns)
    key, descending = _order(broker, options, now_ns)
    offset, limit = clamp(options.offset, 1 if options.cid else options.limit)
    if options.account and not _known(broker, options.account):
        return Connz("", now, 0, 0, offset, limit, None)
    peers = _in_state(broker, options)
    total = len(peers)  # before the search for one cid or user, as the real server counts
    peers = _wanted(peers, options)
    peers.sort(key=key, reverse=descending)
    page = _describe_all(peers[offset : offset + limit], options, broker, now_ns)
    return Connz(broker.server_id, now, len(page), total, offset, limit, page)


def _order(broker: BrokerView, options: ConnzOptions, now_ns: int) -> Order:
    order = orders(broker, now_ns).get(options.sort)
    if order is None:
        raise BadRequest(f"invalid sorting option: {options.sort}")
    if options.sort in _CLOSED_ONLY and options.state != "closed":
        raise BadRequest(f"sort by {options.sort} only valid on closed connections")
    if options.filter_subject and not options.account:
        raise BadRequest("filter by subject only valid with account filtering")
    return order


def _known(broker: BrokerView, account: str) -> bool:
    return account in broker.accounts or account in (GLOBAL_ACCOUNT, broker.options.system_account)


def _in_state(broker: BrokerView, options: ConnzOptions) -> list[PeerView]:
    peers: list[PeerView] = []
    if options.state in ("open", "all"):
        peers += broker.sessions.values()
    if options.state in ("closed", "all"):
        peers += broker.closed
    if options.account:
        peers = [peer for peer in peers if _belongs(peer, options.account)]
    peers.sort(key=attrgetter("cid"))
    return peers


def _belongs(peer: PeerView, account: str) -> bool:
    # The real server keeps no account with a closed connection of the global one: it finds none.
    name = peer.account.name
    return name == account and not (peer.stop_ns and name == GLOBAL_ACCOUNT)


def _wanted(peers: list[PeerView], options: ConnzOptions) -> list[PeerView]:
    if options.mqtt_client:
        return []  # nobody speaks MQTT here
    if options.cid:
        peers = [peer for peer in peers if peer.cid == options.cid]
    if options.user:
        peers = [peer for peer in peers if user_name(peer) == options.user]
    if options.filter_subject:
        subject = options.filter_subject.encode("utf-8", "surrogateescape")
        peers = [peer for peer in peers if peer.stop_ns or _listens(peer, subject)]
    return peers


def _listens(peer: PeerView, subject: bytes) -> bool:
    """To any part of the subject?"""
    return any(overlap(sub.subject, subject) for sub in subscriptions(peer))


def _describe_all(
    peers: list[PeerView], options: ConnzOptions, broker: BrokerView, now_ns: int
) -> list[ConnInfo]:
    page: list[ConnInfo] = []
    room = SUBS_MAX
    for peer in peers:
        tls = _tls(broker, peer)
        info = describe(peer, now_ns, _pending(broker, peer), tls)
        if options.auth:
            identify(info, peer, tls)
        if options.subs:
            room -= list_subs(info, peer, options.detail, room)
        page.append(info)
    return page


def _pending(broker: BrokerView, peer: PeerView) -> int:
    session = broker.sessions.get(peer.cid)
    return session.pending_bytes() if session is not None else 0


def _tls(broker: BrokerView, peer: PeerView) -> TlsInfo | None:
    session = broker.sessions.get(peer.cid)
    return session.link.tls_info() if session is not None else peer.tls
