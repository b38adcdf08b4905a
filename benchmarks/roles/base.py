"""What a role is: something that prepares before the clock starts, runs once, and reports facts."""

from __future__ import annotations

import select
from typing import Protocol, TypeAlias, runtime_checkable

Fact: TypeAlias = int | float | str | bool | list[float]
Facts: TypeAlias = dict[str, Fact]


class Role(Protocol):
    """One process of a load. `prepare` connects, subscribes and encodes; only `run` is timed."""

    def prepare(self) -> None: ...

    def run(self) -> Facts: ...

    def close(self) -> None: ...


@runtime_checkable
class Proves(Protocol):
    """A role that looks at what it has received once the clock has stopped, and raises if wrong."""

    def prove(self) -> Facts: ...


def told_to_stop() -> bool:
    """Whether the parent has said so, or is gone. Only for roles that run until told."""
    return bool(select.select([0], [], [], 0)[0])
