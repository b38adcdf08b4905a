"""The clients of a stream: publishers that want every PubAck, and readers of single messages."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Final

from benchmarks import wire
from benchmarks.conn import READ_BYTES, Connection, ConnectionLost
from benchmarks.roles.base import Facts
from benchmarks.roles.request import LatencyRequester, Requester, with_inbox
from benchmarks.tally import AckForm, AckLengths, Marks

FILL: Final = 20_000  # messages in a stream that is read from
_FILL_WINDOW: Final = 5_000

# What to ask for, and what only a good answer holds.
_GET: Final = b"$JS.API.STREAM.MSG.GET.BENCH"
_DIRECT: Final = b"$JS.API.DIRECT.GET.BENCH"
_DIRECT_BUCKET: Final = b"$JS.API.DIRECT.GET.KV_BENCH"
_IN_JSON: Final = b'"data":"'
_IN_HEADERS: Final = b"NATS/1.0\r\n"
_TTL: Final = b"NATS/1.0\r\nNats-TTL: 1h\r\n\r\n"
_BY_SEQUENCE: Final = b'{"seq":%d}'
_BY_SUBJECT: Final = b'{"last_by_subj":"%b"}'


class Publishes:
    """PUB frames with unique reply subjects, rendered a slice at a time.

    Payloads vary from message to message: a store that keeps equal ones once would gain by luck.
    """

    def __init__(self, load: wire.Load, count: int, first: int = 0, headers: bytes = b"") -> None:
        names = wire.published_names(load, first, count)
        middle = b" " + wire.INBOX + b"."
        verb, end = b"PUB ", b" %d\r\n" % load.size
        if headers:
            verb, sizes = b"HPUB ", (len(headers), len(headers) + load.size)
            end = b" %d %d\r\n%b" % (*sizes, headers)
        self._heads = [
            verb + name + middle + token + end
            for name, token in zip(names, wire.tokens(count), strict=True)
        ]
        pool = [payload + b"\r\n" for payload in wire.payloads(load)]
        self._bodies = wire.from_first(pool, first, count)

    def render(self, start: int, stop: int) -> bytes:
        parts = [b""] * (2 * (stop - start))
        parts[::2] = self._heads[start:stop]
        parts[1::2] = self._bodies[start:stop]
        return b"".join(parts)


class Gets:
    """Requests for single messages of a stream with `FILL` messages from `first` on."""

    def __init__(self, load: wire.Load, count: int, kind: str, first: int) -> None:
        rng = random.Random(count)
        sequences = rng.choices(range(first, first + FILL), k=count)
        names = wire.published_names(load, 0, count)
        direct = _DIRECT_BUCKET if load.bucket else _DIRECT
        lines = {
            "get": lambda: [_request(_GET, _BY_SEQUENCE % one) for one in sequences],
            "last": lambda: [_request(_GET, _BY_SUBJECT % name) for name in names],
            "direct": lambda: [_request(direct, _BY_SEQUENCE % one) for one in sequences],
            "direct-last": lambda: [_request(direct + b"." + name, b"") for name in names],
        }[kind]()
        self._frames = [line % token for line, token in zip(lines, wire.tokens(count), strict=True)]

    def render(self, start: int, stop: int) -> bytes:
        return b"".join(self._frames[start:stop])


def _request(subject: bytes, body: bytes) -> bytes:
    """A frame that lacks nothing but the token of its reply subject."""
    return b"PUB %b %b.%%b %d\r\n%b\r\n" % (subject, wire.INBOX, len(body), body)


@dataclass
class StreamPublisher(Requester):
    """Keeps up to `window` messages unacknowledged until `count` are acknowledged.

    One more message is published before the clock starts, to see what this server's acks look like.
    It is number `first` of the load; which subject and payload a message has depends on its number.
    """

    first: int = 0
    ttl: bool = False
    form: AckForm = field(init=False)

    def prepare(self) -> None:
        headers = _TTL if self.ttl else b""
        self.requests = Publishes(self.load, self.count, self.first + 1, headers)
        self.conn = with_inbox(self.port, self.timeout)
        self.form = _learned(self.conn, self.load, self.first)
        self.tally = AckLengths(self.form)

    def run(self) -> Facts:
        facts = super().run() | {"stored": self.count + 1}
        if self.keep_replies:
            sequences = re.findall(rb'"seq": ?(\d+)', b"".join(self.kept))
            facts["distinct_sequences"] = len(set(sequences))
        return facts


@dataclass
class LatencyPublisher(LatencyRequester):
    """One message at a time, each timed from before its send to the last byte of its PubAck."""

    def prepare(self) -> None:
        publishes = Publishes(self.load, self.count, 1)
        self.frames = [publishes.render(i, i + 1) for i in range(self.count)]
        self.conn = with_inbox(self.port, self.timeout)
        form = _learned(self.conn, self.load, 0)
        self.lengths = [form.length(form.sequence + 1 + i) for i in range(self.count)]

    def run(self) -> Facts:
        return super().run() | {"stored": self.count + 1}


@dataclass
class StreamReader(Requester):
    """Fills the stream before the clock starts, then keeps up to `window` requests in flight."""

    kind: str = "get"

    def prepare(self) -> None:
        fill = StreamPublisher(self.port, self.load, FILL, _FILL_WINDOW, self.timeout)
        fill.prepare()
        fill.run()
        fill.close()
        self.requests = Gets(self.load, self.count, self.kind, fill.form.sequence + 1)
        self.tally = Marks(_IN_HEADERS if self.kind.startswith("direct") else _IN_JSON)
        self.conn = with_inbox(self.port, self.timeout)

    def run(self) -> Facts:
        return super().run() | {"stored": FILL + 1}


def _learned(conn: Connection, load: wire.Load, number: int) -> AckForm:
    """Publishes one message of the load and looks at its ack."""
    conn.send(Publishes(load, 1, number).render(0, 1))
    buffer = bytearray(READ_BYTES)
    data = b""
    while data.count(b"\r\n") < 2:
        data += buffer[: conn.read(buffer)]
        data = data.replace(wire.PING, b"")
    try:
        return AckForm.learned(data.partition(b"\r\n")[2].removesuffix(b"\r\n"))
    except ValueError as error:
        raise ConnectionLost(f"the first publish was not acknowledged: {error}") from error
