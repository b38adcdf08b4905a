"""One revision of one key."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, NamedTuple

from jetstream_py import headers as hdr
from jetstream_py.js.times import to_datetime
from jetstream_py.js.types import Headers, Message

Operation = Literal["PUT", "DEL", "PURGE"]
PUT: Final[Operation] = "PUT"
DEL: Final[Operation] = "DEL"
PURGE: Final[Operation] = "PURGE"
KV_OPERATION: Final = hdr.KV_OPERATION.decode()
MARKER_REASON: Final = hdr.MARKER_REASON.decode()
_OPERATIONS: Final[dict[str, Operation]] = {"DEL": DEL, "PURGE": PURGE}
_REASONS: Final[dict[str, Operation]] = {"MaxAge": PURGE, "Purge": PURGE, "Remove": DEL}


class Entry(NamedTuple):
    """What a key was set to, or that it was deleted, and when."""

    bucket: str
    key: str
    value: bytes
    revision: int
    time_ns: int
    operation: Operation
    delta: int = 0  # entries that come behind it in what was asked for

    @property
    def created(self) -> datetime:
        return to_datetime(self.time_ns)

    @property
    def deleted(self) -> bool:
        return self.operation != PUT


def operation_of(headers: Headers) -> Operation:
    """Clients say what they did; the server says why it put a marker."""
    if not headers:
        return PUT
    said = headers.get(KV_OPERATION)
    if said is not None:
        return _OPERATIONS.get(said, PUT)
    return _REASONS.get(headers.get(MARKER_REASON, ""), PUT)


def entry_of(bucket: str, prefix: str, message: Message) -> Entry:
    return Entry(
        bucket,
        message.subject[len(prefix) :],
        message.data,
        message.seq,
        message.time_ns,
        operation_of(message.headers),
        message.pending,
    )
