"""`kill -9` under load with JetStream, again and again on the same directory.

Each cycle starts the server on what the last one left, audits every stream (`model.py` says what must
hold), then loads it again and kills it at a random moment. Every second cycle deletes and purges too.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.api import ask, connect, inbox, next_message, parse_answer, scan
from tests.crash.load import Load, Sent, id_header, publish_frame, removal_frame
from tests.crash.model import STREAMS, Broken, Model, Publish, Removal, Snapshot, StreamModel
from tests.support.raw import RawClient
from tests.support.server import Kind, Server, Servers

ANSWERS = 1_200  # of one cycle, at most
LONGER = 0.005
SHORTEN = 2_000  # streams without a limit are cut to half of this when they are longer
RETRIES = 30
VERIFY = """
import sys
from jetstream_py.store import verify
for complaint in verify(sys.argv[1]):
    print(complaint)
"""


@dataclass
class Tally:
    """What the cycles saw."""

    cycles: int = 0
    sent: int = 0
    acked: int = 0
    removals: int = 0
    scanned: int = 0
    in_doubt: int = 0
    verified: bool = False


def run(kind: Kind, cycles: int, seed: int, directory: Path, churn: bool = True) -> Tally:
    """Load and kill, `cycles` times, and audit after each; without `churn` nothing is removed by hand."""
    tally = Tally()
    model, journal = Model(), list[Sent]()
    store = directory / "store"
    with Servers(directory) as servers:
        for cycle in range(cycles + 1):
            rng = random.Random(f"{seed}/{cycle}")
            try:
                if cycle == cycles:
                    tally.verified = verify(store)
                server = servers.start(kind, flags=["-js", "-sd", str(store)])
                with connect(server.port, "audit") as client:
                    prepare(client, model, journal, tally, rng)
                if cycle < cycles:
                    load = Load(server.port, model, rng, journal, churn and cycle % 2 == 1)
                    _load_and_kill(load, server, rng, tally)
            except Exception as error:
                error.add_note(f"after {cycle} kills, seed {seed}")
                raise
    tally.sent = len(journal)
    tally.removals = sum(isinstance(sent.request, Removal) for sent in journal)
    return tally


def _load_and_kill(load: Load, server: Server, rng: random.Random, tally: Tally) -> None:
    load.run(rng.randrange(1, ANSWERS), rng.random() * LONGER)
    server.kill()
    load.drain()
    tally.cycles += 1
    tally.acked += len(load.heard)
    tally.in_doubt += sum(len(stream.doubtful) for stream in load.model.streams.values())


def prepare(
    client: RawClient, model: Model, journal: list[Sent], tally: Tally, rng: random.Random
) -> None:
    """Audit what is there, or create it; then try again what got lost, and shorten what got long."""
    create(client, model)
    doubts = {name: list(stream.doubtful.values()) for name, stream in model.streams.items()}
    snapshots = audit(client, model, tally)
    for name, stream in model.streams.items():
        stream.settle(snapshots[name])
        if stream.rules.ids:
            retry(client, stream, doubts[name], journal, rng)
        elif not (stream.rules.per_subject or stream.rules.most):
            shorten(client, model, stream, journal)


def create(client: RawClient, model: Model) -> None:
    for stream in model.streams.values():
        if not stream.created:
            answer = ask(client, f"STREAM.CREATE.{stream.rules.name}", stream.rules.config)
            if "error" in answer:
                raise Broken(f"{answer}")
            stream.created = True


def audit(client: RawClient, model: Model, tally: Tally) -> dict[str, Snapshot]:
    snapshots = {}
    for rules in STREAMS:
        snapshot = scan(client, rules)
        if snapshot is None:
            raise Broken(f"the stream {rules.name} is gone")
        model.streams[rules.name].audit(snapshot)
        tally.scanned += len(snapshot.found)
        snapshots[rules.name] = snapshot
    return snapshots


def retry(
    client: RawClient,
    stream: StreamModel,
    doubts: Iterable[Publish],
    journal: list[Sent],
    rng: random.Random,
) -> None:
    """Publish with the ids of the last cycle: stored once if it was lost, a duplicate if it was not."""
    known = [
        p for p in doubts if stream.seq_of.get(p.token, 0) not in stream.gone and not p.repeats
    ]
    for publish in rng.sample(known, min(RETRIES, len(known))):
        token = len(journal) + 1
        stored = publish.token in stream.seq_of
        again = Publish(
            token,
            publish.stream,
            publish.subject,
            publish.size,
            connection=-1,
            headers=id_header(publish.token),
            repeats=publish.token if stored else 0,
        )
        stream.send(again)
        journal.append(Sent(again, 0))
        answer = request(client, publish_frame(again, inbox("audit", token)))
        stream.acked(token, answer["seq"], answer.get("duplicate", False))


def shorten(client: RawClient, model: Model, stream: StreamModel, journal: list[Sent]) -> None:
    live = list(stream.live())
    if len(live) < SHORTEN:
        return
    bound = live[-SHORTEN // 2]
    token = len(journal) + 1
    gone = frozenset(seq for seq in live if seq < bound)
    removal = Removal(token, stream.rules.name, "PURGE", b'{"seq":%d}' % bound, gone)
    stream.send_removal(removal)
    journal.append(Sent(removal, 0))
    model.answered(token, request(client, removal_frame(removal, inbox("audit", token))))


def request(client: RawClient, frame: bytes) -> dict[str, Any]:
    client.send(frame)
    return parse_answer(next_message(client))[1]


def verify(store: Path) -> bool:
    """Our store's own check of its files, where they are ours; in a process that damage may bring down."""
    homes = sorted(path.parent for path in store.rglob("data.mdb"))
    for home in homes:
        done = subprocess.run(
            [sys.executable, "-c", VERIFY, str(home)], capture_output=True, text=True, timeout=60
        )
        if done.returncode or done.stdout:
            raise Broken(f"verify ends with {done.returncode}: {done.stdout}{done.stderr[-500:]}")
    return bool(homes)
