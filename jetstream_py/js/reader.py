"""Ordered reading: all messages of a filter, once each, in order, and then the new ones as they come.

Theory of operation. The server pushes; the reader only checks. It makes a consumer without acks that counts
its deliveries, and each delivery says its number: the next one must be one more. If it is not, if a heartbeat
knows of deliveries that never came, or if there is no sign of life for three heartbeats, the consumer is
given up and another one is made that starts behind the last message handed out. So nothing is lost or comes
twice, whatever happened to the connection, the server or the consumer.

Memory is bounded by the server: it stops at its flow control window (32 MiB at most) until it is answered,
and the answer leaves when the application has come to that point, not when the request arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from jetstream_py.gotext import rfc3339_nano
from jetstream_py.js.errors import (
    ApiError,
    Disconnected,
    JetStreamError,
    NoResponders,
    RequestTimeout,
)
from jetstream_py.js.times import SECOND
from jetstream_py.js.types import Message, Received

if TYPE_CHECKING:
    from jetstream_py.js.bus import Inbox
    from jetstream_py.js.wire import WireJetStream

HEARTBEAT: Final = 5.0  # seconds between signs of life of an idle consumer ...
MISSED: Final = 3  # ... and how many may fail to come
INACTIVE: Final = 300.0  # seconds until the server forgets a consumer that nobody hears
RETRY: Final = 1.0  # seconds until a consumer that could not be made is tried again
CONTROL, UNAVAILABLE = 100, 503  # statuses
THE_END: Final = Received("", "", {}, b"")


class Start(NamedTuple):
    """Where a reader begins."""

    policy: str = "all"
    seq: int = 0
    time_ns: int = 0

    @classmethod
    def last_per_subject(cls) -> Start:
        return cls("last_per_subject")

    @classmethod
    def new(cls) -> Start:
        return cls("new")

    @classmethod
    def at_seq(cls, seq: int) -> Start:
        return cls("by_start_sequence", seq=max(seq, 1))

    @classmethod
    def at_time(cls, time_ns: int) -> Start:
        return cls("by_start_time", time_ns=time_ns)

    def config(self) -> dict[str, object]:
        if self.seq:
            return {"deliver_policy": self.policy, "opt_start_seq": self.seq}
        if self.policy == "by_start_time":
            return {"deliver_policy": self.policy, "opt_start_time": rfc3339_nano(self.time_ns)}
        return {"deliver_policy": self.policy}


class Reader:
    """An asynchronous iterator over messages; an asynchronous context manager."""

    def __init__(
        self,
        js: WireJetStream,
        stream: str,
        filters: Sequence[str],
        start: Start,
        headers_only: bool,
    ) -> None:
        self._js = js
        self._stream = stream
        self._filters = list(filters)
        self._start = start
        self._headers_only = headers_only
        self._queue: asyncio.Queue[Received] = asyncio.Queue()
        self._inbox: Inbox | None = None
        self._sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self._name = ""
        self._expected = 1  # number of the next delivery
        self._last = 0  # sequence behind which another consumer would start
        self.initial = 0  # messages that were there when it began
        self.left = 0  # those of what is there that have not come
        self.resumed = 0  # consumers that had to be made again
        self.closed = False

    async def __aenter__(self) -> Self:
        await self._begin(self._start)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        while not self.closed:
            message = await self.step()
            if message is not None:
                return message
        raise StopAsyncIteration

    async def existing(self) -> AsyncIterator[Message]:
        """What is there; ends where new messages would begin."""
        while self.left and not self.closed:
            message = await self.step()
            if message is not None:
                yield message

    async def step(self) -> Message | None:
        """Take what came next; None if that was no message."""
        received = await self._receive()
        if self.closed:
            return None
        if received is not None:
            if received.status:
                if await self._control(received):
                    return None
            elif (message := self._checked(received)) is not None:
                return message
        await self._resume()
        return None

    async def close(self) -> None:
        """Whoever iterates is at the end."""
        if not self.closed:
            self.closed = True
            self._queue.put_nowait(THE_END)
            await self._drop()

    async def _drop(self) -> None:
        """Tell the server, so that nothing more comes."""
        inbox, self._inbox = self._inbox, None
        if inbox is None:
            return
        await inbox.close()
        try:
            await self._js.bus.publish(
                f"{self._js.prefix}.CONSUMER.DELETE.{self._stream}.{self._name}"
            )
        except JetStreamError:
            pass  # the server forgets it by itself

    # -- what comes --------------------------------------------------------------------------------

    async def _receive(self) -> Received | None:
        """The next that came; None after a silence."""
        if not self._queue.empty():
            return self._queue.get_nowait()
        if self._inbox is None:
            raise Disconnected("a reader is used within `async with`")
        try:
            async with asyncio.timeout(HEARTBEAT * MISSED):
                return await self._queue.get()
        except TimeoutError:
            return None

    def _checked(self, received: Received) -> Message | None:
        """The message, unless one before it is missing."""
        tokens = received.reply.split(".")
        if len(tokens) < 9:
            return None
        # $JS.ACK.<stream>.<consumer>.<n>.<seq>.<number>.<time>.<pending>, or with domain and account in it
        at = 4 if len(tokens) == 9 else 6
        seq, number, time_ns, pending = map(int, tokens[at + 1 : at + 5])
        if number != self._expected:
            return None
        self._expected += 1
        self._last = seq
        self.left = pending
        return Message(received.subject, seq, time_ns, received.headers, received.data, pending)

    async def _control(self, received: Received) -> bool:
        """A heartbeat or a question. False: messages are missing."""
        if received.status != CONTROL:
            return False  # the consumer is gone
        headers = received.headers
        if received.reply:
            await self._js.bus.publish(received.reply)
            return True
        if stalled := headers.get("Nats-Consumer-Stalled"):
            await self._js.bus.publish(stalled)
            return True
        last = headers.get("Nats-Last-Consumer")
        if last is None:
            return True
        if int(last) == self._expected - 1:
            self.left = 0  # it idles: what was counted and never came has been removed
        return int(last) < self._expected

    # -- consumers ---------------------------------------------------------------------------------

    async def _begin(self, start: Start) -> None:
        bus = self._js.bus
        queue: asyncio.Queue[Received] = asyncio.Queue()
        self._queue = queue
        self._inbox = await bus.inbox(queue.put_nowait)
        self._name = bus.new_id()
        self._expected = 1
        try:
            info = await self._js.api(
                f"CONSUMER.CREATE.{self._stream}.{self._name}",
                {"stream_name": self._stream, "config": self._config(start), "action": "create"},
            )
        except BaseException:
            inbox, self._inbox = self._inbox, None
            await inbox.close()
            raise
        # Messages may have been delivered while the answer was made.
        self.left = int(info.get("num_pending", 0)) + int(info["delivered"]["consumer_seq"])
        if not self.resumed:
            self.initial = self.left
        if start.policy == "new" and not self._last:
            self._last = int(info["delivered"]["stream_seq"])

    def _config(self, start: Start) -> dict[str, Any]:
        assert self._inbox is not None
        filters: dict[str, object] = {}
        if self._filters:
            filters = {"filter_subjects": self._filters}
            if len(self._filters) == 1:
                filters = {"filter_subject": self._filters[0]}
        return {
            "name": self._name,
            **start.config(),
            **filters,
            "deliver_subject": self._inbox.subject,
            "ack_policy": "none",
            "max_deliver": 1,
            "replay_policy": "instant",
            "flow_control": True,
            "idle_heartbeat": round(HEARTBEAT * SECOND),
            "inactive_threshold": round(INACTIVE * SECOND),
            "num_replicas": 1,
            "mem_storage": True,
            "headers_only": self._headers_only,
        }

    async def _resume(self) -> None:
        """Another consumer behind the last message. A server that is away is waited for."""
        await self._drop()
        self.resumed += 1
        start = Start.at_seq(self._last + 1) if self._last else self._start
        while True:
            try:
                return await self._begin(start)
            except (NoResponders, RequestTimeout):
                await self._sleep(RETRY)
            except ApiError as error:
                if error.code != UNAVAILABLE:
                    raise
                await self._sleep(RETRY)
