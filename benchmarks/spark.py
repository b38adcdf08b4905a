"""Spark and JetStream: how many rows a second, in and out.

    python -m benchmarks.spark [--messages 1000000] [--size 128] [--servers ours,nats]

One local Spark with two cores; the server shares them. Rows are read whole (their payloads are summed up),
by direct get and by consumers; a streaming query writes Parquet; a sink writes messages with ids. Beside it a
plain reader with nats-py, for what a source built on it would reach at best. Each figure is the better of two
runs, because the first warms the JVM.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from benchmarks.servers import running, unwind_on_sigterm
from pyspark_jetstream import api
from pyspark_jetstream.connection import connect
from pyspark_jetstream.options import parse
from pyspark_jetstream.publish import Publisher

ROUNDS: Final = 2
SECOND: Final = 1_000_000_000
READER_SHARE: Final = 10  # nats-py reads a tenth; it takes long enough


def session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    root = str(Path(__file__).parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR")
    return builder.config("spark.driver.memory", "2g").getOrCreate()


class Bench:
    """The cases, on one server."""

    def __init__(self, spark: SparkSession, url: str, messages: int, size: int) -> None:
        self.spark = spark
        self.url = url
        self.messages = messages
        self.size = size

    def fill(self) -> None:
        with connect(parse({"servers": self.url})) as link:
            for name in ("S", "T"):
                config: dict[str, Any] = {"name": name, "subjects": [f"{name}.>"]}
                config |= {"allow_direct": True, "duplicate_window": 3600 * SECOND}
                api.request(link, f"STREAM.CREATE.{name}", config)
            publisher, data = Publisher(link, "S"), b"x" * self.size
            for start in range(0, self.messages, 5000):
                count = min(5000, self.messages - start)
                subjects = [b"S.%d" % (i % 200) for i in range(start, start + count)]
                publisher.publish(subjects, [b""] * count, [data] * count)
            publisher.flush()

    def read(self, way: str) -> int:
        options = {"servers": self.url, "stream": "S", "fetch": way}
        table = self.spark.read.format("jetstream").options(**options).load()
        found = table.selectExpr("count(*)", "sum(length(data))").first()
        assert found
        assert found[1] == self.messages * self.size
        return int(found[0])

    def stream(self) -> int:
        with tempfile.TemporaryDirectory() as place:
            options = {"servers": self.url, "stream": "S", "startingOffsets": "earliest"}
            frame = self.spark.readStream.format("jetstream").options(**options).load()
            writer = frame.writeStream.format("parquet").trigger(availableNow=True)
            query = writer.start(f"{place}/out", checkpointLocation=f"{place}/checkpoint")
            query.awaitTermination()
            return int(sum(p.numInputRows for p in query.recentProgress))

    def sink(self) -> int:
        rows = self.messages // 4
        frame = self.spark.range(rows, numPartitions=2).selectExpr(
            "concat('T.', id % 200) subject", f"repeat('x', {self.size}) data"
        )
        writer = frame.write.format("jetstream").mode("append")
        writer.options(servers=self.url, stream="T").save()
        return rows

    def plain(self) -> int:
        return asyncio.run(self._plain())

    async def _plain(self) -> int:
        import nats
        from nats.js.api import AckPolicy, ConsumerConfig

        no_acks = ConsumerConfig(ack_policy=AckPolicy.NONE)
        link = await nats.connect(self.url)
        sub = await link.jetstream().pull_subscribe("S.>", stream="S", config=no_acks)
        read = 0
        while read < self.messages // READER_SHARE:
            read += len(await sub.fetch(1000))
        await link.close()
        return read


def best(case: Callable[[], int]) -> int:
    """Rows a second."""
    found = 0.0
    for _ in range(ROUNDS):
        begin = time.monotonic()
        rows = case()
        found = max(found, rows / (time.monotonic() - begin))
    return int(found)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--servers", default="ours,nats")
    arguments = parser.parse_args()
    unwind_on_sigterm()
    spark = session()
    print("| server | case | rows/s |\n|---|---|---|", flush=True)
    for name in arguments.servers.split(","):
        with (
            tempfile.TemporaryDirectory() as home,
            running(name, "", ["-js", "-sd", home]) as server,
        ):
            bench = Bench(
                spark, f"nats://127.0.0.1:{server.port}", arguments.messages, arguments.size
            )
            bench.fill()
            cases: dict[str, Callable[[], int]] = {
                "table by direct get": partial(bench.read, "direct"),
                "table by consumers": partial(bench.read, "consumer"),
                "query to Parquet": bench.stream,
                "sink": bench.sink,
                "nats-py, no Spark": bench.plain,
            }
            for case, run in cases.items():
                print(f"| {name} | {case} | {best(run):,} |", flush=True)


if __name__ == "__main__":
    main()
