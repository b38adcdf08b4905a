"""What clients did, remembered for assertions: publishes as they came in, and acks.

Publishes are seen where the server's trace sees them, so nothing about routing changes: a request that nobody
listens to is still refused. Every publish of a recording server takes the careful way through the server,
which is slower and otherwise the same. What the server publishes itself is not among them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from jetstream_py import limits
from jetstream_py.js.types import parse_headers
from jetstream_py.server.tracing import Tracer
from jetstream_py.subject import matches

if TYPE_CHECKING:
    from jetstream_py.server.router import Pub
    from jetstream_py.server.session import Session

T = TypeVar("T")
R = TypeVar("R", bound="Published | Acked")


_TALK: Final = ("$JS.", "_INBOX.", "_R_.")


class Published(NamedTuple):
    """One publish of a client."""

    subject: str
    data: bytes
    headers: Mapping[str, str]
    reply: str
    client: str  # the name that it gave itself

    @property
    def size(self) -> int:
        return len(self.data) + 200


class Acked(NamedTuple):
    """One answer to a delivery. `word` is `+ACK`, `-NAK`, `+TERM`, `+WPI` or `+NXT`."""

    stream: str
    consumer: str
    seq: int
    deliveries: int
    word: str

    @property
    def size(self) -> int:
        return 200


class _Recent(Generic[R]):
    """The latest, bounded in number and bytes."""

    def __init__(self) -> None:
        self.items: deque[R] = deque()
        self._bytes = 0

    def add(self, item: R) -> None:
        self.items.append(item)
        self._bytes += item.size
        while len(self.items) > limits.RECORDS or self._bytes > limits.RECORD_BYTES:
            self._bytes -= self.items.popleft().size

    def clear(self) -> None:
        self.items.clear()
        self._bytes = 0


class Records:
    """Of one server, whatever its restarts."""

    def __init__(self) -> None:
        self._published: _Recent[Published] = _Recent()
        self._acked: _Recent[Acked] = _Recent()
        self._news = asyncio.Event()

    def published(
        self,
        subject: str = ">",
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> list[Published]:
        """Those that match: a pattern of subjects, the data, headers that must be among theirs."""
        pattern = subject.encode()
        return [
            each
            for each in self._published.items
            if matches(each.subject.encode(), pattern)
            and (data is None or each.data == data)
            and (headers is None or headers.items() <= each.headers.items())
        ]

    def acked(self, stream: str, consumer: str, words: Iterable[str] = ("+ACK",)) -> list[Acked]:
        """Acks of a consumer's deliveries, by default only those that say done."""
        wanted = frozenset(words)
        return [
            each
            for each in self._acked.items
            if each.stream == stream and each.consumer == consumer and each.word in wanted
        ]

    def own(self) -> list[Published]:
        """Publishes, without requests to JetStream and answers."""
        return [each for each in self._published.items if not each.subject.startswith(_TALK)]

    def clear(self) -> None:
        self._published.clear()
        self._acked.clear()

    # -- the server's side ------------------------------------------------------------------------

    def publish(self, session: Session, pub: Pub, body: bytes) -> None:
        hdr = max(0, pub.hdr)
        self._published.add(
            Published(
                pub.subject.decode("utf-8", "replace"),
                body[hdr:-1],
                dict(reversed(list(parse_headers(body[:hdr]).items()))),  # in the client's order
                pub.reply.decode("utf-8", "replace"),
                session.connect.name,
            )
        )
        self._tell()

    def ack(self, acked: Acked) -> None:
        self._acked.add(acked)
        self._tell()

    def _tell(self) -> None:
        self._news.set()

    async def until(self, check: Callable[[], T | None], seconds: float) -> T | None:
        """The check's first answer, tried again after each thing that clients do; None when time is up."""
        try:
            async with asyncio.timeout(seconds):
                while (found := check()) is None:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return check()
        return found


class RecordingTracer(Tracer):
    """Remembers publishes. Writes lines only if the log wants them."""

    def __init__(self, tracer: Tracer, records: Records, wanted: bool) -> None:
        self._tracer = tracer
        self._records = records
        self._wanted = wanted

    def publish(self, session: Session, pub: Pub, body: bytes) -> None:
        self._records.publish(session, pub, body)
        if self._wanted:
            self._tracer.publish(session, pub, body)

    def line(self, session: Session, arrow: str, text: bytes) -> None:
        if self._wanted:
            self._tracer.line(session, arrow, text)

    def delivery(self, session: Session, head: bytes, body: bytes, hdr: int) -> None:
        if self._wanted:
            self._tracer.delivery(session, head, body, hdr)
