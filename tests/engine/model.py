"""A stream as a dict: what requests answer and leave behind, by the rules of nats-server."""

from __future__ import annotations

from typing import Any, NamedTuple

from jetstream_py.subject import matches


class Limits(NamedTuple):
    """The part of a configuration that histories change."""

    max_msgs: int = -1
    max_bytes: int = -1
    max_msgs_per_subject: int = -1
    discard: str = "old"


class Stored(NamedTuple):
    subject: str
    data: bytes
    size: int


class StreamModel:
    """Everything is computed from `all`, slowly."""

    def __init__(self, storage: str) -> None:
        self.storage = storage
        self.limits = Limits()
        self.all: dict[int, Stored] = {}
        self.last_seq = 0
        self.begun = False
        self.ids: dict[str, int] = {}

    @property
    def total(self) -> int:
        return sum(message.size for message in self.all.values())

    @property
    def first_seq(self) -> int:
        if self.all:
            return min(self.all)
        return self.last_seq + 1 if self.begun else 0

    def deleted(self) -> list[int]:
        span = range(self.first_seq, self.last_seq + 1) if self.all else range(0)
        return [seq for seq in span if seq not in self.all]

    def of(self, pattern: str) -> list[int]:
        wanted = (pattern or ">").encode()
        return [seq for seq in sorted(self.all) if matches(self.all[seq].subject.encode(), wanted)]

    # -- requests ----------------------------------------------------------------------------------

    def publish(self, subject: str, data: bytes, msg_id: str) -> dict[str, Any]:
        if msg_id and msg_id in self.ids:
            return {"seq": self.ids[msg_id], "duplicate": True}
        size = self.size(subject, data, msg_id)
        refusal = self._refusal(subject, size)
        if refusal:
            return {"seq": 0, "error": refusal}
        self.last_seq += 1
        self.begun = True
        self.all[self.last_seq] = Stored(subject, data, size)
        if msg_id:
            self.ids[msg_id] = self.last_seq
        self._enforce()
        return {"seq": self.last_seq}

    def size(self, subject: str, data: bytes, msg_id: str) -> int:
        headers = len(f"NATS/1.0\r\nNats-Msg-Id: {msg_id}\r\n\r\n") if msg_id else 0
        if self.storage == "file":
            return 30 + len(subject) + len(data) + (headers + 4 if headers else 0)
        return 16 + len(subject) + len(data) + headers

    def _refusal(self, subject: str, size: int) -> str:
        """Why a stream that discards what is new does not take it."""
        limits = self.limits
        if limits.discard == "old":
            return ""
        own = self.of(subject)
        full = 0 < limits.max_msgs_per_subject <= len(own)
        if full and self.storage == "file":
            oldest = self.all[own[0]]
            size -= oldest.size - self.size("", b"", "") - (4 if self._headed(oldest) else 0)
        if not full and 0 < limits.max_msgs <= len(self.all):
            return "maximum messages exceeded"
        if 0 < limits.max_bytes < self.total + size:
            return "maximum bytes exceeded"
        return ""

    def _headed(self, message: Stored) -> bool:
        return message.size > self.size(message.subject, message.data, "")

    def delete(self, seq: int) -> bool:
        return self.all.pop(seq, None) is not None

    def purge(self, pattern: str, seq: int = 0, keep: int = 0) -> int:
        gone = [each for each in self.of(pattern) if not seq or each < seq]
        gone = gone[:-keep] if keep else gone
        for each in gone:
            del self.all[each]
        if not pattern and not keep and seq > self.last_seq + 1:
            self.last_seq = seq - 1  # a purge may go beyond the end
        self.begun = True
        return len(gone)

    def change(self, limits: Limits) -> None:
        self.limits = limits
        self._enforce()

    def restart(self) -> None:
        """Ids are found again in the messages that are left."""
        self.ids = {msg_id: seq for msg_id, seq in self.ids.items() if seq in self.all}

    def _enforce(self) -> None:
        limits = self.limits
        if limits.max_msgs_per_subject > 0:
            for subject in {message.subject for message in self.all.values()}:
                for seq in self.of(subject)[: -limits.max_msgs_per_subject]:
                    del self.all[seq]
        if limits.discard == "new":
            return
        while self.all and (
            0 < limits.max_msgs < len(self.all) or 0 < limits.max_bytes < self.total
        ):
            del self.all[min(self.all)]
