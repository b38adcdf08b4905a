"""What a role is: something that prepares before the clock starts, runs once, and reports facts."""

from __future__ import annotations

import select
from typing import Protocol, TypeAlias

Fact: TypeAlias = int | float | str | bool | list[float]
Facts: TypeAlias = dict[str, Fact]


class Role(Protocol):
    """One process of a load. `prepare` connects, subscribes and encodes; only `run` is timed."""

    def prepare(self) -> None: ...

    def run(self) -> Facts: ...

    def close(self) -> None: ...


def told_to_stop() -> bool:
    """Whether the parent has said so, or is gone. Only for roles that run until told."""
    return bool(select.select([0], [], [], 0)[0])
