"""The tail: messages that are not in a block yet, staged or in the commit that runs.

They are visible at once. One that is removed while staged is never written; one that is removed while its
commit runs gets a tombstone in the next group (`late`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from .subjects import Filter
from .types import Message

_seq = itemgetter(0)


class Tail:
    """Live messages behind the directory, by sequence."""

    __slots__ = ("_flight", "_flight_end", "_holes", "live", "staged")

    def __init__(self) -> None:
        self.live: dict[int, Message] = {}
        self.staged: list[Message] = []
        self._flight: list[Message] = []
        self._flight_end = 0  # the highest sequence in the running commit
        self._holes = False

    def remove(self, seq: int) -> bool:
        """True when the message was on its way to the disk already."""
        del self.live[seq]
        if seq <= self._flight_end:
            return True
        self._holes = True
        return False

    def take(self) -> list[Message]:
        """What is to be written now."""
        taken = self.staged
        if self._holes:
            taken = [message for message in taken if message[0] in self.live]
            self._holes = False
        self.staged = []
        self._flight = taken
        self._flight_end = taken[-1][0] if taken else 0
        return taken

    def settle(self) -> None:
        """The running commit's messages are in the directory."""
        self._flight, self._flight_end = [], 0
        live = self.live
        self.live = {m[0]: m for m in self.staged if m[0] in live} if self.staged else {}

    def since(self, seq: int) -> Iterator[Message]:
        live = self.live
        if not live:
            return
        for part in (self._flight, self.staged):
            for at in range(bisect_left(part, seq, key=_seq), len(part)):
                message = part[at]
                if message[0] in live:
                    yield message

    def first(self, seq: int, wanted: Filter | None) -> Message | None:
        if seq in self.live:
            message = self.live[seq]
            if wanted is None or message.subject in wanted.names:
                return message
        for message in self.since(seq):
            if wanted is None or message.subject in wanted.names:
                return message
        return None

    def last(self, up_to: int, wanted: Filter | None) -> int:
        live = self.live
        if not live:
            return 0
        for part in (self.staged, self._flight):
            for at in range(bisect_left(part, up_to + 1, key=_seq) - 1, -1, -1):
                message = part[at]
                if message[0] in live and (wanted is None or message.subject in wanted.names):
                    return message[0]
        return 0

    def upto(self, before: int) -> list[Message]:
        """Live messages with a smaller sequence."""
        found = []
        for message in self.since(0):
            if message[0] >= before:
                break
            found.append(message)
        return found
