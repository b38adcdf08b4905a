"""Whoever waits for a mirror or a source to be complete, and makes it first if it is to catch up."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks import wire
from benchmarks.conn import ConnectionLost
from benchmarks.roles.base import Facts
from benchmarks.streams import Api, message_count

_STEP: Final = 0.02  # seconds between two looks, which are work for the server


@dataclass
class Copier:
    """Ends when the stream `name` has `due` messages. With a `config` it is made when the clock starts."""

    port: int
    load: wire.Load
    timeout: float
    name: str
    due: int
    config: dict[str, Any] = field(default_factory=dict)

    def prepare(self) -> None:
        self.api = Api(self.port, self.timeout)

    def run(self) -> Facts:
        if self.config:
            self.api.ask(f"STREAM.CREATE.{self.name}", self.config)
        deadline = time.monotonic() + self.timeout
        while (found := message_count(self.api, self.name)) < self.due:
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{found} of {self.due} messages were copied")
            time.sleep(_STEP)
        return {"messages": self.due}

    def close(self) -> None:
        self.api.close()
