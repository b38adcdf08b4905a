"""Messages as Arrow columns, and back.

A row group is made of a few C-level steps over lists. Only messages with headers are looked at one by
one: their blocks are parsed here, in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from jetstream_py.export import layout
from jetstream_py.export.headers_map import parse, render
from jetstream_py.store.columns import Columns
from jetstream_py.store.types import Message

_US: Final = pa.scalar(1000, pa.int64())
_MAP: Final = layout.SCHEMA.field("headers").type


def to_table(stream: str, rows: Columns) -> pa.Table:
    """The row group of these messages."""
    n = len(rows)
    times = pa.array(rows.times, pa.int64())
    data = pa.array(rows.datas, pa.binary())
    sizes = pc.cast(pc.binary_length(data), pa.int64())
    subject, raw_subject = _subjects(rows.subjects)
    headers, raw_headers = _no_headers(n)
    if any(rows.headers):
        sizes = pc.add(sizes, pa.array(list(map(len, rows.headers)), pa.int64()))
        headers, raw_headers = _headers(rows.headers)
    columns = [
        pa.repeat(pa.scalar(stream), n),
        pa.array(rows.seqs, pa.int64()),
        pc.cast(pc.divide(times, _US), layout.SCHEMA.field("time").type),
        times,
        subject,
        headers,
        data,
        sizes,
        raw_subject,
        raw_headers,
    ]
    return pa.Table.from_arrays(columns, schema=layout.SCHEMA)


def _subjects(subjects: Sequence[bytes]) -> tuple[pa.Array, pa.Array]:
    raw = pa.array(subjects, pa.binary())
    try:
        return pc.cast(raw, pa.string()), pa.nulls(len(subjects), pa.binary())
    except pa.ArrowInvalid:  # some are not UTF-8
        texts = [subject.decode("utf-8", "backslashreplace") for subject in subjects]
        wrong = [
            subject if text.encode() != subject else None
            for subject, text in zip(subjects, texts, strict=True)
        ]
        return pa.array(texts, pa.string()), pa.array(wrong, pa.binary())


def _no_headers(n: int) -> tuple[pa.Array, pa.Array]:
    offsets = pa.repeat(pa.scalar(0, pa.int32()), n + 1)
    empty = pa.MapArray.from_arrays(
        offsets, pa.array([], pa.string()), pa.array([], _MAP.item_type)
    )
    return empty, pa.nulls(n, pa.binary())


def _headers(blocks: Sequence[bytes]) -> tuple[pa.Array, pa.Array]:
    names: list[bytes] = []
    values: list[bytes] = []
    counts: list[int] = []  # of names in each block
    lengths: list[int] = []  # of values of each name
    raw: list[bytes | None] = []
    for block in blocks:
        if not block:
            counts.append(0)
            raw.append(None)
            continue
        found, exact = parse(block)
        counts.append(len(found))
        raw.append(None if exact else block)
        names += found
        for each in found.values():
            values += each
            lengths.append(len(each))
    lists = pa.ListArray.from_arrays(_offsets(lengths), _text(values))
    return (
        pa.MapArray.from_arrays(_offsets(counts), _text(names), lists),
        pa.array(raw, pa.binary()),
    )


def _offsets(lengths: Sequence[int]) -> pa.Array:
    return pa.array(accumulate(lengths, initial=0), pa.int32())


def _text(values: Sequence[bytes]) -> pa.Array:
    return pc.cast(pa.array(values, pa.binary()), pa.string())


def messages(batch: pa.RecordBatch) -> Iterator[Message]:
    """The messages of a record batch, byte for byte as they were."""
    names = ("seq", "time_ns", "subject", "raw_subject", "headers", "raw_headers", "data")
    columns = [batch.column(name).to_pylist() for name in names]
    for seq, time, subject, raw_subject, headers, raw_headers, data in zip(*columns, strict=True):
        block = raw_headers if raw_headers is not None else render(dict(headers))
        name = raw_subject if raw_subject is not None else subject.encode()
        yield Message(seq, time, name, block, data)
