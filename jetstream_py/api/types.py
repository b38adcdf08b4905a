"""The objects of the stream API. Field order is the order on the wire.

Durations are nanoseconds, times are text (`times` makes and reads them).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import field

from jetstream_py.api import fields as f
from jetstream_py.api.fields import Wire, always
from jetstream_py.api.times import ZERO_TIME

# -- configuration ---------------------------------------------------------------------------------


class Placement(Wire):
    go_name = "server.Placement"

    cluster: str = ""
    tags: tuple[str, ...] | None = None
    preferred: str = ""


class SubjectTransform(Wire):
    go_name = "server.SubjectTransformConfig"

    src: str = always("")
    dest: str = always("")


class External(Wire):
    """How to reach a stream of another account or domain."""

    go_name = "server.ExternalStream"

    api: str = always("")
    deliver: str = always("")


class SourceConsumer(Wire):
    """A consumer at the origin that somebody made for this mirror or source."""

    go_name = "server.StreamConsumerSource"

    name: str = ""
    deliver_subject: str = ""


class StreamSource(Wire):
    """A mirror's origin, or one of a stream's sources."""

    go_name = "server.StreamSource"
    go_pointer = True

    name: str = always("")
    opt_start_seq: f.uint64 = 0
    opt_start_time: f.time | None = None
    filter_subject: str = ""
    subject_transforms: tuple[SubjectTransform, ...] = ()
    external: External | None = None
    consumer: SourceConsumer | None = None


class RePublish(Wire):
    go_name = "server.RePublish"

    src: str = ""
    dest: str = always("")
    headers_only: bool = False


class ConsumerLimits(Wire):
    """Defaults and bounds for the stream's consumers."""

    go_name = "server.StreamConsumerLimits"

    inactive_threshold: f.duration = 0
    max_ack_pending: f.int_ = 0


class StreamConfig(Wire):
    go_name = "server.StreamConfig"

    name: str = always("")
    description: str = ""
    subjects: tuple[str, ...] = ()
    retention: f.Retention = always("limits")
    max_consumers: f.int_ = always(0)
    max_msgs: f.int64 = always(0)
    max_bytes: f.int64 = always(0)
    max_age: f.duration = always(0)
    max_msgs_per_subject: f.int64 = always(0)
    max_msg_size: f.int32 = 0
    discard: f.Discard = always("old")
    storage: f.Storage = always("file")
    num_replicas: f.int_ = always(0)
    no_ack: bool = False
    duplicate_window: f.duration = 0
    placement: Placement | None = None
    mirror: StreamSource | None = None
    sources: tuple[StreamSource, ...] = ()
    compression: f.Compression = always("none")
    first_seq: f.uint64 = 0
    subject_transform: SubjectTransform | None = None
    republish: RePublish | None = None
    allow_direct: bool = always(False)
    mirror_direct: bool = always(False)
    discard_new_per_subject: bool = False
    sealed: bool = always(False)
    deny_delete: bool = always(False)
    deny_purge: bool = always(False)
    allow_rollup_hdrs: bool = always(False)
    consumer_limits: ConsumerLimits = always(ConsumerLimits())
    allow_msg_ttl: bool = always(False)
    subject_delete_marker_ttl: f.duration = 0
    allow_msg_counter: bool = False
    allow_atomic: bool = False
    allow_msg_schedules: bool = False
    persist_mode: f.Persist = "default"
    allow_batched: bool = False
    metadata: dict[str, str] = field(default_factory=dict)


# -- state and info --------------------------------------------------------------------------------


class SequencePair(Wire):
    """Where a consumer is, in its own count and in the stream's."""

    consumer_seq: int = always(0)
    stream_seq: int = always(0)
    last_active: str | None = None


class LostMessages(Wire):
    """What a damaged store could not give back."""

    msgs: tuple[int, ...] = always(())
    bytes: int = always(0)


class StreamState(Wire):
    messages: int = always(0)
    bytes: int = always(0)
    first_seq: int = always(0)
    first_ts: str = always(ZERO_TIME)
    last_seq: int = always(0)
    last_ts: str = always(ZERO_TIME)
    num_subjects: int = 0
    subjects: dict[str, int] = field(default_factory=dict)
    num_deleted: int = 0
    deleted: Sequence[int] = ()
    lost: LostMessages | None = None
    consumer_count: int = always(0)


class ClusterInfo(Wire):
    """A single server says no more than its own name, and that only in STREAM.INFO."""

    name: str = ""
    leader: str = ""


class StreamSourceInfo(Wire):
    """How far a mirror or source has come; `active` is -1 until it has heard of its origin."""

    name: str = always("")
    external: External | None = None
    lag: int = always(0)
    seq: int = 0  # the last one that was taken; mirrors do not say it
    active: int = always(-1)
    error: ErrorBody | None = None
    filter_subject: str = ""
    subject_transforms: tuple[SubjectTransform, ...] = ()


class StreamAlternate(Wire):
    name: str
    domain: str = ""
    cluster: str = always("")


class StreamInfo(Wire, kw_only=True):
    config: StreamConfig
    created: str
    state: StreamState
    domain: str = ""
    cluster: ClusterInfo | None = None
    mirror: StreamSourceInfo | None = None
    sources: tuple[StreamSourceInfo, ...] = ()
    alternates: tuple[StreamAlternate, ...] = ()
    ts: str


class StoredMessage(Wire, kw_only=True):
    """`hdrs` and `data` travel in base64."""

    subject: str
    seq: int
    hdrs: bytes = b""
    data: bytes = b""
    time: str


class ErrorBody(Wire):
    code: int
    err_code: int
    description: str


# -- account ---------------------------------------------------------------------------------------


class AccountLimits(Wire):
    """What the account may use; -1 is no limit."""

    max_memory: int = always(-1)
    max_storage: int = always(-1)
    max_streams: int = always(-1)
    max_consumers: int = always(-1)
    max_ack_pending: int = always(-1)
    memory_max_stream_bytes: int = always(-1)
    storage_max_stream_bytes: int = always(-1)
    max_bytes_required: bool = always(False)


class Tier(Wire):
    memory: int = always(0)
    storage: int = always(0)
    reserved_memory: int = always(0)
    reserved_storage: int = always(0)
    streams: int = always(0)
    consumers: int = always(0)
    limits: AccountLimits = always(AccountLimits())


class ApiStats(Wire):
    level: int = always(0)
    total: int = always(0)
    errors: int = always(0)
    inflight: int = 0


class AccountInfo(Wire):
    memory: int = always(0)
    storage: int = always(0)
    reserved_memory: int = always(0)
    reserved_storage: int = always(0)
    streams: int = always(0)
    consumers: int = always(0)
    limits: AccountLimits = always(AccountLimits())
    domain: str = ""
    api: ApiStats = always(ApiStats())
    tiers: dict[str, Tier] = field(default_factory=dict)
