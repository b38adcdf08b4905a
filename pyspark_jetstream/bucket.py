"""A key-value bucket as a table: the latest value of each key, or that of an earlier time.

One task reads the bucket's stream from its beginning and keeps the last message of each key, so it needs
memory for the values that there are. The state of now is read up to a moving end: a key that is written
meanwhile loses its older message, and its newer one must not be missed. The state of then is what is
left of that time: it takes a bucket that keeps a history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pyspark_jetstream import api, fetch, table
from pyspark_jetstream.connection import connect
from pyspark_jetstream.errors import OptionError
from pyspark_jetstream.fetch import Range, Rows
from pyspark_jetstream.limits import BATCH_ROWS
from pyspark_jetstream.options import LATEST, Options
from pyspark_jetstream.reader import Part
from pyspark_jetstream.wire import value

END: Final = 1 << 62


class Entry(NamedTuple):
    """The last that was said of a key."""

    value: bytes
    revision: int
    time: int | bytes


class BucketReader(DataSourceReader):
    """The state of a bucket."""

    def __init__(self, options: Options, schema: StructType) -> None:
        table.check(schema, table.ENTRIES)
        if options.starting_offsets or options.starting_ns is not None:
            raise OptionError("a bucket's state has no start: no startingOffsets or -Timestamp")
        self.options = options
        self.schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        options = self.options
        with connect(options) as link:
            info = api.stream_info(link, options.stream_name)
            end = END
            if options.ending_ns is not None:
                end = api.seq_at(link, info, options.ending_ns)
            elif options.ending_offsets != LATEST:
                end = int(options.ending_offsets)
        keys = tuple(f"$KV.{options.bucket}.{key}" for key in options.subjects)
        way = fetch.choose(options.fetch, info, keys, True)
        return [Part(Range(info.name, info.created, info.first, end, way, keys))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        with connect(self.options) as link:
            entries = state(fetch.fetch(link, partition.span), len(self.options.bucket) + 5)
        yield from _batches(entries, self.options.bucket, self.schema)


def state(found: Iterator[Rows], skip: int) -> dict[bytes, Entry]:
    """The last value of each key that is not deleted; `skip` characters of a subject are not the key."""
    entries: dict[bytes, Entry] = {}
    for rows in found:
        for i, subject in enumerate(rows.subjects):
            block, key = rows.headers[i], subject[skip:]
            entries.pop(key, None)
            if not block or not _is_marker(block):
                entries[key] = Entry(rows.datas[i], rows.seqs[i], rows.times[i])
    return entries


def _is_marker(block: bytes) -> bool:
    whole = block + b"\r\n"  # direct get's blocks come without their end
    if operation := value(whole, b"KV-Operation"):
        return operation in (b"DEL", b"PURGE")
    return value(whole, b"Nats-Marker-Reason") is not None


def _batches(
    entries: dict[bytes, Entry], bucket: str, schema: StructType
) -> Iterator[pa.RecordBatch]:
    keys = list(entries)
    for at in range(0, len(keys), BATCH_ROWS):
        some = keys[at : at + BATCH_ROWS]
        found = [entries[key] for key in some]
        made = {
            "bucket": pa.repeat(bucket, len(some)),
            "key": table.text_array(some),
            "value": pa.array([entry.value for entry in found], pa.binary()),
            "revision": pa.array([entry.revision for entry in found], pa.int64()),
            "time": table.time_array([entry.time for entry in found]),  # type: ignore[arg-type]
        }
        arrays = [made[field.name] for field in schema.fields]
        yield pa.RecordBatch.from_arrays(arrays, schema=table.arrow_schema(schema))
