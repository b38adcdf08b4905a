"""Which sequences are read, and by how many tasks. No socket: infos in, ranges out.

Offsets are as Kafka's: `start` is read, `end` is not; a position is the sequence of the next message. A
position of a query also carries the time at which the stream was made: a stream of the same name that
was deleted and made again counts from 1, and its sequences mean other messages.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from pyspark_jetstream.api import StreamInfo
from pyspark_jetstream.errors import DataLossError
from pyspark_jetstream.limits import MAX_PARTITIONS, PARTITION_SEQS
from pyspark_jetstream.options import EARLIEST, LATEST, Options

SeqAt = Callable[[int], int]  # the first sequence at or after a time
HINT = "set failOnDataLoss=false to go on without them"


def bounds(options: Options, info: StreamInfo, seq_at: SeqAt) -> tuple[int, int]:
    """Start and end of a table."""
    start = starting(options, info, seq_at, EARLIEST)
    end = info.next
    if options.ending_ns is not None:
        end = seq_at(options.ending_ns)
    elif options.ending_offsets != LATEST:
        end = int(options.ending_offsets)
    if options.fail_on_data_loss and end > info.next:
        raise DataLossError(
            f"endingOffsets {end} is beyond stream {info.name}, whose next sequence is {info.next}; "
            "set failOnDataLoss=false to read what is there"
        )
    if options.fail_on_data_loss and start < min(info.first, end):
        raise DataLossError(
            f"stream {info.name} begins at {info.first}: messages from {start} are gone; {HINT}"
        )
    return start, min(end, info.next)


def starting(options: Options, info: StreamInfo, seq_at: SeqAt, default: str) -> int:
    """Where reading begins."""
    if options.starting_ns is not None:
        return seq_at(options.starting_ns)
    offset = options.starting_offsets or default
    if offset == EARLIEST:
        return info.first
    return info.next if offset == LATEST else int(offset)


def split(start: int, end: int, least: int) -> list[tuple[int, int]]:
    """Ranges of about the same size: at least so many (if there are as many sequences)."""
    size = end - start
    if size <= 0:
        return []
    count = max(least, -(-size // PARTITION_SEQS))
    count = min(count, size, MAX_PARTITIONS)
    edges = [start + size * i // count for i in range(count + 1)]
    return list(pairwise(edges))


# -- positions of a query --------------------------------------------------------------------------


def offset(info: StreamInfo, seq: int) -> dict[str, Any]:
    return {"stream": info.name, "created": info.created, "seq": seq}


def resume(options: Options, info: StreamInfo, start: dict[str, Any]) -> int:
    """The sequence from which a query goes on. Raises `DataLossError`."""
    seq = int(start["seq"])
    if start.get("stream") != info.name:
        raise DataLossError(
            f"the checkpoint belongs to stream {start.get('stream')}, not to {info.name}"
        )
    if start["created"] != info.created:
        return _lost(
            options,
            info.first,
            f"stream {info.name} was deleted and made again at {info.created}: "
            f"the checkpoint belongs to that of {start['created']}",
        )
    if seq > info.next:
        return _lost(
            options,
            info.next,
            f"stream {info.name} ends before {info.next}, the checkpoint says {seq}",
        )
    if seq < info.first:
        text = f"stream {info.name} begins at {info.first}: messages from {seq} are gone"
        return _lost(options, info.first, text)
    return seq


def _lost(options: Options, instead: int, text: str) -> int:
    if options.fail_on_data_loss:
        raise DataLossError(f"{text}; {HINT}")
    return instead


def next_end(
    options: Options, info: StreamInfo, start: dict[str, Any], most: int, target: int
) -> dict[str, Any]:
    """Where the next batch of a query ends: `most` sequences (0: any), not beyond `target` (0: none)."""
    seq = resume(options, info, start)
    end = min(info.next, target) if target else info.next
    if most:
        end = min(end, seq + most)
    return offset(info, max(seq, end)) if end > seq else unchanged(info, start, seq)


def unchanged(info: StreamInfo, start: dict[str, Any], seq: int) -> dict[str, Any]:
    """Nothing to read: the very same offset, so that no empty batch is run for a move."""
    return start if start["created"] == info.created else offset(info, seq)
