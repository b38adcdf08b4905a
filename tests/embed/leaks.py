"""Servers started and ended again and again: what stays behind, counted.

python -m tests.embed.leaks [cycles]
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
from collections import Counter
from typing import NamedTuple

import nats

from jetstream_py import Server

KINDS = ("memory", "tmp", "killed", "thread")


class Count(NamedTuple):
    """What a process has."""

    threads: int
    tasks: int
    files: int
    objects: int  # of ours


def count() -> Count:
    gc.collect()
    kinds = Counter(str(type(each).__module__) for each in gc.get_objects())
    return Count(
        threading.active_count(),
        len(asyncio.all_tasks()),
        len(os.listdir("/proc/self/fd" if os.path.exists("/proc/self/fd") else "/dev/fd")),
        sum(number for name, number in kinds.items() if name.startswith("jetstream_py")),
    )


async def _silent(error: Exception) -> None:
    """The client of a server that is killed has something to say."""


async def cycle(kind: str) -> None:
    """One server with a client, a stream and a bucket."""
    server = Server(store="tmp" if kind in ("tmp", "killed") else "memory", record=kind == "thread")
    if kind == "thread":
        server.start_in_thread()
    else:
        await server.start()
    nc = await nats.connect(server.url, allow_reconnect=False, error_cb=_silent)
    js = nc.jetstream()
    await js.add_stream(name="S", subjects=["s"])
    await js.publish("s", b"x")
    await (await server.kv("b")).put("k", b"v")
    if kind == "killed":
        await server.kill()
    await nc.close()
    await server.stop()


def resident() -> int:
    """KiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


async def main(cycles: int) -> int:
    failed = 0
    for kind in KINDS:
        for _ in range(20):  # imports, caches
            await cycle(kind)
        before, memory, began = count(), resident(), time.perf_counter()
        for _ in range(cycles):
            await cycle(kind)
        took, after = time.perf_counter() - began, count()
        grown = resident() - memory
        good = after == before
        failed += not good
        print(
            f"{kind:8} {cycles} cycles, {took / cycles * 1000:.1f} ms each; "
            f"threads {after.threads - before.threads:+d}, tasks {after.tasks - before.tasks:+d}, "
            f"files {after.files - before.files:+d}, objects {after.objects - before.objects:+d}, "
            f"memory {grown / cycles:+.2f} KiB a cycle" + ("" if good else "   LEAK"),
            flush=True,
        )
    return failed


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)))
