"""Mirrors and sources under `kill -9`: messages are published while copies are made, and the server dies.

In the end a mirror is its origin, a source has each message once and in order, and what a work queue gave
away is in the copy: nothing is missing, nothing is doubled.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.api import ask, connect, fetch
from tests.crash.model import Broken, Stored
from tests.support.raw import RawClient
from tests.support.server import OURS, Servers
from tests.support.wire import pub

PATIENCE = 60.0  # seconds until copies must be complete
BATCH = 500
STREAMS: dict[str, dict[str, Any]] = {
    "O": {"subjects": ["o.>"]},
    "Q": {"subjects": ["q.>"], "retention": "workqueue"},
    "M": {"mirror": {"name": "O"}},
    "S": {"sources": [{"name": "O"}]},
    "T": {"sources": [{"name": "Q"}]},
}


@dataclass
class Tally:
    """What the cycles saw."""

    kills: int = 0
    sent: int = 0
    kept: int = 0


def run(messages: int, kills: int, seed: int, directory: Path) -> Tally:
    """Publish so many messages to each origin, and kill the server so many times meanwhile."""
    rng = random.Random(seed)
    tally = Tally()
    flags = ["-js", "-sd", str(directory / "store")]
    with Servers(directory) as servers:
        server = servers.start(OURS, flags=flags)
        with connect(server.port, "audit") as client:
            for name, config in STREAMS.items():
                ask(client, f"STREAM.CREATE.{name}", {"name": name, **config})
        for left in range(kills, -1, -1):
            with connect(server.port, "audit") as client:
                goal = messages if not left else tally.sent + (messages - tally.sent) // (left + 1)
                publish(client, tally, goal)
                if left:
                    for _ in range(rng.randrange(20)):  # more or less of it is stored by now
                        ask(client, "STREAM.INFO.M")
                    server.kill()
                    tally.kills += 1
                else:
                    audit(client, tally)
            if left:
                server = servers.start(OURS, flags=flags)
    return tally


def publish(client: RawClient, tally: Tally, goal: int) -> None:
    while tally.sent < goal:
        numbers = range(tally.sent, min(goal, tally.sent + BATCH))
        client.send(b"".join(pub(b"o.%d" % (n % 7), b"%d" % n) for n in numbers))
        client.send(b"".join(pub(b"q.%d" % (n % 7), b"%d" % n) for n in numbers))
        tally.sent += len(numbers)


def audit(client: RawClient, tally: Tally) -> None:
    """Wait for the copies, then compare them with their origins."""
    deadline = time.monotonic() + PATIENCE
    while not complete(client):
        if time.monotonic() > deadline:
            raise Broken(f"copies are not complete: {states(client)}")
    origin, mirror, source, work = (contents(client, name) for name in ("O", "M", "S", "T"))
    if mirror != origin:
        raise Broken("the mirror is not its origin")
    if [stored.payload for stored in source] != [stored.payload for stored in origin]:
        raise Broken("the source does not have what its origin has")
    numbers = [int(stored.payload) for stored in work]
    if numbers != sorted(set(numbers)):
        raise Broken("something from the work queue is doubled, or not in order")
    if len(numbers) != states(client)["Q"]["last_seq"]:
        raise Broken("something from the work queue is missing")
    tally.kept = len(origin) + len(work)


def states(client: RawClient) -> dict[str, Any]:
    return {name: ask(client, f"STREAM.INFO.{name}")["state"] for name in STREAMS}


def complete(client: RawClient) -> bool:
    found = states(client)
    counts = {found[name]["messages"] for name in ("O", "M", "S")}
    return len(counts) == 1 and found["Q"]["messages"] == 0


def contents(client: RawClient, name: str) -> list[Stored]:
    last = ask(client, f"STREAM.INFO.{name}")["state"]["last_seq"]
    return sorted(fetch(client, name, range(1, last + 1)), key=lambda stored: stored.seq)
