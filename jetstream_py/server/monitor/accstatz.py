"""/accstatz: connections and traffic by account."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from jetstream_py import gotext
from jetstream_py.server.monitor.query import Query, boolean
from jetstream_py.server.monitor.traffic import traffic_of
from jetstream_py.server.monitor.view import AccountView, BrokerView


class Count(msgspec.Struct, frozen=True):
    msgs: int = 0
    bytes: int = 0


class Flow(Count, frozen=True):
    """Clients are all that we have; the other ways are there for those who read them."""

    gateways: Count = Count()
    routes: Count = Count()
    leafs: Count = Count()


class AccountStat(msgspec.Struct, kw_only=True):
    acc: str
    name: str
    conns: int
    leafnodes: int = 0
    total_conns: int
    num_subscriptions: int
    sent: Flow
    received: Flow
    slow_consumers: int


class Accstatz(msgspec.Struct):
    server_id: str
    now: str
    account_statz: list[AccountStat]


def unused(query: Query) -> bool:
    """Are accounts without connections asked for, too?"""
    return boolean(query, "unused")


def accstatz(
    broker: BrokerView, include_unused: bool = False, names: Collection[str] = ()
) -> Accstatz:
    """With `names`, these accounts only."""
    wanted = [
        account
        for name, account in broker.accounts.items()
        if (not names or name in names) and (include_unused or account.sessions)
    ]
    return Accstatz(
        broker.server_id,
        gotext.rfc3339_nano(broker.clock.now_ns()),
        [account_stat(account) for account in wanted],
    )


def account_stat(account: AccountView) -> AccountStat:
    traffic = traffic_of(account)
    return AccountStat(
        acc=account.name,
        name=account.name,
        conns=len(account.sessions),
        total_conns=len(account.sessions),
        num_subscriptions=account.router.sublist.count,
        sent=Flow(traffic.sent_msgs, traffic.sent_bytes),
        received=Flow(traffic.received_msgs, traffic.received_bytes),
        slow_consumers=account.slow_consumers,
    )
