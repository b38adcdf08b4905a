"""One export: find where the last run ended, read on from there, cut, write.

What is in a directory is known from the directory alone, so an export that was killed, or that ran a year
ago, goes on when the same command is given again. It is never put together from two streams: one that was
made again under the same name is another epoch, and another filter needs another directory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from pyarrow import fs

from jetstream_py.clock import Clock, SystemClock
from jetstream_py.export import layout
from jetstream_py.export.delta import DeltaSink
from jetstream_py.export.errors import ExportError
from jetstream_py.export.layout import LayoutError, Manifest, Origin
from jetstream_py.export.parquet import ParquetSink
from jetstream_py.export.place import Place
from jetstream_py.export.segment import Cutter
from jetstream_py.export.source import Facts, Source
from jetstream_py.store.columns import Columns

FORMATS: Final = ("parquet", "delta")
_MOST: Final = (1 << 63) - 1  # the largest sequence that a column can hold

# stream, messages so far, about how many there will be
Progress = Callable[[str, int, int], None]


def silent(stream: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class Bound:
    """Where to begin or end: a sequence, or a time in nanoseconds."""

    seq: int = 0
    time_ns: int = 0


@dataclass(frozen=True)
class Options:
    """What an export is told to do."""

    out: str  # a path or a URI
    since: Bound | None = None
    until: Bound | None = None
    subject: str = ""
    format: str = "parquet"
    follow: bool = False
    flush: float = 60.0  # seconds after which `follow` ends a segment that is not full
    new_epoch: bool = False
    progress: Progress = silent
    clock: Clock = field(default_factory=SystemClock)


@dataclass
class Outcome:
    """What became of one stream."""

    stream: str
    directory: str
    messages: int = 0
    segments: int = 0
    last_seq: int = 0
    warnings: list[str] = field(default_factory=list)


async def export(source: Source, options: Options, stop: asyncio.Event | None = None) -> Outcome:
    """Raises `ExportError`, `LayoutError`. `stop` ends one that follows."""
    facts = await source.facts()
    if facts.last_seq > _MOST:
        raise ExportError(f"{facts.stream}: sequences above {_MOST} do not fit into a column")
    first = await _resolve(source, options.since) if options.since else 1
    last = facts.last_seq
    if options.until:
        bound = await _resolve(source, options.until)
        last = min(last, bound if options.until.seq else bound - 1)
    place, origin = find_place(facts, first, options)
    try:
        place.open()
        sink, next_seq = _prepare(place, origin, options)
        _check(origin, facts, first if options.since else 0, next_seq)
        outcome = Outcome(facts.stream, place.path)
        if options.follow:
            rows = source.follow(next_seq, options.subject)
        else:
            rows = source.read(next_seq, last, options.subject)
        cutter = Cutter(origin, next_seq, sink)
        total = _estimate(facts, next_seq, last)
        async with aclosing(_until(rows, stop)) as parts:
            await _write(parts, cutter, outcome, total, options)
        outcome.warnings = source.warnings
        return outcome
    finally:
        place.close()


async def _resolve(source: Source, bound: Bound) -> int:
    return bound.seq or await source.seq_at(bound.time_ns)


def _estimate(facts: Facts, next_seq: int, last: int) -> int:
    return max(0, min(facts.messages, last + 1 - next_seq))


def find_place(facts: Facts, first: int, options: Options) -> tuple[Place, Origin]:
    """The directory of this stream's epoch, and what it says or will say of itself."""
    filesystem, root = layout.open_filesystem(options.out)
    epoch, known = 1, _origin(filesystem, f"{root}/{layout.directory_name(facts.stream)}")
    while known is not None and known.created_ns != facts.created_ns:
        path = f"{root}/{layout.directory_name(facts.stream, epoch + 1)}"
        following = _origin(filesystem, path)
        epoch += 1
        if following is None and not options.new_epoch:
            raise ExportError(
                f"{facts.stream} was deleted and made again since the last export to {root}: "
                "its sequences mean other messages now. --new-epoch puts them beside the old ones"
            )
        known = following
    path = f"{root}/{layout.directory_name(facts.stream, epoch)}"
    if known is not None:
        known.config = facts.config
    else:
        known = Origin(
            layout.VERSION,
            facts.stream,
            facts.created_ns,
            epoch,
            facts.config,
            options.subject,
            first,
            options.format,
        )
    return Place(filesystem, path), known


def _origin(filesystem: fs.FileSystem, path: str) -> Origin | None:
    try:
        with filesystem.open_input_stream(f"{path}/{layout.MANIFEST}/{layout.ORIGIN}") as file:
            return layout.decode_origin(file.read())
    except FileNotFoundError:
        return None


def _prepare(place: Place, origin: Origin, options: Options) -> tuple[ParquetSink | DeltaSink, int]:
    """The sink, and the sequence to go on with."""
    if origin.subject != options.subject:
        raise ExportError(
            f"{place.path} has the messages of {origin.subject or '>'}; "
            f"those of {options.subject or '>'} need another directory"
        )
    if origin.format != options.format:
        raise ExportError(f"{place.path} is in the format {origin.format}")
    if _origin(place.filesystem, place.path) != origin:
        place.put(layout.ORIGIN, layout.encode(origin))
    if options.format == "delta":
        delta = DeltaSink(place, origin)
        return delta, delta.next_seq
    sink = ParquetSink(place)
    manifest = layout.read_manifest(place.filesystem, place.path)
    check_manifest(manifest, place.path)
    sink.adopt(manifest)
    return sink, manifest.next_seq


def check_manifest(manifest: Manifest, path: str) -> None:
    """Segments follow each other; raises `LayoutError`."""
    expected = manifest.origin.first
    for segment in manifest.segments:
        if segment.from_seq != expected:
            raise LayoutError(f"{path}: the segment that begins at {expected} is missing")
        expected = segment.last_seq + 1


def _check(origin: Origin, facts: Facts, since: int, next_seq: int) -> None:
    if next_seq - 1 > max(facts.last_seq, origin.first - 1):
        raise ExportError(
            f"{facts.stream} ends at {facts.last_seq}, what was exported at {next_seq - 1}: "
            "it was set back (an older backup?)"
        )
    if since > next_seq:
        raise ExportError(
            f"the export of {facts.stream} goes on at {next_seq}; "
            f"a start at {since} would leave a hole, take another directory"
        )


async def _until(
    rows: AsyncGenerator[Columns, None], stop: asyncio.Event | None
) -> AsyncGenerator[Columns, None]:
    """The same, up to when `stop` is set."""
    halt = asyncio.ensure_future((stop or asyncio.Event()).wait())
    try:
        while not halt.done():
            following = asyncio.ensure_future(anext(rows))
            await asyncio.wait({following, halt}, return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                following.cancel()
                await asyncio.wait({following})
                return
            try:
                part = following.result()
            except StopAsyncIteration:
                return
            yield part
    finally:
        halt.cancel()
        await rows.aclose()


async def _write(
    rows: AsyncIterator[Columns], cutter: Cutter, outcome: Outcome, total: int, options: Options
) -> None:
    clock, progress = options.clock, options.progress
    began = 0.0  # when the segment at hand got its first message
    read = 0
    try:
        async for part in rows:
            waiting = cutter.pending
            async for segment in cutter.add(part):
                _count(outcome, segment)
                waiting = False
            now = clock.monotonic()
            if not waiting:
                began = now
            elif options.follow and now - began >= options.flush:
                _count(outcome, await cutter.close())
            read += len(part)
            progress(outcome.stream, read, total)
        if cutter.pending:
            _count(outcome, await cutter.close())
    except BaseException:
        await cutter.abort()
        raise


def _count(outcome: Outcome, segment: layout.Segment) -> None:
    outcome.messages += segment.count
    outcome.segments += 1
    outcome.last_seq = segment.last_seq
