"""Streams that need no server, messages that try everything, and what an export should have of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

from jetstream_py.export import layout
from jetstream_py.export.layout import Manifest
from jetstream_py.export.run import Options, Outcome, export
from jetstream_py.export.source import Facts
from jetstream_py.export.table import messages
from jetstream_py.store import Message
from jetstream_py.store.columns import Columns
from jetstream_py.subject import matches
from tests.store.support import Desk

NAME = "ORDERS"
CREATED = 1_700_000_000_123_456_789
CONFIG = {"name": NAME, "subjects": ["orders.>"]}
NOON = 1_769_860_800_000_000_000  # 2026-01-31T12:00:00Z
HOUR = 3600 * 10**9

HOSTILE = [
    (b"orders.plain", b"", b"hello"),
    (b"orders.empty", b"", b""),
    (b"orders.usual", b"NATS/1.0\r\nA: 1\r\nB: two words\r\n\r\n", b"x"),
    (b"orders.repeated", b"NATS/1.0\r\nA: 1\r\nA: 2\r\nB: 3\r\n\r\n", b"x"),
    (b"orders.mixed", b"NATS/1.0\r\nA: 1\r\nB: 3\r\nA: 2\r\n\r\n", b"x"),
    (b"orders.blanks", b"NATS/1.0\r\nA:1\r\nB:   3 \r\n\r\n", b"x"),
    (b"orders.nothing", b"NATS/1.0\r\n\r\n", b"x"),
    (b"orders.no-value", b"NATS/1.0\r\nA: \r\nB:\r\n\r\n", b""),
    (b"orders.utf8.\xc3\xa9", "NATS/1.0\r\nGröße: ½\r\n\r\n".encode(), "½".encode()),
    (b"orders.latin", b"NATS/1.0\r\nName: caf\xe9\r\nX\xff: \x00\x01\r\n\r\n", b"\xff\xfe\x00"),
    (b"orders.lat\xe9", b"", b"a subject that is no UTF-8"),
    (b"orders.lat\\xe9", b"", b"one that looks like its text"),
    (b"orders.colons", b"NATS/1.0\r\nA:b: c\r\nno colon\r\n: no name\r\n\r\n", b"x"),
    (b"orders.crlf", b"NATS/1.0\r\nA: 1\r\n\r\n", b"\r\nMSG x 1 5\r\n\r\n"),
]
# blocks that servers take though they are none
JUNK = [
    (b"orders.status", b"NATS/1.0 503 text\r\nA: 1\r\n\r\n", b"x"),
    (b"orders.junk", b"junk", b"x"),
    (b"orders.open", b"NATS/1.0\r\nA: 1\r\n", b"x"),
]


def hostile() -> list[Message]:
    """With gaps, over two days."""
    made = []
    for i, (subject, headers, data) in enumerate(HOSTILE + JUNK):
        made.append(Message(3 + 2 * i + (i > 7), NOON + i * HOUR + 789, subject, headers, data))
    return made


def walk(seed: int, n: int) -> list[Message]:
    """Messages of all kinds, with holes, clocks that go back, and days that pass."""
    chance = random.Random(seed)
    made, seq, time = [], 0, NOON
    for _ in range(n):
        seq += chance.choice((1, 1, 1, 1, 2, 50))
        time += chance.choice((0, 0, 1, 10**9, -(10**9), HOUR, 20 * HOUR))
        subject, headers, _ = chance.choice(HOSTILE)
        made.append(Message(seq, time, subject, headers, chance.randbytes(chance.randrange(200))))
    return made


class Listed:
    """A source that has its messages in a list and gives a few at a time."""

    def __init__(self, rows: list[Message], created: int = CREATED, step: int = 7) -> None:
        self.rows, self.created, self.step = rows, created, step
        self.warnings: list[str] = []
        self.config: dict[str, Any] = dict(CONFIG)

    async def facts(self) -> Facts:
        last = self.rows[-1].seq if self.rows else 0
        return Facts(NAME, self.created, self.config, len(self.rows), last)

    async def seq_at(self, time_ns: int) -> int:
        found = [row.seq for row in self.rows if row.ts >= time_ns]
        return found[0] if found else self.rows[-1].seq + 1

    async def read(self, seq: int, last: int, subject: str) -> AsyncGenerator[Columns, None]:
        rows = [row for row in self.rows if seq <= row.seq <= last]
        if subject:
            rows = [row for row in rows if matches(row.subject, subject.encode())]
        for at in range(0, len(rows), self.step):
            yield Columns.of(rows[at : at + self.step])

    async def follow(self, seq: int, subject: str) -> AsyncGenerator[Columns, None]:
        async for rows in self.read(seq, 1 << 62, subject):
            yield rows
            yield Columns()


def run(source: Listed, out: Path, **options: Any) -> Outcome:
    return asyncio.run(export(source, Options(str(out), **options)))


def make_store(path: Path, rows: Iterable[Message], dead: Iterable[int] = ()) -> None:
    """A store that a server has left behind."""
    path.mkdir(parents=True, exist_ok=True)
    desk = Desk(path)
    record = {"created": CREATED, "config": CONFIG, "account": "$G"}
    stream = desk.store.create(msgspec.json.encode(record), False)
    for row in rows:
        stream.append(row.subject, row.headers, row.data, row.ts, row.seq)
        if row.seq % 1000 == 0:
            desk.commit()
    desk.commit()
    for seq in dead:
        stream.remove(seq)
    desk.commit()
    desk.store.close()


def manifest(out: Path, epoch: int = 1) -> Manifest:
    return layout.open_manifest(str(out), NAME, epoch)


def exported(out: Path, epoch: int = 1) -> list[Message]:
    """What whoever reads the directory as a dataset finds, in order of sequence."""
    directory = out / layout.directory_name(NAME, epoch)
    table = ds.dataset(directory, format="parquet", partitioning="hive").to_table()
    found = [row for batch in table.to_batches() for row in messages(batch)]
    return sorted(found, key=lambda row: row.seq)


def check(out: Path, rows: list[Message], epoch: int = 1) -> None:
    """The directory has these messages, its manifest says so, and both agree."""
    assert exported(out, epoch) == rows
    known = manifest(out, epoch)
    directory = out / layout.directory_name(NAME, epoch)
    covered = known.origin.first
    found: list[int] = []
    for segment in known.segments:
        file = directory / segment.path
        assert file.stat().st_size == segment.bytes
        table = pq.read_table(fs.LocalFileSystem().normalize_path(str(file)), partitioning=None)
        seqs = table["seq"].to_pylist()
        times = table["time_ns"].to_pylist()
        assert seqs == sorted(seqs)
        assert (segment.from_seq, segment.first_seq, segment.last_seq) == (
            covered,
            seqs[0],
            seqs[-1],
        )
        assert (segment.count, segment.min_time_ns, segment.max_time_ns) == (
            len(seqs),
            min(times),
            max(times),
        )
        if segment.deleted is not None:
            gone = {seq for low, high in segment.deleted for seq in range(low, high + 1)}
            assert gone == set(range(covered, seqs[-1] + 1)) - set(seqs)
        days = {f"{time:%Y-%m-%d}" for time in table["time"].to_pylist()}
        assert days == {segment.path.removeprefix("date=")[:10]}
        covered = segment.last_seq + 1
        found += seqs
    assert found == [row.seq for row in rows]
