"""The write-ahead log: what counts after a cut, and what does not."""

from __future__ import annotations

import errno
import itertools
import os
import zlib
from pathlib import Path
from unittest import mock

import lmdb
import msgspec
import pytest

from jetstream_py import limits
from jetstream_py.store import StoreError, keys, opening, redo, verify, wal

from .support import NOW, Desk, shrink

PAGE = 4096


def extend(crc: int, data: bytes) -> int:
    return zlib.crc32(data, crc)


def made(path: Path, taken: int = 0) -> wal.Wal:
    wal.make(str(path))
    return wal.Wal(str(path), extend, taken)


def found(path: Path, taken: int = 0) -> tuple[list[bytes], str]:
    return wal.read(str(path), extend, taken)


def test_records_count_until_they_are_taken(tmp_path: Path) -> None:
    log = made(tmp_path)
    assert log.empty
    assert log.append(b"one" * 3000)
    assert log.append(b"two")
    assert found(tmp_path) == ([b"one" * 3000, b"two"], "")
    assert found(tmp_path, taken=1) == ([], "")
    log.taken()
    assert log.empty
    assert found(tmp_path, taken=1) == ([], "")
    assert log.append(b"three")  # the rest of the file is older
    assert found(tmp_path, taken=1) == ([b"three"], "")
    log.close()


def test_taken_without_records_is_the_same_generation(tmp_path: Path) -> None:
    """LMDB was told nothing, so the number may not rise."""
    log = made(tmp_path)
    log.taken()
    assert log.append(b"one")
    assert found(tmp_path, taken=0) == ([b"one"], "")
    log.close()


@pytest.mark.parametrize("size", [10, 5_000, 11_000])
def test_a_torn_record_does_not_count(tmp_path: Path, size: int) -> None:
    """Whichever of its pages came through; what was there before is a record of the last generation."""
    log = made(tmp_path)
    for old in range(4):
        assert log.append(b"%d" % old * 9_000)
    log.taken()
    assert log.append(b"first")
    before = (tmp_path / wal.FILE).read_bytes()
    assert log.append(b"x" * size)
    after = (tmp_path / wal.FILE).read_bytes()
    log.close()
    pages = range(PAGE, PAGE + 32 + size, PAGE)
    for chosen in itertools.product((False, True), repeat=len(pages)):
        data = bytearray(before)
        for page, written in zip(pages, chosen, strict=True):
            if written:
                data[page : page + PAGE] = after[page : page + PAGE]
        (tmp_path / wal.FILE).write_bytes(data)
        whole = [b"first", b"x" * size] if all(chosen) else [b"first"]
        assert found(tmp_path, taken=1) == (whole, "")


def test_a_payload_is_no_record(tmp_path: Path) -> None:
    """It may look like one, and lie where one would be: it does not know the salt of the generation."""
    log = made(tmp_path)
    forger = made(tmp_path / "..", taken=1)
    forger._index = 1
    forged = forger._sealed(b"forged")
    assert log.append(bytes(PAGE - 32) + forged)
    log.taken()
    assert log.append(b"real")
    assert forged in (tmp_path / wal.FILE).read_bytes()
    assert found(tmp_path, taken=1) == ([b"real"], "")
    log.close()
    forger.close()


@pytest.mark.parametrize("damaged", [0, 1])
def test_damage_is_told(tmp_path: Path, damaged: int) -> None:
    log = made(tmp_path)
    for number in range(4):
        assert log.append(b"record %d" % number)
    log.close()
    with (tmp_path / wal.FILE).open("r+b") as file:
        file.seek(PAGE * damaged + 35)
        file.write(b"?")
    bodies, complaint = found(tmp_path)
    assert bodies == [b"record 0"][:damaged]
    assert f"{3 - damaged} of its records are lost" in complaint


def test_a_log_of_another_time_is_told(tmp_path: Path) -> None:
    log = made(tmp_path, taken=6)
    assert log.append(b"x")
    log.close()
    assert found(tmp_path, taken=2) == (
        [],
        "the write-ahead log is of generation 7, the store has 2",
    )
    assert found(tmp_path / "nowhere") == ([], "")


def test_small_groups_wait_in_the_log_for_a_large_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch, WAL_BYTES=3 * PAGE)
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    desk.store.put_meta(b"a", b"1")
    assert desk.commit() == ""

    def transactions() -> int:
        return int(desk.store._env.info()["last_txnid"])

    before = transactions()
    for number in range(3):
        stream.append(b"s", b"", b"%d" % number, NOW + number)
        desk.store.put_meta(b"a", b"%d" % number)
        assert desk.commit() == ""
        assert (stream.durable_seq, desk.store.dirty) == (number + 1, False)
    stream.remove(2)
    assert transactions() == before
    assert desk.commit() == ""  # it is full
    assert transactions() == before + 1
    desk.crash()
    assert [m.data for m in (desk.stream(1).next(1), desk.stream(1).next(2)) if m] == [b"0", b"2"]
    assert desk.store.get_meta(b"a") == b"2"
    desk.stop()
    assert (tmp_path / wal.FILE).stat().st_size == 0


def test_at_rest_the_log_is_emptied(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    desk.settle()
    stream.append(b"s", b"", b"x", NOW)
    desk.settle()
    assert not desk.store._wal.empty
    assert desk.store.tidy()
    desk.settle()
    assert desk.store._wal.empty
    assert not desk.store.tidy()
    desk.stop()


@pytest.mark.parametrize("short", [False, True])
def test_a_full_disk_leaves_it_to_lmdb(tmp_path: Path, short: bool) -> None:
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    desk.settle()
    write = os.pwrite

    def full(fd: int, data: bytes, at: int) -> int:
        if short:
            return write(fd, data[:10], at)
        raise OSError(errno.ENOSPC, "No space left on device")

    for number in range(3):
        stream.append(b"s", b"", b"x", NOW)
        with mock.patch("os.pwrite", full):
            assert desk.commit() == ""
        assert stream.durable_seq == number + 1
    desk.crash()
    assert desk.stream(1).messages == 3
    desk.stop()


def test_a_start_that_is_cut_short_is_done_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    desk.settle()
    for number in range(5):
        stream.append(b"s.%d" % number, b"", b"x", NOW)
        desk.settle()
    stream.remove(2)
    stream.trim(2)
    stream.skip(3)
    desk.settle()
    desk.store._abandon()
    assert verify(str(tmp_path)) == []
    log = (tmp_path / wal.FILE).read_bytes()
    for _ in range(2):
        desk.open()
        again = desk.stream(1)
        assert (again.first_seq, again.last_seq, again.messages) == (3, 8, 3)
        desk.store._abandon()
        assert found_in(tmp_path) == []
        (tmp_path / wal.FILE).write_bytes(log)  # as if it had never been taken
    assert verify(str(tmp_path)) == []


def test_a_stream_that_begins_somewhere(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    streams = [desk.store.create(b"x", False) for _ in range(2)]
    desk.settle()
    for stream, first in zip(streams, (1, 100), strict=True):
        stream.start_at(first)
    desk.settle()
    desk.crash()
    found = [desk.stream(sid) for sid in (1, 2)]
    assert [(stream.first_seq, stream.last_seq) for stream in found] == [(1, 0), (100, 99)]
    desk.stop()


def found_in(path: Path) -> list[bytes]:
    with lmdb.open(str(path / opening.FILE), subdir=False, max_dbs=6, readonly=True) as env:
        meta = env.open_db(b"meta", create=False)
        with env.begin(db=meta) as txn:
            sealed = txn.get(keys.TAKEN)
    assert sealed is not None
    return wal.read(str(path), extend, int.from_bytes(sealed[4:], "big"))[0]


def test_a_store_from_before_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAJOR", 1)
    desk = Desk(tmp_path)
    desk.store.create(b"x", False).append(b"s", b"", b"x", NOW)
    desk.stop()
    (tmp_path / wal.FILE).unlink()
    monkeypatch.undo()
    desk.open()
    assert desk.stream(1).messages == 1
    desk.stop()
    monkeypatch.setattr(opening, "MAJOR", 1)
    with pytest.raises(StoreError, match=r"layout version 2\.0; this program knows 1\.0"):
        desk.open()


def test_another_version_is_refused() -> None:
    with pytest.raises(StoreError, match="version 9"):
        redo.unpack(msgspec.msgpack.encode((9, [], {})))
    with pytest.raises(StoreError, match="cannot be read"):
        redo.unpack(b"?")


def test_a_group_of_many_small_writes_is_bounded(tmp_path: Path) -> None:
    log = made(tmp_path)
    count = 0
    while log.append(b"x"):
        count += 1
    assert count == limits.WAL_BYTES // PAGE
    assert (tmp_path / wal.FILE).stat().st_size <= limits.WAL_BYTES
    log.close()
