"""One Spark for all tests of a run.

A JVM takes longer to start than most tests to run, so all tests that need Spark share one (mark them
`GROUP`: then they run in one test worker). Tasks are tried four times, as on a cluster.
"""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP: Final = pytest.mark.xdist_group("spark")
MASTER: Final = "local[2,4]"
# Spark gives a Python process ten seconds to start, whatever is configured: a busy machine may need more.
BUSY: Final = "failed to connect back"
ROOT: Final = Path(__file__).parent.parent.parent

SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "America/New_York",  # not where the tests run, so that it shows
    "spark.sql.streaming.stopTimeout": "30s",
    "spark.log.level": "OFF",
    # Compiling well takes longer than these tests run.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
}


def has_java() -> bool:
    return "JAVA_HOME" in os.environ or shutil.which("java") is not None


@cache
def session() -> SparkSession:
    """This process's; it ends with it."""
    if not has_java():
        pytest.skip("no Java: the tests with Spark need one, 17 or newer")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master(MASTER).appName("tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
