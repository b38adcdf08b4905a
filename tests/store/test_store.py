"""The store around the streams: configurations, records of the engine, groups, limits, refusals."""

from __future__ import annotations

import errno
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import lmdb
import msgspec
import pytest

from jetstream_py.store import Store, StoreError, checksum, failpoints, keys, opening, verify

from .support import NOW, TINY, Desk, shrink


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "js", record=10_000)
    yield made
    failpoints.disarm()
    made.stop()


def test_configurations_and_records_survive(desk: Desk) -> None:
    one, two = desk.store.create(b"one", False), desk.store.create(b"two", False)
    desk.store.save(two.sid, b"two, changed")
    desk.store.put_meta(b"c/1", b"state")
    desk.store.put_meta(b"c/2", b"gone")
    desk.commit()
    desk.store.put_meta(b"c/2", None)
    desk.store.put_meta(b"d", b"other")
    desk.commit()
    desk.crash()
    configs = {sid: config for sid, (config, _) in desk.store.streams().items()}
    assert configs == {one.sid: b"one", two.sid: b"two, changed"}
    assert desk.store.meta_items(b"c/") == [(b"c/1", b"state")]
    assert desk.store.get_meta(b"d") == b"other"
    assert desk.store.get_meta(b"c/2") is None


def test_a_stream_is_deleted_in_slices_and_its_id_never_used_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch, **TINY)
    stream = desk.store.create(b"x", False)
    for i in range(500):
        stream.append(b"s", b"", b"data", NOW + i)
    desk.commit()
    desk.store.delete(stream.sid)
    desk.commit()
    assert desk.store.dirty
    desk.crash()
    assert desk.store.streams() == {}
    desk.settle()
    assert desk.store.used_bytes() < 50_000
    assert desk.store.create(b"y", False).sid == stream.sid + 1


def test_memory_only_store() -> None:
    store = Store(None, lambda _: None)
    store.create(b"m", memory=True).append(b"a", b"", b"", NOW)
    answers: list[str] = []
    store.commit(answers.append)
    assert (answers, store.dirty, store.room()) == ([""], False, True)
    store.create(b"f", memory=False).append(b"a", b"", b"", NOW)
    assert not store.dirty
    store.close()


def test_small_groups_commit_at_once_and_large_ones_in_the_thread(desk: Desk) -> None:
    stream = desk.store.create(b"x", False)
    stream.append(b"a", b"", b"small", NOW)
    desk.start()
    assert (desk.answers, desk.store.busy) == ([""], False)
    stream.append(b"a", b"", b"x" * 100_000, NOW)
    desk.start()
    assert (desk.answers, desk.store.busy) == ([""], True)
    assert stream.append(b"a", b"", b"meanwhile", NOW) == 3
    desk.finish()
    assert desk.answers == ["", ""]
    assert desk.store.dirty


def test_closing_finishes_a_running_commit(desk: Desk) -> None:
    stream = desk.store.create(b"x", False)
    stream.append(b"a", b"", b"x" * 100_000, NOW)
    desk.start()
    stream.append(b"a", b"", b"staged", NOW)
    desk.reopen()
    assert desk.answers == [""]
    assert desk.stream(stream.sid).messages == 2


@pytest.mark.parametrize(
    ("point", "deep"),
    [
        ("commit.begin", True),
        ("commit.blocks", True),
        ("commit.before", True),
        ("commit.after", True),
        ("commit.begin", False),
        ("commit.before", False),
        ("commit.after", False),
    ],
)
def test_a_failed_commit_is_the_end(desk: Desk, point: str, deep: bool) -> None:
    stream = desk.store.create(b"x", False)
    stream.append(b"a", b"", b"kept", NOW)
    desk.commit()
    stream.append(b"a", b"", b"lost", NOW)

    def fail() -> None:
        raise OSError(errno.EIO, "Input/output error")

    failpoints.arm(point, fail)
    if deep:
        desk.deepen()
    assert "Input/output error" in desk.commit()
    failpoints.disarm()
    stream.append(b"a", b"", b"never", NOW)
    assert "Input/output error" in desk.commit()
    assert desk.store.failed
    assert stream.get(1) is not None
    desk.reopen()
    assert desk.stream(stream.sid).messages == (2 if point == "commit.after" else 1)
    assert desk.store.failed == ""


def test_publishes_stop_before_removals_do(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "js", limit=3 << 20, reserve=1 << 20)
    stream = desk.store.create(b"x", False)
    while desk.store.room():
        for i in range(100):
            stream.append(b"a.%d" % (i % 3), b"", b"x" * 1_000, NOW)
        assert desk.commit() == ""
    assert 2 << 20 <= desk.store.used_bytes() < 3 << 20
    assert desk.store.free_bytes() == 0
    assert stream.purge(b"a.1") > 0
    assert desk.commit() == ""
    stream.purge()
    desk.settle()
    assert desk.store.room()
    desk.stop()


def test_a_full_disk_stops_publishes_and_nothing_else(desk: Desk) -> None:
    stream = desk.store.create(b"x", False)

    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    failpoints.arm("extend", full)
    while desk.store.room():
        stream.append(b"a", b"", b"x" * 900_000, NOW)
        assert desk.commit() == ""
    stream.purge()
    assert desk.commit() == ""
    failpoints.disarm()
    stream.append(b"a", b"", b"x" * 900_000, NOW)
    assert desk.commit() == ""
    assert desk.store.room()


def test_unknown_layout_is_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.stop()
    with opening.open_file(str(tmp_path / opening.FILE)) as env, env.begin(write=True) as txn:
        body = msgspec.msgpack.encode(opening.Format(99, 1, "crc32"))
        record = zlib.crc32(body).to_bytes(4, "little") + body
        txn.put(keys.FORMAT, record, db=env.open_db(b"meta", txn=txn))
    with pytest.raises(StoreError, match=r"layout version 99\.1"):
        desk.open()
    assert "99.1" in verify(str(tmp_path))[0]


def test_the_checksum_is_the_one_the_store_was_made_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "BEST", "crc32")
    desk = Desk(tmp_path)
    desk.store.create(b"x", False).append(b"a", b"", b"data", NOW)
    monkeypatch.undo()
    desk.reopen()
    assert desk.stream(1).get(1) is not None
    desk.stop()
    assert verify(str(tmp_path)) == []
    monkeypatch.setattr(checksum, "AVAILABLE", {})
    with pytest.raises(StoreError, match="checksum 'crc32'"):
        desk.open()


def test_closing_while_every_answer_starts_the_next_commit(tmp_path: Path) -> None:
    desk = Desk(tmp_path, inline=0, record=0)
    stream = desk.store.create(b"x", False)
    left = [3]

    def again(error: str) -> None:
        assert error == ""
        if left[0]:
            left[0] -= 1
            stream.append(b"a", b"", b"x", NOW)
            desk.store.commit(again)

    stream.append(b"a", b"", b"x", NOW)
    desk.store.commit(again)
    desk.reopen()
    assert desk.stream(1).messages == 4
    desk.stop()


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / opening.FILE).write_text("this is not a database" * 1_000)
    with pytest.raises(StoreError, match="cannot open"):
        Desk(tmp_path / "text")
    (tmp_path / "foreign").mkdir()
    lmdb.open(str(tmp_path / "foreign" / opening.FILE), subdir=False).close()
    with pytest.raises(StoreError, match="not a store"):
        Desk(tmp_path / "foreign")


def test_one_process_at_a_time(desk: Desk, tmp_path: Path) -> None:
    script = "import sys; from jetstream_py.store import Store; Store(sys.argv[1], print)"
    run = [sys.executable, "-c", script, str(tmp_path / "js")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=30, check=False)
    assert "in use by another server" in done.stderr


def test_unwritable_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot open"):
        Desk(tmp_path / "file" / "js")
