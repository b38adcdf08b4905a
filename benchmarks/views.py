"""Key-value and object views: in the server's own process, over a connection, and as nats.py does it.

One asyncio program is the client and, in the first column, the server as well. So these are figures of a
Python application, with all that its client library costs; what servers can take is measured by the other
modes.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from benchmarks import report
from benchmarks.servers import NATS, OURS, Server
from benchmarks.streams import with_jetstream

KEYS: Final = 1_000
FLYING: Final = 100
VALUE: Final = 128
OBJECT: Final = 32 << 20


@dataclass(frozen=True)
class Amount:
    """How much one round does."""

    calls: int = 2_000
    object_bytes: int = OBJECT
    rounds: int = 3


@dataclass
class Column:
    """One way to use a bucket: figures by row, one for each round."""

    label: str
    figures: dict[str, list[float]] = field(default_factory=dict)

    def median(self, row: str) -> float:
        return statistics.median(self.figures[row])


class Way(Protocol):
    """A client's bucket and store."""

    async def open(self) -> None: ...

    async def put(self, key: str, value: bytes) -> object: ...

    async def get(self, key: str) -> object: ...

    async def put_object(self, data: bytes) -> object: ...

    async def get_object(self) -> int:
        """Returns its size."""


class Ours:
    """The views of this package, over any bus."""

    def __init__(self, js: Any) -> None:
        self._js = js

    async def open(self) -> None:
        from jetstream_py import kv, objstore

        bucket = await kv.create_bucket(self._js, "VIEW")
        self._store = await objstore.create_store(self._js, "VIEW")
        self.put, self.get = bucket.put, bucket.get

    async def put_object(self, data: bytes) -> object:
        return await self._store.put("object", data)

    async def get_object(self) -> int:
        return sum([len(chunk) async for chunk in await self._store.get("object")])


class NatsPy:
    """The stock client."""

    def __init__(self, connection: Any) -> None:
        self._js = connection.jetstream()

    async def open(self) -> None:
        bucket = await self._js.create_key_value(bucket="STOCK", direct=True)
        self._store = await self._js.create_object_store("STOCK")
        self.put, self.get = bucket.put, bucket.get

    async def put_object(self, data: bytes) -> object:
        return await self._store.put("object", data)

    async def get_object(self) -> int:
        return len((await self._store.get("object")).data)


async def _timed(work: Awaitable[object]) -> float:
    begin = time.perf_counter()
    await work
    return time.perf_counter() - begin


async def _each(call: Callable[[int], Awaitable[object]], calls: int) -> None:
    for number in range(calls):
        await call(number)


async def _many(call: Callable[[int], Awaitable[object]], calls: int) -> None:
    """Up to `FLYING` at a time."""
    numbers = iter(range(calls))

    async def one() -> None:
        for number in numbers:
            await call(number)

    await asyncio.gather(*(one() for _ in range(FLYING)))


async def _round(way: Way, column: Column, amount: Amount) -> None:
    value, data = os.urandom(VALUE), os.urandom(amount.object_bytes)
    few = max(1, amount.calls // 10)

    def put(number: int) -> Awaitable[object]:
        return way.put(f"key.{number % KEYS}", value)

    def get(number: int) -> Awaitable[object]:
        return way.get(f"key.{number % min(few, KEYS)}")

    async def read() -> None:
        size = await way.get_object()
        if size != len(data):
            raise RuntimeError(f"{column.label}: {size} of {len(data)} bytes")

    megabytes = amount.object_bytes / 1e6
    figures = {
        "kv put, one at a time, /s": few / await _timed(_each(put, few)),
        f"kv put, {FLYING} in flight, /s": amount.calls / await _timed(_many(put, amount.calls)),
        "kv get, one at a time, /s": amount.calls / await _timed(_each(get, amount.calls)),
        f"kv get, {FLYING} in flight, /s": amount.calls / await _timed(_many(get, amount.calls)),
        "object put, MB/s": megabytes / await _timed(way.put_object(data)),
        "object get, MB/s": megabytes / await _timed(read()),
    }
    for row, figure in figures.items():
        column.figures.setdefault(row, []).append(figure)


@asynccontextmanager
async def _inside(path: Path) -> AsyncIterator[Any]:
    """A server in this loop, without a connection to it."""
    from jetstream_py.app import App, inprocess
    from jetstream_py.clock import SystemClock
    from jetstream_py.config import parse_args
    from jetstream_py.log import Log, LogSettings
    from jetstream_py.timers import drive

    loop = asyncio.get_running_loop()
    log = Log(LogSettings(file=os.devnull))
    flags = ["-a", "127.0.0.1", "-p", "-1", "-js", "-sd", str(path)]
    app = App(parse_args(flags, {}), {}, log, SystemClock(), loop)
    stop_timers = drive(app.broker.timers, loop)
    await app.start()
    try:
        yield inprocess.jetstream(app.broker, "$G")
    finally:
        await app.stop()
        stop_timers()
        log.close()


@asynccontextmanager
async def _connected(server: Server, nats_py: bool) -> AsyncIterator[Way]:
    import nats

    from jetstream_py.js import remote

    connection = await nats.connect(f"nats://127.0.0.1:{server.port}")
    try:
        yield NatsPy(connection) if nats_py else Ours(remote.jetstream(connection))
    finally:
        await connection.close()


async def _measure(way: Way, column: Column, amount: Amount) -> None:
    await way.open()
    for _ in range(amount.rounds):
        await _round(way, column, amount)


def measure(amount: Amount, servers: Sequence[str] = (OURS, NATS)) -> list[Column]:
    """In-process first, then each server with our view and with nats.py."""
    from jetstream_py.app import new_loop

    columns = [Column("in-process")]

    async def inside() -> None:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            async with _inside(Path(folder)) as js:
                await _measure(Ours(js), columns[0], amount)

    async def outside(server: Server) -> None:
        for nats_py in (False, True):
            column = Column(f"{server.name}, {'nats.py' if nats_py else 'view'}")
            columns.append(column)
            async with _connected(server, nats_py) as way:
                await _measure(way, column, amount)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(inside())
    for name in servers:
        with with_jetstream(name) as server, asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(outside(server))
    return columns


def table(columns: Sequence[Column]) -> str:
    """Medians."""
    head = ["", *(column.label for column in columns)]
    return report.table(
        [head]
        + [
            [row, *(f"{column.median(row):,.0f}" for column in columns)]
            for row in columns[0].figures
        ]
    )


def as_json(columns: Sequence[Column]) -> dict[str, dict[str, list[float]]]:
    return {column.label: column.figures for column in columns}
