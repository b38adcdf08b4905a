"""Who speaks: the part that all answers and events of the system account have in common."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext
from jetstream_py.server.monitor.varz import feature_flags
from jetstream_py.server.monitor.view import BrokerView
from jetstream_py.version import NATS_VERSION

_JETSTREAM: Final = 1 | 2 | 4  # it is on, and it understands what servers of this level do


class ServerInfo(msgspec.Struct, kw_only=True):
    name: str
    host: str
    id: str
    domain: str | UnsetType = UNSET
    ver: str = NATS_VERSION
    tags: list[str] | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    feature_flags: dict[str, bool]
    jetstream: bool
    flags: int
    seq: int
    time: str


class Event(msgspec.Struct, kw_only=True):
    """What every event begins with."""

    type: str
    id: str
    timestamp: str
    server: ServerInfo


class Error(msgspec.Struct):
    code: int
    description: str


class Response(msgspec.Struct):
    """The answer of a service."""

    server: ServerInfo
    data: object | UnsetType = UNSET
    statsz: object | UnsetType = UNSET
    error: Error | UnsetType = UNSET


class Speaker:
    """Numbers what the server says to the system account."""

    def __init__(self, broker: BrokerView) -> None:
        self._broker = broker
        self._seq = 0

    def info(self) -> ServerInfo:
        broker, options = self._broker, self._broker.options
        self._seq += 1
        jetstream = broker.jetstream_view is not None
        return ServerInfo(
            name=broker.server_name,
            host=options.host,
            id=broker.server_id,
            domain=broker.jetstream_domain or UNSET,
            tags=options.server_tags or UNSET,
            metadata=dict(sorted(options.server_metadata.items())) or UNSET,
            feature_flags=feature_flags(options),
            jetstream=jetstream,
            flags=_JETSTREAM if jetstream else 0,
            seq=self._seq,
            time=gotext.rfc3339_nano(broker.clock.now_ns()),
        )


def encode(value: object) -> bytes:
    return gotext.escape_json(msgspec.json.encode(value))
