"""What an export looks like: names, columns, and the manifest that says what is there.

    DIR/<STREAM>/date=2026-01-31/seg-1-250000.parquet     messages, named by their first and last sequence
    DIR/<STREAM>/_manifest/stream.json                    whose messages these are (`Origin`)
    DIR/<STREAM>/_manifest/seg-1-250000.json              one entry for each segment (`Segment`)

Names that begin with `_` or `.` are passed over by whoever reads a directory as a dataset, so the
manifest and unfinished files do not disturb. A stream that was made again has other messages under the
same sequences: they are another *epoch* and live in `DIR/<STREAM>.2`, then `.3` (no stream's name has a
dot).

A segment is complete as soon as it has its name, and its entry follows. It carries the same facts in its
own footer: a crash between the two costs nothing, the entry is made again from the file.

Text columns are UTF-8. Where a subject or a header block is not, or says more than the map of headers can
(their order, odd blanks), the bytes are in `raw_subject` or `raw_headers`, which are null everywhere else:
so every message can be given back byte for byte.
"""

from __future__ import annotations

import os
from typing import Any, Final

import msgspec
import pyarrow as pa
from pyarrow import fs

VERSION: Final = 1  # of columns and manifest
MANIFEST: Final = "_manifest"
ORIGIN: Final = "stream.json"
FOOTER: Final = b"jetstream_py.segment"  # the key of a segment's entry in its footer

SCHEMA: Final = pa.schema(
    [
        pa.field("stream", pa.string(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("time", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("time_ns", pa.int64(), nullable=False),  # since the epoch
        pa.field("subject", pa.string(), nullable=False),
        pa.field("headers", pa.map_(pa.string(), pa.list_(pa.string())), nullable=False),
        pa.field("data", pa.binary(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),  # header block and payload, in bytes
        pa.field("raw_subject", pa.binary()),
        pa.field("raw_headers", pa.binary()),
    ]
)

_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


class LayoutError(Exception):
    """A directory that is not an export, or not one that this program understands."""


class Origin(msgspec.Struct):
    """Whose messages a directory has, and which of them."""

    version: int
    stream: str
    created_ns: int  # a stream that was made again has another one
    epoch: int
    config: dict[str, Any]  # as of the last run
    subject: str = ""  # the filter; empty: all messages
    first: int = 1  # the sequence at which the export was told to begin
    format: str = "parquet"


class Segment(msgspec.Struct):
    """The facts of one segment. `from_seq` to `last_seq` is what it covers; segments follow each other
    without a gap: `from_seq` is one more than the `last_seq` before."""

    version: int
    stream: str
    created_ns: int
    path: str  # relative to the stream's directory
    from_seq: int
    first_seq: int
    last_seq: int
    count: int
    min_time_ns: int
    max_time_ns: int
    # ranges of covered sequences that were gone when they were read; None where a filter was at work
    deleted: list[tuple[int, int]] | None
    bytes: int = 0  # of the file, with `sha256` known when it is complete
    sha256: str = ""


class Manifest(msgspec.Struct):
    """All that is known of one directory; segments in order of their sequences."""

    origin: Origin
    segments: list[Segment]

    @property
    def next_seq(self) -> int:
        """Where the next segment begins."""
        return self.segments[-1].last_seq + 1 if self.segments else self.origin.first

    @property
    def messages(self) -> int:
        return sum(segment.count for segment in self.segments)


def directory_name(stream: str, epoch: int = 1) -> str:
    """The directory of a stream; bytes that could mean something in a path are spelled `%3D`."""
    name = "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in stream.encode())
    return name if epoch == 1 else f"{name}.{epoch}"


def segment_name(first: int, last: int) -> str:
    return f"seg-{first}-{last}"


def segment_path(date: str, first: int, last: int) -> str:
    """Relative to the stream's directory."""
    return f"date={date}/{segment_name(first, last)}.parquet"


def encode(entry: Origin | Segment) -> bytes:
    return msgspec.json.format(msgspec.json.encode(entry), indent=1) + b"\n"


def decode_origin(data: bytes) -> Origin:
    """Raises `LayoutError`."""
    try:
        origin = msgspec.json.decode(data, type=Origin)
    except msgspec.DecodeError as error:
        raise LayoutError(f"{MANIFEST}/{ORIGIN} is damaged: {error}") from error
    if origin.version != VERSION:
        raise LayoutError(f"the export has version {origin.version}; this program knows {VERSION}")
    return origin


def decode_segment(data: bytes, what: str) -> Segment:
    """Raises `LayoutError`."""
    try:
        return msgspec.json.decode(data, type=Segment)
    except msgspec.DecodeError as error:
        raise LayoutError(f"{what} is damaged: {error}") from error


def read_manifest(filesystem: fs.FileSystem, directory: str) -> Manifest:
    """The manifest of a stream's directory; raises `LayoutError`, `FileNotFoundError`."""
    base = f"{directory}/{MANIFEST}"
    with filesystem.open_input_stream(f"{base}/{ORIGIN}") as file:
        origin = decode_origin(file.read())
    segments = []
    for info in filesystem.get_file_info(fs.FileSelector(base)):
        if info.base_name.startswith("seg-") and info.extension == "json":
            with filesystem.open_input_stream(info.path) as file:
                segments.append(decode_segment(file.read(), info.base_name))
    segments.sort(key=lambda segment: segment.first_seq)
    return Manifest(origin, segments)


def open_manifest(uri: str, stream: str, epoch: int = 1) -> Manifest:
    """The manifest of a stream in an export; `uri` is a path or what Arrow's file systems take."""
    filesystem, path = open_filesystem(uri)
    return read_manifest(filesystem, f"{path}/{directory_name(stream, epoch)}")


def open_filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of `s3://...`, `gs://...`, `hdfs://...`, or the local one for a path."""
    if "://" not in uri:
        return fs.LocalFileSystem(), os.path.abspath(uri)
    found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(uri)
    return found
