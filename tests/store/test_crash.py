"""Kills and power cuts.

A kill loses nothing that was committed. A power cut loses what was not synced: it is simulated from two
copies of the file, before and after a commit, with any part of the difference missing that the order of
LMDB's writes and syncs allows. As a control the same cut without that order must be noticed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from jetstream_py.store import StoreError, failpoints, opening, verify
from jetstream_py.store import writer as writer_module

from .support import NOW, TINY, Desk, shrink

PAGE = 4096

CHILD = """
import os, signal, sys, time
from jetstream_py.store import Store, failpoints
path, point, groups, record = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
def die():
    os.kill(os.getpid(), signal.SIGKILL)
if point in ("open.made", "open.named", "open.recovered", "wal.replayed"):
    failpoints.arm(point, die)
store = Store(path, lambda run: run(), inline=1 << 40, record=record)
def done(error):
    assert error == "", error
found = store.streams()
stream = next(iter(found.values()))[1] if found else store.create(b"c", False)
for group in range(groups + 1):
    if group == groups:
        failpoints.arm(point, die)
    for i in range(20):
        stream.append(b"s.%d" % (i % 3), b"", b"x" * 500, 1_700_000_000_000_000_000)
        if stream.messages > 30:
            stream.remove(stream.last_seq - 25, erase=point == "scrub")
    store.commit(done)
    while store.busy:
        time.sleep(0.001)
    print(stream.last_seq, stream.messages, flush=True)
store.close()
"""


def killed(
    path: Path, point: str, groups: int, record: int = 1 << 40
) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-c", CHILD, str(path), point, str(groups), str(record)]
    return subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("point", "record"),
    [(point, 0) for point in sorted(failpoints.NAMES - {"commit.compact", "extend"})]
    + [("commit.begin", 1 << 40), ("commit.before", 1 << 40), ("commit.after", 1 << 40)],
)
def test_killed_at(point: str, record: int, tmp_path: Path) -> None:
    """With `record` at nothing all groups are LMDB's, otherwise they are in the write-ahead log first."""
    path = tmp_path / "js"
    for groups in (3, 2):
        existed = (path / opening.FILE).exists()
        # There must be something to replay before that can be interrupted.
        before = killed(path, "commit.after", groups).stdout if point == "wal.replayed" else ""
        done = killed(path, point, groups, record)
        if point in ("open.made", "open.named") and (groups == 2 and existed):
            assert done.returncode == 0, done.stderr  # the second start made nothing
        else:
            assert done.returncode == -signal.SIGKILL, done.stderr
        answers = (before + done.stdout).splitlines()
        acked = [tuple(map(int, line.split())) for line in answers]
        if not (path / opening.FILE).exists():
            continue  # killed before there was a store
        assert verify(str(path)) == []
        desk = Desk(path)
        if acked:
            stream = desk.stream(1)
            assert stream.last_seq in (acked[-1][0], acked[-1][0] + 20)
            assert stream.last_seq > acked[-1][0] or stream.messages == acked[-1][1]
        desk.store._abandon()


def history(desk: Desk, seed: int, groups: int, subjects: int = 50) -> Counter[bytes]:
    """Random appends and removals in groups; returns the counts that must be found again."""
    chance = random.Random(seed)
    stream = desk.store.create(b"x", False)
    live: list[int] = []
    names: dict[int, bytes] = {}
    for _ in range(groups):
        for _ in range(chance.randrange(1, 60)):
            subject = b"s.%d" % chance.randrange(subjects)
            seq = stream.append(subject, b"", b"d" * chance.randrange(60), NOW)
            live.append(seq)
            names[seq] = subject
        for _ in range(chance.randrange(0, 60)):
            if live:
                at = chance.randrange(len(live))
                live[at], live[-1] = live[-1], live[at]
                assert stream.remove(live.pop()) is not None
        assert desk.commit() == ""
    return Counter(names[seq] for seq in live)


@pytest.mark.parametrize("seed", range(12))
def test_counts_survive_compaction_since_the_checkpoint(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record appended since the checkpoint, removed, and compacted away was subtracted but never added."""
    shrink(monkeypatch, **TINY | {"CHECKPOINT_CHANGES": 900, "CHECKPOINT_SLICE": 20})
    desk = Desk(tmp_path / "js", deep=seed % 3 > 0)
    expected = history(desk, seed, 60, subjects=50 if seed % 2 else 2)
    desk.crash()
    assert desk.stream(1).subjects() == expected
    assert desk.stream(1).messages == expected.total()
    desk.store._abandon()
    assert verify(str(tmp_path / "js")) == []


def test_control_without_the_rule_counts_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch, **TINY | {"CHECKPOINT_CHANGES": 900, "CHECKPOINT_SLICE": 20})

    def forget(counts: dict[bytes, int], names: list[bytes]) -> None:
        """Vanished records are not added."""

    monkeypatch.setattr(writer_module, "count_vanished", forget)
    wrong = 0
    for seed in range(6):
        desk = Desk(tmp_path / str(seed), deep=True)
        # Few subjects with many messages each: a count below nothing would be noticed, and made anew.
        history(desk, seed, 60, subjects=2)
        desk.store._abandon()
        wrong += verify(str(tmp_path / str(seed))) != []
    assert wrong


# -- power cuts ------------------------------------------------------------------------------------
def pages(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return [data[at : at + PAGE] for at in range(0, len(data), PAGE)]


def two_states(path: Path, seed: int) -> tuple[list[bytes], list[bytes], int, int]:
    """The file before and after a commit that appends, removes and rewrites."""
    chance = random.Random(seed)
    desk = Desk(path, deep=True)
    stream = desk.store.create(b"x", False)
    for _ in range(30):
        for _ in range(chance.randrange(5, 30)):
            stream.append(
                b"s.%d" % chance.randrange(9), b"", chance.randbytes(chance.randrange(400)), NOW
            )
        for _ in range(chance.randrange(20)):
            stream.remove(chance.randrange(1, stream.last_seq + 1))
        assert desk.commit() == ""
    before, messages = pages(path / opening.FILE), stream.messages
    for _ in range(40):
        stream.append(b"t", b"", chance.randbytes(300), NOW)
        stream.remove(chance.randrange(1, stream.last_seq + 1))
    assert desk.commit() == ""
    after = pages(path / opening.FILE)
    count = stream.messages
    desk.store._abandon()
    before += [bytes(PAGE)] * (len(after) - len(before))
    return before, after, messages, count


def cut_power(path: Path, before: list[bytes], after: list[bytes], written: set[int]) -> Path:
    """The store as it would be if only these pages of the commit had reached the disk."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    made = [after[n] if n in written else before[n] for n in range(len(after))]
    (path / opening.FILE).write_bytes(b"".join(made))
    return path


def messages_in(path: Path) -> int | str:
    """How many messages the store has, or what is wrong with it."""
    try:
        complaints = verify(str(path))
        if complaints:
            return complaints[0]
        desk = Desk(path)
        count = desk.stream(1).messages
        desk.store._abandon()
    except (StoreError, KeyError, AssertionError) as error:
        return repr(error)
    return count


@pytest.mark.parametrize("seed", range(3))
def test_power_cut(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch, **TINY)
    before, after, old, new = two_states(tmp_path / "js", seed)
    changed = [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    meta = {n for n in changed if n < 2}
    data = [n for n in changed if n >= 2]
    assert len(meta) == 1
    assert len(data) > 5
    chance = random.Random(seed)
    for _ in range(12):
        some = set(chance.sample(data, chance.randrange(len(data) + 1)))
        assert messages_in(cut_power(tmp_path / "cut", before, after, some)) == old
    assert messages_in(cut_power(tmp_path / "cut", before, after, {*data, *meta})) == new


def test_control_without_syncs_a_power_cut_loses_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `sync=False` the meta page may come first. Run in children: LMDB may crash on such files."""
    shrink(monkeypatch, **TINY)
    before, after, _, new = two_states(tmp_path / "js", 1)
    changed = [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    meta = {n for n in changed if n < 2}
    script = (
        "import sys; from tests.store.test_crash import messages_in, Path;"
        "print(messages_in(Path(sys.argv[1])))"
    )
    root = Path(__file__).parents[2]
    chance = random.Random(1)
    for share in (0.0, 0.3, 0.6, 0.9):
        some = set(chance.sample(changed, int(share * len(changed))))
        cut_power(tmp_path / "cut", before, after, some | meta)
        run = [sys.executable, "-c", script, str(tmp_path / "cut")]
        done = subprocess.run(
            run, cwd=root, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.stdout.strip() != str(new)


def test_a_new_store_is_durable_before_its_first_ack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory, and every directory made for it, are synced in their parents."""
    synced: list[str] = []
    real = os.fsync

    def watch(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        real(fd)

    monkeypatch.setattr(os, "fsync", watch)
    desk = Desk(tmp_path / "a" / "b")
    desk.stop()
    assert synced[:2] == [str(tmp_path), str(tmp_path / "a")]
    assert synced[-1] == str(tmp_path / "a" / "b")
    assert any(name.endswith(".new") for name in synced)
