"""What all streams and consumers of an account share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from jetstream_py.engine.outbox import Publisher

if TYPE_CHECKING:
    from jetstream_py.api.types import StreamConfig
    from jetstream_py.engine.engine import Engine
    from jetstream_py.engine.quota import Quota
    from jetstream_py.engine.stream import Stream

# subject, reply, headers, payload, the client that published (None: the server itself); False means that
# nobody was there after all
Handler = Callable[[bytes, bytes, bytes, bytes, Any], bool | None]
Item = tuple[bytes, bytes, bytes, bytes]  # subject, reply, headers, payload
Collector = Callable[[list[Item]], None]
# Of a traced message: the stream's name, the subject it arrived on (none: it was refused before), whether
# nobody is interested in it, what refused it
Outcome = tuple[str, bytes, bool, str]
# Takes one that is traced, perhaps only traced. None: nothing can be told of it
Teller = Callable[[Item, bool], Outcome | None]


class Series(NamedTuple):
    """A second way to a handler: many requests at once, all under a prefix and each with a reply. What it
    is given are subjects, replies and payloads; False means that it leaves them to the handler."""

    prefix: bytes
    take: Callable[[Sequence[bytes], Sequence[bytes], Sequence[bytes]], bool]


class Bus(Publisher, Protocol):
    """Core NATS as the engine sees it."""

    def subscribe(self, subject: bytes, handler: Handler, series: Series | None = None) -> Any: ...

    def collect(self, subject: bytes, collector: Collector, teller: Teller | None = None) -> Any:
        """Like `subscribe`, for many messages: those of a read come as one list. What somebody traces goes
        to the `teller`."""
        ...

    def unsubscribe(self, sub: Any) -> None: ...

    def announce(self, subject: bytes, data: bytes, headers: bytes = b"") -> object:
        """`publish` in the form that nats-server uses for some answers: with an empty reply."""
        ...

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

    def deliver_one(
        self, inbox: bytes, subject: bytes, reply: bytes, headers: bytes, data: bytes, most: int
    ) -> bool:
        """`deliver` for one message, if `inbox` has just one plain listener, who has not more than `most`
        bytes to take. False: nothing was done."""
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
    """Clock, timers, store, the way out, core NATS as the account knows it, and its limits."""

    def __init__(self, engine: Engine, account: str, bus: Bus, quota: Quota) -> None:
        self.clock = engine.clock
        self.timers = engine.timers
        self.store = engine.store
        self.outbox = engine.outbox
        self.soon = engine.soon
        self.new_id = engine.new_id
        self.announce = engine.announce
        self.after_commit = engine.after_commit
        self.chains = engine.chains
        self.streams: Mapping[str, Stream] = {}  # of the account
        self.account = account
        self.bus = bus
        self.quota = quota
        self.domain = engine.settings.domain
        self.ack_v2 = engine.settings.ack_v2
        self.max_payload = engine.settings.max_payload
        self.max_buffered_msgs = engine.settings.max_buffered_msgs
        self.max_buffered_size = engine.settings.max_buffered_size
        self.warn = engine.warn
        self.dropped = engine.drop
        self.atomic = engine.atomic
        self.fast = engine.fast
        # Set by the API, which knows how advisories look; the latter takes stream, batch and reason.
        self.events: Events
        self.batch_abandoned: Callable[[str, str, str], None]
        self.make_stream: Callable[[StreamConfig], Stream]  # checks it first

    def now(self) -> int:
        """Nanoseconds of the monotonic clock."""
        return int(self.clock.monotonic() * 1e9)
