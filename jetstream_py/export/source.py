"""Where messages come from: a server or a store's directory, the same to everybody else."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, NamedTuple, Protocol

from jetstream_py.store.columns import Columns


class Facts(NamedTuple):
    """What a source says of a stream."""

    stream: str
    created_ns: int
    config: dict[str, Any]
    messages: int
    last_seq: int


class Source(Protocol):
    """One stream."""

    warnings: list[str]  # what could not be read

    async def facts(self) -> Facts: ...

    async def seq_at(self, time_ns: int) -> int:
        """The first sequence stored at or after a time; behind the last one if there is none."""
        ...

    def read(self, seq: int, last: int, subject: str) -> AsyncGenerator[Columns, None]:
        """Messages with sequences from `seq` to `last` that match, in order."""
        ...

    def follow(self, seq: int, subject: str) -> AsyncGenerator[Columns, None]:
        """The same without an end; now and then nothing, so that the caller can look at the time."""
        ...
