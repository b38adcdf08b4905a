"""Consumers in scenarios: creating and watching them, and the subscriber at the end of a push.

A subscriber has a connection of its own, so what is pushed never mixes with the answers to
requests. Its messages go into the transcript in the order in which the test reads them, with their
reply subjects; only the time in an ack subject and the id of a flow-control request are chance.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from types import TracebackType

from tests.jetstream.support import JetStream, Json, Message, as_text, parse_message
from tests.support.raw import TIMEOUT, RawClient
from tests.support.wire import PONG, REQUESTER, messages, pub

PING = b"PING\r\n"
MILLISECOND = 1_000_000
HEARTBEAT = 100 * MILLISECOND  # the least that is allowed

FLOW_ID = re.compile(r"(\$JS\.FC\.[^. ]+\.[^. ]+\.)[0-9A-Za-z]+")


def without_chance(text: str) -> str:
    return FLOW_ID.sub(r"\1<id>", text)


# -- consumers ---------------------------------------------------------------------------------------


def request_of(stream: str, name: str, config: Json) -> Json:
    return {"stream_name": stream, "config": {"name": name, **config}}


def consumer(js: JetStream, stream: str, name: str, **config: object) -> Json:
    """Create or update a consumer that is not durable; its info."""
    return js.ok(f"CONSUMER.CREATE.{stream}.{name}", request_of(stream, name, config))


def durable(js: JetStream, stream: str, name: str, **config: object) -> Json:
    return consumer(js, stream, name, durable_name=name, **config)


def consumer_refused(js: JetStream, stream: str, name: str, **config: object) -> Json:
    return js.refused(f"CONSUMER.CREATE.{stream}.{name}", request_of(stream, name, config))


def durable_refused(js: JetStream, stream: str, name: str, **config: object) -> Json:
    return consumer_refused(js, stream, name, durable_name=name, **config)


def consumer_info(js: JetStream, stream: str, name: str) -> Json:
    return js.ok(f"CONSUMER.INFO.{stream}.{name}")


def positions(info: Json) -> tuple[int, int, int, int]:
    """Delivered and ack floor, each as consumer and stream sequence."""
    delivered, floor = info["delivered"], info["ack_floor"]
    return (
        delivered["consumer_seq"], delivered["stream_seq"],
        floor["consumer_seq"], floor["stream_seq"],
    )  # fmt: skip


def settled_consumer(
    js: JetStream, stream: str, name: str, reached: Callable[[Json], bool]
) -> Json:
    """The info, once it is as expected; asking is how it waits."""
    js.until(lambda: reached(js.ask(f"CONSUMER.INFO.{stream}.{name}")))
    return consumer_info(js, stream, name)


def bound(js: JetStream, stream: str, name: str) -> Json:
    return settled_consumer(js, stream, name, lambda info: info.get("push_bound", False))


def unbound(js: JetStream, stream: str, name: str) -> Json:
    return settled_consumer(js, stream, name, lambda info: not info.get("push_bound", False))


def gone(js: JetStream, stream: str, name: str) -> None:
    """Wait until the consumer does not exist any more."""
    js.until(lambda: "error" in js.ask(f"CONSUMER.INFO.{stream}.{name}"))
    js.refused(f"CONSUMER.INFO.{stream}.{name}")


def feed(js: JetStream, *subjects: str, stream: str = "S") -> list[int]:
    """Publish, and wait until every consumer counts what is new for it; their sequences.

    nats-server answers a publish before its consumers know, and an ack subject that is made in
    between says so. For consumers that have nobody to deliver to yet.
    """
    expected = {
        info["name"]: info["num_pending"]
        + sum(wants(info["config"], subject) for subject in subjects)
        for info in js.ask(f"CONSUMER.LIST.{stream}")["consumers"]
    }

    def counted() -> bool:
        infos = js.ask(f"CONSUMER.LIST.{stream}")["consumers"]
        return {info["name"]: info["num_pending"] for info in infos} == expected

    sequences = js.publish_all(*subjects)
    js.until(counted)
    return sequences


def wants(config: Json, subject: str) -> bool:
    """Whether the subject passes the filters; a filter with a wildcard has the form `name.*`."""
    filters = config.get("filter_subjects") or [config.get("filter_subject", subject)]
    return any(subject == one or one == subject.split(".")[0] + ".*" for one in filters)


# -- acknowledging -----------------------------------------------------------------------------------


def answer(js: JetStream, message: Message, word: bytes = b"+ACK") -> None:
    """Acknowledge and wait for the confirmation."""
    js.note(without_chance(f"{as_text(word)} to {message.reply}"))
    inbox = js._send(message.reply, word)
    confirmation = js._receive(inbox)
    assert (confirmation.data, confirmation.headers) == (b"", b"")


def stream_seq(message: Message) -> int:
    return int(message.reply.split(".")[5])


def deliveries(message: Message) -> int:
    return int(message.reply.split(".")[4])


def stored_at(message: Message) -> int:
    """When the message was stored, in nanoseconds, as its ack subject says."""
    return int(message.reply.split(".")[7])


def is_heartbeat(message: Message) -> bool:
    return message.status == "100 Idle Heartbeat"


# -- subscribers -------------------------------------------------------------------------------------


class Subscriber:
    """A connection that listens, as the client of a push consumer does."""

    def __init__(self, js: JetStream, *subjects: str, queue: str = "") -> None:
        self.js = js
        self.client: RawClient = js.server.client(REQUESTER)
        self.sids = 0
        self.waiting: list[Message] = []
        for subject in subjects:
            self.subscribe(subject, queue)

    def __enter__(self) -> Subscriber:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    def subscribe(self, subject: str, queue: str = "") -> int:
        self.sids += 1
        group = f" {queue}" if queue else ""
        self.js.note(f"SUB {subject}{group}")
        self._exchange(f"SUB {subject}{group} {self.sids}\r\n".encode())
        return self.sids

    def unsubscribe(self, sid: int = 1) -> None:
        self.js.note("UNSUB")
        self._exchange(b"UNSUB %d\r\n" % sid)

    def leave(self) -> None:
        """Unsubscribe, so that the interest is gone for certain, and close."""
        if not self.client.eof and self.client.socket.fileno() >= 0:
            self._exchange(b"".join(b"UNSUB %d\r\n" % sid for sid in range(1, self.sids + 1)))
        self.client.close()

    def vanish(self) -> None:
        """Close without a word."""
        self.js.note("closed")
        self.client.close()

    def send(self, subject: str, data: bytes = b"") -> None:
        """Publish on this connection, and wait until the server has read it."""
        self._exchange(pub(subject.encode(), data))

    def frame(self) -> Message:
        """The next message of any kind, off the record."""
        if self.waiting:
            return self.waiting.pop(0)
        while (frame := self.client.read_frame()) == PING:
            self.client.send(PONG)
        return parse_message(frame)

    def any(self) -> Message:
        """The next message of any kind."""
        return self._noted(self.frame())

    def next(self) -> Message:
        """The next message that is not a heartbeat: how many come before it is chance."""
        return self._noted(self.after_heartbeats(lambda message: not is_heartbeat(message)))

    def after_heartbeats(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message that is wanted, off the record; only heartbeats may come before it."""
        deadline = time.monotonic() + TIMEOUT
        while not wanted(message := self.frame()):
            assert is_heartbeat(message), message
            assert time.monotonic() < deadline, "nothing but heartbeats"
        return message

    def take(self, count: int) -> list[Message]:
        return [self.next() for _ in range(count)]

    def each(self, *subjects: str) -> list[Message]:
        """Publish to each subject, and wait for the message before the next."""
        return [self._one(subject) for subject in subjects]

    def _one(self, subject: str) -> Message:
        self.js.publish(subject, b"x")
        return self.next()

    def heartbeat(self) -> Message:
        message = self.any()
        assert is_heartbeat(message), message
        return message

    def nothing(self) -> None:
        """Nothing but heartbeats has arrived by now."""
        self._exchange(b"")
        heard = [message for message in self.waiting if not is_heartbeat(message)]
        assert not heard, heard
        self.waiting.clear()

    def _noted(self, message: Message) -> Message:
        text = f"{message.subject} [{message.reply}] {as_text(message.headers + message.data)}"
        self.js.note(without_chance(text))
        return message

    def _exchange(self, data: bytes) -> None:
        self.waiting += [parse_message(frame) for frame in messages(self.client.exchange(data))]
