"""How large the file gets when much goes through a stream and little stays.

Two loads at the store's door: keys that are overwritten, and a work queue whose messages are removed in
nearly random order while others come. Whatever went through, the file must not pass twice what is live,
and a fixed reserve: the garbage that a stream may keep, the group on its way, the trees.
"""

from __future__ import annotations

import queue
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from jetstream_py import limits
from jetstream_py.store import Store, StreamStore, verify

RESERVE = 2 * limits.GARBAGE_FLOOR + (8 << 20)
GROUP = 500
PAYLOAD = 1_000
NOW = 1_700_000_000_000_000_000


@dataclass
class Size:
    """In bytes: what was live at most, and how far into the file pages were ever used."""

    messages: int
    live: int
    file: int

    @property
    def bound(self) -> int:
        return 2 * self.live + RESERVE

    def __str__(self) -> str:
        live, file, bound = (n / 1e6 for n in (self.live, self.file, self.bound))
        return f"{self.messages} messages, {live:.1f} MB live, file {file:.1f} MB of {bound:.1f} MB"


def overwrite(directory: Path, messages: int, keys: int = 10_000) -> Size:
    """Each put replaces the key's value."""
    chance = random.Random(1)

    def put(stream: StreamStore, number: int) -> None:
        key = b"kv.%d" % chance.randrange(keys)
        stream.append(key, b"", bytes(PAYLOAD), NOW)
        if stream.count(key) > 1:
            stream.remove(stream.oldest(key))

    return _run(directory, messages, put)


def work_queue(directory: Path, messages: int, backlog: int = 20_000) -> Size:
    """A backlog of which any message may be the next that is done."""
    chance = random.Random(2)
    waiting: list[int] = []

    def put(stream: StreamStore, number: int) -> None:
        waiting.append(stream.append(b"w.%d" % (number % 20), b"", bytes(PAYLOAD), NOW))
        if len(waiting) > backlog:
            at = chance.randrange(len(waiting))
            waiting[at], waiting[-1] = waiting[-1], waiting[at]
            assert stream.discard(waiting.pop())

    return _run(directory, messages, put)


def _run(directory: Path, messages: int, put: Callable[[StreamStore, int], None]) -> Size:
    path = str(directory / "store")
    for store, commit in _store(path):
        stream = store.create(b"", False)
        live = 0
        for number in range(messages):
            put(stream, number)
            if number % GROUP == GROUP - 1:
                commit()
                live = max(live, stream.bytes)
        commit()
        size = Size(messages, live, int(store._env.info()["last_pgno"] + 1) * 4096)
    complaints = verify(path)
    assert not complaints, complaints
    return size


def _store(path: str) -> Iterator[tuple[Store, Callable[[], None]]]:
    """A store, and a way to have all of it on disk."""
    wakes: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
    store = Store(path, wakes.put)

    def commit() -> None:
        while store.dirty:
            errors: list[str] = []
            store.commit(errors.append)
            while store.busy:
                wakes.get(timeout=60)()
            assert errors == [""], errors

    yield store, commit
    store.close()
