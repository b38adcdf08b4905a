"""What clients ask: one struct for each body of the stream API."""

from __future__ import annotations

from jetstream_py.api import fields as f
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


class StreamPurgeRequest(Wire):
    go_name = "server.JSApiStreamPurgeRequest"

    seq: f.uint64 = 0
    filter: str = ""
    keep: f.uint64 = 0


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
