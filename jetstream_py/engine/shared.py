"""What all streams and consumers of an account share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from jetstream_py.engine.outbox import Publisher

if TYPE_CHECKING:
    from jetstream_py.clock import Clock
    from jetstream_py.engine.outbox import Outbox
    from jetstream_py.engine.settings import Settings
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Store
    from jetstream_py.timers import Timers

# subject, reply, headers, payload, the client that published (None: the server itself)
Handler = Callable[[bytes, bytes, bytes, bytes, Any], None]
Item = tuple[bytes, bytes, bytes, bytes]  # subject, reply, headers, payload
Collector = Callable[[list[Item]], None]


class Bus(Publisher, Protocol):
    """Core NATS as the engine sees it."""

    def subscribe(self, subject: bytes, handler: Handler) -> Any: ...

    def collect(self, subject: bytes, collector: Collector) -> Any:
        """Like `subscribe`, for many messages: those of a read come as one list."""
        ...

    def unsubscribe(self, sub: Any) -> None: ...

    def deliver(
        self,
        inbox: bytes,
        subjects: list[bytes],
        replies: list[bytes],
        headers: list[bytes],
        datas: list[bytes],
    ) -> int:
        """Send messages that keep their subjects to the listeners of `inbox`. How many had one."""
        ...

    def backlog(self, inbox: bytes) -> int:
        """Bytes that the slowest listener has not taken yet."""
        ...

    def bound(self, subject: bytes, queue: bytes) -> bool:
        """Does anybody listen to exactly this subject, in this queue group (or in none)?"""
        ...

    def watch(self, subject: bytes, changed: Callable[[], None]) -> None:
        """Call `changed` whenever a subscription to exactly this subject comes or goes."""
        ...

    def unwatch(self, subject: bytes, changed: Callable[[], None]) -> None: ...


class Events(Protocol):
    """Advisories and metrics of consumers; each begins with the names of stream and consumer."""

    def created(self, stream: str, consumer: str) -> None: ...

    def deleted(self, stream: str, consumer: str) -> None: ...

    def paused(self, stream: str, consumer: str, paused: bool, until_ns: int) -> None: ...

    def max_deliver(self, stream: str, consumer: str, seq: int, deliveries: int) -> None: ...

    def nak(self, stream: str, consumer: str, dseq: int, seq: int, deliveries: int) -> None: ...

    def terminated(
        self, stream: str, consumer: str, dseq: int, seq: int, deliveries: int, reason: str
    ) -> None: ...

    def pinned(self, stream: str, consumer: str, group: str, pin_id: str) -> None: ...

    def unpinned(self, stream: str, consumer: str, group: str, reason: str) -> None: ...

    def ack_sample(
        self, stream: str, consumer: str, dseq: int, seq: int, took_ns: int, deliveries: int
    ) -> None: ...


class Shared:
    """Clock, timers, store, the way out, and which streams have something new."""

    def __init__(
        self,
        clock: Clock,
        timers: Timers,
        store: Store,
        outbox: Outbox,
        bus: Bus,
        soon: Callable[[Callable[[], None]], object],
        new_id: Callable[[], str],
        settings: Settings,
    ) -> None:
        self.clock = clock
        self.timers = timers
        self.store = store
        self.outbox = outbox
        self.bus = bus
        self.soon = soon
        self.new_id = new_id
        self.domain = settings.domain
        self.ack_v2 = settings.ack_v2
        self.max_payload = settings.max_payload
        self.events: Events  # set by the API, which knows how advisories look
        self._news: list[Stream] = []
        self._flying_news: list[Stream] = []  # of the commit under way
        outbox.committing = self._take_off
        outbox.committed = self._tell

    def now(self) -> int:
        """Nanoseconds of the monotonic clock."""
        return int(self.clock.monotonic() * 1e9)

    def announce(self, stream: Stream) -> None:
        """Consumers of the stream are to be woken when the next commit is done."""
        self._news.append(stream)
        self.outbox.commit_soon()

    def _take_off(self) -> None:
        """A commit begins: what is announced from now on belongs to the next one."""
        self._flying_news, self._news = self._news, []
        for stream in self._flying_news:
            stream.consumers.take_off()

    def _tell(self) -> None:
        news, self._flying_news = self._flying_news, []
        for stream in news:
            stream.consumers.wake()
