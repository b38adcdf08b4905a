"""Running queries to their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from tests.support.spark import BUSY

TRIES = 3


def ended(start: Callable[[], StreamingQuery]) -> list[Any]:
    """Its progress. One that the machine was too busy for goes on from its checkpoint."""
    for attempt in range(TRIES):
        query = start()
        try:
            assert query.awaitTermination(240)
            return list(query.recentProgress)
        except StreamingQueryException as error:
            if BUSY not in str(error) or attempt == TRIES - 1:
                raise
        finally:
            query.stop()
    raise AssertionError("unreachable")
