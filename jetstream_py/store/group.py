"""A group: everything that was staged while the last commit ran, on its way to the disk and back.

The loop fills a `Group` and forgets it; the writer turns it into one transaction and hands back a
`Report`. Between the two nothing is shared that both change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .columns import Columns
from .summary import Block


@dataclass(slots=True)
class Job:
    """Neighbouring blocks to be written anew without their dead (as known when it was planned)."""

    sources: list[Block]
    dead: list[bytes | None]


@dataclass(slots=True)
class Work:
    """What happens to one stream."""

    sid: int
    messages: Columns = field(default_factory=Columns)
    drops: list[Block] = field(default_factory=list)  # blocks without a live record
    jobs: list[Job] = field(default_factory=list)
    # the log's record
    lsn: int = 0
    log: bool = False  # it must be written even without tombstones
    floor: int = 0
    last_seq: int = 0
    last_ts: int = 0
    dead: list[tuple[int, int]] = field(default_factory=list)
    deltas: Mapping[bytes, int] = field(default_factory=dict)
    ck_seq: int = 0  # records above it that vanish for good are added to the deltas
    # the checkpoint's parts
    dirs: list[tuple[int, bytes]] = field(default_factory=list)
    runs: list[tuple[bytes, bytes]] = field(default_factory=list)
    checkpoint: bytes = b""
    old_gens: tuple[int, int] = (
        0,
        0,
    )  # subject tables of these generations [from, to) are obsolete


@dataclass(slots=True)
class Group:
    works: list[Work] = field(default_factory=list)
    meta: dict[bytes, bytes | None] = field(default_factory=dict)
    doomed: list[int] = field(default_factory=list)  # deleted streams, to be removed in slices
    size: int = 0
    heavy: bool = False  # more to do than its size tells
    scrub: bool = False  # afterwards, what it removed must be nowhere in the file
    measure: bool = True  # the report is to say how many pages are in use


@dataclass(slots=True)
class Outcome:
    """What the loop must know about one stream."""

    sid: int
    fresh: list[Block] = field(default_factory=list)
    swaps: list[tuple[Job, list[Block]]] = field(default_factory=list)
    bad: list[tuple[Block, list[int] | None]] = field(default_factory=list)  # None: the whole block


@dataclass(slots=True)
class Report:
    outcomes: list[Outcome] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)  # doomed streams of which nothing is left
    used: int = -1  # bytes of all pages in use, if that was asked for
    scrub: bool = False  # see `Group`
