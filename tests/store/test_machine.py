"""Both backends against the model: random histories, with crashes and restarts for the one on disk."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from jetstream_py import limits
from jetstream_py.store import Columns, StreamStore, verify
from jetstream_py.store.subjects import is_name

from .model import Model
from .support import NOW, TINY, Desk

SUBJECTS = st.sampled_from([b"a", b"b", b"a.b", b"a.c", b"a.b.c", b"x.1", b"x.2", b"x.3", b"x.4.5"])
PATTERNS = st.sampled_from(
    [b"", b">", b"a", b"a.*", b"a.>", b"x.*", b"*", b"*.b", b"nothing", b"x.3", b"a x.3", b"b x.>"]
)
HEADERS = st.sampled_from([b"", b"", b"NATS/1.0\r\nNats-Msg-Id: 1\r\n\r\n"])
DATA = st.one_of(st.binary(max_size=40), st.sampled_from([b"x" * 300, b"y" * 700, b"z" * 2_500]))
PICK = st.integers(0, 1 << 30)
PAGE = 4096


class StreamMachine(RuleBasedStateMachine):
    """Rules that hold for any stream."""

    stream: StreamStore

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.ts = NOW

    def seq(self, pick: int) -> int:
        """A sequence, mostly one that exists or did."""
        return pick % (self.model.last_seq + 3)

    @rule(subject=SUBJECTS, headers=HEADERS, data=DATA, gap=st.sampled_from([0] * 9 + [1, 5]))
    def append(self, subject: bytes, headers: bytes, data: bytes, gap: int) -> None:
        self.ts += 1_000_000
        seq = self.model.append(subject, headers, data, self.ts, gap)
        assert self.stream.append(subject, headers, data, self.ts, seq if gap else 0) == seq

    @rule(subjects=st.lists(SUBJECTS, min_size=3, max_size=40), data=DATA)
    def append_many(self, subjects: list[bytes], data: bytes) -> None:
        for subject in subjects:
            self.append(subject, b"", data, 0)

    @rule(subjects=st.lists(SUBJECTS, min_size=1, max_size=40), data=DATA, same=st.booleans())
    def append_run(self, subjects: list[bytes], data: bytes, same: bool) -> None:
        if same:
            subjects = subjects[:1] * len(subjects)
        datas = [data[:i] for i in range(len(subjects))]
        self.ts += 1_000_000
        seqs = [
            self.model.append(subject, b"", piece, self.ts, 0)
            for subject, piece in zip(subjects, datas, strict=True)
        ]
        first, names = self.stream.append_run(subjects, datas, self.ts)
        assert (first, sorted(names)) == (seqs[0], sorted(set(subjects)))

    @rule(
        rows=st.lists(
            st.tuples(SUBJECTS, HEADERS, DATA, st.sampled_from([0] * 9 + [1, 5])),
            min_size=1,
            max_size=40,
        )
    )
    def append_columns(self, rows: list[tuple[bytes, bytes, bytes, int]]) -> None:
        run = Columns()
        for subject, headers, data, gap in rows:
            self.ts += 1_000_000
            seq = self.model.append(subject, headers, data, self.ts, gap)
            run.append(seq, self.ts, subject, headers, data)
        self.stream.append_columns(run)

    @rule(messages=st.integers(0, 60), size=st.sampled_from([0, 300, 3_000, 1 << 40]))
    def shrink(self, messages: int, size: int) -> None:
        self.stream.shrink(messages, size)
        sizes = {m.seq: self.stream.size(*m[2:]) for m in self.model.of(b"")}
        for seq in list(sizes):
            if len(sizes) > messages or sum(sizes.values()) > size:
                del sizes[seq], self.model.all[seq]

    @rule(pick=PICK, erase=st.booleans())
    def remove(self, pick: int, erase: bool) -> None:
        seq = self.seq(pick)
        assert self.stream.remove(seq, erase) == self.model.all.pop(seq, None)

    @rule(picks=st.lists(PICK, min_size=5, max_size=30))
    def remove_many(self, picks: list[int]) -> None:
        for pick in picks:
            seq = self.seq(pick)
            assert self.stream.discard(seq) == (self.model.all.pop(seq, None) is not None)

    @rule(picks=st.lists(PICK, min_size=1, max_size=60), spread=st.booleans())
    def discard_all(self, picks: list[int], spread: bool) -> None:
        """In any order, some of them twice; or neighbours, as a work queue has them."""
        seqs = [self.seq(pick) for pick in picks]
        if not spread:
            seqs = list(range(seqs[0], seqs[0] + len(seqs)))
        there = sorted(seq for seq in set(seqs) if self.model.all.pop(seq, None))
        self.stream.removed = []
        assert self.stream.discard_all(seqs) == len(there)
        assert sorted(self.stream.removed) == there
        self.stream.removed = None

    @rule(subjects=st.lists(SUBJECTS, min_size=1, max_size=40), data=DATA)
    def replace_run(self, subjects: list[bytes], data: bytes) -> None:
        self.ts += 1_000_000
        before = self.model.last_seq
        datas = [data[:i] for i in range(len(subjects))]
        gone: set[int] = set()
        for subject, piece in zip(subjects, datas, strict=True):
            gone |= self.model.drop(subject)
            self.model.append(subject, b"", piece, self.ts, 0)
        self.stream.removed = []
        assert self.stream.replace_run(subjects, datas, self.ts) == before + 1
        assert {seq for seq in gone if seq <= before} <= set(self.stream.removed) <= gone
        self.stream.removed = None

    @rule(subject=SUBJECTS, headers=HEADERS, data=DATA)
    def replace(self, subject: bytes, headers: bytes, data: bytes) -> None:
        self.ts += 1_000_000
        gone = self.model.drop(subject)
        seq = self.model.append(subject, headers, data, self.ts, 0)
        self.stream.removed = []
        assert self.stream.replace(subject, headers, data, self.ts) == seq
        assert set(self.stream.removed) == gone
        self.stream.removed = None

    @rule(subject=SUBJECTS)
    def displace(self, subject: bytes) -> None:
        """What a limit of one message per subject does."""
        self.append(subject, b"", b"new", 0)
        while self.stream.count(subject) > 1:
            oldest = self.stream.oldest(subject)
            assert oldest == self.model.of(subject)[0].seq
            assert self.stream.remove(oldest) == self.model.all.pop(oldest)

    @rule(count=st.integers(1, 3))
    def skip(self, count: int) -> None:
        self.model.last_seq += count
        self.model.begun = True
        assert self.stream.skip(count) == self.model.last_seq

    @rule(pick=PICK)
    def trim(self, pick: int) -> None:
        before = self.seq(pick)
        assert self.stream.trim(before) == self.model.purge(b"", before or -1, 0)

    @rule(pattern=PATTERNS, pick=PICK, limited=st.booleans(), keep=st.sampled_from([0, 0, 1, 4]))
    def purge(self, pattern: bytes, pick: int, limited: bool, keep: int) -> None:
        before = self.seq(pick) if limited else 0
        expected = self.model.purge(pattern, before, keep)
        assert self.stream.purge(pattern, before, keep) == expected

    @rule(pattern=PATTERNS, pick=PICK, keep=st.sampled_from([0, 0, 1, 4]), other=SUBJECTS)
    def purge_in_steps(self, pattern: bytes, pick: int, keep: int, other: bytes) -> None:
        """What happens between two steps is not lost, and what comes later is not purged."""
        before = self.seq(pick) if pick % 2 else 0
        purge = self.stream.begin_purge(pattern, before, keep)
        expected, dropped = self.model.purge(pattern, before, keep), 0
        while not purge.done:
            dropped += purge.step()
            self.append(other, b"", b"between", 0)
            if self.model.last_seq % 3 == 0:
                self.settle()
        assert dropped == expected
        self.settle()

    def settle(self) -> None:
        """Have everything on disk, where there is one."""

    @rule(pick=PICK, pattern=PATTERNS)
    def look(self, pick: int, pattern: bytes) -> None:
        model, stream, seq = self.model, self.stream, self.seq(pick)
        matching = model.of(pattern)
        assert stream.get(seq) == model.all.get(seq)
        assert stream.next(seq, pattern) == next((m for m in matching if m.seq >= seq), None)
        assert stream.last(pattern) == max((m.seq for m in matching), default=0)
        if seq:
            assert stream.last(pattern, seq) == max(
                (m.seq for m in matching if m.seq <= seq), default=0
            )
            newest = {m.subject: m.seq for m in matching if m.seq <= seq}
            for since in (1, seq // 2):
                found = sorted(at for at in newest.values() if at >= since)
                assert stream.lasts(pattern, since, seq) == found
        if pattern and is_name(pattern):
            assert stream.newest(pattern) == (matching[-1] if matching else None)
        assert stream.count(pattern) == len(matching)
        assert stream.count(pattern, seq) == sum(m.seq >= seq for m in matching)
        assert stream.subjects(pattern) == Counter(m.subject for m in matching)

    @rule(pick=PICK)
    def look_at_times(self, pick: int) -> None:
        every = self.model.of(b"")
        ts = NOW + 1_000_000 * (pick % (len(every) + 3))
        after = [m for m in every if m.ts >= ts]
        assert self.stream.seq_at(ts) == (after[0].seq if after else self.model.last_seq + 1)
        found = [(m.seq, m.headers) for m in self.stream.tail_headers(ts)]
        assert found == [(m.seq, m.headers) for m in after if m.headers]

    @rule(first=PICK, last=PICK)
    def look_at_headers(self, first: int, last: int) -> None:
        first, last = self.seq(first), self.seq(last)
        found = [(m.seq, m.headers) for m in self.stream.headed(first, last)]
        every = self.model.of(b"")
        assert found == [(m.seq, m.headers) for m in every if m.headers and first <= m.seq <= last]

    @rule(pattern=PATTERNS)
    def walk(self, pattern: bytes) -> None:
        found, seq = [], 0
        while (message := self.stream.next(seq, pattern)) is not None:
            found.append(message)
            seq = message.seq + 1
        assert found == self.model.of(pattern)

    @rule(pattern=PATTERNS, pick=PICK, most=st.integers(1, 40), behind=st.integers(0, 5))
    def run(self, pattern: bytes, pick: int, most: int, behind: int) -> None:
        seq, up_to = self.seq(pick), self.model.last_seq - behind
        expected = [m for m in self.model.of(pattern) if seq <= m.seq <= up_to]
        assert self.stream.run(seq, most, pattern, up_to).messages() == expected[:most]

    @rule()
    def expect_oldest(self) -> None:
        self.stream.expect_oldest()

    @rule(subject=SUBJECTS)
    def ask_oldest(self, subject: bytes) -> None:
        assert self.stream.oldest(subject) == next((m.seq for m in self.model.of(subject)), 0)

    @invariant()
    def counters(self) -> None:
        model, stream = self.model, self.stream
        every = model.all.values()
        assert (stream.messages, stream.first_seq, stream.last_seq) == (
            len(every),
            model.first_seq,
            model.last_seq,
        )
        assert stream.bytes == sum(stream.size(m.subject, m.headers, m.data) for m in every)
        assert stream.num_subjects == len({m.subject for m in every})
        assert stream.last_ts == model.last_ts
        assert stream.first_ts == (model.all[model.first_seq].ts if every else 0)
        gone = (
            [n for n in range(model.first_seq, model.last_seq + 1) if n not in model.all]
            if every
            else []
        )
        assert stream.deleted() == gone
        assert stream.num_deleted() == len(gone)


class MemoryMachine(StreamMachine):
    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(None)
        self.stream = self.desk.store.create(b"config", memory=True)

    @invariant()
    def never_dirty(self) -> None:
        assert not self.desk.store.dirty


class FileMachine(StreamMachine):
    """Small limits: merges, compaction and checkpoints happen all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="store-"))
        self.saved = {name: getattr(limits, name) for name in TINY}
        for name, value in TINY.items():
            setattr(limits, name, value)
        self.desk = Desk(self.path / "js", inline=400, record=400)
        self.stream = self.desk.store.create(b"config", memory=False)
        self.durable = Model()
        self.coming: Model | None = None
        self.desk.commit()

    @property
    def running(self) -> bool:
        return self.coming is not None

    @precondition(lambda self: not self.running)
    @rule()
    def start(self) -> None:
        self.coming = self.model.copy()
        self.desk.start()

    @precondition(lambda self: self.running)
    @rule()
    def finish(self) -> None:
        self.desk.finish()
        assert self.desk.answers[-1] == ""
        assert self.coming is not None
        self.durable, self.coming = self.coming, None

    @precondition(lambda self: not self.running)
    @rule()
    def commit(self) -> None:
        self.start()
        self.finish()

    def settle(self) -> None:
        self.desk.finish()
        self.desk.settle()
        self.durable, self.coming = self.model.copy(), None

    @precondition(lambda self: not self.running)
    @rule()
    def crash(self) -> None:
        self.desk.crash()
        self.model = self.durable.copy()
        self.stream = self.desk.stream(1)

    @precondition(lambda self: not self.running)
    @rule()
    def crash_and_check(self) -> None:
        self.desk.store._abandon()
        complaints = verify(str(self.path / "js"))
        assert complaints == [], complaints
        self.desk.open()
        self.model = self.durable.copy()
        self.stream = self.desk.stream(1)

    @precondition(lambda self: not self.running)
    @rule(chance=st.randoms(use_true_random=False))
    def power_cut(self, chance: random.Random) -> None:
        """In the middle of a write to the log: some of its pages are there, not all."""
        write = os.pwrite

        def cut(fd: int, data: bytes, at: int) -> int:
            pages = range(0, len(data), PAGE)
            for page in chance.sample(pages, chance.randrange(len(pages))):
                write(fd, data[page : page + PAGE], at + page)
            raise OSError("the power is gone")

        with mock.patch("os.pwrite", cut):
            self.desk.start()
            self.desk.finish()
        if self.desk.answers[-1] == "":  # nothing was written there
            self.durable = self.model.copy()
        self.crash()

    @rule()
    def restart(self) -> None:
        self.desk.reopen()
        self.durable, self.coming = self.model.copy(), None
        self.stream = self.desk.stream(1)

    def teardown(self) -> None:
        self.desk.stop()
        complaints = verify(str(self.path / "js"))
        for name, value in self.saved.items():
            setattr(limits, name, value)
        shutil.rmtree(self.path)
        assert complaints == [], complaints


QUICK = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
MemoryMachine.TestCase.settings = QUICK
FileMachine.TestCase.settings = QUICK
TestMemory: type = MemoryMachine.TestCase
TestFile: type = FileMachine.TestCase
