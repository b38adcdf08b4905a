"""A store in a test: a loop that is a queue, and a crash that is letting go of the files."""

from __future__ import annotations

import queue
from collections.abc import Callable
from pathlib import Path

import pytest

from jetstream_py import limits
from jetstream_py.store import Store, StreamStore

NOW = 1_700_000_000_000_000_000


class Desk:
    """A store and the loop it belongs to. `deep`: every group is an LMDB commit, however small."""

    def __init__(self, path: Path | None, deep: bool = False, **options: int) -> None:
        self._path = None if path is None else str(path)
        self._deep = deep
        self._options = options
        self._wakes: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.answers: list[str] = []
        self.open()

    def open(self) -> None:
        self.store = Store(self._path, self._wakes.put, **self._options)  # type: ignore[arg-type]

    def start(self) -> None:
        """Begin a commit; large groups are on their way when this returns."""
        if self._deep:
            self.deepen()
        self.store.commit(self.answers.append)

    def deepen(self) -> None:
        """Have the next commit go to LMDB, whatever it is about."""
        assert self.store._home is not None
        self.store._home.deep = True

    def finish(self) -> None:
        """Wait for the commit that runs."""
        while self.store.busy:
            self._wakes.get(timeout=30)()

    def commit(self) -> str:
        self.start()
        self.finish()
        return self.answers[-1]

    def settle(self) -> None:
        while self.store.dirty:
            assert self.commit() == ""

    def stop(self) -> None:
        self.store.close()

    def reopen(self) -> None:
        self.stop()
        self.open()

    def crash(self) -> None:
        """As after a SIGKILL: nothing is finished, then the store is opened again."""
        self.store._abandon()
        self.open()

    def stream(self, sid: int) -> StreamStore:
        return self.store.streams()[sid][1]


def shrink(monkeypatch: pytest.MonkeyPatch, **values: int) -> None:
    """Small limits, so that a few messages reach what otherwise takes millions."""
    for name, value in values.items():
        assert hasattr(limits, name)
        monkeypatch.setattr(limits, name, value)


TINY = {
    "BLOCK_BYTES": 2_000,
    "BLOCK_RECORDS": 24,
    "SMALL_BLOCK": 600,
    "SMALL_RUN": 5,
    "GARBAGE_FLOOR": 300,
    "COMPACT_STEP": 1_000,
    "CHECKPOINT_CHANGES": 40,
    "CHECKPOINT_SLICE": 3,
    "CHECKPOINT_DIRS": 2,
    "FAT_PAYLOAD": 2_100,
    "FAT_PART": 400,
    "RANGE_DELETE": 7,
    "PURGE_RECORDS": 5,
    "PURGE_BLOCKS": 2,
    "OLDEST_BATCH": 3,
    "BLOOM_PROBES": 2,
    "VIEW_CACHE": 3_000,
    "PAGE_CACHE": 6_000,
    "STORE_AHEAD": 1 << 20,
}
