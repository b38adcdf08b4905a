"""A stream as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from pyspark_jetstream import api, fetch, plan, reading, table
from pyspark_jetstream.connection import connect
from pyspark_jetstream.fetch import Range
from pyspark_jetstream.options import EARLIEST, Options
from pyspark_jetstream.predicates import Wanted, wanted
from pyspark_jetstream.subjects import common

if TYPE_CHECKING:
    import pyarrow as pa


class Part(InputPartition):
    """One task."""

    def __init__(self, span: Range) -> None:
        super().__init__(span)
        self.span = span


class MessageReader(DataSourceReader):
    """Reads everything between two offsets."""

    def __init__(self, options: Options, schema: StructType) -> None:
        table.check(schema, table.MESSAGES)
        self.options = options
        self.schema = schema
        self.wanted = Wanted()

    def partitions(self) -> Sequence[InputPartition]:
        options = self.options
        with connect(options) as link:
            info = api.stream_info(link, options.stream_name)

            def seq_at(ns: int) -> int:
                return api.seq_at(link, info, ns)

            start, end = plan.bounds(options, info, seq_at)
            start, end = self.wanted.narrow(start, end, seq_at)
        explicit = options.starting_ns is not None or options.starting_offsets not in ("", EARLIEST)
        chosen = common(options.subjects, self.wanted.subjects)
        if chosen is None:
            return [Part(_nothing(info))]
        spans = ranges(options, info, chosen, (start, end), self.schema, explicit)
        # Spark takes no partitions at all for one that nobody has planned.
        return [Part(span) for span in spans or [_nothing(info)]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        return batches(self.options, partition.span, self.schema)


class PushdownReader(MessageReader):
    """One that looks at filters, too. Spark refuses a reader that does while
    `spark.sql.python.filterPushdown.enabled` is off, so it is another class, and an option asks for it."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Filters narrow what is read. Spark looks at each row all the same: it is cheap, and right
        for times that have more digits than Spark's."""
        self.wanted = wanted(filters)
        return filters


def batches(options: Options, span: Range, schema: StructType) -> Iterator[pa.RecordBatch]:
    for rows in reading.read(options, span):
        yield table.batch(rows, span.stream, schema)


def ranges(
    options: Options,
    info: api.StreamInfo,
    subjects: tuple[str, ...],
    bounds: tuple[int, int],
    schema: StructType,
    whole: bool,
) -> list[Range]:
    """The tasks that read what lies between two sequences."""
    names = set(schema.fieldNames())
    data = "data" in names
    way = fetch.choose(options.fetch, info, subjects, data)
    return [
        Range(
            stream=info.name,
            created=info.created,
            start=start,
            end=end,
            way=way,
            subjects=subjects,
            headers_only=way == fetch.CONSUMER and not data,
            same=options.fail_on_data_loss,
            whole=whole and options.fail_on_data_loss,
        )
        for start, end in plan.split(*bounds, options.min_partitions)
    ]


def _nothing(info: api.StreamInfo) -> Range:
    return Range(info.name, info.created, 1, 1, same=False, whole=False)
