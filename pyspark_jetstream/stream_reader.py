"""A stream as the source of a query that runs on.

Spark keeps the offsets: nothing is stored on the server, no consumer belongs to a query. A batch is a
range of sequences that was written to the checkpoint before it was read, so a batch that is run again
reads the same messages. What may have happened to them in between is `plan`'s and `reading`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from pyspark_jetstream import api, plan, table
from pyspark_jetstream.connection import Connection, connect
from pyspark_jetstream.errors import ConnectError, DataLossError, OptionError
from pyspark_jetstream.options import LATEST, Options
from pyspark_jetstream.reader import Part, batches, ranges
from pyspark_jetstream.subjects import without_overlap

if TYPE_CHECKING:
    import pyarrow as pa

Offset = dict[str, Any]


class MessageStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives in a process beside the driver; its pickled twin reads in the tasks."""

    def __init__(self, options: Options, schema: StructType) -> None:
        table.check(schema, table.MESSAGES)
        if options.ending_ns is not None or options.ending_offsets != LATEST:
            raise OptionError("a streaming query has no end: no endingOffsets, no endingTimestamp")
        self.options = options
        self.schema = schema
        self._target = 0  # of Trigger.AvailableNow
        self._link: Connection | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_link": None}

    # -- offsets -----------------------------------------------------------------------------------

    def initialOffset(self) -> Offset:
        info = self._info()

        def seq_at(ns: int) -> int:
            assert self._link
            return api.seq_at(self._link, info, ns)

        return plan.offset(info, plan.starting(self.options, info, seq_at, LATEST))

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self.options.max_offsets
        return ReadMaxRows(most) if most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._info().next

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else 0
        return plan.next_end(self.options, self._info(), start, most, self._target)

    def reportLatestOffset(self) -> Offset:
        info = self._info()
        return plan.offset(info, info.next)

    # -- reading -----------------------------------------------------------------------------------

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        info = self._info()
        if end["created"] != info.created:
            if self.options.fail_on_data_loss:
                text = f"stream {info.name} was deleted and made again; the batch is of the old one"
                raise DataLossError(f"{text}; {plan.HINT}")
            return []
        first = plan.resume(self.options, info, start)
        subjects = without_overlap(self.options.subjects)
        spans = ranges(self.options, info, subjects, (first, end["seq"]), self.schema, True)
        return [Part(span) for span in spans]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        return batches(self.options, partition.span, self.schema)

    def stop(self) -> None:
        if self._link:
            self._link.close()
            self._link = None

    def _info(self) -> api.StreamInfo:
        """Asked over a connection that is kept; made again when it broke while the query slept."""
        for attempt in (1, 2):
            if self._link is None:
                self._link = connect(self.options)
            try:
                return api.stream_info(self._link, self.options.stream_name)
            except ConnectError:
                self.stop()
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")
