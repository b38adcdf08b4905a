"""A stream as simple as it can be: the judge for both backends."""

from __future__ import annotations

from jetstream_py.store import Message
from jetstream_py.subject import matches


class Model:
    """A dict. Everything else is computed from it, slowly."""

    def __init__(self) -> None:
        self.all: dict[int, Message] = {}
        self.last_seq = self.last_ts = 0
        self.begun = False

    def copy(self) -> Model:
        made = Model()
        made.all = self.all.copy()
        made.last_seq, made.last_ts, made.begun = self.last_seq, self.last_ts, self.begun
        return made

    @property
    def first_seq(self) -> int:
        if self.all:
            return min(self.all)
        return self.last_seq + 1 if self.begun else 0

    def append(self, subject: bytes, headers: bytes, data: bytes, ts: int, gap: int) -> int:
        self.last_seq += 1 + gap
        self.last_ts = ts
        self.begun = True
        self.all[self.last_seq] = Message(self.last_seq, ts, subject, headers, data)
        return self.last_seq

    def of(self, pattern: bytes) -> list[Message]:
        every = sorted(self.all.values())
        wanted = pattern.split(b" ") if pattern else [b">"]
        return [m for m in every if any(matches(m.subject, one) for one in wanted)]

    def drop(self, subject: bytes) -> set[int]:
        """All of a literal subject goes."""
        gone = {m.seq for m in self.all.values() if m.subject == subject}
        for seq in gone:
            del self.all[seq]
        return gone

    def purge(self, pattern: bytes, before: int, keep: int) -> int:
        gone = [m.seq for m in self.of(pattern) if not before or m.seq < before]
        gone = gone[:-keep] if keep else gone
        for seq in gone:
            del self.all[seq]
        return len(gone)
