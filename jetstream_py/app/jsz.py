"""What monitoring shows of JetStream: the answers of /jsz, and its part of /varz and /healthz.

Pure functions of the engines. The number of streams and consumers in an answer is bounded: what does not
fit is left out of the details, never out of the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext
from jetstream_py.api.consumer_types import ConsumerInfo
from jetstream_py.api.consumers import describe
from jetstream_py.api.streams import state_of
from jetstream_py.api.times import time_text
from jetstream_py.api.types import ClusterInfo, StreamConfig, StreamSourceInfo, StreamState
from jetstream_py.server.monitor.jsz import Api, JszOptions, Stats
from jetstream_py.server.monitor.page import clamp
from jetstream_py.server.monitor.query import BadRequest
from jetstream_py.version import API_LEVEL

if TYPE_CHECKING:
    from jetstream_py.api.service import ApiService
    from jetstream_py.config.account_options import StreamLimits
    from jetstream_py.engine.consumer import Consumer
    from jetstream_py.engine.jetstream import JetStream
    from jetstream_py.engine.stream import Stream
    from jetstream_py.server.monitor.view import BrokerView

_UINT64 = 2**64


class Tenant(NamedTuple):
    """An account with streams."""

    name: str
    js: JetStream
    api: ApiService
    limits: StreamLimits


class StreamDetail(msgspec.Struct, kw_only=True):
    name: str
    created: str
    cluster: ClusterInfo
    config: StreamConfig | UnsetType = UNSET
    state: StreamState
    consumer_detail: list[ConsumerInfo] | UnsetType = UNSET
    direct_consumer_detail: list[ConsumerInfo] | UnsetType = UNSET
    mirror: StreamSourceInfo | UnsetType = UNSET
    sources: tuple[StreamSourceInfo, ...] | UnsetType = UNSET


class AccountStats(msgspec.Struct, kw_only=True):
    name: str
    id: str
    memory: int
    storage: int
    reserved_memory: int
    reserved_storage: int
    accounts: int = 0
    ha_assets: int = 0
    api: Api
    stream_detail: list[StreamDetail] | UnsetType = UNSET


class Jsz(Stats, kw_only=True):
    server_id: str
    now: str
    config: dict[str, object]
    limits: dict[str, int]
    streams: int
    streams_leader: int | UnsetType = UNSET
    consumers: int
    consumers_leader: int | UnsetType = UNSET
    messages: int
    bytes: int
    account_details: list[AccountStats] | UnsetType = UNSET
    total: int


class JetStreamMonitor:
    """JetStream as monitoring sees it (see `server.monitor.view.JetStreamView`)."""

    def __init__(
        self,
        broker: BrokerView,
        tenants: Callable[[], Iterable[Tenant]],
        config: Callable[[], dict[str, object]],
        most: Callable[[], dict[str, int]],
        counts: Callable[[], tuple[int, int]],
        dropped: Callable[[], tuple[int, int]],
    ) -> None:
        """`counts`: API requests and errors of all accounts since the start."""
        self._broker = broker
        self._tenants = tenants
        self._config = config
        self._most = most
        self._counts = counts
        self.dropped = dropped

    def varz(self) -> dict[str, object]:
        stats = Stats(**_stats(list(self._tenants()), *self._counts()))
        return {"config": self._config(), "stats": stats, "limits": self._most()}

    def missing(self, account: str, stream: str, consumer: str) -> str:
        tenant = self._tenant(account)
        if tenant is None:
            return "account"
        if not stream:
            return ""
        found = tenant.js.streams.get(stream)
        if found is None:
            return "stream"
        return "" if not consumer or consumer in found.consumers else "consumer"

    def account_jsz(self, account: str, options: JszOptions) -> AccountStats:
        tenant = self._tenant(account)
        if tenant is not None:
            return _account(tenant, options, options.streams, _Room(options))
        known = account in self._broker.accounts
        reason = "not jetstream enabled" if known else "not found"
        raise BadRequest(f"account {gotext.quote(account)} {reason}")

    def jsz(self, options: JszOptions) -> Jsz:
        tenants = list(self._tenants())
        streams = [stream for tenant in tenants for stream in tenant.js.streams.values()]
        consumers = sum(len(stream.consumers.shown()) for stream in streams)
        return Jsz(
            **_stats(tenants, *self._counts()),
            server_id=self._broker.server_id,
            now=time_text(self._broker.clock.now_ns()),
            config=self._config(),
            limits=self._most(),
            streams=len(streams),
            streams_leader=(options.raft and len(streams)) or UNSET,
            consumers=consumers,
            consumers_leader=(options.raft and consumers) or UNSET,
            messages=sum(stream.store.messages for stream in streams),
            bytes=sum(stream.store.bytes for stream in streams),
            account_details=_details(tenants, options) or UNSET,
            total=len(tenants),
        )

    def _tenant(self, account: str) -> Tenant | None:
        return next((each for each in self._tenants() if each.name == account), None)


def _stats(tenants: list[Tenant], total: int, errors: int) -> dict[str, Any]:
    """The fields of `Stats`."""
    engines = [tenant.js for tenant in tenants]
    return {
        "memory": sum(js.used("memory") for js in engines),
        "storage": sum(js.used("file") for js in engines),
        "reserved_memory": sum(js.reserved("memory") for js in engines),
        "reserved_storage": sum(js.reserved("file") for js in engines),
        "accounts": len(tenants),
        "api": Api(API_LEVEL, total, errors),
    }


class _Room:
    """How many streams and consumers still fit into an answer."""

    def __init__(self, options: JszOptions) -> None:
        self.left = options.details

    def take(self, wanted: list[Stream] | list[Consumer]) -> int:
        taken = min(self.left, len(wanted))
        self.left -= taken
        return taken


def _details(tenants: list[Tenant], options: JszOptions) -> list[AccountStats]:
    """A page of the accounts, in the order of their names; or the one that was asked for."""
    if options.account:
        chosen = [tenant for tenant in tenants if tenant.name == options.account]
    elif options.accounts or options.streams or options.consumers:
        offset, limit = clamp(options.offset, options.limit)
        ordered = sorted(tenants, key=lambda tenant: tenant.name)
        chosen = ordered[offset : offset + limit]
    else:
        chosen = []
    room = _Room(options)
    streams = options.streams or options.consumers
    return [_account(tenant, options, streams, room) for tenant in chosen]


def _account(tenant: Tenant, options: JszOptions, streams: bool, room: _Room) -> AccountStats:
    js = tenant.js
    stats = AccountStats(
        name=tenant.name,
        id=tenant.name,
        memory=js.used("memory"),
        storage=js.used("file"),
        reserved_memory=tenant.limits.max_memory
        % _UINT64,  # no limit is told as the largest number
        reserved_storage=tenant.limits.max_store % _UINT64,
        api=Api(0, tenant.api.total, tenant.api.errors),
    )
    if streams:
        stats.stream_detail = list(_streams(js, options, room)) or UNSET
    return stats


def _streams(js: JetStream, options: JszOptions, room: _Room) -> Iterator[StreamDetail]:
    found = [js.streams[name] for name in sorted(js.streams)]
    for stream in islice(found, room.take(found)):
        detail = StreamDetail(
            name=stream.config.name,
            created=time_text(stream.created_ns),
            cluster=ClusterInfo(leader=js.server_name),
            config=stream.config if options.config else UNSET,
            state=state_of(stream),
            mirror=stream.origins.mirror_info() or UNSET,
            sources=stream.origins.sources_info() or UNSET,
        )
        if options.consumers:
            shown = stream.consumers.shown()
            detail.consumer_detail = _consumers(js, shown, options, room) or UNSET
            if options.direct_consumers:
                hidden = [each for each in stream.consumers.values() if each.direct]
                detail.direct_consumer_detail = _consumers(js, hidden, options, room) or UNSET
        yield detail


def _consumers(
    js: JetStream, consumers: list[Consumer], options: JszOptions, room: _Room
) -> list[ConsumerInfo]:
    infos = []
    for consumer in consumers[: room.take(consumers)]:
        info = describe(js, consumer, versions=False)
        infos.append(info if options.config else msgspec.structs.replace(info, config=None))
    return infos
