"""One import: find how far the last run came, publish the rest.

The target's last message says it: it carries the headers of `publish`, or the import has not begun. So
nobody else may publish to the stream meanwhile; if somebody does, the import stops.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow.parquet as pq
from pyarrow import fs

from jetstream_py import headers
from jetstream_py.export import layout, publish
from jetstream_py.export.errors import ExportError
from jetstream_py.export.layout import LayoutError, Manifest, Origin, Segment
from jetstream_py.export.link import Link
from jetstream_py.export.parquet import digest
from jetstream_py.export.run import Progress, check_manifest, silent
from jetstream_py.export.table import messages
from jetstream_py.migrate.connection import Json
from jetstream_py.migrate.copy import refusal
from jetstream_py.migrate.errors import ApiError
from jetstream_py.store.types import Message

_BATCH = 4096  # messages read from a segment at once
_NO_MESSAGE = 10037


@dataclass(frozen=True)
class ImportOptions:
    """What an import is told to do."""

    directory: str  # of an export or of one stream in it; a path or a URI
    stream: str  # where the messages go
    source: str = ""  # which stream of the export; needed when there are several
    create: bool = False
    append: bool = False  # behind messages that are there and are not of this export
    progress: Progress = silent


@dataclass
class ImportOutcome:
    """What became of it."""

    stream: str
    messages: int = 0  # published by this run
    before: int = 0  # that earlier runs had published
    last_seq: int = 0  # of the stream, now


async def import_stream(link: Link, options: ImportOptions) -> ImportOutcome:
    """Raises `ExportError`, `LayoutError`."""
    filesystem, path = find_export(options.directory, options.source)
    manifest = layout.read_manifest(filesystem, path)
    check_manifest(manifest, path)
    info = await _target(link, options, manifest.origin)
    last_seq: int = info["state"]["last_seq"]
    after = await _position(link, options, manifest.origin, info["state"])
    publisher = publish.Publisher(link, info["config"], manifest.origin, last_seq)
    outcome = ImportOutcome(options.stream)
    await publisher.open()
    try:
        total = manifest.messages
        for message in _messages(filesystem, path, manifest, after, lambda n: _skip(outcome, n)):
            await publisher.put(message)
            outcome.messages += 1
            options.progress(options.stream, outcome.before + outcome.messages, total)
        await publisher.drain()
    finally:
        await publisher.close()
    outcome.last_seq = publisher.stored
    return outcome


def _skip(outcome: ImportOutcome, n: int) -> None:
    outcome.before += n


def find_export(directory: str, source: str) -> tuple[fs.FileSystem, str]:
    """The directory of one stream's export."""
    filesystem, root = layout.open_filesystem(directory)
    if not source and _is_export(filesystem, root):
        return filesystem, root
    if source:
        path = f"{root}/{layout.directory_name(source)}"
        if not _is_export(filesystem, path):
            raise ExportError(f"there is no export of {source} in {directory}")
        return filesystem, path
    selector = fs.FileSelector(root, allow_not_found=True)
    found = [
        info.path
        for info in filesystem.get_file_info(selector)
        if not info.is_file and _is_export(filesystem, info.path)
    ]
    if len(found) != 1:
        names = ", ".join(sorted(path.rpartition("/")[2] for path in found)) or "none"
        raise ExportError(f"{directory} has exports of these streams: {names}. Say which (--from)")
    return filesystem, found[0]


def _is_export(filesystem: fs.FileSystem, path: str) -> bool:
    info = filesystem.get_file_info(f"{path}/{layout.MANIFEST}/{layout.ORIGIN}")
    return bool(info.is_file)


async def _target(link: Link, options: ImportOptions, origin: Origin) -> Json:
    """The info of the stream that takes the messages."""
    if origin.format != "parquet":
        raise ExportError(f"an export in the format {origin.format} is not imported")
    info = await link.find(options.stream)
    if info is None:
        if not options.create:
            raise ExportError(
                f"there is no stream {options.stream} at {link.where}; --create makes it as it was"
            )
        dropped = ("mirror", "sources", "metadata", "republish", "subject_transform")
        config = {key: value for key, value in origin.config.items() if key not in dropped}
        config["name"] = options.stream
        info = await link.api(f"STREAM.CREATE.{options.stream}", config)
    if info["config"].get("no_ack"):
        raise ExportError(f"{options.stream} gives no acks (no_ack)")
    if why := refusal(info["config"]):
        raise ExportError(f"{options.stream} cannot take an import: {why.partition(',')[0]}")
    return info


async def _position(link: Link, options: ImportOptions, origin: Origin, state: Json) -> int:
    """The last sequence of the export that the stream has."""
    if not state["last_seq"]:
        return 0
    try:
        answer = await link.api(f"STREAM.MSG.GET.{options.stream}", {"last_by_subj": ">"})
    except ApiError as error:
        if error.err_code != _NO_MESSAGE:
            raise
    else:
        block = headers.fields(base64.b64decode(answer["message"].get("hdrs") or ""))
        ours = (origin.stream.encode(), b"%d" % origin.created_ns)
        if (block.get(publish.STREAM), block.get(publish.CREATED)) == ours:
            return int(block[publish.SEQUENCE])
    if not options.append:
        raise ExportError(
            f"{options.stream} has had messages that are not of this export; --append puts it behind them"
        )
    return 0


def _messages(
    filesystem: fs.FileSystem,
    path: str,
    manifest: Manifest,
    after: int,
    skipped: Callable[[int], None],
) -> Iterator[Message]:
    """Those with a larger sequence, in order."""
    for segment in manifest.segments:
        if segment.last_seq <= after:
            skipped(segment.count)
            continue
        _verify(filesystem, path, segment)
        with pq.ParquetFile(f"{path}/{segment.path}", filesystem=filesystem) as file:
            for batch in file.iter_batches(_BATCH):
                for message in messages(batch):
                    if message.seq > after:
                        yield message
                    else:
                        skipped(1)


def _verify(filesystem: fs.FileSystem, path: str, segment: Segment) -> None:
    file = f"{path}/{segment.path}"
    if digest(filesystem, file) != (segment.bytes, segment.sha256):
        raise LayoutError(f"{file} is not what was exported: its SHA-256 is another")
