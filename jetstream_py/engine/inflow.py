"""How much may wait to be stored: `max_buffered_msgs` and `max_buffered_size`.

A stream takes a publish at once and stages it. What it takes while a commit is under way waits for that one
to end, and so do the answers: that is its queue, and a disk that stands still would let it grow as long as
clients publish. So it has a bound for each stream, in messages and in bytes. What is beyond it is refused
with a 429, which leaves at once: it speaks of nothing that is on its way to the disk. A publish without a
reply is dropped. Both are counted, and the log tells it once in a while.

The next commit takes all that waits, so the count begins anew with each. A message that is larger than the
bound of bytes is always too large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py.api.errors import error
from jetstream_py.api.responses import pub_ack_error

if TYPE_CHECKING:
    from jetstream_py.engine.shared import Item, Shared

_TOO_MANY = b"NATS/1.0 429 Too Many Requests\r\n\r\n"


class Inflow:
    """The bound of one stream."""

    def __init__(self, shared: Shared, name: str) -> None:
        self._shared = shared
        self._name = name
        self._refusal = pub_ack_error(name, error(10167))
        self._most_msgs = shared.max_buffered_msgs
        self._most_bytes = shared.max_buffered_size
        # Where no message can be larger than the bound there is nothing to look at between commits.
        self.tight = self._most_bytes < shared.max_payload + (1 << 16)
        self._commit = (
            -1
        )  # the commit that is under way, by its number; since it began there came ...
        self._msgs = self._bytes = 0

    def admit(self, items: list[Item]) -> list[Item]:
        """Those for which there is room. The others are answered."""
        store = self._shared.store
        if not store.busy or store.commits != self._commit:
            self._commit = store.commits
            self._msgs = self._bytes = 0
        total = sum(map(_size, items))
        if self._bytes + total <= self._most_bytes and (
            not store.busy or self._msgs + len(items) <= self._most_msgs
        ):
            self._count(len(items), total)
            return items
        admitted = []
        for item in items:
            why = self._refuses(item)
            if why:
                self._refuse(item, why)
            else:
                self._count(1, _size(item))
                admitted.append(item)
        return admitted

    def _count(self, msgs: int, size: int) -> None:
        if self._shared.store.busy:
            self._msgs += msgs
            self._bytes += size

    def _refuses(self, item: Item) -> str:
        """The bound that a message is beyond, in the log's word for it."""
        if self._shared.store.busy and self._msgs >= self._most_msgs:
            return "len"
        return "size" if self._bytes + _size(item) > self._most_bytes else ""

    def _refuse(self, item: Item, why: str) -> None:
        shared = self._shared
        shared.dropped()
        shared.warn(
            f"Dropping messages due to excessive stream ingest rate on '{shared.account}' > "
            f"'{self._name}': IPQ {why} limit reached"
        )
        if item[1]:
            shared.bus.publish(item[1], self._refusal, headers=_TOO_MANY)


def _size(item: Item) -> int:
    """Subject, reply, headers, payload."""
    return sum(map(len, item))
