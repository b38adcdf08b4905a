"""A stream, or a bucket, as a sink.

A task publishes its rows in order and is done when all of them are acked. Spark runs tasks and whole
batches again when something fails, so each row has a message id that is the same each time: the one in
column `msg_id`, or one made of the query, the batch, the partition and the row's number in it. The
stream drops what it has already. That holds while the stream remembers ids, and as long as Spark brings
the rows of a partition in the same order again, which it does for every plan without chance in it.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from pyspark_jetstream import api, rows
from pyspark_jetstream.connection import connect
from pyspark_jetstream.errors import OptionError
from pyspark_jetstream.limits import RETRY_TIME
from pyspark_jetstream.options import Options
from pyspark_jetstream.publish import Publisher

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("pyspark_jetstream")

QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"


@dataclass
class Written(WriterCommitMessage):
    """What a task has done."""

    messages: int
    duplicates: int  # were there already, from an attempt that failed


def prepare(options: Options, schema: StructType, overwrite: bool) -> None:
    """What can be said before a row is written. Raises `OptionError`."""
    if overwrite:
        raise OptionError("a stream cannot be overwritten; use mode append")
    rows.check(options, schema)
    with connect(options) as link:
        info = api.stream_info(link, options.stream_name)
    if info.duplicate_window < RETRY_TIME:
        log.warning(
            "stream %s remembers message ids for %.0f s, but Spark may repeat a task for %.0f s and "
            "a query after any restart: raise its duplicate_window to be sure that nothing is stored twice",
            info.name,
            info.duplicate_window,
            RETRY_TIME,
        )


def write(options: Options, batches: Iterator[pa.RecordBatch], prefix: str) -> Written:
    """All rows of a task."""
    before = 0
    with connect(options) as link:
        publisher = Publisher(link, options.stream_name)
        for batch in batches:
            ids = [f"{prefix}-{before + i}" for i in range(batch.num_rows)]
            publisher.publish(*rows.messages(options, batch, ids))
            before += batch.num_rows
        publisher.flush()
    return Written(publisher.sent, publisher.duplicates)


class MessageWriter(DataSourceArrowWriter):
    """Made in the driver, once for each write; its pickled twin writes in the tasks."""

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        prepare(options, schema, overwrite)
        self.options = options
        self.prefix = options.id_prefix or secrets.token_hex(8)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write(self.options, iterator, f"{self.prefix}-{_context().partitionId()}")


class MessageStreamWriter(DataSourceStreamArrowWriter):
    """Made again for each batch of a query, and after a restart."""

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        prepare(options, schema, overwrite)
        self.options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = _context()
        query = self.options.id_prefix or context.getLocalProperty(QUERY_ID)
        batch = context.getLocalProperty(BATCH_ID)
        assert query, "Spark names the query of every task"
        assert batch, "and the batch"
        return write(self.options, iterator, f"{query}-{batch}-{context.partitionId()}")


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context, "rows are written in tasks"
    return context
