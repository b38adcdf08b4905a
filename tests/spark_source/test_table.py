"""Streams as tables, in Spark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrameReader, SparkSession

from tests.jetstream.support import JetStream
from tests.spark_source.support import fill
from tests.support.server import OURS
from tests.support.spark import GROUP

pytestmark = GROUP
ONE = pytest.mark.parametrize("kind", [OURS])  # what servers do is tested without Spark, on both


def source(spark: SparkSession, js: JetStream, **options: str) -> DataFrameReader:
    reader = spark.read.format("jetstream").options(servers=js.server.url, stream="S")
    return reader.options(**options)


def test_all_columns(spark: SparkSession, stream: JetStream) -> None:
    """The session's time zone is not ours: times are moments, not texts."""
    stream.publish("s.a", b"\x00\xff", b"NATS/1.0\r\nA: 1\r\nA: 2\r\nB: \xff\r\n\r\n")
    fill(stream, 99)
    table = source(spark, stream, includeHeaders="true", minPartitions="5").load()
    assert table.columns == ["stream", "seq", "time", "subject", "headers", "data"]
    rows = table.collect()
    assert [row.seq for row in rows] == list(range(1, 101))
    first = rows[0]
    assert (first.stream, first.subject, bytes(first.data)) == ("S", "s.a", b"\x00\xff")
    headers = [(header.key, bytes(header.value)) for header in first.headers]
    assert headers == [("A", b"1"), ("A", b"2"), ("B", b"\xff")]
    stored = datetime.fromisoformat(stream.message("S", seq=1)["time"][:23].rstrip("Z") + "+00:00")
    moment = first.time.astimezone(UTC)
    assert abs(moment - stored).total_seconds() < 0.01
    assert table.where("seq = 1").selectExpr("unix_millis(time)").first()[0] == int(  # type: ignore[index]
        moment.timestamp() * 1000
    )


@ONE
def test_columns_of_the_users_schema(spark: SparkSession, stream: JetStream) -> None:
    assert source(spark, stream).load().count() == 0
    stream.publish("s.a", b"x" * 100, {"A": "b"})
    schema = "headers array<struct<key:string,value:binary>>, seq bigint"
    (row,) = source(spark, stream).schema(schema).load().collect()
    assert (row.seq, row.headers[0].key) == (1, "A")
    with pytest.raises(
        PySparkException, match="there is no column sequence; there are stream, seq"
    ):
        source(spark, stream).schema("sequence bigint").load().collect()
    with pytest.raises(PySparkException, match="column seq is bigint, not int"):
        source(spark, stream).schema("seq int").load().collect()
    with pytest.raises(PySparkException, match="did you mean minPartitions"):
        source(spark, stream, minPartition="2").load()


@ONE
def test_pushdown(spark: SparkSession, stream: JetStream) -> None:
    """What a filter excludes is not read: a sequence that is gone is not missed, but its neighbour is."""
    fill(stream, 100)
    flag = "spark.sql.python.filterPushdown.enabled"
    query = "seq >= 31 and seq < 71 and subject in ('s.3', 's.7')"
    expected = [34, 38, 44, 48, 54, 58, 64, 68]
    spark.conf.set(flag, "true")
    try:
        table = source(spark, stream, pushdown="true", minPartitions="2").load()
        assert [row.seq for row in table.where(query).collect()] == expected
        middle = table.where("seq = 50").first()
        assert middle
        late = table.where(table.time >= middle.time).count()
        assert (
            late
            == table.collect()[-1].seq
            - 50
            + table.where(table.time == middle.time).where("seq < 50").count()
            + 1
        )
        stream.ok("STREAM.PURGE.S", {"seq": 20})
        asked = {"startingOffsets": "10", "pushdown": "true", "failOnDataLoss": "false"}
        assert source(spark, stream, **asked).load().where("seq < 25").count() == 5
    finally:
        spark.conf.unset(flag)
    assert [row.seq for row in source(spark, stream).load().where(query).collect()] == expected


@ONE
def test_a_bucket(spark: SparkSession, js: JetStream) -> None:
    """Written, read, written again: puts, deletes and purges; now and then."""
    js.create(
        "KV_B",
        subjects=["$KV.B.>"],
        allow_direct=True,
        allow_rollup_hdrs=True,
        max_msgs_per_subject=5,
    )

    def put(*rows: tuple[str, str | None, str | None]) -> None:
        frame = spark.createDataFrame(rows, "key string, value string, operation string")
        writer = frame.coalesce(1).write.format("jetstream").mode("append")
        writer.options(servers=js.server.url, bucket="B").save()

    def state(**options: str) -> dict[str, tuple[bytes, int]]:
        reader = spark.read.format("jetstream").options(servers=js.server.url, bucket="B")
        rows = reader.options(**options).load().collect()
        return {row.key: (bytes(row.value), row.revision) for row in rows}

    assert state() == {}
    put(("a", "1", None), ("b.c", "2", "PUT"), ("d", "3", None))
    put(("a", "4", None), ("b.c", None, None), ("d", None, "PURGE"), ("e", "", None))
    assert state() == {"a": (b"4", 4), "e": (b"", 7)}
    assert state(endingOffsets="5") == {"a": (b"4", 4), "b.c": (b"2", 2)}  # d's past is purged
    assert state(subject="e") == {"e": (b"", 7)}
    with pytest.raises(PySparkException, match="is no key"):
        put(("no key", "1", None))
