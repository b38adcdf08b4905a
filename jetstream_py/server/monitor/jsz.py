"""/jsz: JetStream. The answers are the app's to give (see `view.JetStreamView`): nothing in the server
knows of streams. Here is what can be asked, and the answer when there is no JetStream."""

from __future__ import annotations

import msgspec

from jetstream_py import gotext, limits
from jetstream_py.server.monitor.query import Query, boolean, integer
from jetstream_py.server.monitor.view import BrokerView


class JszOptions(msgspec.Struct, kw_only=True, frozen=True):
    """What was asked for, on either face."""

    account: str = ""
    accounts: bool = False
    streams: bool = False
    consumers: bool = False
    direct_consumers: bool = False
    config: bool = False
    offset: int = 0
    limit: int = 0
    raft: bool = False
    details: int = limits.MONITOR_DETAILS  # streams and consumers that may be told of

    @classmethod
    def from_query(cls, query: Query) -> JszOptions:
        # In this order: the first one that cannot be read is the one complained about.
        accounts, streams = boolean(query, "accounts"), boolean(query, "streams")
        consumers, direct = boolean(query, "consumers"), boolean(query, "direct-consumers")
        config = boolean(query, "config")
        offset, limit = integer(query, "offset"), integer(query, "limit")
        boolean(query, "leader-only")  # who stands alone leads
        raft = boolean(query, "raft")
        boolean(query, "stream-leader-only")
        return cls(
            account=query.get("acc", ""),
            accounts=accounts,
            streams=streams,
            consumers=consumers,
            direct_consumers=direct,
            config=config,
            offset=offset,
            limit=limit,
            raft=raft,
        )


class Api(msgspec.Struct, frozen=True):
    level: int = 0
    total: int = 0
    errors: int = 0


class Stats(msgspec.Struct, kw_only=True):
    memory: int = 0
    storage: int = 0
    reserved_memory: int = 0
    reserved_storage: int = 0
    accounts: int = 0
    ha_assets: int = 0
    api: Api = Api()


class Config(msgspec.Struct, frozen=True):
    max_memory: int = 0
    max_storage: int = 0


class Disabled(Stats, kw_only=True):
    server_id: str
    now: str
    disabled: bool = True
    config: Config = Config()
    streams: int = 0
    consumers: int = 0
    messages: int = 0
    bytes: int = 0
    total: int = 0


def jsz(broker: BrokerView, options: JszOptions) -> object:
    if broker.jetstream_view is not None:
        return broker.jetstream_view.jsz(options)
    return Disabled(server_id=broker.server_id, now=gotext.rfc3339_nano(broker.clock.now_ns()))
