"""How long a server with a full store needs to be back after a SIGKILL.

The store is filled through the API and the server killed right after the last ack. Every measured
start then works on a fresh copy of the files as they were left, because a server may tidy up when it
starts and would find less to do the second time. The copies lie in the page cache, so it is the
server's work that is measured and not the disk's.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks import disk, procfs, wire
from benchmarks.compare import Contender
from benchmarks.conn import ConnectionLost
from benchmarks.crew import WorkerFailed, crew, perform
from benchmarks.roles.streams import StreamPublisher
from benchmarks.servers import JETSTREAM, NATS, NATS_ALWAYS, OURS, Server, ServerFailed, running
from benchmarks.streams import FILE, Api, ApiError, create, message_count, with_jetstream

LOAD: Final = wire.Load(128, 200)
_WINDOW: Final = 5_000
_BATCH: Final = 500_000  # messages whose frames a publisher holds at once
_FILL_LIMIT: Final = 100.0
_READY_LIMIT: Final = 600.0
_POLL: Final = 0.002
# Both write the same files, and filling the slow one would take minutes.
_FILLED_BY: Final = {NATS_ALWAYS: NATS}


@dataclass
class Restart:
    """Of one contender: seconds from spawn to INFO and to the first answer of STREAM.INFO."""

    label: str
    stored: int = 0
    kept: int = 0
    info_seconds: list[float] = field(default_factory=list)
    answer_seconds: list[float] = field(default_factory=list)
    rss: int = 0
    disk_bytes: int = 0
    error: str = ""


def measure_restarts(who: Sequence[Contender], messages: int, rounds: int) -> list[Restart]:
    """Fills and kills every contender once, then starts all in turns."""
    found = {one.label: Restart(one.label) for one in who}
    with tempfile.TemporaryDirectory(prefix="bench-restart-") as folder:
        stores = {kind: Path(folder, kind) for kind in {_filler(one) for one in who}}
        stored: dict[str, int | str] = {k: _fill(k, path, messages) for k, path in stores.items()}
        for number in range(rounds):
            for one in who if number % 2 == 0 else reversed(who):
                count = stored[_filler(one)]
                if isinstance(count, str):
                    found[one.label].error = count
                else:
                    found[one.label].stored = count
                    _start_once(one, stores[_filler(one)], Path(folder, "copy"), found[one.label])
    return list(found.values())


def _filler(one: Contender) -> str:
    return _FILLED_BY.get(one.kind, one.kind)


def _fill(kind: str, store: Path, messages: int) -> int | str:
    """How many messages were acknowledged before the SIGKILL, or what went wrong."""
    store.mkdir()
    try:
        with with_jetstream(kind, store) as server:
            with Api(server.port) as api:
                create(api, FILE)
            stored = 0
            while stored < messages:
                stored += _publish(server, min(_BATCH, messages - stored))
            os.kill(server.pid, signal.SIGKILL)
    except (ServerFailed, WorkerFailed, ApiError, ConnectionLost) as error:
        return f"while filling {kind}: {error}"
    return stored


def _publish(server: Server, count: int) -> int:
    args: dict[str, object] = {
        "port": server.port,
        "load": LOAD,
        "count": max(1, count - 1),  # A publisher sends one more to learn what an ack looks like.
        "window": _WINDOW,
        "timeout": _FILL_LIMIT,
    }
    with crew([(StreamPublisher, args)], _FILL_LIMIT) as workers:
        (done,) = perform(workers, _FILL_LIMIT)
    return int(done.facts["stored"])


def _start_once(one: Contender, store: Path, copy: Path, restart: Restart) -> None:
    shutil.copytree(store, copy)
    extra = ["-js", "-sd", str(copy)]
    try:
        restart.disk_bytes = disk.used_bytes(store)
        with running(one.kind, JETSTREAM[one.kind], extra, _READY_LIMIT) as server:
            restart.kept = _first_answer(server)
            restart.answer_seconds.append(time.monotonic() - server.spawned)
            restart.info_seconds.append(server.start_seconds)
            restart.rss = restart.rss or procfs.settled_rss_bytes(server.pid)
            os.kill(server.pid, signal.SIGKILL)  # The copy is of no use any more.
        if restart.kept != restart.stored and one.kind == OURS:
            restart.error = f"{restart.kept} messages kept of {restart.stored} acknowledged"
    except (ServerFailed, ConnectionLost) as error:
        restart.error = str(error)
    finally:
        shutil.rmtree(copy)


def _first_answer(server: Server) -> int:
    """The message count of the stream, as soon as the server says it."""
    last: ApiError | None = None
    with Api(server.port) as api:
        while time.monotonic() < server.spawned + _READY_LIMIT:
            try:
                return message_count(api)
            except ApiError as error:
                last = error
                time.sleep(_POLL)
    raise ServerFailed(f"{server.name}: no STREAM.INFO in {_READY_LIMIT} s: {last}")
