"""/subsz: the subscriptions and how well the way to them is known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext
from jetstream_py.server.monitor.details import SubDetail, detail
from jetstream_py.server.monitor.page import clamp
from jetstream_py.server.monitor.query import BadRequest, Query, boolean, integer
from jetstream_py.server.monitor.traffic import traffic_of
from jetstream_py.server.monitor.view import (
    AccountView,
    BrokerView,
    OwnedSub,
    RouterView,
    RouteView,
)
from jetstream_py.subject import is_valid_literal


class SubszOptions(msgspec.Struct, kw_only=True):
    """What was asked for, on either face."""

    subs: bool = False
    offset: int = 0
    limit: int = 0
    test: str = ""
    account: str = ""

    @classmethod
    def from_query(cls, query: Query) -> SubszOptions:
        subs = boolean(query, "subs")
        offset, limit = integer(query, "offset"), integer(query, "limit")
        test, account = query.get("test", ""), query.get("acc", "")
        return cls(subs=subs, offset=offset, limit=limit, test=test, account=account)


class Subsz(msgspec.Struct, kw_only=True):
    server_id: str
    now: str
    num_subscriptions: int
    num_cache: int
    num_inserts: int
    num_removes: int
    num_matches: int
    cache_hit_rate: int | float
    max_fanout: int
    avg_fanout: int | float
    total: int
    offset: int
    limit: int
    subscriptions_list: list[SubDetail] | UnsetType = UNSET


def subsz(broker: BrokerView, options: SubszOptions) -> Subsz:
    test = options.test.encode("utf-8", "surrogateescape")
    if test and not is_valid_literal(test):
        raise BadRequest(f"invalid test subject, must be valid publish subject: {options.test}")
    accounts = [
        account
        for name, account in broker.accounts.items()
        if not options.account or name == options.account
    ]
    offset, limit = clamp(options.offset, options.limit)
    answer = Subsz(
        server_id=broker.server_id,
        now=gotext.rfc3339_nano(broker.clock.now_ns()),
        total=0,
        offset=offset,
        limit=limit,
        **sublist_stats(accounts),  # type: ignore[arg-type]  # a table of its fields
    )
    if options.subs:
        answer.total, found = _found(accounts, test)
        page = islice(found, min(offset, answer.total), min(offset + limit, answer.total))
        listed = [detail(sub, sub.session.cid, account) for account, sub in page]
        answer.subscriptions_list = listed or UNSET
    return answer


def sublist_stats(accounts: list[AccountView]) -> dict[str, int | float]:
    """A publish that no cache could route is a miss, every other one a hit."""
    routers = [account.router for account in accounts]
    lists = [router.sublist for router in routers]
    misses = sum(router.resolved for router in routers)
    asked = max(misses, sum(traffic_of(account).received_msgs for account in accounts))
    fanouts = [n for router in routers for n in _fanouts(router)]
    return {
        "num_subscriptions": sum(each.count for each in lists),
        "num_cache": len(fanouts),
        "num_inserts": sum(each.inserts for each in lists),
        "num_removes": sum(each.removes for each in lists),
        "num_matches": asked,
        "cache_hit_rate": _ratio(asked - misses, asked),
        "max_fanout": max(fanouts, default=0),
        "avg_fanout": _ratio(sum(fanouts), len(fanouts)),
    }


def _fanouts(router: RouterView) -> list[int]:
    """How many receivers each cached route has."""
    return [len(route.plain) + len(route.groups) for route in router.cached()]


def _found(accounts: list[AccountView], test: bytes) -> tuple[int, Iterator[tuple[str, OwnedSub]]]:
    """The number of subscriptions that count, and a way through them that need not be finished."""
    if not test:
        total = sum(account.router.sublist.count for account in accounts)
        return total, (
            (account.name, sub)
            for account in accounts
            for sub in account.router.sublist.subscriptions()
        )
    found = [
        (account.name, sub)
        for account in accounts
        for sub in _receivers(account.router.sublist.match(test))
    ]
    return len(found), iter(found)


def _receivers(match: RouteView) -> Iterator[OwnedSub]:
    yield from match.plain
    for members in match.groups:
        yield from members


def _ratio(part: int, whole: int) -> int | float:
    return gotext.number(part / whole) if whole else 0
