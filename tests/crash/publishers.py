"""Publishers of batches, increments and messages that expire, and what must be left of what they sent.

Each has a connection of its own and sends a piece whenever it is its turn, so that batches of several are
open at a time. Everything carries a token, `<publisher>:<batch>:<number>:<size of the batch>`, by which the
audit knows it again.
"""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import groupby
from typing import Any, ClassVar

from jetstream_py import headers as hdr
from jetstream_py.store import Message
from tests.crash.model import Broken
from tests.support.raw import RawClient
from tests.support.wire import REQUESTER, frame_end, hpub, pub

Token = tuple[bytes, int, int, int]
FLOW = 40  # messages of a fast batch between acks
SHORT = 1  # seconds that some messages live


def token_of(text: bytes) -> Token:
    name, batch, number, size = text.split(b":")
    return name, int(batch), int(number), int(size)


class Publisher(ABC):
    """One connection at a time; what was sent and acked is remembered from one to the next."""

    stream: ClassVar[str]
    config: ClassVar[dict[str, Any]]

    def __init__(self, name: str, rng: random.Random) -> None:
        self.name = name.encode()
        self.rng = rng
        self.batch = 0
        self.sent = 0  # messages
        self.heard = 0  # answers
        self.client: RawClient

    def connect(self, port: int) -> None:
        self.client = RawClient(port)
        self.client.read_info()
        self.client.send(REQUESTER + b"SUB _INBOX.%b.> 1\r\n" % self.name)
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """A new connection: what was under way is over."""

    @abstractmethod
    def piece(self) -> bytes:
        """What to send next, nothing if it is time to listen."""

    @abstractmethod
    def answered(self, words: list[bytes], answer: dict[str, Any]) -> None:
        """`words` are the tokens of the subject after the inbox."""

    @abstractmethod
    def audit(self, stored: Iterable[Message]) -> None:
        """Raise `Broken` unless the stream's messages are what was promised."""

    def send(self) -> None:
        if piece := self.piece():
            self.client.send(piece)

    def listen(self) -> None:
        """Take the whole messages out of what was received."""
        buffer, start = self.client.buffer, 0
        while (end := frame_end(buffer, start)) >= 0:
            frame, start = bytes(buffer[start:end]), end
            if frame.startswith(b"-ERR"):
                raise Broken(f"the server complains: {frame!r}")
            if frame.startswith((b"MSG ", b"HMSG ")):
                line, _, rest = frame.partition(b"\r\n")
                answer = json.loads(rest)
                if "error" in answer:
                    raise Broken(f"{self.name!r} was refused: {answer}")
                self.heard += 1
                self.answered(line.split(b" ")[1].split(b".")[2:], answer)
        del buffer[:start]

    def token(self, number: int, size: int) -> bytes:
        return b"%b:%d:%d:%d" % (self.name, self.batch, number, size)

    def own(self, stored: Iterable[Message]) -> list[tuple[Token, int]]:
        """Its tokens and where they are."""
        found = ((token_of(_token_text(message)), message.seq) for message in stored)
        return [(token, seq) for token, seq in found if token[0] == self.name]

    def must(self, holds: bool, text: str) -> None:
        if not holds:
            raise Broken(f"{self.stream}, {self.name!r}: {text}")


def _token_text(message: Message) -> bytes:
    return hdr.get(message.headers, b"X-Token") or message.data


class Atomic(Publisher):
    """Batches that are there as a whole or not at all."""

    stream = "A"
    config: ClassVar[dict[str, Any]] = {"subjects": ["a.>"], "allow_atomic": True}

    def begin(self) -> None:
        self._at = self._size = 0
        self._open: set[int] = set()
        self.acked: dict[int, tuple[int, int]] = getattr(
            self, "acked", {}
        )  # batch: last seq, count

    def piece(self) -> bytes:
        if len(self._open) >= 3:
            return b""
        frames = []
        for _ in range(self.rng.randrange(1, 12)):
            if self._at == self._size:
                self.batch, self._at, self._size = self.batch + 1, 0, self.rng.randrange(1, 40)
            self._at += 1
            frames.append(self._frame())
            self.sent += 1
        return b"".join(frames)

    def _frame(self) -> bytes:
        last = self._at == self._size
        head = b"NATS/1.0\r\nNats-Batch-Id: %b-%d\r\nNats-Batch-Sequence: %d\r\n%b\r\n" % (
            self.name,
            self.batch,
            self._at,
            b"Nats-Batch-Commit: 1\r\n" if last else b"",
        )
        if last:
            self._open.add(self.batch)
        reply = b"_INBOX.%b.%d" % (self.name, self.batch) if last else b""
        return hpub(b"a.%d" % (self._at % 5), head, self.token(self._at, self._size), reply)

    def answered(self, words: list[bytes], answer: dict[str, Any]) -> None:
        batch = int(words[0])
        self._open.discard(batch)
        self.acked[batch] = answer["seq"], answer["count"]

    def audit(self, stored: Iterable[Message]) -> None:
        seen = set()
        for batch, group in groupby(self.own(stored), lambda each: each[0][1]):
            tokens = list(group)
            size, last = tokens[0][0][3], tokens[-1][1]
            whole = [((self.name, batch, n, size), last - size + n) for n in range(1, size + 1)]
            self.must(tokens == whole, f"batch {batch} is not whole, or not in one piece: {tokens}")
            self.must(batch not in seen, f"batch {batch} is there twice")
            seen.add(batch)
            acked = self.acked.get(batch, (last, size))
            self.must(acked == (last, size), f"batch {batch} is at {last}, acked as {acked}")
        self.must(seen >= self.acked.keys(), f"acked, and lost: {self.acked.keys() - seen}")


class Fast(Publisher):
    """Batches of which the acked part is there, and no gaps."""

    stream = "F"
    config: ClassVar[dict[str, Any]] = {"subjects": ["f.>"], "allow_batched": True}

    def begin(self) -> None:
        self.acked: dict[int, int] = getattr(
            self, "acked", {}
        )  # numbers of a batch that are on disk
        self._at = self._size = 0
        self._every = 0

    def piece(self) -> bytes:
        if self._at and self._at == self._size:
            return b""  # the end was not answered yet
        frames = []
        if not self._at:
            self.batch, self._size = self.batch + 1, self.rng.randrange(2, 400)
            self._every = 0
        most = self.acked.get(self.batch, 0) + 2 * self._every if self._every else 1
        while self._at < min(most, self._size):
            self._at += 1
            op = 0 if self._at == 1 else 2 if self._at == self._size else 1
            reply = b"_INBOX.%b.%b-%d.%d.fail.%d.%d.$FI" % (
                self.name,
                self.name,
                self.batch,
                FLOW,
                self._at,
                op,
            )
            frames.append(pub(b"f.%d" % (self._at % 5), self.token(self._at, self._size), reply))
            self.sent += 1
        return b"".join(frames)

    def answered(self, words: list[bytes], answer: dict[str, Any]) -> None:
        batch = int(words[0].rpartition(b"-")[2])
        if answer.get("type") == "ack":
            self.acked[batch] = max(self.acked.get(batch, 0), answer["seq"])
            self._every = answer["msgs"]
        elif "batch" in answer:
            self.acked[batch] = answer["count"]
            self._at = self._size = 0
        else:
            raise Broken(f"nothing was lost on the way: {answer}")

    def audit(self, stored: Iterable[Message]) -> None:
        held: dict[int, list[int]] = {}
        for (_, batch, number, _), _ in self.own(stored):
            held.setdefault(batch, []).append(number)
        for batch in held.keys() | self.acked.keys():
            numbers = held.get(batch, [])
            self.must(
                numbers == list(range(1, len(numbers) + 1)), f"gaps in batch {batch}: {numbers}"
            )
            acked = self.acked.get(batch, 0)
            self.must(len(numbers) >= acked, f"{acked} of {batch} acked, {len(numbers)} there")


class Single(Publisher):
    """Messages that are acked one by one."""

    def begin(self) -> None:
        self.acked: dict[int, tuple[int, str]] = getattr(self, "acked", {})  # sequence, value
        self._open: set[int] = set()

    def piece(self) -> bytes:
        frames = []
        while len(self._open) < 20:
            self.batch += 1
            self._open.add(self.batch)
            wish, subject = self.wish()
            head = b"NATS/1.0\r\nX-Token: %b\r\n%b\r\n\r\n" % (self.token(1, 1), wish)
            frames.append(hpub(subject, head, b"", b"_INBOX.%b.%d" % (self.name, self.batch)))
            self.sent += 1
        return b"".join(frames)

    @abstractmethod
    def wish(self) -> tuple[bytes, bytes]:
        """The header that matters, and the subject."""

    def answered(self, words: list[bytes], answer: dict[str, Any]) -> None:
        self._open.discard(int(words[0]))
        self.acked[int(words[0])] = answer["seq"], answer.get("val", "")

    def audit(self, stored: Iterable[Message]) -> None:
        found = [(token[1], seq) for token, seq in self.own(stored)]
        numbers = [number for number, _ in found]
        self.must(numbers == sorted(set(numbers)), "something is doubled, or out of order")
        place = dict(found)
        for number, (seq, _) in self.acked.items():
            if number not in place and self.may_go(number):
                continue
            self.must(place.get(number) == seq, f"{number} at {place.get(number)}, acked at {seq}")

    def may_go(self, number: int) -> bool:
        return False


class Adding(Single):
    """Increments of counters that several publishers share."""

    stream = "C"
    config: ClassVar[dict[str, Any]] = {"subjects": ["c.>"], "allow_msg_counter": True}

    def wish(self) -> tuple[bytes, bytes]:
        return b"Nats-Incr: %+d" % self.rng.randrange(-50, 100), b"c.%d" % self.rng.randrange(3)

    def audit(self, stored: Iterable[Message]) -> None:
        stored = list(stored)
        super().audit(stored)
        totals: dict[bytes, int] = {}
        values = {}
        for message in stored:
            added = int(hdr.get(message.headers, hdr.INCREMENT) or 0)
            total = totals[message.subject] = totals.get(message.subject, 0) + added
            value = values[message.seq] = json.loads(message.data)["val"]
            self.must(value == str(total), f"{message} should be {total}")
        for seq, value in self.acked.values():
            self.must(values[seq] == value, f"{value} was acked for {seq}, it is {values[seq]}")


class Expiring(Single):
    """Messages with a time to live; half of them live a second."""

    stream = "L"
    config: ClassVar[dict[str, Any]] = {"subjects": ["l.>"], "allow_msg_ttl": True}

    def wish(self) -> tuple[bytes, bytes]:
        live = b"%ds" % SHORT if self.may_go(self.batch) else b"1h"
        return b"Nats-TTL: %b" % live, b"l.%d" % self.rng.randrange(3)

    def may_go(self, number: int) -> bool:
        return number % 2 == 0


KINDS: tuple[type[Publisher], ...] = (Atomic, Fast, Adding, Expiring)
