"""The objects of the consumer API. Field order is the order on the wire.

Durations are nanoseconds. Times in a configuration are text with the zone that the client chose;
`start_ns` and `pause_ns` give them in nanoseconds.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import field

from jetstream_py.api import fields as f
from jetstream_py.api.fields import Choice, Wire, always
from jetstream_py.api.times import ZERO_TIME, parse_time
from jetstream_py.api.types import ClusterInfo, SequencePair

DeliverPolicy = Annotated[
    Literal["all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"],
    Choice(
        ("all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"),
        zero=("undefined",),
    ),
]
AckPolicy = Annotated[
    Literal["none", "all", "explicit", "flow_control"],
    Choice(("none", "all", "explicit", "flow_control")),
]
ReplayPolicy = Annotated[Literal["instant", "original"], Choice(("instant", "original"))]
PriorityPolicy = Annotated[
    Literal["none", "overflow", "pinned_client", "prioritized"],
    Choice(("none", "overflow", "pinned_client", "prioritized"), "unknown priority policy: {text}"),
]
Action = Annotated[
    Literal["", "create", "update"],
    Choice(("", "create", "update"), "unknown consumer action: {text}"),
]


class ConsumerConfig(Wire):
    go_name = "server.ConsumerConfig"

    durable_name: str = ""
    name: str = ""
    description: str = ""
    deliver_policy: DeliverPolicy = always("all")
    opt_start_seq: f.uint64 = 0
    opt_start_time: f.time | None = None
    ack_policy: AckPolicy = always("none")
    ack_wait: f.duration = 0
    max_deliver: f.int_ = 0
    backoff: tuple[f.duration, ...] = ()
    filter_subject: str = ""
    filter_subjects: tuple[str, ...] = ()
    replay_policy: ReplayPolicy = always("instant")
    rate_limit_bps: f.uint64 = 0
    sample_freq: str = ""
    max_waiting: f.int_ = 0
    max_ack_pending: f.int_ = 0
    flow_control: bool = False
    headers_only: bool = False
    max_batch: f.int_ = 0
    max_expires: f.duration = 0
    max_bytes: f.int_ = 0
    deliver_subject: str = ""
    deliver_group: str = ""
    idle_heartbeat: f.duration = 0
    inactive_threshold: f.duration = 0
    num_replicas: f.int_ = always(0)
    mem_storage: bool = False
    direct: bool = False
    sourcing: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    pause_until: f.time | None = None
    priority_groups: tuple[str, ...] = ()
    priority_policy: PriorityPolicy = "none"
    priority_timeout: f.duration = 0

    @property
    def filters(self) -> tuple[str, ...]:
        """The one filter or all of them; empty for every subject of the stream."""
        return (self.filter_subject,) if self.filter_subject else self.filter_subjects

    @property
    def start_ns(self) -> int | None:
        """`opt_start_time` in nanoseconds since 1970."""
        return None if self.opt_start_time is None else parse_time(self.opt_start_time)

    @property
    def pause_ns(self) -> int | None:
        """`pause_until` in nanoseconds since 1970."""
        return None if self.pause_until is None else parse_time(self.pause_until)


class PriorityGroupState(Wire):
    group: str
    pinned_client_id: str = ""
    pinned_ts: str = always(ZERO_TIME)


class ConsumerInfo(Wire, kw_only=True):
    stream_name: str
    name: str
    created: str
    config: ConsumerConfig | None = None
    delivered: SequencePair
    ack_floor: SequencePair
    num_ack_pending: int = always(0)
    num_redelivered: int = always(0)
    num_waiting: int = always(0)
    num_pending: int = always(0)
    cluster: ClusterInfo | None = None
    push_bound: bool = False
    paused: bool = False
    pause_remaining: int = 0
    ts: str
    priority_groups: tuple[PriorityGroupState, ...] = ()


# -- requests --------------------------------------------------------------------------------------


class CreateConsumerRequest(Wire):
    go_name = "server.CreateConsumerRequest"

    stream_name: str = ""
    config: ConsumerConfig = always(ConsumerConfig())
    action: Action = ""
    pedantic: bool = False


class ConsumersRequest(Wire):
    """CONSUMER.NAMES and CONSUMER.LIST."""

    go_name = "server.JSApiConsumersRequest"

    offset: f.int_ = 0


class PauseRequest(Wire):
    go_name = "server.JSApiConsumerPauseRequest"

    pause_until: f.time = ZERO_TIME


class UnpinRequest(Wire):
    go_name = "server.JSApiConsumerUnpinRequest"

    group: str = ""


class ResetRequest(Wire):
    go_name = "server.JSApiConsumerResetRequest"

    seq: f.uint64 = 0
