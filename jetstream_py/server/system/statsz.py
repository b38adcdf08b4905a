"""STATSZ: how much there is to do, in short."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext
from jetstream_py.server.monitor import usage
from jetstream_py.server.monitor.accstatz import Count
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.monitor.view import BrokerView


class Statsz(msgspec.Struct, kw_only=True):
    start: str
    mem: int
    cores: int
    cpu: int | float
    connections: int
    total_connections: int
    active_accounts: int
    subscriptions: int
    sent: Count
    sent_to_clients: Count
    received: Count
    received_from_clients: Count
    slow_consumers: int
    active_servers: int = 1
    jetstream: dict[str, Any] | UnsetType = UNSET
    gomaxprocs: int


def statsz(broker: BrokerView, state: MonitorState) -> Statsz:
    in_msgs, in_bytes, out_msgs, out_bytes = broker.totals()
    accounts = broker.accounts.values()
    sent, received = Count(out_msgs, out_bytes), Count(in_msgs, in_bytes)
    return Statsz(
        start=gotext.rfc3339_nano(broker.started_ns),
        mem=usage.resident_bytes(),
        cores=usage.cores(),
        cpu=gotext.number(state.usage.cpu()),
        connections=len(broker.sessions),
        total_connections=broker.total_connections,
        active_accounts=sum(1 for account in accounts if account.sessions),
        subscriptions=sum(account.router.sublist.count for account in accounts),
        sent=sent,
        sent_to_clients=sent,
        received=received,
        received_from_clients=received,
        slow_consumers=broker.slow_consumers,
        jetstream=_jetstream(broker),
        gomaxprocs=usage.usable_cores(),
    )


def _jetstream(broker: BrokerView) -> dict[str, Any] | UnsetType:
    """As in /varz, but not where its files are."""
    if broker.jetstream_view is None:
        return UNSET
    facts: dict[str, Any] = broker.jetstream_view.varz()
    config = {key: value for key, value in facts["config"].items() if key != "store_dir"}
    return {**facts, "config": config}
