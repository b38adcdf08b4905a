"""What a task does: read its range and make sure that nothing went missing under its hands."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark_jetstream import api, fetch
from pyspark_jetstream.connection import Connection, connect
from pyspark_jetstream.errors import DataLossError
from pyspark_jetstream.fetch import Range, Rows
from pyspark_jetstream.options import Options
from pyspark_jetstream.plan import HINT


def read(options: Options, span: Range) -> Iterator[Rows]:
    """Raises `DataLossError` when messages of the range go away before they are read."""
    with connect(options) as link:
        if not _is_same(link, span):
            return
        expected, hole = span.start, 0
        for rows in fetch.fetch(link, span):
            if not hole and rows.seqs[-1] - expected >= len(rows):
                hole = expected
            expected = rows.seqs[-1] + 1
            yield rows
        if not hole and expected < span.end:
            hole = expected
        _was_same(link, span, hole)


def _is_same(link: Connection, span: Range) -> bool:
    """Is it the stream that was planned for?"""
    info = api.stream_info(link, span.stream)
    if info.created == span.created:
        _check_front(info, span, span.start)
    elif span.same:
        text = f"stream {span.stream} was deleted and made again since the batch was planned"
        raise DataLossError(f"{text}; {HINT}")
    return info.created == span.created


def _was_same(link: Connection, span: Range, hole: int) -> None:
    """A hole is harmless (something was deleted, or does not match) unless the stream's beginning, which was
    before it when reading began, is beyond it now: then nobody knows what was in it."""
    info = api.stream_info(link, span.stream)
    if span.same and info.created != span.created:
        raise DataLossError(f"stream {span.stream} was made again while it was read; {HINT}")
    if hole:
        _check_front(info, span, hole)


def _check_front(info: api.StreamInfo, span: Range, seq: int) -> None:
    if span.whole and info.first > seq:
        text = f"stream {span.stream} begins at {info.first} now: messages from {seq} on"
        raise DataLossError(f"{text} may be gone unread; {HINT}")
