"""Space comes back: after overwrites and random removals the file is bounded by the live data."""

from __future__ import annotations

import random
from pathlib import Path

from jetstream_py import limits
from jetstream_py.store import compact_file, verify
from jetstream_py.store.store import Store

from .support import NOW, Desk

SLACK = 2 * limits.GARBAGE_FLOOR + (4 << 20)  # garbage that may stay, groups in flight, the trees


def file_bytes(store: Store) -> int:
    """How far into the file pages were ever used."""
    return int(store._env.info()["last_pgno"]) * 4096


def test_overwritten_keys(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stream = desk.store.create(b"kv", False)
    chance = random.Random(1)
    data = bytes(500)
    for i in range(60_000):
        key = b"key.%d" % chance.randrange(1_000)
        stream.append(key, b"", data, NOW)
        if stream.count(key) > 1:
            stream.remove(stream.oldest(key))
        if i % 500 == 0:
            assert desk.commit() == ""
    desk.settle()
    assert stream.messages == 1_000
    assert file_bytes(desk.store) < 2 * stream.bytes + SLACK
    desk.stop()
    assert verify(str(tmp_path)) == []


def test_work_queue_in_random_order(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stream = desk.store.create(b"wq", False)
    data = bytes(1_000)
    for i in range(30_000):
        stream.append(b"w.%d" % (i % 20), b"", data, NOW)
        if i % 1_000 == 999:
            assert desk.commit() == ""
    order = list(range(1, 30_001))
    random.Random(1).shuffle(order)
    for i, seq in enumerate(order):
        assert stream.remove(seq) is not None
        if i % 500 == 499:
            assert desk.commit() == ""
            assert desk.store.used_bytes() < 2.3 * stream.bytes + SLACK
    desk.settle()
    assert desk.store.used_bytes() < 1 << 20
    desk.stop()


def test_compact_file(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    for i in range(3_000):
        stream.append(b"s", b"", b"SECRET%d" % i * 100, NOW)
    desk.commit()
    stream.purge(keep=10)
    desk.settle()
    desk.stop()
    before, after = compact_file(str(tmp_path))
    assert before > 2_000_000 > 200_000 > after
    assert (tmp_path / "data.mdb").read_bytes().count(b"SECRET1999SECRET") == 0
    assert verify(str(tmp_path)) == []
    desk.open()
    assert desk.stream(1).messages == 10
    desk.stop()


def test_erased_bytes_are_in_no_block(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    for secret in (b"first", b"SECRET" * 10, b"third"):
        stream.append(b"s", b"", secret, NOW)
    desk.commit()
    assert stream.remove(2, erase=True) is not None
    desk.commit()
    with desk.store._env.begin() as txn:
        blocks = desk.store._home
        assert blocks is not None
        with txn.cursor(db=blocks.databases.blk) as cursor:
            assert not any(b"SECRET" in value for value in cursor.iternext(keys=False, values=True))
    assert [m.data for m in (stream.get(1), stream.get(3)) if m] == [b"first", b"third"]
    desk.stop()
