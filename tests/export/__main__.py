"""The long form: `python -m tests.export` kills exports of a large store at random moments.

After each kill the directory is read with pyarrow and with DuckDB: it must hold the stream's beginning,
without a gap and nothing twice. The last run ends by itself and must have everything.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow.compute as pc
import pyarrow.dataset as ds

from jetstream_py.export.place import UNFINISHED
from jetstream_py.store import Message
from tests.export.support import NAME, NOON, make_store, manifest

SCRIPT = """
import sys
from jetstream_py import limits
from jetstream_py.cli import dispatch
limits.EXPORT_SEGMENT, limits.EXPORT_GROUP, limits.EXPORT_RUN = 5_000, 1_500, 1_000
sys.exit(dispatch(sys.argv[1:]))
"""


def complete(out: Path) -> int:
    """How many messages whole segments have; raises AssertionError for anything odd."""
    directory = out / NAME
    if not list(directory.glob("date=*/seg-*")):
        return 0
    seqs = ds.dataset(directory, format="parquet", partitioning="hive").to_table(["seq"])["seq"]
    last: int = pc.max(seqs).as_py()
    assert (len(seqs), len(pc.unique(seqs))) == (last, last)
    query = "select count(*), count(distinct seq), sum(octet_length(data)) from read_parquet(?)"
    row = duckdb.execute(query, [f"{directory}/date=*/seg-*.parquet"]).fetchone()
    assert row is not None
    assert row[:2] == (last, last)
    assert row[2] == last * 100
    return last


def writes(out: Path, since_ns: int) -> bool:
    """Has the run that began then got to its first segment?"""
    try:
        return (out / NAME / UNFINISHED).stat().st_mtime_ns > since_ns
    except FileNotFoundError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.export")
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as root:
        store, out = Path(root, "store"), Path(root, "out")
        make_store(
            store,
            (
                Message(i, NOON + i, b"orders.%d" % (i % 50), b"", b"%0100d" % i)
                for i in range(1, given.messages + 1)
            ),
        )
        command = ["export", NAME, "--store", str(store), "--out", str(out)]
        for kill in range(given.kills):
            began = time.time_ns()
            process = subprocess.Popen([sys.executable, "-c", SCRIPT, *command], env=os.environ)
            while process.poll() is None and not writes(out, began):
                time.sleep(0.001)
            try:
                process.wait(chance.uniform(0.0, 0.5))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            print(f"kill {kill + 1}: {complete(out):,} messages", flush=True)
        subprocess.run([sys.executable, "-c", SCRIPT, *command], env=os.environ, check=True)
        assert complete(out) == manifest(out).messages == given.messages
        print("nothing is missing, nothing twice")


if __name__ == "__main__":
    main()
