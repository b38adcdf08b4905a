"""Message ids seen within the duplicate window.

Ids are kept in the order they came, so the oldest are always at the front; they are dropped when a
new one arrives and by a timer that runs only while there are ids.
"""

from __future__ import annotations

from itertools import count, repeat


class Dedupe:
    """id -> (sequence, time), oldest first."""

    __slots__ = ("_ids", "window_ns")

    def __init__(self, window_ns: int) -> None:
        self.window_ns = window_ns
        self._ids: dict[bytes, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def find(self, msg_id: bytes, now_ns: int) -> int:
        """The sequence stored under an id, 0 if there is none in the window."""
        self.expire(now_ns)
        found = self._ids.get(msg_id)
        return found[0] if found else 0

    def add(self, msg_id: bytes, seq: int, ts: int) -> None:
        if self.window_ns > 0:
            self._ids.pop(msg_id, None)  # to the end
            self._ids[msg_id] = (seq, ts)

    def knows_any(self, ids: list[bytes], now_ns: int) -> bool:
        """Is one of them in the window?"""
        self.expire(now_ns)
        return not self._ids.keys().isdisjoint(ids)

    def add_run(self, ids: list[bytes], first: int, ts: int) -> None:
        """New ids of consecutive sequences."""
        if self.window_ns > 0:
            self._ids.update(zip(ids, zip(count(first), repeat(ts)), strict=False))

    def expire(self, now_ns: int) -> None:
        horizon = now_ns - self.window_ns
        old = []
        for msg_id, (_, ts) in self._ids.items():
            if ts > horizon:
                break
            old.append(msg_id)
        for msg_id in old:
            del self._ids[msg_id]

    def next_expiry(self) -> int:
        """When the oldest id leaves the window, 0 if there is none."""
        for _, ts in self._ids.values():
            return ts + self.window_ns
        return 0
