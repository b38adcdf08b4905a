"""Rows become messages, once each, however often Spark tries."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.jetstream.support import JetStream
from tests.spark_source.queries import ended
from tests.spark_source.support import Gate, fill, read
from tests.support.server import OURS
from tests.support.spark import GROUP

pytestmark = GROUP
ONE = pytest.mark.parametrize("kind", [OURS])  # what servers do is tested without Spark, on both


@ONE
def test_rows_become_messages(spark: SparkSession, stream: JetStream) -> None:
    schema = (
        "subject string, data binary, headers array<struct<key:string,value:binary>>, msg_id string"
    )
    rows = [
        ("s.a", b"\x00\xff", [("A", b"1"), ("A", b"\xff")], "one"),
        ("s.b", None, None, "two"),
        ("s.c", b"again", None, "one"),
        ("s.d", b"no id", None, None),
    ]
    frame = spark.createDataFrame(rows, schema).coalesce(1)
    target = {"servers": stream.server.url, "stream": "S"}
    frame.write.format("jetstream").mode("append").options(**target).save()
    assert read(stream) == [(1, "s.a", b"\x00\xff"), (2, "s.b", b""), (3, "s.d", b"no id")]
    block = stream.direct("S", seq=1).headers
    assert block.startswith(b"NATS/1.0\r\nNats-Msg-Id: one\r\nA: 1\r\nA: \xff\r\nNats-Stream: S")
    with pytest.raises(PySparkException, match="a stream cannot be overwritten; use mode append"):
        frame.write.format("jetstream").mode("overwrite").options(**target).save()


def test_a_task_that_fails_half_way(spark: SparkSession, stream: JetStream) -> None:
    """Its connection breaks when most is stored already. The second attempt adds the rest."""
    frame = spark.range(3000, numPartitions=2).selectExpr("'s.a' subject", "string(id) data")
    with Gate(stream.server.port, lambda sent: sent.count(b"HPUB") > 1000) as gate:
        writer = frame.write.format("jetstream").mode("append")
        writer.options(servers=gate.url, stream="S").save()
        assert gate.cuts == 1
    assert sorted(int(data) for _, _, data in read(stream)) == list(range(3000))


def test_from_stream_to_stream(spark: SparkSession, stream: JetStream, tmp_path: Path) -> None:
    """A batch is written, the query dies before it says so; it runs again and nothing is there twice."""
    stream.create("T", subjects=["t"], allow_direct=True)
    fill(stream, 500)

    def run() -> None:
        reader = spark.readStream.format("jetstream").options(
            servers=stream.server.url,
            stream="S",
            startingOffsets="earliest",
            maxOffsetsPerTrigger="300",
            minPartitions="2",
        )
        writer = reader.load().selectExpr("data").writeStream.trigger(availableNow=True)
        writer = writer.format("jetstream").option("checkpointLocation", str(tmp_path))
        writer = writer.options(servers=stream.server.url, stream="T", subject="t")
        ended(writer.start)

    run()
    for file in (tmp_path / "commits").iterdir():
        if file.name.strip(".").startswith("1"):
            file.unlink()  # the second batch was not committed, as far as Spark knows
    run()
    assert stream.state("T")["messages"] == 500
    found = sorted(int(data) for _, _, data in read(stream, stream="T"))
    assert found == list(range(500))
