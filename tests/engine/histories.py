"""What machines of histories have in common: a world on a directory, restarts, crashes, disks that fail.

Blocks and checkpoints are tiny, so that short histories have many. A machine has a model and says how it
begins (`begin`) and what a restart leaves of it (`recovered`).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, rule

from jetstream_py import limits
from jetstream_py.clock import ManualClock
from jetstream_py.store import failpoints, verify
from tests.engine.world import World
from tests.store.support import TINY

# Where a commit may fail, and whether what it wrote is there afterwards.
FAILURES: Final = {
    "commit.begin": False,
    "commit.blocks": False,
    "commit.checkpoint": False,
    "commit.before": False,
    "commit.after": True,
}
WINDOW: Final = 3_600_000_000_000


def quick(examples: int, steps: int) -> settings:
    """For the suite."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


class HistoryMachine(RuleBasedStateMachine):
    """A stream S of one kind of storage, and a server that may be restarted."""

    storage = ""
    tiny: ClassVar[dict[str, int]] = TINY

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="history-"))
        self.saved = {name: getattr(limits, name) for name in self.tiny}
        for name, value in self.tiny.items():
            setattr(limits, name, value)
        self.world = World(self.path)
        self.begin()

    def begin(self) -> None:
        """Make the model and the stream."""
        raise NotImplementedError

    def recovered(self) -> None:
        """The server is back, with all that was on disk."""

    @rule()
    def restart(self) -> None:
        self.world.close()
        self.start_again()

    def start_again(self, away: float = 0.0) -> None:
        """Time goes on while the server is away. A stream in memory is gone, and made anew."""
        passed = self.world.bench.clock.monotonic() - ManualClock().monotonic()
        assert verify(str(self.path)) == []
        self.world = World(self.path, age=passed + away)
        if self.storage == "memory":
            self.begin()
        else:
            self.recovered()

    def teardown(self) -> None:
        failpoints.disarm()
        self.world.close()
        complaints = verify(str(self.path))
        for name, value in self.saved.items():
            setattr(limits, name, value)
        shutil.rmtree(self.path)
        assert complaints == []


class CrashingMachine(HistoryMachine):
    """One on disk, whose server may die."""

    storage = "file"

    @rule()
    def crash(self) -> None:
        self.world.crash()
        self.start_again()

    @contextmanager
    def failing(self, point: str) -> Iterator[None]:
        """A disk that fails at a point of the next commit."""

        def die() -> None:
            raise OSError(5, "Input/output error")

        failpoints.arm(point, die)
        try:
            yield
            self.world.settle()
        finally:
            failpoints.disarm()
