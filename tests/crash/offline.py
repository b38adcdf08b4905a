"""What a killed server has left: the streams in its store, read without a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jetstream_py.store import Message, Store, StreamStore

SLICE = 10_000  # messages read at a time


@contextmanager
def streams(path: Path) -> Iterator[dict[str, StreamStore]]:
    """By name."""
    [home] = [file.parent for file in path.rglob("data.mdb")]
    store = Store(str(home), lambda action: action())
    try:
        yield {json.loads(raw)["config"]["name"]: each for raw, each in store.streams().values()}
    finally:
        store.close()


def rows(stream: StreamStore) -> Iterator[Message]:
    """All messages in their order."""
    seq = 1
    while run := stream.run(seq, SLICE, b"", stream.last_seq):
        yield from run.messages()
        seq = run.seqs[-1] + 1
