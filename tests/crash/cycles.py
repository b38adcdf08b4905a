"""`kill -9` under load, again and again on the same port.

Core NATS keeps nothing on disk, so what must survive a kill is the rest: the port is free at once, the
next server serves at once, clients that come back are served in order, and what a client received
before the kill was whole messages in the order they were published.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.raw import RawClient
from tests.support.server import OURS, Server, Servers
from tests.support.wire import QUIET, pub

SUBJECT = b"load"
BATCH = 200


@dataclass
class Tally:
    """What the cycles saw."""

    cycles: int = 0
    published: int = 0
    received: int = 0


def run(cycles: int, seed: int = 1) -> Tally:
    """Start, load, kill; `cycles` times."""
    rng = random.Random(seed)
    tally = Tally()
    port = -1
    with tempfile.TemporaryDirectory() as directory, Servers(Path(directory)) as servers:
        for _ in range(cycles):
            server = servers.start(OURS, port=port)
            port = server.port
            _load_and_kill(server, rng, tally)
            tally.cycles += 1
    return tally


def _load_and_kill(server: Server, rng: random.Random, tally: Tally) -> None:
    """Two readers, one writer; the kill comes while both have something on the way."""
    readers = [server.client(QUIET + b"SUB load 1\r\n") for _ in range(2)]
    for reader in readers:
        reader.exchange()
    writer = server.client(QUIET)
    batches = rng.randrange(1, 8)
    for batch in range(batches):
        first = batch * BATCH
        writer.send(b"".join(pub(SUBJECT, b"%d" % i) for i in range(first, first + BATCH)))
        if batch == 0:
            writer.exchange()  # at least this much went through before the kill
    server.kill()
    tally.published += batches * BATCH
    for reader in readers:
        tally.received += _check(reader, batches * BATCH)
        reader.close()
    writer.close()


def _check(reader: RawClient, published: int) -> int:
    """Whole messages, from the first on, none missing, none twice; the last may be cut by the kill."""
    whole = b"".join(b"MSG load 1 %d\r\n%d\r\n" % (len(b"%d" % i), i) for i in range(published))
    got = reader.read_all()
    assert whole.startswith(got), (got[-200:], published)
    count = got.count(b"MSG load ")
    assert count >= BATCH, f"only {count} of {published} arrived, the first {BATCH} were fenced"
    return count
