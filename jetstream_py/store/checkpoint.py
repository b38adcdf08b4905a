"""Checkpoints: what start-up loads instead of reading messages.

A checkpoint of a stream is the record `K` in `meta` with the counters, the dead bitmaps in `dir`, and the
subject table in `sub`: full runs of one generation, then runs of changes. `K` says how many runs count, so
runs may be written ahead of it, a slice per group: a name that changes after its slice is written again in
the run that closes the checkpoint. A bitmap may be newer than `K`, too: to mark a dead record twice is
harmless. `K` itself, the closing run, and the end of the log records it covers are one transaction.

Counts at start-up = checkpoint + records above `ck_seq` found in blocks + the log's deltas above `ck_lsn`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from jetstream_py import limits

from . import keys, summary
from .block import column, uncolumn
from .checksum import Extend, seal, unseal
from .group import Work

if TYPE_CHECKING:
    from .file_stream import FileStream

VERSION: Final = 1
CHANGES: Final = 1 << 31  # runs from here on hold changes


class Mark(NamedTuple):
    """The `K` record."""

    ck_seq: int
    ck_lsn: int
    floor: int
    first_seq: int
    last_seq: int
    messages: int
    bytes: int
    last_ts: int
    gen: int
    full_runs: int
    change_runs: int


_decode_mark = msgspec.msgpack.Decoder(tuple[int, ...]).decode
_decode_run = msgspec.msgpack.Decoder(tuple[int, bytes, bytes, bytes]).decode


def pack_mark(mark: Mark, extend: Extend) -> bytes:
    return seal(extend, msgspec.msgpack.encode((VERSION, *mark)))


def unpack_mark(data: bytes, extend: Extend) -> Mark | None:
    body = unseal(extend, data)
    if body is None:
        return None
    version, *fields = _decode_mark(body)
    return Mark(*fields) if version == VERSION and len(fields) == len(Mark._fields) else None


def pack_run(names: Sequence[bytes], stream: FileStream) -> bytes:
    table = stream.table
    last, extra = table.last, table.extra
    counts = [extra.get(name, 0) + 1 if name in last else 0 for name in names]
    body = msgspec.msgpack.encode(
        (
            VERSION,
            b"\n".join(names),
            column("Q", [last.get(name, 0) for name in names]),
            column("I", counts),
        )
    )
    return seal(stream.home.extend, body)


def unpack_run(
    data: bytes, extend: Extend
) -> tuple[list[bytes], Sequence[int], Sequence[int]] | None:
    """Names, their newest sequences and counts (0: gone); None when damaged."""
    body = unseal(extend, data)
    if body is None:
        return None
    version, names, last, counts = _decode_run(body)
    return (
        (names.split(b"\n"), uncolumn("Q", last), uncolumn("I", counts))
        if version == VERSION
        else None
    )


@dataclass(slots=True)
class _Pending:
    """A checkpoint that is being written."""

    gen: int
    full: bool
    names: list[bytes]
    full_runs: int
    change_runs: int
    at: int = 0


@dataclass(slots=True)
class Checkpointer:
    """Decides when, and writes it slice by slice."""

    ck_seq: int = 0
    gen: int = 0
    full_runs: int = 0
    change_runs: int = 0
    run_names: int = 0  # names in the runs of changes
    changes: int = 0  # records appended or removed since
    blocks: int = 0  # blocks written since
    changed: set[bytes] = field(default_factory=set)
    force: bool = False  # the next group must carry all of it
    wanted: bool = False  # begin though it is not due, and go on with groups of its own
    anew: bool = False  # what is on disk is worthless: a full table, all in the next group
    debt: bool = True  # something happened since the last one
    pending: _Pending | None = None

    def due(self) -> bool:
        return self.changes > limits.CHECKPOINT_CHANGES or self.blocks > limits.CHECKPOINT_BLOCKS

    def step(self, stream: FileStream, work: Work) -> None:
        """Add the next slice to the group's work, if there is one."""
        self.debt = True
        if self.pending is None:
            if not (self.force or self.anew or self.wanted or self.due()):
                return
            self._begin(stream)
        elif self.anew and not self.pending.full:
            self._begin(stream)
        pending = self.pending
        assert pending is not None
        hurry = self.force or self.anew
        slices = 1 << 60 if hurry else 1
        while slices and pending.at < len(pending.names):
            names = pending.names[pending.at : pending.at + limits.CHECKPOINT_SLICE]
            pending.at += len(names)
            self._run(stream, work, pending, names, pending.full)
            slices -= 1
        most = 1 << 60 if hurry else limits.CHECKPOINT_DIRS
        self._bitmaps(stream, work, most)
        if pending.at < len(pending.names) or len(work.dirs) >= most:
            return
        self._finish(stream, work, pending)

    def _begin(self, stream: FileStream) -> None:
        weight = self.run_names + len(self.changed)
        full = (
            self.gen == 0 or self.anew or weight > max(len(stream.table), limits.CHECKPOINT_SLICE)
        )
        if full:
            self.pending = _Pending(self.gen + 1, True, list(stream.table.last), 0, 0)
        else:
            self.pending = _Pending(
                self.gen, False, list(self.changed), self.full_runs, self.change_runs
            )
        self.changed.clear()
        self.changes = self.blocks = 0

    def _run(
        self, stream: FileStream, work: Work, pending: _Pending, names: list[bytes], full: bool
    ) -> None:
        if full:
            number = pending.full_runs
            pending.full_runs += 1
        else:
            number = CHANGES + pending.change_runs
            pending.change_runs += 1
            self.run_names += len(names)
        work.runs.append((keys.run_key(stream.sid, pending.gen, number), pack_run(names, stream)))

    def _bitmaps(self, stream: FileStream, work: Work, most: int) -> None:
        extend = stream.home.extend
        for block in stream.directory.blocks:
            if block.dirty:
                work.dirs.append((block.first, summary.pack(block, extend)))
                block.dirty = False
                if len(work.dirs) >= most:
                    return

    def _finish(self, stream: FileStream, work: Work, pending: _Pending) -> None:
        if pending.full:
            self.run_names = 0
        names = list(self.changed)
        self.changed.clear()
        for at in range(0, len(names), limits.CHECKPOINT_SLICE):
            self._run(stream, work, pending, names[at : at + limits.CHECKPOINT_SLICE], False)
        mark = Mark(
            stream.last_seq,
            work.lsn,
            stream.floor,
            stream.first_seq,
            stream.last_seq,
            stream.messages,
            stream.bytes,
            stream.last_ts,
            pending.gen,
            pending.full_runs,
            pending.change_runs,
        )
        work.checkpoint = pack_mark(mark, stream.home.extend)
        work.old_gens = (0, pending.gen)
        self.ck_seq = stream.last_seq
        self.gen, self.full_runs, self.change_runs = (
            pending.gen,
            pending.full_runs,
            pending.change_runs,
        )
        self.pending = None
        self.changes = self.blocks = 0
        self.force = self.anew = self.wanted = self.debt = False
