"""How much may wait to be stored: `max_buffered_msgs` and `max_buffered_size`.

A stream takes a publish at once and stages it. What it takes while a commit is under way waits for that one
to end, and so do the answers: that is its queue, and a disk that stands still would let it grow as long as
clients publish. So it has a bound for each stream, in messages and in bytes. What is beyond it is refused
with a 429, which leaves at once: it speaks of nothing that is on its way to the disk. A publish without a
reply is dropped. Both are counted, and the log tells it once in a while.

The next commit takes all that waits, so the count begins anew with each. Bytes are those that the store has
staged for what was admitted: measuring messages that are about to be stored would cost them more than all
the rest here. So the bound may be passed by what one read brought.

A bound of bytes that one message can pass is another matter (`tight`): there each of them is measured, as
nats-server does, and one that is larger is refused even if nothing waits.
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
        self.tight = self._most_bytes < shared.max_payload + (1 << 16)
        self._commit = -1  # the commit that is under way, by its number
        self._msgs = self._bytes = 0  # what has come since it began

    def admit(self, items: list[Item]) -> list[Item]:
        """Those for which there is room. The others are answered."""
        store = self._shared.store
        if not store.busy or store.commits != self._commit:
            self._commit = store.commits
            self._msgs = self._bytes = 0
        fits = self._msgs + len(items) <= self._most_msgs and self._bytes < self._most_bytes
        if fits and not self.tight:
            self._msgs += len(items)
            return items
        return [item for item in items if self._admits(item)]

    def took(self, size: int) -> None:
        """What was admitted last takes so much in the store."""
        if not self.tight:
            self._bytes += size

    def _admits(self, item: Item) -> bool:
        busy = self._shared.store.busy
        size = sum(map(len, item)) if self.tight else 1
        if busy and self._msgs >= self._most_msgs:
            self._refuse(item, "len")
            return False
        if self._bytes + size > self._most_bytes:
            self._refuse(item, "size")
            return False
        if busy:
            self._msgs += 1
            self._bytes += size if self.tight else 0
        return True

    def _refuse(self, item: Item, why: str) -> None:
        shared = self._shared
        shared.dropped()
        shared.warn(
            f"Dropping messages due to excessive stream ingest rate on '{shared.account}' > "
            f"'{self._name}': IPQ {why} limit reached"
        )
        if item[1]:
            shared.bus.publish(item[1], self._refusal, headers=_TOO_MANY)
