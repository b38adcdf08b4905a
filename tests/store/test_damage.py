"""Damaged bytes: found, reported, counted, skipped; the neighbours live."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jetstream_py.store import Message, StoreError, compact_file, keys, opening, verify
from jetstream_py.store.pages import Pages

from .support import NOW, Desk

Change = Callable[[bytearray], None]


def damage(path: Path, database: bytes, key: bytes, change: Change | None) -> None:
    """Alter a value behind the store's back; None deletes it."""
    with opening.open_file(str(path / opening.FILE)) as env, env.begin(write=True) as txn:
        handle = env.open_db(database, txn=txn)
        if change is None:
            assert txn.delete(key, db=handle)
            return
        found = txn.get(key, db=handle)
        assert found is not None
        value = bytearray(found)
        change(value)
        txn.put(key, bytes(value), db=handle)


def flip(at: int) -> Change:
    def change(value: bytearray) -> None:
        value[at] ^= 0x10

    return change


def build(path: Path) -> Desk:
    """Three blocks: 1-64, 65-128, 129-192, a kilobyte a message."""
    desk = Desk(path, deep=True)
    stream = desk.store.create(b"x", False)
    for _ in range(3):
        for i in range(60):
            stream.append(b"s.%d" % (i % 4), b"", b"%d" % i * 500, NOW + i)
        desk.commit()
    desk.stop()
    assert verify(str(path)) == []
    return desk


def test_a_bad_record_costs_its_unit_only(tmp_path: Path) -> None:
    desk = build(tmp_path)
    damage(tmp_path, b"blk", keys.seq_key(1, 61), flip(-10_000))
    assert any("checksum" in text for text in verify(str(tmp_path)))
    desk.open()
    stream = desk.stream(1)
    assert (stream.messages, desk.store.bad_records) == (180, 0)
    found = [seq for seq in range(1, 181) if stream.get(seq) is not None]
    lost = desk.store.bad_records
    assert 4 <= lost <= 6
    assert len(found) == stream.messages == stream.count() == 180 - lost
    assert sum(stream.subjects().values()) == stream.messages
    assert all(61 <= seq <= 120 for seq in range(1, 181) if seq not in found)
    assert len(desk.store.complaints) == lost
    assert "checksum" in desk.store.complaints[0]
    desk.commit()
    desk.reopen()
    assert desk.stream(1).messages == 180 - lost
    desk.stop()


def test_walks_step_over_bad_records(tmp_path: Path) -> None:
    desk = build(tmp_path)
    damage(tmp_path, b"blk", keys.seq_key(1, 61), flip(-10_000))
    desk.open()
    stream = desk.stream(1)
    for pattern in (b"", b"s.1", b"s.*"):
        found, seq = 0, 0
        while (message := stream.next(seq, pattern)) is not None:
            found, seq = found + 1, message.seq + 1
        assert found == stream.count(pattern)
    assert desk.store.bad_records
    desk.stop()


@pytest.mark.parametrize("most", [1, 3, 40])
@pytest.mark.parametrize("pattern", [b"", b"s.1"])
def test_runs_step_over_bad_records(tmp_path: Path, most: int, pattern: bytes) -> None:
    desk = build(tmp_path)
    damage(tmp_path, b"blk", keys.seq_key(1, 61), flip(-10_000))
    desk.open()
    stream = desk.stream(1)
    found: list[int] = []
    while len(run := stream.run(found[-1] + 1 if found else 1, most, pattern, 180)):
        found += run.seqs
    assert desk.store.bad_records
    assert found == [
        seq for seq in range(1, 181) if (it := stream.get(seq)) and matches(it, pattern)
    ]
    desk.stop()


def matches(message: Message, pattern: bytes) -> bool:
    return not pattern or message.subject == pattern


@pytest.mark.parametrize(
    "change", [flip(5), flip(30), flip(60), None], ids=["head", "place", "names", "gone"]
)
def test_bad_columns_cost_the_block(tmp_path: Path, change: Change | None) -> None:
    desk = build(tmp_path)
    damage(tmp_path, b"blk", keys.seq_key(1, 61), change)
    assert verify(str(tmp_path)) != []
    desk.open()
    stream = desk.stream(1)
    assert stream.get(100) is None
    assert (stream.messages, desk.store.bad_records) == (120, 60)
    assert stream.subjects() == {b"s.%d" % i: 30 for i in range(4)}
    following = stream.next(61)
    assert following is not None
    assert following.seq == 121
    stream.append(b"s.1", b"", b"life goes on", NOW)
    assert desk.commit() == ""
    desk.crash()
    assert desk.stream(1).subjects()[b"s.1"] == 31
    assert desk.stream(1).messages == 121
    desk.stop()


@pytest.mark.parametrize("change", [flip(3), None], ids=["flipped", "gone"])
def test_bad_subject_table_is_counted_anew(tmp_path: Path, change: Change | None) -> None:
    desk = build(tmp_path)
    damage(tmp_path, b"sub", keys.run_key(1, 1, 0), change)
    desk.open()
    assert desk.stream(1).subjects() == {b"s.%d" % i: 45 for i in range(4)}
    assert "subject table" in desk.store.complaints[0]
    desk.commit()
    desk.stop()
    assert verify(str(tmp_path)) == []


def test_bad_checkpoint(tmp_path: Path) -> None:
    desk = build(tmp_path)
    damage(tmp_path, b"meta", keys.checkpoint_key(1), flip(9))
    desk.open()
    assert (desk.stream(1).messages, desk.stream(1).last_seq) == (180, 180)
    assert desk.stream(1).subjects() == {b"s.%d" % i: 45 for i in range(4)}
    desk.stop()
    assert verify(str(tmp_path)) == []


def test_bad_index_entry_is_made_from_its_block(tmp_path: Path) -> None:
    desk = build(tmp_path)
    damage(tmp_path, b"dir", keys.seq_key(1, 61), flip(9))
    desk.open()
    assert desk.stream(1).messages == 180
    assert desk.stream(1).count(b"s.2") == 45
    desk.stop()


def test_bad_configuration_leaves_the_stream_alone(tmp_path: Path) -> None:
    desk = build(tmp_path)
    damage(tmp_path, b"meta", keys.config_key(1), flip(4))
    desk.open()
    assert desk.store.streams() == {}
    assert "configuration" in desk.store.complaints[0]
    assert desk.store.create(b"next", False).sid == 2
    desk.stop()


def test_compaction_keeps_a_damaged_block(tmp_path: Path) -> None:
    desk = build(tmp_path)
    damage(tmp_path, b"blk", keys.seq_key(1, 61), flip(-10_000))
    desk.open()
    stream = desk.stream(1)
    assert stream.remove(61, erase=True) is not None
    desk.commit()
    lost = desk.store.bad_records
    assert lost > 0
    assert stream.messages == 179 - lost
    assert "rewriting" in desk.store.complaints[0]
    assert stream.get(120) is not None
    desk.stop()


@pytest.mark.parametrize("left", [0, 100, 4_096, 20_000, 60_000, 100_000])
def test_a_file_that_was_cut_is_refused(tmp_path: Path, left: int) -> None:
    """To read beyond its end would be the end of the process, so nobody does."""
    desk = build(tmp_path)
    file = tmp_path / opening.FILE
    os.truncate(file, left)
    [complaint] = verify(str(tmp_path))
    assert complaint.startswith(f"cannot open {file}: ")
    with pytest.raises(StoreError, match="cannot open"):
        desk.open()
    with pytest.raises(StoreError, match="cannot"):
        compact_file(str(tmp_path))


def test_the_space_ahead_may_be_cut(tmp_path: Path) -> None:
    """The file is longer than what LMDB uses of it."""
    desk = build(tmp_path)
    file = tmp_path / opening.FILE
    with file.open("rb") as opened:
        os.truncate(file, Pages(opened.fileno()).length)
    assert verify(str(tmp_path)) == []
    desk.open()
    assert desk.stream(1).messages == 180
    desk.stop()
