"""/routez, /gatewayz, /leafz, /raftz and /ipqueuesz: parts that a server of its own does not have.

Tools ask for them all the same, so they get the answers of a nats-server that stands alone.
"""

from __future__ import annotations

from typing import Final

import msgspec

from jetstream_py import gotext
from jetstream_py.server.monitor.query import Query, boolean
from jetstream_py.server.monitor.view import BrokerView

NO_RAFT: Final = "No Raft nodes registered"


class Routez(msgspec.Struct):
    server_id: str
    server_name: str
    now: str
    num_routes: int = 0
    routes: tuple[()] = ()


class Gatewayz(msgspec.Struct):
    server_id: str
    now: str
    outbound_gateways: dict[str, int] = {}
    inbound_gateways: dict[str, int] = {}


class Leafz(msgspec.Struct):
    server_id: str
    now: str
    leafnodes: int = 0
    leafs: tuple[()] = ()


def routez(broker: BrokerView) -> Routez:
    return Routez(broker.server_id, broker.server_name, _now(broker))


def gatewayz(broker: BrokerView) -> Gatewayz:
    return Gatewayz(broker.server_id, _now(broker))


def leafz(broker: BrokerView) -> Leafz:
    return Leafz(broker.server_id, _now(broker))


def check_subs(query: Query) -> None:
    """`subs` may be `detail` or a boolean."""
    if query.get("subs", "").lower() != "detail":
        boolean(query, "subs")


def check_gatewayz(query: Query) -> None:
    check_subs(query)
    boolean(query, "accs")


def check_leafz(query: Query) -> None:
    boolean(query, "subs")


def check_ipqueuesz(query: Query) -> None:
    boolean(query, "all")


def _now(broker: BrokerView) -> str:
    return gotext.rfc3339_nano(broker.clock.now_ns())
