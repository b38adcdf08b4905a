"""Numbers that bound something, with their reasons."""

from __future__ import annotations

from typing import Final

BATCH_ROWS: Final = 10_000  # rows of an Arrow batch, and of a request: Spark's own default
BATCH_BYTES: Final = 8 << 20  # of a request; well below the 64 MiB at which servers drop a client
PARTITION_SEQS: Final = 100_000  # of a partition; a Spark task costs as much as some thousand rows
MAX_PARTITIONS: Final = 10_000  # Spark's driver keeps each of them
TIMEOUT: Final = 30.0  # seconds for any answer; a server that syncs a large commit may take some
CONNECT_TIMEOUT: Final = 5.0
RECEIVE: Final = 1 << 20  # bytes of one read
LINE: Final = 1 << 20  # of a control line; INFO is the longest, and counts its cluster's servers
PAYLOAD: Final = 64 << 20  # nats-server's own upper bound of a message
SUBJECTS: Final = 100_000  # whose matches are remembered; more are asked again
WINDOW: Final = 4_000  # publishes without an ack; more gains nothing, less waits for the disk
CHUNK: Final = 500  # publishes of one write
CONSUMER_IDLE: Final = 60  # seconds after which a server forgets the consumer of a killed task
# The longest that Spark's defaults let a task be retried: four attempts, 120 s of network timeout each.
RETRY_TIME: Final = 480.0
