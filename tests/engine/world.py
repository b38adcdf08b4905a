"""JetStream in the test's own process: real LMDB, a clock moved by hand, a disk that fails on demand."""

from __future__ import annotations

import json
import time
from itertools import count
from pathlib import Path
from typing import Any

from jetstream_py.api.service import ApiService
from jetstream_py.engine.engine import Engine
from jetstream_py.engine.jetstream import JetStream
from jetstream_py.engine.quota import Allowance
from jetstream_py.engine.settings import Settings
from jetstream_py.server.internal import Internal
from jetstream_py.store import Message, Store
from tests.server.harness import Bench

SECOND = 1_000_000_000
TIMEOUT = 30.0
QUIET_TURNS = 3


class Ticking:
    """What has a loop and a store."""

    bench: Bench
    store: Store
    engine: Engine

    def settle(self) -> None:
        """Let the loop run until every commit is done, and nothing that takes turns begins another."""
        deadline = time.monotonic() + TIMEOUT
        quiet = 0
        while quiet < QUIET_TURNS:
            assert time.monotonic() < deadline, "a commit never ends"
            self.turn(0.0005 if self.store.busy else 0.0)  # a thread works: let it
            waits = not self.store.failed and (self.store.busy or self.store.dirty)
            quiet = 0 if waits else quiet + 1

    def put_away(self) -> None:
        """Have everything in blocks, as after a pause."""
        if self.store.tidy():
            self.engine.outbox.commit_soon()
        self.settle()

    def turn(self, seconds: float = 0.0) -> None:
        """One tick of the loop, or a few."""
        loop = self.bench.loop
        loop.call_later(seconds, loop.stop) if seconds else loop.call_soon(loop.stop)
        loop.run_forever()
        assert not self.bench.faults, self.bench.faults


class World(Ticking):
    """A broker with JetStream on a directory; `client` speaks the wire protocol to it."""

    ids = count(1)  # they differ after a restart, as they do in life

    def __init__(
        self, path: Path, sync_interval: float = 0.0, age: float = 0.0, **settings: Any
    ) -> None:
        """`age` is what the clock has run before: time goes on while a server is away. The rest is what a
        configuration may say."""
        self.bench = Bench()
        self.bench.clock.advance(age)
        broker = self.bench.broker
        self.failure = ""
        wake = self.bench.loop.call_soon_threadsafe
        self.store = Store(str(path), wake, lazy=sync_interval > 0)
        bus = Internal(broker, broker.default_account)
        soon = self.bench.loop.call_soon
        self.engine = Engine(
            self.store,
            broker.clock,
            broker.timers,
            soon,
            self._failed,
            new_id=lambda: f"ID{next(self.ids)}",
            settings=Settings(sync_interval=sync_interval, **settings),
        )
        self.js = JetStream(self.engine, bus)
        self.js.enable(Allowance())
        self.engine.begin()
        self.api = ApiService(self.js, 1 << 20)
        self.client = self.bench.client()
        self.client.send(b"SUB _INBOX.* 1\r\n")

    def _failed(self, error: str) -> None:
        self.failure = error

    def send(self, subject: str, data: bytes = b"", headers: str = "") -> None:
        """A request, answered when `settle` has run."""
        if headers:
            block = f"NATS/1.0\r\n{headers}\r\n\r\n".encode()
            sizes = f"{len(block)} {len(block) + len(data)}"
            frame = f"HPUB {subject} _INBOX.a {sizes}\r\n".encode() + block + data
        else:
            frame = f"PUB {subject} _INBOX.a {len(data)}\r\n".encode() + data
        self.client.send(frame + b"\r\n")

    def answers(self) -> list[Any]:
        frames = self.client.read().split(b"\r\n")
        return [json.loads(line) for line in frames if line.startswith(b"{")]

    def ask(self, subject: str, data: bytes = b"", headers: str = "") -> Any:
        self.send(subject, data, headers)
        self.settle()
        [answer] = self.answers()
        return answer

    def create(self, **config: object) -> Any:
        body = json.dumps({"name": "S", "subjects": ["s.>"], **config}).encode()
        return self.ask("$JS.API.STREAM.CREATE.S", body)

    def state(self) -> Any:
        return self.ask("$JS.API.STREAM.INFO.S")["state"]

    def make(self, name: str, **config: object) -> Any:
        """A stream of any name."""
        body = json.dumps({"name": name, **config}).encode()
        return self.ask(f"$JS.API.STREAM.CREATE.{name}", body)

    def info(self, name: str) -> Any:
        return self.ask(f"$JS.API.STREAM.INFO.{name}")

    def rows(self, name: str) -> list[Message]:
        """All messages of a stream."""
        store = self.js.streams[name].store
        return store.run(0, store.messages, b"", store.last_seq).messages()

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds * 4)):
            self.bench.clock.advance(0.25)
            self.bench.broker.timers.run_due()
        self.settle()

    def crash(self) -> None:
        """The process is gone. LMDB allows one open store per process, so let go of it only."""
        self.store._abandon()
        self.bench.close()

    def close(self) -> None:
        self.settle()
        self.api.close()
        self.js.close()
        self.engine.close()
        self.store.close()
        self.bench.close()
