"""An offline check of a store: reads everything, changes nothing.

First what start-up sees (its complaints), then the invariants of the layout: `blk` and `dir` have the same
keys, blocks ascend and do not overlap, every record fits its checksum, counters and subjects are what a
count of the live records says.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping

import lmdb

from . import keys, opening, recovery, wal
from .block import Damaged
from .file_stream import FileStream
from .home import Home
from .types import StoreError, StreamStore

# What the engine has to say of a stream: its configuration, its messages, all records of the engine.
Inspect = Callable[[bytes, StreamStore, Mapping[bytes, bytes]], list[str]]


def verify(path: str, inspect: Inspect | None = None) -> list[str]:
    """Complaints about the store in that directory; empty when it is fine. The server must be stopped."""
    file = os.path.join(path, opening.FILE)
    if not os.path.exists(file):
        return [f"there is no store in {path}"]
    try:
        held = opening.lock(path)
    except StoreError as error:
        return [str(error)]
    try:
        opening.check_whole(file)
        env = opening.open_file(file)
    except (lmdb.Error, OSError, StoreError) as error:
        os.close(held)
        return [str(error) if isinstance(error, StoreError) else f"cannot open {file}: {error}"]
    try:
        databases, extend = opening.open_databases(env)
        with env.begin(buffers=True) as txn:
            home = Home(databases, extend, txn)
            _, complaint = wal.read(path, extend, recovery.taken(home))
            return _check(home, inspect) + ([complaint] if complaint else [])
    except StoreError as error:
        return [str(error)]
    except lmdb.Error as error:
        return [f"cannot read {file}: {error}"]
    finally:
        env.close()
        os.close(held)


def _check(home: Home, inspect: Inspect | None) -> list[str]:
    doomed = set(recovery.doomed(home.snapshot, home))
    found = recovery.recover_all(home)
    records = recovery.records(home) if inspect is not None else {}
    complaints = list(home.complaints)
    home.complaints.clear()
    complaints += _compare_keys(home, doomed, set(found))
    for sid, (config, stream) in found.items():
        faults = _check_stream(stream)
        if inspect is not None:
            faults += inspect(config, stream, records)
        complaints += [f"stream {sid}: {text}" for text in faults]
    complaints += list(home.complaints)
    return complaints


def _keys(home: Home, database: lmdb._Database) -> set[bytes]:
    with home.snapshot.cursor(db=database) as cursor:
        return {bytes(key) for key in cursor.iternext(keys=True, values=False)}


def _compare_keys(home: Home, doomed: set[int], known: set[int]) -> list[str]:
    blocks, entries = _keys(home, home.databases.blk), _keys(home, home.databases.dir)
    complaints = []
    for key in sorted(blocks ^ entries):
        sid, first = keys.seq_unkey(key)
        if sid not in doomed:
            missing = "index entry" if key in blocks else "block"
            complaints.append(f"stream {sid}: the {missing} at {first} is missing")
    strangers = {keys.seq_unkey(key)[0] for key in blocks | entries} - doomed - known
    complaints += [
        f"stream {sid}: there are blocks, but no such stream" for sid in sorted(strangers)
    ]
    return complaints


def _check_stream(stream: FileStream) -> list[str]:
    complaints: list[str] = []
    counts: Counter[bytes] = Counter()
    newest: dict[bytes, int] = {}
    messages = size = before = 0
    for block in list(stream.directory.blocks):
        if block.first <= before:
            complaints.append(f"the block at {block.first} overlaps the one before it")
        before = block.last
        if block.bad:
            continue
        for i in list(stream.directory.live_positions(block)):
            try:
                message = stream.reader.message(block, i)
            except Damaged as error:
                complaints.append(f"message {stream.directory.seq(block, i)}: {error}")
                continue
            messages += 1
            size += stream.size(message.subject, message.headers, message.data)
            counts[message.subject] += 1
            newest[message.subject] = message.seq
            if block.name is not None and block.name != message.subject:
                complaints.append(f"message {message.seq}: the index entry has another subject")
    if complaints:
        return complaints
    if (messages, size) != (stream.messages, stream.bytes):
        complaints.append(
            f"counters say {stream.messages} messages, {stream.bytes} bytes; there are {messages}, {size}"
        )
    if counts != stream.subjects():
        complaints.append("the counts per subject are wrong")
    if any(stream.table.last.get(name, 0) < seq for name, seq in newest.items()):
        complaints.append("a subject's newest message is unknown")
    return complaints
