"""How a requester counts its answers: by adding up lengths or by counting a mark, never by parsing.

A tally is fed every read. What it says in between only paces the requester's window; the proof is at
the end, when the PONG to a last PING shows that nothing is under way any more: the answers received
must then be exactly those that were due.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Protocol, Self

from benchmarks import wire

_MOST_DIGITS: Final = 18
_SEQUENCE: Final = re.compile(rb'"seq": ?(\d+)')


class Tally(Protocol):
    """Counts answers while they come."""

    def took(self, data: memoryview) -> int:
        """How many answers have come, this read included."""
        ...

    def settle(self, rest: bytes, count: int) -> int:
        """With what came up to the last PONG: the PINGs of the server; raises if not `count`."""
        ...


@dataclass
class EqualLengths:
    """Answers that all have the same length."""

    length: int
    received: int = 0

    def took(self, data: memoryview) -> int:
        self.received += len(data)
        return self.received // self.length

    def settle(self, rest: bytes, count: int) -> int:
        due = count * self.length + len(wire.PONG)
        return wire.stray_pings(self.received + len(rest), due)


@dataclass(frozen=True)
class AckForm:
    """What PubAcks look like, learned from one of them: only the digits of the sequence vary."""

    sequence: int
    text: int  # the length of the JSON without those digits

    @classmethod
    def learned(cls, payload: bytes) -> Self:
        found = _SEQUENCE.search(payload)
        if not found or b'"error"' in payload:
            raise ValueError(f"not a PubAck: {payload[:200]!r}")
        return cls(int(found[1]), len(payload) - len(found[1]))

    def length(self, sequence: int) -> int:
        """The length of the whole frame that acknowledges this sequence."""
        return reply_length(self.text + len(b"%d" % sequence))


@dataclass
class AckLengths:
    """PubAcks of the sequences that follow a known one, each once, in any order.

    Acks grow by a byte with every digit of the sequence, so the count is a division within the span
    of equally long ones. In another order than the sequence's the count is off by a few for a while,
    but the sum at the end is the same.
    """

    form: AckForm
    received: int = 0
    _spans: list[tuple[int, int, int]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        due, sequence = 0, self.form.sequence + 1
        for digits in range(len(b"%d" % sequence), _MOST_DIGITS + 1):
            length = self.form.length(sequence)
            self._spans.append((due, sequence - self.form.sequence - 1, length))
            due += (10**digits - sequence) * length
            sequence = 10**digits

    def took(self, data: memoryview) -> int:
        self.received += len(data)
        while len(self._spans) > 1 and self.received >= self._spans[1][0]:
            del self._spans[0]
        start, before, length = self._spans[0]
        return before + (self.received - start) // length

    def due(self, count: int) -> int:
        """The bytes of the next `count` acks."""
        return next(
            start + (count - before) * length
            for start, before, length in reversed(AckLengths(self.form)._spans)
            if before <= count
        )

    def settle(self, rest: bytes, count: int) -> int:
        due = self.due(count) + len(wire.PONG)
        return wire.stray_pings(self.received + len(rest), due)


@dataclass
class Marks:
    """Answers of unknown lengths, each of which holds `mark` exactly once if it is a good one."""

    mark: bytes
    found: int = 0
    _tail: bytes = b""

    def took(self, data: memoryview) -> int:
        text = self._tail + data
        self.found += text.count(self.mark)
        # Shorter than the mark, so that none is counted twice.
        self._tail = text[1 - len(self.mark) :]
        return self.found

    def settle(self, rest: bytes, count: int) -> int:
        if self.took(memoryview(rest)) != count:
            raise ValueError(f"{self.found} good answers where {count} were due: {rest[-200:]!r}")
        return rest.count(wire.PING)


def reply_length(payload: int) -> int:
    """The length of a delivered reply with a payload of so many bytes; tokens all have one length."""
    subject = wire.INBOX + b"." + b"t" * wire.TOKEN_LENGTH
    return len(wire.msg(subject, wire.SUB_SID, bytes(payload)))
