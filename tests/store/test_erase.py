"""Erased messages are nowhere in the file: not in blocks, not in freed pages, not in gaps of others."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from jetstream_py.store import failpoints, opening, verify, wal
from jetstream_py.store.pages import PageError, Pages, missing_bytes
from jetstream_py.store.scrub import runs

from .support import NOW, Desk, shrink

SECRET = b"TOP-SECRET-%d."


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read again and again here: let them not be larger than they must."""
    shrink(monkeypatch, STORE_AHEAD=1 << 18)


def content(path: Path) -> bytes:
    return (path / opening.FILE).read_bytes() + (path / wal.FILE).read_bytes()


def secret(number: int, size: int) -> bytes:
    return (SECRET % number * (size // 10 + 1))[:size]


@pytest.mark.parametrize("size", [20, 700, 2_050, 3_500, 5_000, 40_000, 300_000, 2_500_000])
@pytest.mark.parametrize("group", [1, 7])
def test_erased_payloads_are_gone_from_the_file(tmp_path: Path, size: int, group: int) -> None:
    """Small ones in leaves, larger ones in pages of their own; alone or with others in a block."""
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    count = 14 if size < 100_000 else 4
    for number in range(1, count + 1):
        stream.append(b"s", b"", secret(number, size), NOW)
        if number % group == 0:
            desk.commit()
    desk.settle()
    assert SECRET % 3 in content(tmp_path)
    assert stream.remove(3, erase=True) is not None
    assert desk.commit() == ""
    assert SECRET % 3 not in content(tmp_path)
    for _ in range(20):  # nor does it come back out of a buffer
        stream.append(b"s", b"", b"harmless", NOW)
        desk.commit()
        assert SECRET % 3 not in content(tmp_path)
    for number in range(1, count + 1):
        message = stream.get(number)
        assert (message and message.data) == (secret(number, size) if number != 3 else None)
    desk.stop()
    assert verify(str(tmp_path)) == []


def test_older_copies_are_gone_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merged and compacted away: the block that is erased is not the first that held it."""
    shrink(monkeypatch, SMALL_RUN=4, GARBAGE_FLOOR=2_000, COMPACT_STEP=2_000)
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    chance = random.Random(1)
    for number in range(1, 200):
        stream.append(b"s.%d" % (number % 5), b"", secret(number, chance.choice((30, 900))), NOW)
        if number > 50:
            stream.remove(number - chance.randrange(20, 40))
        desk.commit()
    live = [n for n in range(1, 200) if stream.get(n) is not None]
    for number in live[::5]:
        stream.remove(number, erase=True)
        desk.commit()
        assert SECRET % number not in content(tmp_path)
    assert SECRET % live[1] in content(tmp_path)
    desk.stop()
    assert verify(str(tmp_path)) == []


def test_a_message_that_is_on_its_way_to_the_disk(tmp_path: Path) -> None:
    desk = Desk(tmp_path, inline=0, record=0)
    stream = desk.store.create(b"x", False)
    desk.commit()
    for number in (1, 2, 3):
        stream.append(b"s", b"", secret(number, 50), NOW)
    desk.start()
    assert stream.remove(2, erase=True) is not None
    desk.finish()
    assert desk.store.dirty
    desk.settle()
    assert SECRET % 2 not in content(tmp_path)
    assert SECRET % 3 in content(tmp_path)
    desk.stop()
    assert verify(str(tmp_path)) == []


def test_a_message_that_was_never_written(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    stream.append(b"s", b"", secret(1, 50), NOW)
    stream.remove(1, erase=True)
    desk.settle()
    assert SECRET % 1 not in content(tmp_path)
    desk.stop()


def test_plain_removals_do_not_scrub(tmp_path: Path) -> None:
    scrubs: list[int] = []
    failpoints.arm("scrub", lambda: scrubs.append(1))
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    for number in range(10):
        stream.append(b"s", b"", secret(number, 50), NOW)
    desk.commit()
    stream.remove(3)
    stream.purge(before=2)
    desk.settle()
    assert scrubs == []
    for seq in (4, 5, 6):
        stream.remove(seq, erase=True)
    desk.settle()
    assert scrubs == [1]  # one for all
    failpoints.disarm()
    desk.stop()


def test_the_store_is_busy_until_it_is_done(tmp_path: Path) -> None:
    """So that no transaction takes a page that is about to be overwritten, and no answer leaves."""
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    for number in range(10):
        stream.append(b"s", b"", secret(number, 50), NOW)
    desk.commit()
    seen: list[tuple[bool, list[str]]] = []
    failpoints.arm("scrub", lambda: seen.append((desk.store.busy, desk.answers[1:])))
    stream.remove(3, erase=True)
    assert desk.commit() == ""
    failpoints.disarm()
    assert seen == [(True, [])]
    stream.append(b"s", b"", b"next", NOW)
    assert desk.commit() == ""
    desk.stop()


def test_a_disk_that_fails_stops_the_store(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    stream.append(b"s", b"", secret(1, 50), NOW)
    desk.commit()

    def fail() -> None:
        raise OSError(5, "Input/output error")

    failpoints.arm("scrub", fail)
    stream.remove(1, erase=True)
    assert "Input/output error" in desk.commit()
    failpoints.disarm()
    assert desk.store.failed
    desk.stop()
    assert verify(str(tmp_path)) == []  # it is erased from the stream, if not from the file


def test_close_scrubs(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stream = desk.store.create(b"x", False)
    for number in (1, 2):
        stream.append(b"s", b"", secret(number, 50), NOW)
    desk.commit()
    stream.remove(1, erase=True)
    desk.stop()
    assert SECRET % 1 not in content(tmp_path)
    assert SECRET % 2 in content(tmp_path)


def test_runs_of_pages() -> None:
    assert list(runs([])) == []
    assert list(runs([9, 3, 4, 5, 11])) == [(3, 3), (9, 1), (11, 1)]
    assert list(runs(range(10), most=4)) == [(0, 4), (4, 4), (8, 2)]


def test_free_and_used_pages_are_the_whole_file(tmp_path: Path) -> None:
    """What `pages` reads agrees with what the library counts."""
    desk = Desk(tmp_path, deep=True)
    stream = desk.store.create(b"x", False)
    chance = random.Random(1)
    for _ in range(300):
        stream.append(b"s", b"", bytes(chance.randrange(3_000)), NOW)
        if stream.messages > 50:
            stream.purge(keep=40)
        desk.commit()
    env = desk.store._env
    fd = os.open(tmp_path / opening.FILE, os.O_RDONLY)
    pages = Pages(fd)
    free = [number for numbers in pages.freed_since(0) for number in numbers]
    home = desk.store._home
    assert home is not None
    used = 2
    with env.begin() as txn:
        for stat in (env.stat(), *[txn.stat(database) for database in home.databases]):
            used += stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
    own = sum(1 for _ in pages._tree(pages._free)) + sum(
        -(-(16 + node.size) // pages.page_size) for node in pages._nodes(pages._free) if node.flags
    )
    assert len(set(free)) == len(free) > 20
    assert used + own + len(free) == pages.last_page + 1 == env.info()["last_pgno"] + 1
    assert [n for numbers in pages.freed_since(pages.txn) for n in numbers] == []
    os.close(fd)
    desk.stop()


@pytest.mark.parametrize("data", [b"", b"x" * 100, b"x" * 20_000, bytes(20_000)])
def test_what_is_no_lmdb_file(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)
    with pytest.raises(PageError):
        missing_bytes(str(file))
