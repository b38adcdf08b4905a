"""`kill -9` in the middle of batches, increments and messages that expire, from several publishers at once.

After each kill the store is read: an atomic batch is there as a whole or not at all, those that were acked
are; of a fast batch there is what was acked, and more without a gap; a counter is the sum of its increments,
each of them once; a message goes with its time, not with the server.
"""

from __future__ import annotations

import random
import selectors
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from tests.crash import offline
from tests.crash.api import ask, connect
from tests.crash.model import Broken
from tests.crash.publishers import KINDS, Expiring, Publisher
from tests.support.raw import CHUNK, Silence
from tests.support.server import OURS, Server, Servers

EACH = 3  # publishers of a kind
ANSWERS = 900  # of one cycle, at most
PATIENCE = 60.0


@dataclass
class Tally:
    """What the cycles saw."""

    cycles: int = 0
    sent: int = 0
    heard: int = 0
    kept: int = 0


def run(cycles: int, seed: int, directory: Path) -> Tally:
    """Load and kill, `cycles` times, with an audit after each."""
    rng = random.Random(seed)
    tally = Tally()
    store = directory / "store"
    publishers = [
        kind(f"{kind.stream}{number}", random.Random(f"{seed}/{kind.stream}/{number}"))
        for kind in KINDS
        for number in range(EACH)
    ]
    with Servers(directory) as servers:
        for cycle in range(cycles):
            server = servers.start(OURS, flags=["-js", "-sd", str(store)])
            if not cycle:
                create(server)
            try:
                load(publishers, server, rng.randrange(ANSWERS // 3, ANSWERS))
                tally.kept = audit(publishers, store)
            except Exception as error:
                error.add_note(f"after {cycle} kills, seed {seed}")
                raise
            tally.cycles += 1
        expire(servers.start(OURS, flags=["-js", "-sd", str(store)]), publishers)
    tally.sent = sum(publisher.sent for publisher in publishers)
    tally.heard = sum(publisher.heard for publisher in publishers)
    return tally


def create(server: Server) -> None:
    with connect(server.port, "audit") as client:
        for kind in KINDS:
            config = {"name": kind.stream, **kind.config}
            answer = ask(client, f"STREAM.CREATE.{kind.stream}", config)
            if "error" in answer:
                raise Broken(f"{answer}")


def load(publishers: list[Publisher], server: Server, target: int) -> None:
    """Until so many answers came; then kill, and hear what was said before."""
    with selectors.DefaultSelector() as selector:
        for publisher in publishers:
            publisher.connect(server.port)
            selector.register(publisher.client.socket, selectors.EVENT_READ, publisher)
        start = sum(publisher.heard for publisher in publishers)
        deadline = time.monotonic() + PATIENCE
        while sum(publisher.heard for publisher in publishers) - start < target:
            if time.monotonic() > deadline:
                raise Silence("the server does not answer")
            for publisher in publishers:
                publisher.send()
            for key, _ in selector.select(0.001):
                key.data.client.buffer += key.data.client.socket.recv(CHUNK, socket.MSG_DONTWAIT)
                key.data.listen()
        server.kill()
    for publisher in publishers:
        publisher.client.buffer += publisher.client.read_all()
        publisher.listen()
        publisher.client.close()


def audit(publishers: list[Publisher], store: Path) -> int:
    """How many messages there are."""
    with offline.streams(store) as found:
        held = {name: list(offline.rows(stream)) for name, stream in found.items()}
    for publisher in publishers:
        publisher.audit(held[publisher.stream])
    return sum(map(len, held.values()))


def expire(server: Server, publishers: list[Publisher]) -> None:
    """In the end the messages that live for a second are gone, and no others."""
    least = sum(
        not publisher.may_go(number)
        for publisher in publishers
        if isinstance(publisher, Expiring)
        for number in publisher.acked
    )
    most = (
        sum(publisher.sent for publisher in publishers if isinstance(publisher, Expiring)) // 2
        + EACH
    )
    deadline = time.monotonic() + PATIENCE
    with connect(server.port, "audit") as client:
        while True:
            left = ask(client, f"STREAM.INFO.{Expiring.stream}")["state"]["messages"]
            if left < least:
                raise Broken(f"{least} messages live longer, {left} are left")
            if left <= most:
                return
            if time.monotonic() > deadline:
                raise Broken(f"{left} messages are left, of {most} that live longer")
