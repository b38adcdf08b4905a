"""`format("jetstream")`: what Spark asks for, and who answers."""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from pyspark_jetstream import options as parsing
from pyspark_jetstream import table
from pyspark_jetstream.bucket import BucketReader
from pyspark_jetstream.errors import OptionError
from pyspark_jetstream.reader import MessageReader, PushdownReader
from pyspark_jetstream.stream_reader import MessageStreamReader
from pyspark_jetstream.writer import MessageStreamWriter, MessageWriter


class DefaultSource(DataSource):
    """Spark finds a class of this name in every installed package whose name starts with pyspark_."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.parsed = parsing.parse(options)
        if not self.parsed.stream_name:
            raise OptionError("option stream is missing (or bucket, for a key-value bucket)")

    @classmethod
    def name(cls) -> str:
        return "jetstream"

    def schema(self) -> StructType:
        if self.parsed.bucket:
            return table.ENTRIES
        return table.message_schema(self.parsed.include_headers)

    def reader(self, schema: StructType) -> BucketReader | MessageReader:
        if self.parsed.bucket:
            return BucketReader(self.parsed, schema)
        kind = PushdownReader if self.parsed.pushdown else MessageReader
        return kind(self.parsed, schema)

    def streamReader(self, schema: StructType) -> MessageStreamReader:
        self._no_bucket()
        return MessageStreamReader(self.parsed, schema)

    def writer(self, schema: StructType, overwrite: bool) -> MessageWriter:
        return MessageWriter(self.parsed, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> MessageStreamWriter:
        return MessageStreamWriter(self.parsed, schema, overwrite)

    def _no_bucket(self) -> None:
        if self.parsed.bucket:
            name = self.parsed.stream_name
            raise OptionError(f"a bucket's changes are messages: read stream {name} instead")
