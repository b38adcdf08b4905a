"""What the disk holds of a store, and how fast it syncs."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

import lmdb

_BLOCK: Final = 512  # the unit of st_blocks, whatever the file system's own is
_LMDB_SUFFIX: Final = ".mdb"
_MOST_DATABASES: Final = 64
_LOOKS: Final = 50
_STEP: Final = 0.02
_SYNCS: Final = 50
_SYNC_BYTES: Final = 200
_MOUNTS: Final = Path("/proc/self/mounts")


def used_bytes(folder: Path) -> int:
    """What the files below `folder` occupy for the sake of their content.

    An LMDB file counts by its pages in use: it also has free ones, kept in reserve or left by a
    stream that is gone, so that its size says nothing about one run.
    """
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += _file_bytes(Path(root, name))
            except FileNotFoundError:
                continue  # Removed meanwhile.
    return total


def _file_bytes(file: Path) -> int:
    if file.suffix == _LMDB_SUFFIX:
        return _pages_in_use(file)
    return file.lstat().st_blocks * _BLOCK


def _pages_in_use(file: Path) -> int:
    """As a reader of its own, which LMDB allows beside the server's process."""
    with (
        lmdb.open(str(file), subdir=False, readonly=True, max_dbs=_MOST_DATABASES) as env,
        env.begin() as txn,
    ):
        names = list(txn.cursor().iternext(values=False))
        stats = [txn.stat(env.open_db(name, txn, create=False)) for name in names]
        pages = sum(
            one["branch_pages"] + one["leaf_pages"] + one["overflow_pages"] for one in stats
        )
        return int(pages * env.stat()["psize"])


def settled_bytes(folder: Path) -> int:
    """The same once two looks agree: servers write behind and delete behind."""
    before = used_bytes(folder)
    for _ in range(_LOOKS):
        time.sleep(_STEP)
        now = used_bytes(folder)
        if now == before:
            break
        before = now
    return before


def forget(folder: Path) -> None:
    """Writes out the files below `folder` and drops them from the page cache."""
    for root, _, names in os.walk(folder):
        for name in names:
            file = os.open(Path(root, name), os.O_RDONLY)
            try:
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)


def sync_micros() -> float:
    """The median time of appending a few bytes and syncing them, where the stores will be."""
    taken: list[float] = []
    with tempfile.NamedTemporaryFile(prefix="bench-") as file:
        for _ in range(_SYNCS):
            begin = time.perf_counter()
            os.write(file.fileno(), bytes(_SYNC_BYTES))
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - begin)
    return statistics.median(taken) * 1e6


def file_system() -> str:
    """The kind of file system the stores will be on, e.g. `ext4`; `tmpfs` never syncs."""
    folder = Path(tempfile.gettempdir()).resolve()
    mounts = [line.split()[1:3] for line in _MOUNTS.read_text().splitlines()]
    inside = [(len(point), kind) for point, kind in mounts if folder.is_relative_to(point)]
    return max(inside)[1] if inside else "unknown"
