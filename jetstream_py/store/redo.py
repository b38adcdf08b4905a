"""What a record of the write-ahead log says: how the streams and the engine's records have changed.

A record is `(version, [change of a stream, ...], {key: value or nil})`. It tells results, not steps: which
messages came, which sequences went, where the stream begins and ends now. So the order within a record does
not matter, and to apply records that the store has already, all of them in order, changes nothing: a message
at or below the last sequence is there already (or gone again), a sequence that is not there cannot go twice,
and beginnings and ends only rise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from .columns import Columns
from .types import StoreError

if TYPE_CHECKING:
    from .file_stream import FileStream

VERSION: Final = 1
Records = Mapping[bytes, bytes | None]


class Change(msgspec.Struct, array_like=True):
    """What happened to one stream. No headers at all are an empty list."""

    sid: int
    floor: int
    last_seq: int
    last_ts: int
    gone: list[int]
    seqs: list[int]
    times: list[int]
    subjects: list[bytes]
    headers: list[bytes]
    datas: list[bytes]


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(tuple[int, list[Change], dict[bytes, bytes | None]])


def pack(streams: Iterable[FileStream], records: Records) -> bytes:
    return _encode((VERSION, [stream.change() for stream in streams], records))


def change(stream: FileStream, messages: Columns, gone: list[int]) -> Change:
    """The stream as it is now, with these messages new and these gone."""
    headers = messages.headers if any(messages.headers) else []
    return Change(
        stream.sid,
        stream.floor,
        stream.last_seq,
        stream.last_ts,
        gone,
        messages.seqs,
        messages.times,
        messages.subjects,
        headers,
        messages.datas,
    )


def unpack(body: bytes) -> tuple[list[Change], Records]:
    """Raises `StoreError` for a record of another version."""
    try:
        version, changes, records = _decoder.decode(body)
    except msgspec.DecodeError as error:
        raise StoreError(f"the write-ahead log cannot be read: {error}") from error
    if version != VERSION:
        raise StoreError(f"the write-ahead log has version {version}; this program knows {VERSION}")
    return changes, records


def apply(change: Change, stream: FileStream) -> None:
    """Stage it."""
    last = stream.last_seq
    headers = change.headers or [b""] * len(change.seqs)
    rows = zip(change.subjects, headers, change.datas, change.times, change.seqs, strict=True)
    for row in rows:
        if row[-1] > last:
            stream.append(*row)
    if change.last_seq > stream.last_seq:
        stream.skip(change.last_seq - stream.last_seq)
    stream.last_ts = change.last_ts
    stream.discard_all(change.gone)
    stream.raise_floor(change.floor)
