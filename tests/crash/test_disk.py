"""The tools must not lie: what the disk of the power cuts remembers, and how a trace is read."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.crash.disk import PAGE, Disk, File, Luck, Unseen
from tests.crash.trace import parse

ROOT = Path("/store")
FILE = "/store/a"
PAGEFUL = b"x" * PAGE


def hexed(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def path(name: str) -> str:
    return hexed(os.fsencode(name))


OPEN = f'1 openat(AT_FDCWD, "{path(FILE)}", O_RDWR|O_CREAT, 0644) = 3<{path(FILE)}>'
OPEN_DSYNC = f'1 openat(AT_FDCWD, "{path(FILE)}", O_WRONLY|O_DSYNC) = 4<{path(FILE)}>'
SYNC = f"1 fdatasync(3<{path(FILE)}>) = 0"
FAILED = SYNC.replace("= 0", "= -1 EIO (Input/output error)")
SYNC_ROOT = f"1 fsync(9<{path('/store')}>) = 0"


def write(data: bytes, offset: int, fd: int = 3) -> str:
    return f'1 pwrite64({fd}<{path(FILE)}>, "{hexed(data)}", {len(data)}, {offset}) = {len(data)}'


def after(tmp_path: Path, luck: Luck, *lines: str) -> bytes | None:
    disk = Disk(ROOT)
    for event in parse(lines):
        disk.begin(event)
    disk.pass_to(len(lines))
    disk.after_cut(luck, random.Random(1), tmp_path)
    found = tmp_path / "a"
    return found.read_bytes() if found.exists() else None


@pytest.mark.parametrize(
    ("luck", "lines", "content"),
    [
        ("none", [OPEN, SYNC_ROOT, write(b"one", 0), SYNC], b"one"),
        ("none", [OPEN, SYNC_ROOT, write(b"one", 0)], b""),
        ("all", [OPEN, SYNC_ROOT, write(b"one", 0)], b"one"),
        ("none", [OPEN, SYNC_ROOT, write(b"one", 0), SYNC, write(b"two", 0)], b"one"),
        ("none", [OPEN, write(b"one", 0), SYNC], None),
        ("none", [OPEN, OPEN_DSYNC, SYNC_ROOT, write(PAGEFUL, 0), write(b"y", PAGE, 4)], bytes(PAGE) + b"y"),
        ("none", [OPEN, SYNC_ROOT, write(b"one", 0), FAILED], b""),
    ],
    ids=["synced", "unsynced", "lucky", "overwritten", "nameless", "dsync", "failed"],
)  # fmt: skip
def test_only_what_was_synced_is_certain(
    tmp_path: Path, luck: Luck, lines: list[str], content: bytes | None
) -> None:
    assert after(tmp_path, luck, *lines) == content


def test_a_sync_covers_what_ended_before_it_began(tmp_path: Path) -> None:
    late = f'2 pwrite64(3<{path(FILE)}>, "{hexed(b"one")}", 3, 0 <unfinished ...>'
    begun = f"1 fdatasync(3<{path(FILE)}> <unfinished ...>"
    lines = [
        OPEN,
        SYNC_ROOT,
        late,
        begun,
        "2 <... pwrite64 resumed>) = 3",
        "1 <... fdatasync resumed>) = 0",
    ]
    assert after(tmp_path, "none", *lines) == b""


def test_pages_are_kept_or_dropped_one_by_one() -> None:
    seen = set()
    for seed in range(40):
        file = File()
        file.write(0, b"a" * PAGE + b"b" * PAGE, 1)
        _, pages = file.after_cut("mixed", random.Random(seed))
        seen.add(frozenset(pages))
    assert seen == {frozenset(), frozenset({0}), frozenset({1}), frozenset({0, 1})}


def test_a_write_through_memory_is_refused(tmp_path: Path) -> None:
    mapped = (
        f"1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3<{path(FILE)}>, 0) = 0x7f0000000000"
    )
    with pytest.raises(Unseen):
        after(tmp_path, "none", OPEN, mapped)


def test_a_move_keeps_the_file(tmp_path: Path) -> None:
    new = FILE + ".new"
    opened = f'1 openat(AT_FDCWD, "{path(new)}", O_RDWR|O_CREAT, 0644) = 3<{path(new)}>'
    data = f'1 write(3<{path(new)}>, "{hexed(b"one")}", 3) = 3'
    synced = f"1 fsync(3<{path(new)}>) = 0"
    moved = f'1 rename("{path(new)}", "{path(FILE)}") = 0'
    assert after(tmp_path, "none", opened, data, synced, moved, SYNC_ROOT) == b"one"


def test_a_call_that_the_kill_came_into_may_count() -> None:
    cut_off = write(b"one", 0).split(" = ")[0].removesuffix(")") + " <detached ...>"
    (event,) = parse([cut_off])
    assert event.ended == -1
    assert event.data == b"one"
    assert event.numbers == [3, 0]
