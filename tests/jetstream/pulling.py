"""Pull consumers in scenarios: requests with an inbox of their own, acks, and waiting for effects.

A message that is pulled comes with its stored subject; only the subscription tells whose it is. So
each request subscribes with a sid of its own, and the transcript names the request by a number. The
order in which messages of one connection arrive is kept; `arrivals` reads it across requests.

nats-server works on pull requests, acks and API requests side by side. A scenario that needs one to
be done before the next asks for the consumer's info, off the record, until it shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.jetstream.support import (
    API,
    SECOND,
    Headers,
    JetStream,
    Json,
    Message,
    as_text,
    encode_body,
    frame_of,
    header_block,
)

ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER."
METRIC = "$JS.EVENT.METRIC.CONSUMER.ACK."
MS = SECOND // 1000
# Long enough never to pass within a scenario.
LONG = 30 * SECOND

ACK, NAK, WPI, TERM, NXT = b"+ACK", b"-NAK", b"+WPI", b"+TERM", b"+NXT"


class Pull:
    """One inbox of one connection, for one or more pull requests."""

    def __init__(self, js: JetStream) -> None:
        self.js = js
        js.sids += 1
        self.sid = js.sids
        self.name = f"{js.speaker}pull {self.sid}"
        self.inbox = f"_INBOX.pull.{js.inboxes[-1]}{self.sid}"
        js.client.send(f"SUB {self.inbox} {self.sid}\r\n".encode())

    def send(self, subject: str, body: object = None, headers: Headers = None) -> Pull:
        data = encode_body(body)
        self.js._note(">", f"{self.name}: {subject} {as_text(header_block(headers) + data)}")
        self.js.client.send(frame_of(subject, data, headers, self.inbox.encode()))
        return self

    def next(self) -> Message:
        """The next message or status."""
        return arrivals(1, self)[0]

    def messages(self, count: int) -> list[Message]:
        """The next messages; a status among them is a failure."""
        taken = arrivals(count, self)
        assert not [message.status for message in taken if message.status]
        return taken

    def until_status(self) -> list[Message]:
        """All messages up to the first status, and the status."""
        taken = [self.next()]
        while not taken[-1].status:
            taken.append(self.next())
        return taken

    def status(self) -> str:
        """The status that comes next."""
        message = self.next()
        assert message.status, message
        assert message.data == b""
        return message.status

    def nothing(self) -> None:
        """Nothing has come by the time that the server has dealt with what was said."""
        self.js.fence()
        assert not [message for message in self.js.kept if message.sid == self.sid]
        self.js._note("<", f"{self.name}: (nothing)")

    def leave(self, after: int = 0) -> None:
        """End the interest in the inbox, and wait until the server knows."""
        self.js._note(">", f"{self.name}: UNSUB")
        limit = f" {after}" if after else ""
        self.js.client.send(f"UNSUB {self.sid}{limit}\r\n".encode())
        self.js._keep_all()


def arrivals(count: int, *pulls: Pull) -> list[Message]:
    """The next messages for any of these inboxes, in the order in which they came."""
    js = pulls[0].js
    sids = {pull.sid for pull in pulls}
    taken = take(js, count, lambda message: message.sid in sids)
    for message in taken:
        reply = f" [{message.reply}]" if message.reply else ""
        text = as_text(message.headers) + as_text(message.data)
        js._note("<", f"{js.speaker}pull {message.sid}: {message.subject}{reply} {text}")
    return taken


def take(js: JetStream, count: int, wanted: Callable[[Message], bool]) -> list[Message]:
    """The next messages that are wanted; the others stay in order."""
    taken = [message for message in js.kept if wanted(message)][:count]
    for message in taken:
        js.kept.remove(message)
    while len(taken) < count:
        message = js._read()
        (taken if wanted(message) else js.kept).append(message)
    return taken


def advisories(js: JetStream, count: int, by_sequence: bool = False) -> list[Message]:
    """The next advisories and metrics, as they came; or by sequence, if chance orders them."""
    taken = take(js, count, lambda message: message.subject.startswith("$JS.EVENT."))
    if by_sequence:
        taken.sort(key=lambda message: int(message.json["stream_seq"]))
    for message in taken:
        js._note_message("*", message)
    return taken


def no_advisories(js: JetStream) -> None:
    """None has come by the time that the server has dealt with what was said."""
    js.fence()
    assert not [message for message in js.kept if message.subject.startswith("$JS.EVENT.")]
    js._note("*", "(no advisories)")


class Consumer:
    """A consumer, seen from one connection."""

    def __init__(self, js: JetStream, name: str = "C", stream: str = "S") -> None:
        self.js = js
        self.name = name
        self.stream = stream
        self.path = f"{stream}.{name}"
        self.subject = f"{API}CONSUMER.MSG.NEXT.{self.path}"

    # -- pulling -----------------------------------------------------------------------------------

    def pull(self, body: object = None, headers: Headers = None) -> Pull:
        """Send a pull request; what comes is read from the `Pull`."""
        return Pull(self.js).send(self.subject, body, headers)

    def fetch(self, count: int = 1, **options: object) -> list[Message]:
        """Pull and wait for that many messages."""
        return self.pull({"batch": count, "expires": LONG, **options}).messages(count)

    def drain(self, batch: int = 100) -> list[Message]:
        """All there is now, without the status at the end."""
        return self.pull({"batch": batch, "no_wait": True}).until_status()[:-1]

    def waits(self, **options: object) -> Pull:
        """A pull request that has been taken by the consumer and finds nothing to deliver."""
        before = self.seen()["num_waiting"]
        pull = self.pull({"expires": LONG, **options})
        self.reached(num_waiting=before + 1)
        return pull

    def pause(self, milliseconds: int) -> None:
        """Let time pass by a request that finds nothing."""
        assert self.pull({"expires": milliseconds * MS}).status() == "408 Request Timeout"

    # -- acks --------------------------------------------------------------------------------------

    def ack(self, message: Message, payload: bytes = ACK) -> None:
        """Ack and wait for the confirmation."""
        answer = self.js.request(message.reply, payload)
        assert (answer.headers, answer.data, answer.reply) == (b"", b"", "")

    def cast(self, message: Message, payload: bytes = ACK) -> None:
        """Ack without asking for a confirmation."""
        self.js.cast(message.reply, payload)

    # -- state -------------------------------------------------------------------------------------

    def info(self) -> Json:
        return self.js.ok(f"CONSUMER.INFO.{self.path}")

    def seen(self) -> Json:
        """The info, off the record."""
        return self.js.ask(f"CONSUMER.INFO.{self.path}")

    def reached(self, **expected: object) -> None:
        """Wait until the info says this."""

        def matches() -> bool:
            info = self.seen()
            return all(value_at(info, key) == value for key, value in expected.items())

        try:
            self.js.until(matches)
        except AssertionError as error:
            error.add_note(f"expected {expected}, seen {self.seen()}")
            raise

    def settled(self, **expected: object) -> Json:
        """The info, on the record, once it says this. `floor` stands for the acked stream sequence,
        `delivered` for the last delivered one.
        """
        self.reached(**expected)
        return self.info()

    def update(self, **config: object) -> Json:
        """Send the config again with changes to it."""
        current = self.seen()["config"]
        current.pop("metadata", None)
        changed = {key: value for key, value in (current | config).items() if value is not None}
        return self.js.ok(
            f"CONSUMER.CREATE.{self.path}", {"stream_name": self.stream, "config": changed}
        )

    def delete(self) -> None:
        self.js.ok(f"CONSUMER.DELETE.{self.path}")


SHORT_NAMES: Mapping[str, tuple[str, str]] = {
    "floor": ("ack_floor", "stream_seq"),
    "delivered": ("delivered", "stream_seq"),
    "consumer_floor": ("ack_floor", "consumer_seq"),
    "consumer_delivered": ("delivered", "consumer_seq"),
}


def value_at(info: Json, key: str) -> object:
    if key in SHORT_NAMES:
        outer, inner = SHORT_NAMES[key]
        return info[outer][inner]
    return info.get(key)


def consumer(js: JetStream, name: str = "C", stream: str = "S", **config: object) -> Consumer:
    """Create a durable pull consumer with explicit acks, or what the config says."""
    full = {"durable_name": name, "ack_policy": "explicit", **config}
    js.ok(f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": full})
    return Consumer(js, name, stream)


def consumer_refused(js: JetStream, name: str = "C", **config: object) -> Json:
    full = {"durable_name": name, "ack_policy": "explicit", **config}
    return js.refused(f"CONSUMER.CREATE.S.{name}", {"stream_name": "S", "config": full})


def stream(js: JetStream, count: int = 0, **config: object) -> None:
    """The stream S on s.>, with messages s.1, s.2 and so on."""
    js.create("S", subjects=["s.>"], **config)
    for number in range(1, count + 1):
        js.publish(f"s.{number}", f"m{number}".encode())


def sequences(messages: list[Message]) -> list[int]:
    """The stream sequences."""
    return [ack_parts(message)[3] for message in messages]


def deliveries(messages: list[Message]) -> list[tuple[int, int]]:
    """Stream sequence and delivery count."""
    return [(ack_parts(message)[3], ack_parts(message)[2]) for message in messages]


def ack_parts(message: Message) -> tuple[str, str, int, int, int, int, int]:
    """Stream, consumer, delivery count, stream sequence, consumer sequence, time, pending."""
    tokens = message.reply.split(".")
    assert tokens[:2] == ["$JS", "ACK"]
    assert len(tokens) == 9, message.reply
    count, sequence, number, stored, pending = map(int, tokens[4:])
    return tokens[2], tokens[3], count, sequence, number, stored, pending


class Other(JetStream):
    """A second connection whose words go into the transcript of the first."""

    inboxes = "_INBOX.other"
    speaker = "other "

    def __init__(self, js: JetStream) -> None:
        super().__init__(js.server, js.store)
        self.lines = js.lines


@contextmanager
def another(js: JetStream) -> Iterator[Other]:
    """A second connection; the server has noticed its end when the block is left."""
    other = Other(js)
    try:
        yield other
        other.client.talk(b"")
    finally:
        other.close()


def elapsed(act: Callable[[], object]) -> float:
    """How many seconds it took."""
    start = time.monotonic()
    act()
    return time.monotonic() - start
