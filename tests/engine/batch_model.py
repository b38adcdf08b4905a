"""Atomic batches as lists: what a commit answers and leaves behind, one message after the other."""

from __future__ import annotations

from typing import Any, NamedTuple


class Part(NamedTuple):
    """A message of a batch, with at most one wish; `about` is a number, an id or nothing."""

    subject: str
    data: bytes
    wish: str = ""  # "", "last", "own", "id", "sub" or "all"
    about: str = ""

    @property
    def header(self) -> str:
        names = {
            "last": "Nats-Expected-Last-Sequence",
            "own": "Nats-Expected-Last-Subject-Sequence",
            "id": "Nats-Msg-Id",
            "sub": "Nats-Rollup",
            "all": "Nats-Rollup",
        }
        if not self.wish:
            return ""
        value = self.wish if self.wish in ("sub", "all") else self.about
        return f"{names[self.wish]}: {value}"


class Refused(Exception):
    """With the code of the error."""


class BatchModel:
    """A stream, and the batches that are open."""

    def __init__(self) -> None:
        self.all: dict[int, tuple[str, bytes]] = {}
        self.last_seq = 0
        self.ids: dict[str, int] = {}
        self.open: dict[str, list[Part]] = {}

    def restart(self) -> None:
        self.open = {}
        self.ids = {msg_id: seq for msg_id, seq in self.ids.items() if seq in self.all}

    def last(self, subject: str) -> int:
        return max((seq for seq, (own, _) in self.all.items() if own == subject), default=0)

    def commit(self, batch: str, parts: list[Part]) -> dict[str, Any]:
        """The answer; `all` has every message of it, or is what it was."""
        self.open.pop(batch, None)
        before = dict(self.all), self.last_seq, dict(self.ids)
        written: set[str] = set()
        try:
            for part in parts:
                self._take(part, written)
                written.add(part.subject)
        except Refused as refused:
            self.all, self.last_seq, self.ids = before
            return {"err_code": refused.args[0]}
        return {"stream": "S", "seq": self.last_seq, "batch": batch, "count": len(parts)}

    def _take(self, part: Part, written: set[str]) -> None:
        if part.wish == "last":
            if part.about != str(self.last_seq):
                raise Refused(10071)
            if written:
                raise Refused(10164)
        if part.wish == "own":
            if part.subject in written:
                raise Refused(10164)
            if part.about != str(self.last(part.subject)):
                raise Refused(10071)
        if part.wish == "id" and part.about in self.ids:
            raise Refused(10201)
        if part.wish in ("sub", "all") and (
            part.subject in written if part.wish == "sub" else written
        ):
            raise Refused(10111)
        self._store(part)

    def _store(self, part: Part) -> None:
        if part.wish == "all":
            self.all.clear()
        if part.wish == "sub":
            self.all = {seq: it for seq, it in self.all.items() if it[0] != part.subject}
        self.last_seq += 1
        self.all[self.last_seq] = part.subject, part.data
        if part.wish == "id":
            self.ids[part.about] = self.last_seq
