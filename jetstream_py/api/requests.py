"""What clients ask: one struct for each body of the stream API."""

from __future__ import annotations

from msgspec import field

from jetstream_py.api import fields as f
from jetstream_py.api.extensions import PURGE_BEFORE
from jetstream_py.api.fields import Wire
from jetstream_py.api.types import StreamConfig


class StreamConfigRequest(StreamConfig):
    """STREAM.CREATE and STREAM.UPDATE."""

    go_name = "server.StreamConfigRequest"

    pedantic: bool = False


class StreamNamesRequest(Wire):
    go_name = "server.JSApiStreamNamesRequest"

    offset: f.int_ = 0
    subject: str = ""


class StreamListRequest(Wire):
    go_name = "server.JSApiStreamListRequest"

    offset: f.int_ = 0
    subject: str = ""


class StreamInfoRequest(Wire):
    go_name = "server.JSApiStreamInfoRequest"

    offset: f.int_ = 0
    deleted_details: bool = False
    subjects_filter: str = ""


class StreamPurgeRequest(Wire, rename={"before": PURGE_BEFORE}):
    go_name = "server.JSApiStreamPurgeRequest"

    seq: f.uint64 = 0
    filter: str = ""
    keep: f.uint64 = 0
    before: f.time = ""  # an extension


class StreamSnapshotRequest(Wire):
    go_name = "server.JSApiStreamSnapshotRequest"

    deliver_subject: str = ""
    no_consumers: bool = False
    chunk_size: f.int_ = 0
    window_size: f.int_ = 0
    jsck: bool = False  # every read of the store is checked anyway


class LostState(Wire):
    go_name = "server.LostStreamData"

    msgs: tuple[f.uint64, ...] = ()
    bytes: f.uint64 = 0


class RestoreState(Wire):
    """The state that the snapshot told. It is read and not used: the archive has its own."""

    go_name = "server.StreamState"

    messages: f.uint64 = 0
    bytes: f.uint64 = 0
    first_seq: f.uint64 = 0
    first_ts: f.time = ""
    last_seq: f.uint64 = 0
    last_ts: f.time = ""
    num_subjects: f.int_ = 0
    subjects: dict[str, f.uint64] = field(default_factory=dict)
    num_deleted: f.int_ = 0
    deleted: tuple[f.uint64, ...] = ()
    lost: LostState | None = None
    consumer_count: f.int_ = 0


class StreamRestoreRequest(Wire):
    go_name = "server.JSApiStreamRestoreRequest"

    config: StreamConfig = f.always(StreamConfig())
    state: RestoreState = f.always(RestoreState())


class MsgGetRequest(Wire):
    """STREAM.MSG.GET and DIRECT.GET."""

    go_name = "server.JSApiMsgGetRequest"

    seq: f.uint64 = 0
    last_by_subj: str = ""
    next_by_subj: str = ""
    batch: f.int_ = 0
    max_bytes: f.int_ = 0
    start_time: f.time | None = None
    multi_last: tuple[str, ...] = ()
    up_to_seq: f.uint64 = 0
    up_to_time: f.time | None = None
    no_hdr: bool = False


class MsgDeleteRequest(Wire):
    go_name = "server.JSApiMsgDeleteRequest"

    seq: f.uint64 = 0
    no_erase: bool = False
