"""Spark killed again and again: nothing is missing in the end, nothing is there twice.

    python -m tests.spark_source [--kills N] [--messages N] [--server NAME]

On nats-server and on ours. Messages are published while `driver` copies them to files and to another
stream. It is killed (JVM and Python workers, by SIGKILL) after one to three batches, that is in the middle
of the next one, and started again from its checkpoints.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tests.jetstream.support import SECOND, JetStream
from tests.spark_source.support import fill, read
from tests.support.server import KINDS, Kind, Servers
from tests.support.spark import BUSY, ROOT


def driver(url: str, directory: Path, how: str) -> subprocess.Popen[str]:
    with (directory / "stderr.log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.spark_source.driver", url, str(directory), how],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )


def kill_in_a_batch(url: str, directory: Path, chance: random.Random) -> None:
    """A driver that the machine was too busy for is started again, as whoever runs one would do."""
    while not _killed(url, directory, chance.randint(1, 3)):
        pass


def _killed(url: str, directory: Path, batches: int) -> bool:
    process = driver(url, directory, "run")
    assert process.stdout
    try:
        for _ in range(batches):
            if process.stdout.readline() != "batch\n":
                text = (directory / "stderr.log").read_text()
                if BUSY in text:
                    return False
                raise AssertionError(f"the driver ended by itself:\n{text[-3000:]}")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return True


def finish(url: str, directory: Path) -> dict[str, int]:
    """What the files hold in the end."""
    while True:
        answer, _ = driver(url, directory, "finish").communicate(timeout=600)
        if answer:
            found: dict[str, int] = json.loads(answer.splitlines()[-1])
            return found
        text = (directory / "stderr.log").read_text()
        assert BUSY in text, text[-3000:]


def play(kind: Kind, servers: Servers, directory: Path, kills: int, messages: int) -> str:
    """What is wrong in the end; nothing, if all is well."""
    server = servers.start(kind, None, ["-js", "-sd", str(directory / "store")])
    js = JetStream(server, directory / "store")
    js.create("S", subjects=["s.>"], allow_direct=True)
    js.create("T", subjects=["t"], allow_direct=True, duplicate_window=3600 * SECOND)
    fill(js, messages // 2)

    def publish() -> None:
        for start in range(messages // 2, messages, 100):
            fill(js, min(100, messages - start), start)

    publishing = threading.Thread(target=publish)
    publishing.start()
    chance = random.Random(1)
    for _ in range(kills):
        kill_in_a_batch(server.url, directory, chance)
    publishing.join()
    found = finish(server.url, directory)
    copied = [int(data) for _, _, data in read(js, stream="T")]
    js.close()
    print(f"{kind}: {kills} kills, files {found}, sink {len(copied)} of {messages}", flush=True)
    if found != {"rows": messages, "distinct": messages}:
        return f"{kind}: the files are wrong"
    return "" if sorted(copied) == list(range(messages)) else f"{kind}: the sink is wrong"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.spark_source")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--server", choices=KINDS, action="append")
    arguments = parser.parse_args()
    wrong = []
    for kind in arguments.server or KINDS:
        with tempfile.TemporaryDirectory() as place:
            directory = Path(place)
            (directory / "servers").mkdir()
            with Servers(directory / "servers") as servers:
                wrong.append(play(kind, servers, directory, arguments.kills, arguments.messages))
    sys.exit("\n".join(filter(None, wrong)) or 0)


if __name__ == "__main__":
    main()
