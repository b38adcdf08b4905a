"""How messages of an origin come into a stream: what mirrors and sources have in common.

Messages come as runs, in order of the origin's sequences, maybe some of them for the second time: after a
crash, or when an origin delivers again. `position` is the last one that was taken, and it becomes durable
with the same commit as the messages; so what lies before it is passed over, and nothing is missing or
doubled.

A message that is refused (there is no room, it is too large) stops the intake: it is tried again until it
fits.

Most runs ask for nothing: no header of theirs means anything to NATS, and there is room for all. Those are
stored as one step (`Stream.take_copies`), whatever is special goes message by message.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from jetstream_py import headers as hdr
from jetstream_py.api.errors import ApiError
from jetstream_py.engine.origin import without_demands
from jetstream_py.engine.ttl import parse_ttl

if TYPE_CHECKING:
    from jetstream_py.engine.origin import Origin
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Columns

_ROLLUPS = (b"sub", b"all")
_START = b"NATS/1.0\r\n"  # of headers without a status
_LARGE = 60_000  # headers that may be too large with what is added to them


class Intake(ABC):
    """One origin's way into one stream."""

    def __init__(self, stream: Stream, origin: Origin) -> None:
        self._stream = stream
        self._origin = origin

    @property
    @abstractmethod
    def position(self) -> int:
        """The last sequence of the origin that was taken."""

    @property
    def shown(self) -> int:
        """The last sequence that people are told of; 0 for none."""
        return 0

    @property
    def identity(self) -> str:
        """Of the origin that the position is about; mirrors do not ask."""
        return ""

    @abstractmethod
    def meet(self, identity: str) -> None:
        """This is the origin: it may not be the one that was known by the name."""

    @abstractmethod
    def begin_after(self, seq: int) -> None:
        """The origin has nothing up to here that is wanted."""

    def take(self, run: Columns) -> int:
        """Store messages in order. Returns how many are done with; the next one was refused."""
        fresh = run.part(run.position(self.position + 1), len(run))
        taken = len(run) if fresh and self._take_all(fresh) else self._take_each(run)
        self._settle()
        self._stream.consumers.announce()
        self._stream.shared.outbox.commit_soon()
        return taken

    def _take_all(self, run: Columns) -> bool:
        """As one step, if none of them asks for anything."""
        if any(run.headers) and not all(map(_plain, run.headers)):
            return False
        copies = self._copies(run)
        if not self._stream.take_copies(copies):
            return False
        self._took(run.seqs[-1])
        return True

    def _take_each(self, run: Columns) -> int:
        taken = 0
        rows = zip(run.seqs, run.times, run.subjects, run.headers, run.datas, strict=True)
        try:
            for seq, ts, subject, headers, data in rows:
                if seq > self.position:
                    headers = self._stream.admit(without_demands(headers), data)
                    self._store(seq, ts, subject, headers, data)
                taken += 1
        except ApiError:
            pass  # it is tried again
        return taken

    @abstractmethod
    def _copies(self, run: Columns) -> Columns:
        """What is to be stored of messages that ask for nothing."""

    @abstractmethod
    def _took(self, seq: int) -> None:
        """All up to this sequence of the origin is stored."""

    @abstractmethod
    def _store(self, seq: int, ts: int, subject: bytes, headers: bytes, data: bytes) -> None: ...

    @abstractmethod
    def _settle(self) -> None:
        """Have the position written with the messages."""

    def _renamed(self, run: Columns) -> list[bytes]:
        """The subjects of the copies."""
        rename = self._origin.renamed
        return (
            [rename(subject) for subject in run.subjects] if self._origin.renames else run.subjects
        )

    def _wishes(self, headers: bytes) -> tuple[bytes, int]:
        """Rollup and TTL, as far as the stream knows them: to others they are headers like any."""
        if not headers or hdr.PREFIX not in headers:
            return b"", 0
        config = self._stream.config
        rollup, ttl = b"", 0
        if config.allow_rollup_hdrs and not config.deny_purge:
            rollup = (hdr.get(headers, hdr.ROLLUP) or b"").lower()
        if config.allow_msg_ttl and (value := hdr.get(headers, hdr.TTL)):
            ttl = parse_ttl(value) or 0
        return rollup if rollup in _ROLLUPS else b"", ttl


def _plain(headers: bytes) -> bool:
    """Do headers mean nothing to NATS?"""
    return not headers or (
        hdr.PREFIX not in headers and headers.startswith(_START) and len(headers) < _LARGE
    )
