"""One server of each kind, and one Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.jetstream.support import JetStream, Stage
from tests.support.server import Kind
from tests.support.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("spark-source"))
    with stage.servers:
        yield stage


@pytest.fixture
def js(kind: Kind, spark_stage: Stage) -> Iterator[JetStream]:
    """A server without streams."""
    js = JetStream(*spark_stage.server(kind))
    js.clear()
    yield js
    js.close()


@pytest.fixture
def stream(js: JetStream) -> JetStream:
    """The same with a stream S of s.>, which allows direct gets and remembers ids."""
    js.create("S", subjects=["s.>"], allow_direct=True)
    return js


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    return session()
