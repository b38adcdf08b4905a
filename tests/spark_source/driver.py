"""A Spark application that is meant to be killed: from stream S to Parquet files and to stream T.

    python -m tests.spark_source.driver URL DIRECTORY run|finish

`run` goes on until it is killed; it says `batch` whenever one is done. `finish` reads what is left and
says how many sequences the files hold, and how many different ones.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.support.spark import session


def start(spark: SparkSession, url: str, directory: Path, name: str, on: bool) -> StreamingQuery:
    options = {"servers": url, "stream": "S", "startingOffsets": "earliest"}
    options |= {"maxOffsetsPerTrigger": "2000", "minPartitions": "2"}
    frame = spark.readStream.format("jetstream").options(**options).load()
    if name == "sink":
        frame = frame.selectExpr("data")
    writer = frame.writeStream.option("checkpointLocation", str(directory / f"{name}-checkpoint"))
    writer = writer.trigger(processingTime="0 seconds") if on else writer.trigger(availableNow=True)
    if name == "files":
        return writer.format("parquet").start(str(directory / "files"))
    return writer.format("jetstream").start(servers=url, stream="T", subject="t")


def main(url: str, place: str, how: str) -> None:
    directory = Path(place)
    spark = session()
    queries = [start(spark, url, directory, name, how == "run") for name in ("files", "sink")]
    if how == "run":
        batches = [-1, -1]
        while all(query.isActive for query in queries):
            for i, query in enumerate(queries):
                progress = query.lastProgress
                if progress and progress.batchId != batches[i]:
                    batches[i] = progress.batchId
                    print("batch", flush=True)
            queries[0].awaitTermination(1)
        print(*[query.exception() for query in queries], file=sys.stderr, flush=True)
        sys.exit(1)
    for query in queries:
        query.awaitTermination()
    seqs = [row.seq for row in spark.read.parquet(str(directory / "files")).select("seq").collect()]
    print(json.dumps({"rows": len(seqs), "distinct": len(set(seqs))}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
