"""A store's directory: how it is made, locked and opened.

A new store is written under a temporary name, synced, and renamed; then the directory and its parents are
synced. So whenever the power goes there is no store, or one that opens. The format record says how it is
laid out; a version that this program does not know is refused, never guessed at.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from typing import Final

import lmdb
import msgspec

from jetstream_py import limits

from . import failpoints, keys
from .checksum import BEST, Extend, choose
from .home import Databases
from .pages import PageError, missing_bytes
from .types import StoreError, StoreLocked

FILE: Final = "data.mdb"
LOCK: Final = "store.lock"
MAJOR: Final = 2  # 1 had no write-ahead log, and would not look into it
MINOR: Final = 0


class Format(msgspec.Struct):
    """The format record."""

    major: int
    minor: int
    checksum: str


def sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_directory(path: str) -> None:
    """Make the directory and what is missing above it, each of them durable in its parent."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_directory(parent)
    try:
        os.mkdir(path, 0o750)
    except FileExistsError:
        pass
    sync_directory(parent)


def lock(path: str) -> int:
    """Hold the directory for this process; the descriptor keeps it."""
    fd = os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise StoreLocked(f"the store in {path} is in use by another server") from error
    return fd


def open_file(file: str, readonly: bool = False, readahead: bool = True) -> lmdb.Environment:
    return lmdb.open(
        file,
        map_size=limits.STORE_MAP,
        subdir=False,
        max_dbs=len(keys.DATABASES),
        mode=0o640,
        readonly=readonly,
        readahead=readahead,
    )


def check_whole(file: str) -> None:
    """Raises `StoreError` for a file that was cut: touching what is missing would kill the process."""
    try:
        missing = missing_bytes(file)
    except PageError as error:
        raise StoreError(f"cannot open {file}: not an LMDB file: {error}") from error
    if missing:
        raise StoreError(f"cannot open {file}: it was cut, its last {missing} bytes are missing")


def create(path: str) -> None:
    """Make an empty store in the directory."""
    file = os.path.join(path, FILE)
    fresh = file + ".new"
    for leftover in (fresh, fresh + "-lock"):
        if os.path.exists(leftover):
            os.unlink(leftover)
    env = open_file(fresh)
    try:
        with env.begin(write=True) as txn:
            for name in keys.DATABASES:
                env.open_db(name, txn=txn)
            _put_format(txn, env.open_db(b"meta", txn=txn), BEST)
    finally:
        env.close()
    fd = os.open(fresh, os.O_RDWR)
    os.fsync(fd)
    os.close(fd)
    failpoints.hit("open.made")
    os.rename(fresh, file)
    if os.path.exists(fresh + "-lock"):
        os.unlink(fresh + "-lock")
    failpoints.hit("open.named")


def _put_format(txn: lmdb.Transaction, meta: lmdb._Database, checksum: str) -> None:
    body = msgspec.msgpack.encode(Format(MAJOR, MINOR, checksum))
    txn.put(keys.FORMAT, zlib.crc32(body).to_bytes(4, "little") + body, db=meta)


def _format(env: lmdb.Environment, databases: Databases) -> Format:
    with env.begin() as txn:
        record = txn.get(keys.FORMAT, db=databases.meta)
    if record is None or zlib.crc32(record[4:]).to_bytes(4, "little") != record[:4]:
        raise StoreError("the store's format record is missing or damaged")
    return msgspec.msgpack.decode(bytes(record[4:]), type=Format)


def upgrade(env: lmdb.Environment, databases: Databases) -> None:
    """From now on a program that knows only the layout before this one must not open the store."""
    known = _format(env, databases)
    if known.major < MAJOR:
        with env.begin(write=True) as txn:
            _put_format(txn, databases.meta, known.checksum)


def open_databases(env: lmdb.Environment) -> tuple[Databases, Extend]:
    """The handles and the checksum; raises `StoreError` for a store of another kind."""
    try:
        found = [env.open_db(name, create=False) for name in keys.DATABASES]
    except (lmdb.NotFoundError, lmdb.ReadonlyError) as error:
        raise StoreError("this LMDB file is not a store of this server") from error
    databases = Databases(*found)
    known = _format(env, databases)
    if not 1 <= known.major <= MAJOR:
        raise StoreError(
            f"the store has layout version {known.major}.{known.minor}; this program knows {MAJOR}.{MINOR}"
        )
    return databases, choose(known.checksum)


def compact(path: str) -> tuple[int, int]:
    """Copy a store that is not open into a new file; return its size before and after.

    LMDB reuses pages but never gives them back; nor does it overwrite what a removed message left in a
    free page. Both are gone in the copy.
    """
    file = os.path.join(path, FILE)
    fresh = file + ".new"
    held = lock(path)
    try:
        check_whole(file)
        before = os.path.getsize(file)
        if os.path.exists(fresh):
            os.unlink(fresh)
        with open_file(file) as env:
            open_databases(env)
            with open(fresh, "xb") as copy:
                env.copyfd(copy.fileno(), compact=True)
                copy.flush()
                os.fsync(copy.fileno())
        os.rename(fresh, file)
        sync_directory(path)
        return before, os.path.getsize(file)
    except (OSError, lmdb.Error) as error:
        raise StoreError(f"cannot compact the store in {path}: {error}") from error
    finally:
        os.close(held)
