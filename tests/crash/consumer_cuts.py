"""Power cuts with consumers: `consumers` says what must hold, `powercut` and `disk` how the power goes.

The traffic runs once, on a server that strace watches. For a cut, the books are those of the moment: only
what the server had sent by then counts as promised, everything that clients said may have arrived.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash import trace
from tests.crash.api import connect
from tests.crash.consumers import (
    Books,
    Delivery,
    Tally,
    Traffic,
    audit,
    create,
    delivery_of,
    frames,
)
from tests.crash.disk import LUCKS, Disk
from tests.crash.kills import verify
from tests.crash.model import Broken
from tests.crash.powercut import SENDS, start, wait_for_end
from tests.crash.trace import Event
from tests.support.server import OURS, Servers, StartError

EVENTS = 900


@dataclass
class Promise:
    """An answer that left: a stored message, or an ack that counts."""

    place: int
    stream: str
    consumer: str  # empty: the message is stored
    seq: int
    subject: str = ""


@dataclass
class Recording:
    """All that the server did, and what it promised by that."""

    root: Path
    events: list[Event]
    books: Books  # at the end
    promises: list[Promise]
    deliveries: list[tuple[int, Delivery]]  # and where they left
    begun: int  # the place from which on everything exists


@dataclass
class Report:
    """What the cuts showed."""

    cuts: int = 0
    checked: int = 0  # confirmed acks, summed over the cuts
    lost: list[str] = field(default_factory=list)


def record(seed: int, directory: Path) -> Recording:
    """Run a server under traffic and note everything."""
    strace = trace.find_strace()
    assert strace, "strace is missing"
    root, output = directory / "recorded", directory / "trace"
    root.mkdir(parents=True)
    process, port, tracing = start(OURS, root, directory, strace, {})
    books = Books()
    try:
        with connect(port, "audit") as client:
            create(client)
        traffic = Traffic(port, books, Tally(), random.Random(f"cuts/{seed}"))
        traffic.run(EVENTS)
        traffic.finish()
    finally:
        process.kill()
        process.wait()
    traffic.drain()
    wait_for_end(tracing)
    with output.open() as lines:
        events = list(trace.parse(lines))
    output.unlink()
    promises, begun = _promises(events, traffic)
    return Recording(root, events, books, promises, _deliveries(events), begun)


def _promises(events: list[Event], traffic: Traffic) -> tuple[list[Promise], int]:
    """What answers said, and the place of the last one that creates something."""
    found, begun = list[Promise](), 0
    for place, words, rest in _sent(events):
        if delivery_of(words) is not None:
            continue
        _, name, token = words[1].decode().split(".")
        if name == "audit":
            begun = place + 1
            continue
        asked = traffic.asked[name, int(token)]
        if isinstance(asked, Delivery):
            found.append(Promise(place, asked.stream, asked.consumer, asked.seq))
        elif name.startswith("p"):
            stream, subject = asked
            found.append(Promise(place, stream, "", json.loads(rest)["seq"], subject))
    return found, begun


def _deliveries(events: list[Event]) -> list[tuple[int, Delivery]]:
    sent = ((place, delivery_of(words)) for place, words, _ in _sent(events))
    return [(place, delivery) for place, delivery in sent if delivery is not None]


def _sent(events: list[Event]) -> Iterator[tuple[int, list[bytes], bytes]]:
    """Every message that the server sent, in the order of the calls that completed them."""
    streams: dict[tuple[int, str], bytearray] = {}
    for event in events:
        if event.name not in SENDS or not event.path.startswith(("socket:", "TCP:")):
            continue
        buffer = streams.setdefault((event.fd, event.path), bytearray())
        buffer += event.data
        for words, rest in frames(buffer):
            yield event.began, words, rest


def cut(recording: Recording, cuts: int, seed: int, directory: Path, lying: bool = False) -> Report:
    """Cut the power in so many places. `lying` is a disk that ignores the syncs of the traffic."""
    rng, report, disk = random.Random(f"places/{seed}"), Report(), Disk(recording.root)
    end = recording.events[-1].began + 1
    confirmations = [p.place + 1 for p in recording.promises if p.consumer]
    after = rng.sample(confirmations, cuts - cuts // 2)
    anywhere = [rng.randrange(recording.begun, end) for _ in range(cuts // 2)]
    events = iter(recording.events)
    ahead = next(events, None)
    for number, place in enumerate(sorted([*after, *anywhere])):
        while ahead is not None and ahead.began < place:
            if lying and not disk.settled and ahead.began > recording.begun:
                disk.settle()
                disk.lying = True
            disk.begin(ahead)
            ahead = next(events, None)
        disk.pass_to(place)
        luck, home = LUCKS[number % len(LUCKS)], directory / f"cut-{number}"
        (home / "store").mkdir(parents=True)
        report.cuts += 1
        try:
            disk.after_cut(luck, rng, home / "store")
            report.checked += _audit(recording, place, home)
        except (Broken, StartError) as error:
            report.lost.append(f"cut at {place} of {end}, luck {luck}: {error}")
    return report


def books_at(recording: Recording, place: int) -> Books:
    """What had been promised by then, and what may have been acked: only what had been delivered."""
    books = Books()
    for at, delivery in recording.deliveries:
        key = delivery.stream, delivery.consumer
        if at < place and delivery.seq in recording.books.consumers[key].acked:
            books.consumers[key].acked.add(delivery.seq)
    for promise in recording.promises:
        if promise.place < place:
            if promise.consumer:
                books.consumers[promise.stream, promise.consumer].confirmed.add(promise.seq)
            else:
                books.stored[promise.stream][promise.seq] = promise.subject
    return books


def _audit(recording: Recording, place: int, home: Path) -> int:
    """Start a server on what is left; returns how many confirmed acks were looked for."""
    books = books_at(recording, place)
    verify(home / "store")
    with Servers(home) as servers:
        server = servers.start(OURS, flags=["-js", "-sd", str(home / "store")])
        audit(server.port, books, Tally(), settle=False)
        server.kill()
    return sum(len(consumer.confirmed) for consumer in books.consumers.values())
