"""Queries that run on, in Spark: every sequence once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.jetstream.support import JetStream
from tests.spark_source.queries import ended
from tests.spark_source.support import Gate, fill
from tests.support.server import OURS
from tests.support.spark import GROUP

pytestmark = GROUP
ONE = pytest.mark.parametrize("kind", [OURS])  # what servers do is tested without Spark, on both


class Query:
    """A query with a checkpoint that is run again and again, until it has read what is there."""

    def __init__(self, spark: SparkSession, js: JetStream, directory: Path, **options: str) -> None:
        self.spark = spark
        self.js = js
        self.directory = directory
        self.options = {"startingOffsets": "earliest", **options}

    def run(self, each: Callable[[DataFrame, int], None] | None = None, **more: str) -> list[Any]:
        """To Parquet, or to what `each` does. Its progress."""
        given = {"servers": self.js.server.url, "stream": "S", **self.options, **more}
        frame = self.spark.readStream.format("jetstream").options(**given).load()
        writer = frame.writeStream.trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self.directory / "checkpoint"))
        if each:
            return ended(writer.foreachBatch(each).start)
        return ended(lambda: writer.format("parquet").start(str(self.directory / "out")))

    def seqs(self) -> list[int]:
        """What was written, in order of sequences; a message that came twice is there twice."""
        rows = self.spark.read.parquet(str(self.directory / "out")).select("seq").collect()
        return sorted(row.seq for row in rows)


def test_each_message_once(spark: SparkSession, stream: JetStream, tmp_path: Path) -> None:
    """Several batches, a failure in the middle of one, a connection that breaks, a restart."""
    query = Query(spark, stream, tmp_path, maxOffsetsPerTrigger="400", minPartitions="2")
    fill(stream, 1000)
    progress = query.run()
    assert [p.numInputRows for p in progress if p.numInputRows] == [400, 400, 200]
    latest = progress[-1].sources[0]
    assert '"seq":1001' in latest.latestOffset.replace(" ", "")
    fill(stream, 500, 1000)

    def fail(frame: DataFrame, batch: int) -> None:
        assert frame.count() == 400
        raise RuntimeError("in the middle of a batch")

    with pytest.raises(PySparkException, match="in the middle of a batch"):
        query.run(fail)
    with Gate(stream.server.port, lambda sent: b"DIRECT.GET" in sent) as gate:
        query.run(servers=gate.url)
        assert gate.cuts == 1
    assert query.seqs() == list(range(1, 1501))


@ONE
def test_made_again_between_batches(spark: SparkSession, stream: JetStream, tmp_path: Path) -> None:
    query = Query(spark, stream, tmp_path)
    fill(stream, 10)
    query.run()
    stream.delete("S")
    stream.create("S", subjects=["s.>"], allow_direct=True)
    fill(stream, 20)
    with pytest.raises(PySparkException, match="was deleted and made again"):
        query.run()
    query.run(failOnDataLoss="false")
    assert query.seqs() == sorted([*range(1, 11), *range(1, 21)])
