"""NATS JetStream for Spark: streams as tables, as sources and as sinks, buckets as tables.

`spark.read.format("jetstream")` finds this package by its name; there is nothing to register.
"""

from pyspark_jetstream.source import DefaultSource

__all__ = ["DefaultSource"]
