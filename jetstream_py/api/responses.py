"""What the server answers: JSON objects that begin with their type.

`encode` takes any response. Stream info is not an object of its own in an answer, its fields stand
beside the others; the `stream_*` functions write those. On failure, `failure` writes what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from jetstream_py.api.errors import ApiError
from jetstream_py.api.fields import Wire, always
from jetstream_py.api.types import (
    AccountInfo,
    ErrorBody,
    StoredMessage,
    StreamConfig,
    StreamInfo,
    StreamState,
)
from jetstream_py.gotext import escape_json, quote, wire_text

TYPE: Final = "io.nats.jetstream.api.v1."
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class Answer(NamedTuple):
    """What a verb answers, for the few that answer with headers."""

    data: bytes
    headers: bytes = b""


class Response(Wire, tag_field="type", tag=TYPE + "system_response"):
    error: ErrorBody | None = None


class Page(Response, tag=""):
    total: int = always(0)
    offset: int = always(0)
    limit: int = always(0)


class AccountInfoResponse(Response, tag=TYPE + "account_info_response"):
    pass


class AccountPurgeResponse(Response, tag=TYPE + "account_purge_response"):
    initiated: bool = False


class StreamCreateResponse(Response, tag=TYPE + "stream_create_response"):
    pass


class StreamUpdateResponse(Response, tag=TYPE + "stream_update_response"):
    pass


class StreamInfoResponse(Page, tag=TYPE + "stream_info_response"):
    pass


class StreamNamesResponse(Page, tag=TYPE + "stream_names_response"):
    streams: Sequence[str] | None = always(None)  # null when empty


class StreamListResponse(Page, tag=TYPE + "stream_list_response"):
    streams: Sequence[StreamInfo] = always(())
    missing: tuple[str, ...] = ()
    offline: dict[str, str] = msgspec.field(default_factory=dict)


class StreamSnapshotResponse(Response, tag=TYPE + "stream_snapshot_response"):
    config: StreamConfig | None = None
    state: StreamState | None = None


class StreamRestoreResponse(Response, tag=TYPE + "stream_restore_response"):
    deliver_subject: str = always("")


class Success(Response, tag=""):
    success: bool = False


class StreamDeleteResponse(Success, tag=TYPE + "stream_delete_response"):
    pass


class StreamPurgeResponse(Success, tag=TYPE + "stream_purge_response"):
    purged: int = always(0)


class MsgDeleteResponse(Success, tag=TYPE + "stream_msg_delete_response"):
    pass


class MsgGetResponse(Response, tag=TYPE + "stream_msg_get_response"):
    message: StoredMessage | None = None


class StreamRemovePeerResponse(Success, tag=TYPE + "stream_remove_peer_response"):
    pass


class StreamEvacuatePeerResponse(Success, tag=TYPE + "stream_evacuate_peer_response"):
    pass


class StreamCancelMoveResponse(Success, tag=TYPE + "stream_cancel_move_response"):
    pass


class StreamLeaderStepdownResponse(Success, tag=TYPE + "stream_leader_stepdown_response"):
    pass


class _Refused(Wire):
    error: ErrorBody
    stream: str
    seq: int = always(0)


class _Created(Wire):
    did_create: bool = False


def encode(value: Wire) -> bytes:
    """JSON as Go writes it: no blanks, maps in the order of their keys, `<>&` escaped."""
    return escape_json(_ENCODER.encode(value))


def failure(kind: type[Response], error: ApiError) -> bytes:
    """The answer of a kind that says why there is no other."""
    return encode(kind(error=error.body))


def account_info(info: AccountInfo) -> bytes:
    return joined(AccountInfoResponse(), info)


def stream_created(info: StreamInfo) -> bytes:
    return joined(StreamCreateResponse(), info, _Created(did_create=True))


def stream_restored(info: StreamInfo) -> bytes:
    return joined(StreamCreateResponse(), info)


def stream_updated(info: StreamInfo) -> bytes:
    return joined(StreamUpdateResponse(), info)


def stream_info(info: StreamInfo, total: int = 0, offset: int = 0, limit: int = 0) -> bytes:
    return joined(StreamInfoResponse(total=total, offset=offset, limit=limit), info)


# -- acknowledgements of publishes ------------------------------------------------------------------


def pub_ack_start(stream: str, domain: str = "") -> bytes:
    """A PubAck up to its sequence: `b"%b%d}" % (start, seq)` is the whole."""
    # Names are quoted as Go quotes strings here, not as JSON: `<` stays as it is.
    where = f',"domain":{quote(domain)}' if domain else ""
    return f'{{"stream":{quote(stream)}{where},"seq":'.encode()


def pub_ack_error(stream: str, fault: ApiError) -> bytes:
    """What a publisher gets instead; it never names the domain."""
    return encode(_Refused(error=fault.body, stream=stream))


def pub_ack_batch(ack: bytes, batch: bytes, count: int) -> bytes:
    """A PubAck for the last message of a batch, and so for all of them."""
    return ack[:-1] + b',"batch":%b,"count":%d}' % (quote(wire_text(batch)).encode(), count)


def fast_error(seq: int, fault: ApiError) -> bytes:
    """What the publisher of a fast batch hears of a message that was refused."""
    return b'{"type":"err","seq":%d,"error":%b}' % (seq, encode(fault.body))


def joined(*objects: Wire) -> bytes:
    """One object with the fields of several."""
    return b"{" + b",".join(encode(each)[1:-1] for each in objects) + b"}"
