"""Rows as Arrow batches, with exactly the schema that Spark expects.

Spark compares the first batch's schema with its own, type for type and null for null, and lays the
others' buffers over its memory unseen. So everything is built for the schema that was asked for: its
columns, in its order. Times are cut to microseconds, which is what Spark has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pyspark_jetstream.errors import OptionError
from pyspark_jetstream.fetch import Rows
from pyspark_jetstream.wire import pairs

HEADERS: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
MESSAGES: Final = StructType(
    [
        StructField("stream", StringType()),
        StructField("seq", LongType()),
        StructField("time", TimestampType()),
        StructField("subject", StringType()),
        StructField("headers", HEADERS),
        StructField("data", BinaryType()),
    ]
)
ENTRIES: Final = StructType(
    [
        StructField("bucket", StringType()),
        StructField("key", StringType()),
        StructField("value", BinaryType()),
        StructField("revision", LongType()),
        StructField("time", TimestampType()),
    ]
)

MICROSECONDS: Final = pa.timestamp("us", tz="UTC")
ARROW: Final[dict[type[DataType], pa.DataType]] = {
    StringType: pa.string(),
    LongType: pa.int64(),
    TimestampType: MICROSECONDS,
    BinaryType: pa.binary(),
    ArrayType: pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
}


def message_schema(headers: bool) -> StructType:
    """All columns, or all but headers."""
    return StructType([f for f in MESSAGES.fields if headers or f.name != "headers"])


def check(schema: StructType, known: StructType) -> None:
    """A user's schema may leave columns out; it cannot make new ones. Raises `OptionError`."""
    types = {field.name: field.dataType for field in known.fields}
    for field in schema.fields:
        if field.name not in types:
            names = ", ".join(types)
            raise OptionError(f"there is no column {field.name}; there are {names}")
        if field.dataType != types[field.name]:
            right = types[field.name].simpleString()
            raise OptionError(
                f"column {field.name} is {right}, not {field.dataType.simpleString()}; "
                "cast it after reading"
            )


def arrow_schema(schema: StructType) -> pa.Schema:
    return pa.schema(
        [pa.field(f.name, ARROW[type(f.dataType)], nullable=f.nullable) for f in schema.fields]
    )


def text_array(values: list[bytes]) -> pa.Array:
    """Names are UTF-8; what is not is shown with question marks instead of ending the query."""
    try:
        return pa.array(values, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([value.decode("utf-8", "replace") for value in values], pa.string())


def time_array(times: list[int] | list[bytes]) -> pa.Array:
    """From nanoseconds, or from RFC 3339 in UTC with up to nine digits of a fraction."""
    if times and isinstance(times[0], bytes):
        found = pa.array(times, pa.binary()).cast(pa.string()).cast(pa.timestamp("ns", tz="UTC"))
    else:
        found = pa.array(times, pa.int64()).cast(pa.timestamp("ns", tz="UTC"))
    return pc.cast(found, MICROSECONDS, safe=False)


def header_array(blocks: list[bytes]) -> pa.Array:
    """No headers are an empty list."""
    found = [[{"key": k, "value": v} for k, v in pairs(b)] if b else [] for b in blocks]
    return pa.array(found, ARROW[ArrayType])


Column = Callable[[Rows], pa.Array]


def columns(stream: str) -> dict[str, Column]:
    """How each column is made of rows."""
    return {
        "stream": lambda rows: pa.repeat(stream, len(rows)),
        "seq": lambda rows: pa.array(rows.seqs, pa.int64()),
        "time": lambda rows: time_array(rows.times),
        "subject": lambda rows: text_array(rows.subjects),
        "headers": lambda rows: header_array(rows.headers),
        "data": lambda rows: pa.array(rows.datas, pa.binary()),
    }


def batch(rows: Rows, stream: str, schema: StructType) -> pa.RecordBatch:
    """The columns that were asked for."""
    made = columns(stream)
    arrays = [made[field.name](rows) for field in schema.fields]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))
