"""What a consumer delivers: counted while it comes, proven when the clock has stopped. No sockets.

A client has to find the reply subject of every message in order to acknowledge it, so one regular
expression per read does that and skips the payloads by count. The reply subject is also the proof:

    $JS.ACK.<stream>.<consumer>.<times delivered>.<stream seq>.<consumer seq>.<time>.<pending>

All of them are kept and looked at after the run: every sequence that was due, once, in order, never
redelivered. One payload of the pool is counted, so that made-up payloads do not pass either; with
`keep` every subject and payload is compared, which is for tests because it costs time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from benchmarks import wire

_VERB: Final = b"MSG "
_STATUS_VERB: Final = b"HMSG "
_STATUS: Final = re.compile(
    rb"HMSG [^ ]+ [^ ]+ (?:([^ ]+) )?\d+ \d+\r\nNATS/1\.0 (\d+ ?[^\r]*)\r\n((?:[^\r]+\r\n)*)\r\n\r\n"
)
_STALLED: Final = re.compile(rb"Nats-Consumer-Stalled: ?([^\r]+)")
_HEARTBEAT: Final = b"100"
_ACK_SUBJECT: Final = re.compile(rb"\$JS\.ACK\.[^.]+\.[^.]+\.(\d+)\.(\d+)\.(\d+)\.\d+\.\d+")
_ACK_END: Final = b" 4\r\n+ACK\r\n"
_ACK_BETWEEN: Final = _ACK_END + b"PUB "


class WrongDelivery(Exception):
    """The consumer did not deliver what it had to."""


class Content:
    """What the messages of a stream are that was filled in order from its first message on."""

    def __init__(self, load: wire.Load, messages: int) -> None:
        self._names = wire.published_names(load, 0, messages)
        self._payloads = wire.payloads(load)

    def subject(self, sequence: int) -> bytes:
        return self._names[sequence - 1]

    def payload(self, sequence: int) -> bytes:
        return self._payloads[(sequence - 1) % len(self._payloads)]

    def matching(self, test: Callable[[bytes], bool]) -> list[int]:
        """The sequences of the messages whose subject passes."""
        return [at for at, name in enumerate(self._names, 1) if test(name)]


class Deliveries:
    """The bytes of one connection, read by read."""

    def __init__(self, load: wire.Load, keep: bool = False) -> None:
        size = load.size
        frame = rb"(?s)MSG ([^ ]+) [^ ]+ (\$JS\.ACK\.[^ ]+) %d\r\n(.{%d})\r\n" % (size, size)
        self._whole = re.compile(frame)
        self._reply = re.compile(frame.replace(b"([^ ]+)", b"[^ ]+", 1).replace(b"(.{", b"(?:.{"))
        self._marked = 0
        pool = wire.payloads(load)
        self._pool = len(pool)
        self._mark = pool[0] + b"\r\n"
        self._rest = b""
        self._keep = keep
        self._kept: list[tuple[bytes, bytes, bytes]] = []
        self.replies: list[bytes] = []
        self.statuses: list[tuple[bytes, bytes, bytes]] = []

    def feed(self, data: bytes | memoryview) -> list[bytes]:
        """The reply subjects of the messages that are complete with this read."""
        text = self._rest + data
        found: list[bytes] = self._reply.findall(text)
        self._rest = self._incomplete(text)
        self.replies += found
        self._marked += text.count(self._mark)
        if _STATUS_VERB in text:
            self.statuses += _STATUS.findall(text, 0, len(text) - len(self._rest))
        if self._keep:
            self._kept += self._whole.findall(text)
        return found

    def flow_replies(self) -> list[bytes]:
        """Subjects to publish to so that the consumer goes on; other statuses are an error."""
        replies: list[bytes] = []
        for reply, status, headers in self.statuses:
            if not status.startswith(_HEARTBEAT):
                raise WrongDelivery(status.decode(errors="replace"))
            stalled = _STALLED.search(headers)
            replies += [subject for subject in (reply, stalled[1] if stalled else b"") if subject]
        self.statuses.clear()
        return replies

    def prove(self, due: Sequence[int]) -> None:
        """Raises unless exactly the messages `due` came, in this order, with no gap in between."""
        numbers = self._numbers()
        got = [sequence for _, sequence, _ in numbers]
        if got != list(due):
            raise WrongDelivery(_difference(got, due))
        if [number for _, _, number in numbers] != list(range(1, len(got) + 1)):
            raise WrongDelivery("consumer sequences have gaps")
        self._prove_each(numbers)

    def prove_part(self) -> list[int]:
        """The sequences that one of several clients of a consumer got; raises unless they ascend."""
        numbers = self._numbers()
        got = [sequence for _, sequence, _ in numbers]
        if got != sorted(set(got)):
            raise WrongDelivery("a shared consumer delivered out of order or twice")
        self._prove_each(numbers)
        return got

    def prove_content(self, content: Content) -> None:
        """Raises unless every subject and payload is as published; only with `keep`."""
        kept = zip(self._numbers(), self._kept, strict=True)
        for (_, sequence, _), (subject, _, payload) in kept:
            if (subject, payload) != (content.subject(sequence), content.payload(sequence)):
                raise WrongDelivery(f"message {sequence} is not as published")

    def _numbers(self) -> list[tuple[int, int, int]]:
        """Of every message: times delivered, stream sequence, consumer sequence."""
        found = _ACK_SUBJECT.findall(b"\n".join(self.replies))
        return [(int(times), int(sequence), int(number)) for times, sequence, number in found]

    def _prove_each(self, numbers: list[tuple[int, int, int]]) -> None:
        if any(times != 1 for times, _, _ in numbers):
            raise WrongDelivery("a message was delivered again")
        due = sum(1 for _, sequence, _ in numbers if (sequence - 1) % self._pool == 0)
        if due != self._marked:
            raise WrongDelivery(f"{self._marked} of {due} payloads are as published")

    def _incomplete(self, text: bytes) -> bytes:
        """The start of a frame at the end of `text`, whose rest has not come yet."""
        last = text.rfind(_VERB)
        if last < 0:
            return text
        if text[last - 1 : last] == b"H":
            status = _STATUS.match(text, last - 1)
            return text[status.end() :] if status else text[last - 1 :]
        whole = self._reply.match(text, last)
        return text[whole.end() :] if whole else text[last:]


def acks(replies: list[bytes]) -> bytes:
    """One write that acknowledges all of them."""
    return b"PUB " + _ACK_BETWEEN.join(replies) + _ACK_END


def nothing(subjects: list[bytes]) -> bytes:
    """One write of empty messages, as clients answer flow control."""
    return b"".join([b"PUB %b 0\r\n\r\n" % subject for subject in subjects])


def _difference(got: Sequence[int], due: Sequence[int]) -> str:
    for at, (one, other) in enumerate(zip(got, due, strict=False)):
        if one != other:
            return f"delivery {at + 1} is message {one}, due was {other}"
    return f"{len(got)} deliveries, {len(due)} were due"
