"""`python -m benchmarks.export`: how fast streams become Parquet files, and go back.

A store is filled without a server, then exported straight from its file and through a server; that export is
imported into both servers, and nats-server's stream is exported, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.servers import NATS, OURS, Server, running
from jetstream_py.export.from_store import StoreFile, StoreSource
from jetstream_py.export.link import Link, open_link
from jetstream_py.export.restore import ImportOptions, import_stream
from jetstream_py.export.run import Options, export
from jetstream_py.export.server import ServerSource
from jetstream_py.migrate.options import Endpoint
from jetstream_py.store import Store

STREAM = "BENCH"
CONFIG = {"name": STREAM, "subjects": ["bench.>"], "retention": "limits", "num_replicas": 1}
RUN = 5_000  # messages of a commit
SUBJECTS = [b"bench.%d" % i for i in range(200)]


def fill(path: Path, messages: int, size: int) -> None:
    """A store with so many messages of a kind that compresses like JSON."""
    path.mkdir(parents=True)
    store = Store(str(path), lambda action: action())
    record = {"created": time.time_ns(), "config": CONFIG, "account": "$G"}
    stream = store.create(json.dumps(record).encode(), False)
    chance = random.Random(1)
    for first in range(0, messages, RUN):
        numbers = range(first, min(first + RUN, messages))
        datas = [
            b'{"id":%d,"value":%d,"text":"%b"}'
            % (i, chance.randrange(1000), chance.randbytes(size // 2).hex().encode())
            for i in numbers
        ]
        subjects = [SUBJECTS[i % len(SUBJECTS)] for i in numbers]
        stream.append_run(subjects, [data[:size] for data in datas], time.time_ns())
        store.commit(lambda error: None)
        while store.busy:
            time.sleep(0.001)
    store.close()


async def measure(what: str, messages: int, work: Awaitable[int]) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    done = await work
    seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    assert done == messages, f"{what}: {done} of {messages} messages"
    print(
        f"{what:<28} {done / seconds:>10,.0f} msgs/s {spent / done * 1e6:>6.2f} µs of CPU each",
        flush=True,
    )


async def from_store(store: Path, out: Path) -> int:
    file = StoreFile(str(store))
    try:
        return (await export(StoreSource(file, "$G", STREAM), Options(str(out)))).messages
    finally:
        file.close()


async def linked(server: Server, work: Callable[[Link], Awaitable[int]]) -> int:
    link = await open_link(Endpoint(f"nats://127.0.0.1:{server.port}"))
    try:
        return await work(link)
    finally:
        await link.close()


async def from_server(server: Server, out: Path) -> int:
    async def work(link: Link) -> int:
        return (await export(ServerSource(link, STREAM), Options(str(out)))).messages

    return await linked(server, work)


async def into_server(server: Server, out: Path, stream: str) -> int:
    async def work(link: Link) -> int:
        return (await import_stream(link, ImportOptions(str(out), stream, create=True))).messages

    return await linked(server, work)


async def run(root: Path, messages: int, size: int) -> None:
    store = root / "ours"
    fill(store / "jetstream", messages, size)
    await measure("export from the store", messages, from_store(store, root / "a"))
    with running(OURS, extra=["-js", "-sd", str(store)]) as ours:
        await measure("export from our server", messages, from_server(ours, root / "b"))
    for name in (OURS, NATS):
        with running(name, extra=["-js", "-sd", str(root / f"new-{name}")]) as server:
            await measure(f"import into {name}", messages, into_server(server, root / "a", STREAM))
            await measure(
                f"export from {name} again", messages, from_server(server, root / f"c-{name}")
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.export")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=128, help="bytes of a payload")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-export-") as root:
        asyncio.run(run(Path(root), given.messages, given.size))


if __name__ == "__main__":
    main()
