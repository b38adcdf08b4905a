"""Consumers under `kill -9`: clients publish, pull and ack while the server dies, again and again.

What must hold for a consumer after a crash: nothing whose ack was confirmed is delivered again, or is still
in a work queue; everything that is stored and was never acked is delivered. A plain ack is a wish: it may be
lost with the last moment before the crash, or not. `Consumer` keeps the books of one consumer, `Traffic`
makes the load, `audit` reads the state and drains every consumer.
"""

from __future__ import annotations

import json
import random
import selectors
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.crash.api import ask, connect, fetch
from tests.crash.kills import verify
from tests.crash.model import Broken
from tests.support.raw import CHUNK, TIMEOUT, RawClient, Silence
from tests.support.server import Kind, Servers
from tests.support.wire import frame_end, pub

SECOND = 1_000_000_000
ACK_WAIT = SECOND // 4
PULL = {"batch": 20, "expires": 5 * SECOND}
WINDOW = 24  # publishes of one client on the way
PUBLISHERS = PULLERS = 2
EVENTS = 1_500  # answers and deliveries of one cycle, at most
LEFT_ALONE, CONFIRMED = 0.15, 0.4  # of the deliveries, of the acks
STREAMS = {"LIM": "limits", "INT": "interest", "QUE": "workqueue"}
FILTERS = {
    ("LIM", "all"): "LIM.>",
    ("LIM", "some"): "LIM.1",
    ("INT", "x"): "INT.>",
    ("INT", "y"): "INT.1",
    ("QUE", "one"): "QUE.1",
    ("QUE", "two"): "QUE.2",
}


class Delivery(NamedTuple):
    """What an ack subject says."""

    subject: bytes
    stream: str
    consumer: str
    deliveries: int
    seq: int


@dataclass
class Consumer:
    """The books of one consumer."""

    stream: str
    name: str
    filter: str
    acked: set[int] = field(default_factory=set)  # somebody said so, in whatever way ...
    confirmed: set[int] = field(default_factory=set)  # ... and the server agreed

    def wants(self, subject: str) -> bool:
        return self.filter in (subject, f"{self.stream}.>")

    def delivered(self, delivery: Delivery) -> None:
        if delivery.seq in self.confirmed:
            raise Broken(f"{delivery} was acked, and the ack was confirmed")


@dataclass
class Books:
    """All consumers, and which messages the server has promised to keep."""

    consumers: dict[tuple[str, str], Consumer] = field(
        default_factory=lambda: {key: Consumer(*key, subjects) for key, subjects in FILTERS.items()}
    )
    stored: dict[str, dict[int, str]] = field(  # subjects by sequence
        default_factory=lambda: {name: {} for name in STREAMS}
    )

    def of(self, stream: str, subject: str) -> list[Consumer]:
        mine = (each for each in self.consumers.values() if each.stream == stream)
        return [each for each in mine if each.wants(subject)]


@dataclass
class Tally:
    """What the cycles saw."""

    cycles: int = 0
    published: int = 0
    delivered: int = 0
    acked: int = 0
    confirmed: int = 0
    again: int = 0  # drained after a kill


def frames(buffer: bytearray) -> Iterator[tuple[list[bytes], bytes]]:
    """Take the whole messages out of a buffer: words of the line, and the rest."""
    start = 0
    while (end := frame_end(buffer, start)) >= 0:
        line, _, rest = bytes(buffer[start:end]).partition(b"\r\n")
        start = end
        if line.startswith((b"MSG ", b"HMSG ")):
            yield line.split(b" "), rest
        elif line.startswith(b"-ERR"):
            raise Broken(f"the server complains: {line!r}")
    del buffer[:start]


def delivery_of(words: list[bytes]) -> Delivery | None:
    if not words[3].startswith(b"$JS.ACK."):
        return None
    _, _, stream, consumer, deliveries, seq, *_ = words[3].decode().split(".")
    return Delivery(words[3], stream, consumer, int(deliveries), int(seq))


@dataclass
class Peer:
    """One connection: what it waits for, by the last token of its inbox."""

    name: str
    client: RawClient
    waiting: dict[int, Any] = field(default_factory=dict)
    asked: dict[tuple[str, int], Any] = field(default_factory=dict)  # the same, for ever
    made: int = 0

    def request(self, subject: bytes, data: bytes, what: Any) -> bytes:
        self.made += 1
        self.waiting[self.made] = self.asked[self.name, self.made] = what
        return pub(subject, data, b"_INBOX.%b.%d" % (self.name.encode(), self.made))


class Traffic:
    """Clients of one server."""

    def __init__(self, port: int, books: Books, tally: Tally, rng: random.Random) -> None:
        self.books, self.tally, self.rng = books, tally, rng
        self.events = 0
        self.asked: dict[tuple[str, int], Any] = {}  # all requests, by connection and token
        self.quiet = False
        self.selector = selectors.DefaultSelector()
        self.publishers = [self._peer(port, f"p{n}") for n in range(PUBLISHERS)]
        self.pullers = [self._peer(port, f"c{n}") for n in range(PULLERS)]

    def _peer(self, port: int, name: str) -> Peer:
        peer = Peer(name, connect(port, name), asked=self.asked)
        self.selector.register(peer.client.socket, selectors.EVENT_READ, peer)
        return peer

    def run(self, target: int) -> None:
        """Go on until so much was heard."""
        deadline = time.monotonic() + 3 * TIMEOUT
        for publisher in self.publishers:
            self._publish(publisher)
        for puller in self.pullers:
            puller.client.send(b"".join(self._pull(puller, key) for key in FILTERS))
        while self.events < target:
            if time.monotonic() > deadline:
                raise Silence(f"{self.events} of {target} answers and messages came")
            self._turn()

    def finish(self) -> None:
        """Say nothing more, and hear every answer to what was said."""
        self.quiet = True
        deadline = time.monotonic() + TIMEOUT
        while any(self._owed(peer) for peer in (*self.publishers, *self.pullers)):
            if time.monotonic() > deadline:
                raise Silence("answers are missing")
            self._turn()

    def _owed(self, peer: Peer) -> bool:
        """Publishes and acks have an answer; a pull may wait."""
        waiting = peer.waiting.values()
        return any(peer in self.publishers or isinstance(what, Delivery) for what in waiting)

    def _turn(self) -> None:
        for key, _ in self.selector.select(TIMEOUT):
            peer: Peer = key.data
            data = peer.client.socket.recv(CHUNK, socket.MSG_DONTWAIT)
            if not data:
                raise Silence("the server closed a connection under load")
            peer.client.buffer += data
            self._take(peer, self.quiet)

    def drain(self) -> None:
        """Hear what a dead server still said."""
        for peer in (*self.publishers, *self.pullers):
            peer.client.buffer += peer.client.read_all()
            self._take(peer, quiet=True)
            peer.client.close()
        self.selector.close()

    def _take(self, peer: Peer, quiet: bool) -> None:
        out = []
        for words, rest in frames(peer.client.buffer):
            self.events += 1
            delivery = delivery_of(words)
            if delivery is not None:
                out.append(self._delivered(peer, delivery, quiet))
            else:
                out.append(self._answered(peer, int(words[1].rpartition(b".")[2]), rest))
        if not quiet:
            peer.client.send(b"".join(out))
            if peer in self.publishers:
                self._publish(peer)

    # -- publishing --------------------------------------------------------------------------------

    def _publish(self, peer: Peer) -> None:
        out = []
        while len(peer.waiting) < WINDOW:
            stream = self.rng.choice(list(STREAMS))
            subject = f"{stream}.{self.rng.choice((1, 1, 2))}"
            data = b"x" * self.rng.randrange(400)
            out.append(peer.request(subject.encode(), data, (stream, subject)))
        peer.client.send(b"".join(out))

    def _answered(self, peer: Peer, token: int, rest: bytes) -> bytes:
        what = peer.waiting[token]
        if isinstance(what, Delivery):  # a confirmed ack
            del peer.waiting[token]
            self.tally.confirmed += 1
            self.books.consumers[what.stream, what.consumer].confirmed.add(what.seq)
            return b""
        if peer in self.publishers:
            del peer.waiting[token]
            stream, subject = what
            self.books.stored[stream][json.loads(rest)["seq"]] = subject
            self.tally.published += 1
            return b""
        if not rest.startswith(b"NATS/1.0 408 Request Timeout"):
            raise Broken(f"a pull from {what} ended with {rest!r}")
        del peer.waiting[token]
        return self._pull(peer, what)

    # -- pulling -----------------------------------------------------------------------------------

    def _pull(self, peer: Peer, key: tuple[str, str]) -> bytes:
        subject = "$JS.API.CONSUMER.MSG.NEXT.{}.{}".format(*key).encode()
        return peer.request(subject, json.dumps(PULL).encode(), key)

    def _delivered(self, peer: Peer, delivery: Delivery, quiet: bool) -> bytes:
        consumer = self.books.consumers[delivery.stream, delivery.consumer]
        consumer.delivered(delivery)
        self.tally.delivered += 1
        if quiet or self.rng.random() < LEFT_ALONE:
            return b""
        again = self._pull(peer, (delivery.stream, delivery.consumer)) if self._tired() else b""
        return ack(peer, consumer, delivery, self.tally, self.rng.random() < CONFIRMED) + again

    def _tired(self) -> bool:
        """One pull in a batch's worth of messages keeps somebody waiting."""
        return self.rng.random() < 2 / int(str(PULL["batch"]))


def ack(peer: Peer, consumer: Consumer, delivery: Delivery, tally: Tally, confirm: bool) -> bytes:
    consumer.acked.add(delivery.seq)
    tally.acked += 1
    return peer.request(delivery.subject, b"", delivery) if confirm else pub(delivery.subject)


# -- after a kill ----------------------------------------------------------------------------------


def create(client: RawClient) -> None:
    """Streams and consumers; what is there already stays as it is."""
    for name, retention in STREAMS.items():
        body = {"name": name, "subjects": [f"{name}.*"], "retention": retention}
        _sure(ask(client, f"STREAM.CREATE.{name}", body))
    for (stream, name), subjects in FILTERS.items():
        config: dict[str, object] = {
            "durable_name": name,
            "ack_policy": "explicit",
            "ack_wait": ACK_WAIT,
            "filter_subject": subjects,
            "max_ack_pending": -1,
        }
        verb = f"CONSUMER.DURABLE.CREATE.{stream}.{name}"
        _sure(ask(client, verb, {"stream_name": stream, "config": config}))


def _sure(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise Broken(f"{answer}")
    return answer


def audit(port: int, books: Books, tally: Tally, settle: bool) -> None:
    """Is everything there that must be, and nothing else? With `settle` all of it is acked."""
    with connect(port, "audit") as client:
        found = {name: _scan(client, name, books) for name in STREAMS}
        for consumer in books.consumers.values():
            _numbers(client, consumer, found[consumer.stream])
    for consumer in books.consumers.values():
        _drain(port, consumer, found[consumer.stream], tally, settle)
    if settle:
        with connect(port, "audit") as client:
            _empty(client, books, found)


def _scan(client: RawClient, stream: str, books: Books) -> dict[int, str]:
    """Subjects by sequence, as found."""
    state = _sure(ask(client, f"STREAM.INFO.{stream}"))["state"]
    seqs = range(max(1, state["first_seq"]), state["last_seq"] + 1)
    found = {each.seq: each.subject.decode() for each in fetch(client, stream, seqs)}
    if len(found) != state["messages"]:
        raise Broken(f"{stream}: {len(found)} messages found, {state}")
    for seq, subject in found.items():
        readers = books.of(stream, subject)
        if STREAMS[stream] != "limits" and readers and all(seq in c.confirmed for c in readers):
            raise Broken(f"{stream}: {seq} is still there, all acks of it were confirmed")
    for seq, subject in books.stored[stream].items():
        readers = books.of(stream, subject)
        done = STREAMS[stream] != "limits" and all(seq in c.acked for c in readers)
        if seq not in found and not done:
            raise Broken(f"{stream}: {seq} is lost, and not everybody had acked it")
    return found


def _numbers(client: RawClient, consumer: Consumer, found: dict[int, str]) -> None:
    info = _sure(ask(client, f"CONSUMER.INFO.{consumer.stream}.{consumer.name}"))
    mine = [seq for seq, subject in found.items() if consumer.wants(subject)]
    delivered, floor = info["delivered"]["stream_seq"], info["ack_floor"]["stream_seq"]
    ahead = sum(seq > delivered for seq in mine)
    if info["num_pending"] != ahead:
        raise Broken(f"{consumer}: num_pending is {info['num_pending']}, {ahead} are there")
    skipped = [seq for seq in mine if seq <= floor and seq not in consumer.acked]
    if skipped:
        raise Broken(f"{consumer}: {skipped[:5]} lie below the ack floor {floor}, never acked")
    owed = [seq for seq in mine if floor < seq <= delivered]
    never = [seq for seq in owed if seq not in consumer.acked]
    if not len(never) <= info["num_ack_pending"] <= len(owed):
        raise Broken(f"{consumer}: num_ack_pending of {info}, {len(never)} to {len(owed)} are")


def _drain(
    port: int, consumer: Consumer, found: dict[int, str], tally: Tally, settle: bool
) -> None:
    """Everything that was never acked comes, and nothing that was confirmed."""
    mine = [seq for seq, subject in found.items() if consumer.wants(subject)]
    missing = {seq for seq in mine if seq not in consumer.acked}
    peer = Peer("drain", connect(port, "drain"))
    subject = f"$JS.API.CONSUMER.MSG.NEXT.{consumer.stream}.{consumer.name}".encode()
    deadline = time.monotonic() + TIMEOUT
    body: dict[str, object] = {"batch": 1_000, "no_wait": True}
    with peer.client as client:
        while missing or not body.get("expires"):
            if time.monotonic() > deadline:
                raise Broken(f"{consumer.stream} {consumer.name}: {sorted(missing)[:5]} never came")
            client.send(peer.request(subject, json.dumps(body).encode(), None))
            for delivery in _until_status(peer, consumer):
                tally.again += 1
                missing.discard(delivery.seq)
                if settle:
                    client.send(ack(peer, consumer, delivery, tally, True))
            body = {"batch": 1_000, "expires": ACK_WAIT // 2}  # what is owed comes again soon
        while any(peer.waiting.values()):
            for _ in _until_status(peer, consumer, confirmations=1):
                raise AssertionError("nobody asked for more")


def _until_status(
    peer: Peer, consumer: Consumer, confirmations: int = 1 << 30
) -> Iterator[Delivery]:
    """Deliveries up to the end of a pull, or of so many confirmed acks."""
    while confirmations:
        for words, _ in frames(bytearray(peer.client.read_frame())):
            delivery = delivery_of(words)
            if delivery is not None:
                consumer.delivered(delivery)
                yield delivery
                continue
            what = peer.waiting.pop(int(words[1].rpartition(b".")[2]))
            if what is None:
                return
            consumer.confirmed.add(what.seq)
            confirmations -= 1


def _empty(client: RawClient, books: Books, found: dict[str, dict[int, str]]) -> None:
    """Everything is acked."""
    for (stream, name), consumer in books.consumers.items():
        info = _sure(ask(client, f"CONSUMER.INFO.{stream}.{name}"))
        left = [
            seq
            for seq, subject in found[stream].items()
            if consumer.wants(subject) and seq not in consumer.acked
        ]
        if info["num_pending"] or left:
            raise Broken(f"{stream} {name}: not drained: {info}")


def run(kind: Kind, cycles: int, seed: int, directory: Path) -> Tally:
    """Load and kill, `cycles` times, and audit after each."""
    books, tally, store = Books(), Tally(), directory / "store"
    with Servers(directory) as servers:
        for cycle in range(cycles + 1):
            rng = random.Random(f"{seed}/{cycle}")
            try:
                if cycle == cycles:
                    verify(store)
                server = servers.start(kind, flags=["-js", "-sd", str(store)])
                if cycle == 0:
                    with connect(server.port, "audit") as client:
                        create(client)
                else:
                    audit(server.port, books, tally, settle=cycle % 3 == 0)
                if cycle < cycles:
                    traffic = Traffic(server.port, books, tally, rng)
                    traffic.run(rng.randrange(1, EVENTS))
                    server.kill()
                    traffic.drain()
                    tally.cycles += 1
            except Exception as error:
                error.add_note(f"after {cycle} kills, seed {seed}")
                raise
    return tally
