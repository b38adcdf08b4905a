"""`python -m tests.backup`: a large stream goes from server to server, both ways; kills on the way."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.backup import kills
from tests.jetstream.support import Stage
from tests.jetstream.test_backup_exchange import exchange
from tests.support.server import ORACLE, OURS, Kind

WAYS: list[list[Kind]] = [[OURS, ORACLE, OURS], [ORACLE, OURS, ORACLE]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.backup")
    parser.add_argument("--messages", type=int, default=100_000, help="that cross, at least")
    parser.add_argument("--kills", type=int, default=20, help="in restores, and in snapshots")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for storage in ("file", "memory") if options.messages else ():
        for ways in WAYS:
            with tempfile.TemporaryDirectory() as directory:
                stage = Stage(Path(directory))
                began = time.monotonic()
                with stage.servers:
                    # A limit per subject takes a third of what is published away before.
                    size = exchange(stage, ways, storage, options.messages * 8 // 5)
                seconds = time.monotonic() - began
            route = " -> ".join(ways)
            print(f"{storage}: {route}: the same, {size >> 20} MiB, {seconds:.1f} s", flush=True)
    if options.kills:
        with tempfile.TemporaryDirectory() as directory:
            began = time.monotonic()
            kills.run(options.kills, options.seed, Path(directory))
        seconds = time.monotonic() - began
        print(
            f"{options.kills} kills in restores and in snapshots: no half stream, {seconds:.1f} s"
        )


if __name__ == "__main__":
    main()
