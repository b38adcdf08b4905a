"""Snapshots and restores of an account that are under way, and how many there may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from jetstream_py import limits
from jetstream_py.api.errors import E, error

if TYPE_CHECKING:
    from jetstream_py.engine.jetstream import JetStream


class Backup(Protocol):
    def staged(self, storage: str) -> int:
        """Bytes that it has put into the store so far."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class Backups:
    """All of one account."""

    def __init__(self, js: JetStream) -> None:
        self.js = js
        self.running: set[Backup] = set()

    def check_room(self) -> None:
        if len(self.running) >= limits.SNAPSHOTS:
            raise error(E.INSUFFICIENT_RESOURCES)

    def staged(self, storage: str) -> int:
        """Bytes of streams that are being restored."""
        return sum(each.staged(storage) for each in self.running)

    def close(self) -> None:
        for each in list(self.running):
            each.close()
