"""A power cut: everything that was not synced is lost, or half of it.

A server runs under load and strace writes down what it does to its files and sockets. Then, for many
places in that record, the store's files are built as a disk might hold them had the power gone just
there (`disk.py`), a server is started on them, and everything that had been acked by then must be there
(`model.py`). One record gives as many cuts as one likes: the server itself is not interrupted for them.
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash import trace
from tests.crash.api import answers, ask, connect, scan
from tests.crash.disk import LUCKS, Disk
from tests.crash.kills import create, verify
from tests.crash.load import Load, Sent
from tests.crash.model import STREAMS, Broken, Model, Publish
from tests.crash.trace import Event
from tests.support.raw import RawClient
from tests.support.server import POLL, RUNNING, START_TIMEOUT, Kind, Servers, StartError, executable

ANSWERS = 600
SENDS = ("write", "writev", "sendto", "sendmsg")


@dataclass(slots=True)
class Answer:
    """When an answer went out, to what."""

    place: int
    token: int
    body: dict[str, Any]


@dataclass
class Recording:
    """What was asked of the server, and all that it did."""

    kind: Kind
    root: Path
    journal: list[Sent]
    heard: list[int]
    events: list[Event]
    answers: list[Answer]

    @property
    def opened(self) -> int:
        """The place where the last stream was confirmed."""
        return [answer.place for answer in self.answers if answer.token <= 0][len(STREAMS) - 1]


@dataclass
class Report:
    """What the cuts showed."""

    cuts: int = 0
    acked: int = 0
    syncs: int = 0
    calls: int = 0
    checked: int = 0  # acked publishes, summed over the cuts
    lost: list[str] = field(default_factory=list)
    verified: int = 0
    lucks: Counter[str] = field(default_factory=Counter)


def record(
    kind: Kind, seed: int, directory: Path, environment: Mapping[str, str] | None = None
) -> Recording:
    """Run a server under load and note everything."""
    strace = trace.find_strace()
    assert strace, "strace is missing"
    root, output = directory / "recorded", directory / "trace"
    root.mkdir(parents=True)
    process, port, tracing = start(kind, root, directory, strace, environment or {})
    model, journal, rng = Model(), list[Sent](), random.Random(f"cut/{seed}")
    try:
        with connect(port, "audit") as client:
            create(client, model)
        load = Load(port, model, rng, journal, churn=True)
        load.run(ANSWERS, 0)
        load.finish()  # so that the kill comes into no call: what the files hold is then certain
    finally:
        process.kill()
        process.wait()
    load.drain()
    wait_for_end(tracing)
    with output.open() as lines:
        events = list(trace.parse(lines))
    output.unlink()
    return Recording(kind, root, journal, load.heard, events, list(_answers(events)))


def start(
    kind: Kind, root: Path, directory: Path, strace: str, environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int, int]:
    """The server, its port, and a pipe that closes when server and strace are gone."""
    server = [executable(kind), "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", str(directory)]
    command = [*trace.command(strace, str(directory / "trace")), *server, "-js", "-sd", str(root)]
    log_file = directory / "traced.log"
    tracing, inherited = os.pipe()
    with log_file.open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[inherited],
            env={**os.environ, **environment},
        )
    RUNNING.add(process)
    os.close(inherited)
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        for file in directory.glob("*.ports"):
            found = re.search(r"nats://[^\"]*:(\d+)\"", file.read_text())
            if found:
                return process, int(found[1]), tracing
        try:
            process.wait(POLL)
        except subprocess.TimeoutExpired:
            continue
        break
    process.kill()
    process.wait()
    os.close(tracing)
    raise StartError(f"not ready under strace:\n{log_file.read_text()[-3000:]}")


def wait_for_end(tracing: int) -> None:
    ready, _, _ = select.select([tracing], [], [], START_TIMEOUT)
    os.close(tracing)
    assert ready, "strace goes on after the server's end"


def _answers(events: Sequence[Event]) -> Iterator[Answer]:
    """Every answer that the server sent, in the order of the calls that completed them."""
    streams: dict[tuple[int, str], bytearray] = {}
    for event in events:
        if event.name not in SENDS or not event.path.startswith(("socket:", "TCP:")):
            continue
        buffer = streams.setdefault((event.fd, event.path), bytearray())
        buffer += event.data
        for token, body in answers(buffer):
            yield Answer(event.began, token, body)


def cut(
    recording: Recording,
    cuts: int,
    seed: int,
    directory: Path,
    lying: bool = False,
    settle: bool = False,
) -> Report:
    """Cut the power in so many places. `lying` is a disk that ignores the syncs of the load.

    With `settle` everything from before the load is on the disk, however the server treats it.
    """
    rng = random.Random(f"places/{seed}")
    report = Report(acked=len(recording.answers), calls=len(recording.events))
    places = _places(recording, cuts, rng, load_only=settle)
    disk = Disk(recording.root)
    events = iter(recording.events)
    ahead = next(events, None)
    for number, place in enumerate(places):
        while ahead is not None and ahead.began < place:
            if settle and not disk.settled and ahead.began > recording.opened:
                disk.settle()
                disk.lying = lying
            disk.begin(ahead)
            ahead = next(events, None)
        disk.pass_to(place)
        luck = LUCKS[number % len(LUCKS)]
        home = directory / f"cut-{number}"
        home.mkdir()
        report.cuts += 1
        report.lucks[luck] += 1
        try:
            disk.after_cut(luck, rng, _made(home / "store"))
            report.checked += _audit(recording, place, home, report)
        except (Broken, StartError) as error:
            report.lost.append(f"cut at {place} of {places[-1]}, luck {luck}: {error}")
    report.syncs = disk.syncs
    while ahead is not None:
        disk.begin(ahead)
        ahead = next(events, None)
    wrong = disk.differences()
    assert not wrong, f"the record does not explain these files: {wrong}"
    return report


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def _places(recording: Recording, cuts: int, rng: random.Random, load_only: bool) -> list[int]:
    """Half of the cuts come right after an answer went out, the others anywhere."""
    end = recording.events[-1].began + 1
    root = str(recording.root)
    birth = next(event.began for event in recording.events if event.opened.startswith(root))
    start = recording.opened + 1 if load_only else birth
    answers = [answer.place + 1 for answer in recording.answers if answer.place >= start]
    after = rng.sample(answers, min(cuts - cuts // 2, len(answers)))
    return sorted([*after, *(rng.randrange(start, end) for _ in range(cuts - len(after)))])


def model_at(recording: Recording, place: int) -> Model:
    """What had been asked and promised by then."""
    model = Model()
    given = [answer for answer in recording.answers if answer.place < place]
    tokens = {answer.token for answer in given}
    missing = (n for n, token in enumerate(recording.heard) if token not in tokens)
    heard = next(missing, len(recording.heard))
    for sent in recording.journal:
        if sent.heard > heard:
            break  # it was sent after an answer that had not been given by then
        stream = model.streams[sent.request.stream]
        if isinstance(sent.request, Publish):
            stream.send(sent.request)
        else:
            stream.send_removal(sent.request)
    created = iter(model.streams.values())
    for answer in given:
        if answer.token > 0:
            model.answered(answer.token, answer.body)
        else:
            next(created).created = True
    return model


def _audit(recording: Recording, place: int, home: Path, report: Report) -> int:
    """Start a server on what is left and compare; returns how many acked publishes were checked."""
    model = model_at(recording, place)
    acked = sum(len(stream.seq_of) for stream in model.streams.values())
    report.verified += verify(home / "store")
    with Servers(home) as servers:
        server = servers.start(recording.kind, flags=["-js", "-sd", str(home / "store")])
        with connect(server.port, "audit") as client:
            for stream in model.streams.values():
                snapshot = scan(client, stream.rules)
                if snapshot is not None:
                    stream.audit(snapshot)
                elif stream.created:
                    raise Broken(f"the stream {stream.rules.name} is gone")
            _goes_on(client, model)
        server.kill()
    return acked


def _goes_on(client: RawClient, model: Model) -> None:
    """What is left must serve: create what is missing, purge it all."""
    create(client, model)
    for name in model.streams:
        answer = ask(client, f"STREAM.PURGE.{name}")
        if not answer.get("success"):
            raise Broken(f"{name} cannot be purged: {json.dumps(answer)}")
