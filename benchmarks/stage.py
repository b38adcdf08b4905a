"""Where a run of reading is set: its stream, its consumers, and what to look at afterwards.

A stream that is only read from is filled once and stays as long as its server, which is fresh for
every case; every run has consumers of its own, made through the API before the clock starts. Cases
that write or remove get a fresh stream for every run. When the clock has stopped, the roles prove
that every message came once and in order, and the server has to say the same of its consumers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks import wire
from benchmarks.cases import Case, Cast
from benchmarks.crew import crew, perform
from benchmarks.roles.streams import StreamPublisher
from benchmarks.servers import Server, ServerFailed
from benchmarks.streams import STREAM, Api, ApiError, Stream, create, delete, message_count, stream

_DELIVER: Final = "_INBOX.bench-push"
_FILL_WINDOW: Final = 5_000
_FILL_BATCH: Final = 250_000  # messages whose frames a publisher holds at once
_SETTLE_LIMIT: Final = 10.0
_SETTLE_STEP: Final = 0.005


@dataclass
class Scene:
    """A run that is ready to be played, and what to look at when it is over."""

    cast: Cast
    checks: list[Callable[[], None]] = field(default_factory=list)

    def check(self) -> None:
        for check in self.checks:
            check()


@dataclass(frozen=True)
class Stage:
    """Where a scene is set: the server, its API unless it is the null server, and the run's size."""

    server: Server
    api: Api | None
    case: Case
    messages: int
    timeout: float
    stack: ExitStack

    @property
    def common(self) -> dict[str, object]:
        case = self.case
        return {"port": self.server.port, "load": case.load, "timeout": self.timeout}

    @property
    def reader(self) -> dict[str, object]:
        return self.common | {"keep": self.case.verify}

    def fill(self, messages: int) -> int:
        """The stream with at least so many messages in it; returns how many it has."""
        if self.api is None:
            return messages
        try:
            stored = message_count(self.api)
        except ApiError:
            create(self.api, self.case.storage)
            stored = 0
        if stored < messages:
            fill(self.server, self.case.load, stored, messages - stored, self.timeout)
        return max(stored, messages)

    def fresh(self, **config: object) -> Stream | None:
        """A stream for this run only."""
        if self.api is None:
            return None
        return self.stack.enter_context(stream(self.server, self.case.storage, **config))

    def deliver(self, due: int) -> str:
        """A subject to deliver to. It tells the null server how many messages are wanted."""
        return f"{_DELIVER}.{self.server.port}.{due}"

    def consumer(self, name: str, config: dict[str, Any], home: str = STREAM) -> None:
        """A consumer for this run only."""
        if self.api is None:
            return
        wanted = {"name": name, "ack_policy": "explicit"} | config
        if "inactive_threshold" not in config:
            wanted["durable_name"] = name
        ask = self.api.ask
        ask(f"CONSUMER.CREATE.{home}.{name}", {"stream_name": home, "config": wanted})
        self.stack.callback(_removed, self.api, home, name)

    def forget(self, name: str) -> None:
        """Delete a stream of this run."""
        if self.api:
            delete(self.api, name)

    def settled(self, name: str, due: int, home: str = STREAM) -> Callable[[], None]:
        """A check that the server has delivered so many messages and waits for no ack."""

        def check() -> None:
            if self.api:
                _await_settled(self.server, self.api, f"{home}.{name}", due)

        return check


def fill(server: Server, load: wire.Load, first: int, count: int, timeout: float) -> None:
    """Publishes `count` messages of the load from number `first` on, each acknowledged."""
    for start in range(first, first + count, _FILL_BATCH):
        args: dict[str, object] = {
            "port": server.port,
            "load": load,
            # A publisher sends one more to learn what an ack looks like.
            "count": min(_FILL_BATCH, first + count - start) - 1,
            "window": _FILL_WINDOW,
            "timeout": timeout,
            "first": start,
        }
        with crew([(StreamPublisher, args)], timeout) as workers:
            perform(workers, timeout)


def _removed(api: Api, home: str, name: str) -> None:
    # The stream may be gone already and its consumers with it.
    try:
        api.ask(f"CONSUMER.DELETE.{home}.{name}")
    except ApiError as error:
        if "not found" not in str(error):
            raise


def _await_settled(server: Server, api: Api, name: str, due: int) -> None:
    """Acks have no answer: a server may still be at work on the last ones."""
    deadline = time.monotonic() + _SETTLE_LIMIT
    while True:
        info = api.ask(f"CONSUMER.INFO.{name}")
        delivered, waiting = info["delivered"]["consumer_seq"], info["num_ack_pending"]
        if (delivered, waiting) == (due, 0):
            return
        if time.monotonic() > deadline:
            said = f"{name} delivered {delivered} of {due}, {waiting} not acknowledged"
            raise ServerFailed(f"{server.name}: {said}")
        time.sleep(_SETTLE_STEP)
