"""Publishers with windows of publishes on the way, and one connection that deletes and purges.

What is sent follows from the seed and from the answers. One thread serves all connections; it waits
for answers, notes them in the model and tops the windows up. When the server is gone the answers that
were still on the way are read too: the server gave them before it died.
"""

from __future__ import annotations

import json
import random
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.crash.api import answers, connect, inbox
from tests.crash.model import CAP, IDS, KEYS, PLAIN, Model, Publish, Removal, StreamModel
from tests.support.raw import CHUNK, TIMEOUT, RawClient, Silence
from tests.support.wire import hpub, pub

WINDOWS = (1, 8, 40, 120)  # one publisher each
REMOVER_WINDOW = 4  # removals of one connection happen in their order, so each is exact in advance
WEIGHTS = ((PLAIN.name, 4), (KEYS.name, 4), (CAP.name, 3), (IDS.name, 3))
SIZES = ((120, 70), (2_000, 25), (20_000, 4), (100_000, 1))  # most bytes, weight
PHASE = 60  # messages of PLAIN that share the second token of their subject
KEY_COUNT = 100
REPEATS = 0.05


@dataclass(slots=True)
class Connection:
    """One client, its requests on the way and what it asks next."""

    name: str
    number: int
    client: RawClient
    window: int
    waiting: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Sent:
    """A request and how many answers had been heard when it was sent."""

    request: Publish | Removal
    heard: int


class Load:
    """A conversation with one server. Tokens go on from `journal`, so they never repeat."""

    def __init__(
        self, port: int, model: Model, rng: random.Random, journal: list[Sent], churn: bool
    ) -> None:
        self.model, self.rng, self.journal = model, rng, journal
        self.heard: list[int] = []  # tokens, in the order of their answers
        self.answers: dict[int, dict[str, Any]] = {}
        self._recent: deque[int] = deque(maxlen=200)  # acked tokens of IDS
        base = len(journal) * 10  # connections are numbered through, too
        windows = (*WINDOWS, REMOVER_WINDOW) if churn else WINDOWS
        self._connections = [
            Connection(f"c{n}", base + n, connect(port, f"c{n}"), window)
            for n, window in enumerate(windows)
        ]
        self._remover = self._connections[-1] if churn else None
        self._selector = selectors.DefaultSelector()
        for connection in self._connections:
            self._selector.register(connection.client.socket, selectors.EVENT_READ, connection)

    def run(self, target: int, longer: float) -> None:
        """Go on until so many answers came, then for a moment longer."""
        deadline = time.monotonic() + TIMEOUT * 3
        for connection in self._connections:
            self._top_up(connection)
        while len(self.heard) < target:
            if time.monotonic() > deadline:
                raise Silence(f"{len(self.heard)} of {target} answers came")
            self._turn(TIMEOUT)
        end = time.monotonic() + longer
        while (left := end - time.monotonic()) > 0:
            self._turn(left)

    def finish(self) -> None:
        """Send nothing more and hear every answer."""
        deadline = time.monotonic() + TIMEOUT
        while any(connection.waiting for connection in self._connections):
            if time.monotonic() > deadline:
                raise Silence("answers are missing")
            for key, _ in self._selector.select(TIMEOUT):
                self._receive(key.data)

    def drain(self) -> None:
        """Hear what a dead server still said, and close."""
        for connection in self._connections:
            client = connection.client
            client.buffer += client.read_all()
            self._take(connection)
            client.close()
        self._selector.close()

    def close(self) -> None:
        for connection in self._connections:
            connection.client.close()
        self._selector.close()

    # -- answers -----------------------------------------------------------------------------------

    def _turn(self, timeout: float) -> None:
        for key, _ in self._selector.select(timeout):
            self._receive(key.data)
            self._top_up(key.data)
        if self._remover is not None:
            self._top_up(self._remover)

    def _receive(self, connection: Connection) -> None:
        data = connection.client.socket.recv(CHUNK, socket.MSG_DONTWAIT)
        if not data:
            raise Silence("the server closed a connection under load")
        connection.client.buffer += data
        self._take(connection)

    def _take(self, connection: Connection) -> None:
        for token, answer in answers(connection.client.buffer):
            connection.waiting.remove(token)
            self.heard.append(token)
            self.answers[token] = answer
            self.model.answered(token, answer)
            request = self.journal[token - 1].request
            if isinstance(request, Publish) and request.stream == IDS.name and not request.repeats:
                self._recent.append(token)

    # -- requests ----------------------------------------------------------------------------------

    def _top_up(self, connection: Connection) -> None:
        frames = []
        while len(connection.waiting) < connection.window:
            token = len(self.journal) + 1
            if connection is self._remover:
                removal = self._removal(token)
                if removal is None:
                    break
                self.model.streams[removal.stream].send_removal(removal)
                frames.append(removal_frame(removal, inbox(connection.name, token)))
                self.journal.append(Sent(removal, len(self.heard)))
            else:
                publish = self._publish(token, connection.number)
                self.model.streams[publish.stream].send(publish)
                frames.append(publish_frame(publish, inbox(connection.name, token)))
                self.journal.append(Sent(publish, len(self.heard)))
            connection.waiting.add(token)
        if frames:
            connection.client.send(b"".join(frames))

    def _publish(self, token: int, connection: int) -> Publish:
        rng = self.rng
        stream = _weighted(rng, WEIGHTS)
        size = rng.randrange(_weighted(rng, SIZES))
        if stream == PLAIN.name:
            subject = b"plain.%d.%d" % (token // PHASE, connection % 7)
        elif stream == KEYS.name:
            subject, size = b"keys.%d" % rng.randrange(KEY_COUNT), size % 2_000
        elif stream == CAP.name:
            subject = b"cap.%d" % rng.randrange(10)
        else:
            subject = b"ids.%d" % (connection % 7)
            if self._recent and rng.random() < REPEATS:
                old = rng.choice(self._recent)
                return Publish(token, stream, subject, size, connection, id_header(old), old)
            return Publish(token, stream, subject, size, connection, id_header(token))
        return Publish(token, stream, subject, size, connection)

    def _removal(self, token: int) -> Removal | None:
        """The next delete or purge, of messages that are known to be there."""
        kind = self.rng.choice(REMOVALS)
        return kind(self, token)

    def delete(self, token: int) -> Removal | None:
        stream = self.model.streams[self.rng.choice((PLAIN.name, KEYS.name, CAP.name, IDS.name))]
        live = list(stream.live())[-400:]
        if not live:
            return None
        seq = self.rng.choice(live)
        if stream.rules.ids and stream.token_at[seq] in self._recent:
            self._recent.remove(stream.token_at[seq])
        body: dict[str, object] = {"seq": seq}
        if self.rng.random() < 0.5:
            body["no_erase"] = True
        return _removal(token, stream, "MSG.DELETE", body, {seq})

    def purge_before(self, token: int) -> Removal | None:
        """The oldest part of PLAIN."""
        stream = self.model.streams[PLAIN.name]
        live = [seq for seq in stream.live() if seq <= stream.advance()]
        if len(live) < 200:
            return None
        bound = self.rng.choice(live[:100])
        return _removal(token, stream, "PURGE", {"seq": bound}, {s for s in live if s < bound})

    def purge_filter(self, token: int) -> Removal | None:
        """One phase of PLAIN that is over, but for the newest few."""
        stream = self.model.streams[PLAIN.name]
        moving = {publish.subject.split(b".")[1] for publish in stream.doubtful.values()}
        moving.add(b"%d" % (token // PHASE))
        phases: dict[bytes, list[int]] = {}
        for seq in stream.live():
            phase = stream.published[stream.token_at[seq]].subject.split(b".")[1]
            if phase not in moving:
                phases.setdefault(phase, []).append(seq)
        if not phases:
            return None
        phase = self.rng.choice(list(phases))
        keep = self.rng.choice((0, 0, 1, 3))
        seqs = phases[phase][:-keep] if keep else phases[phase]
        body: dict[str, object] = {"filter": f"plain.{phase.decode()}.>"}
        if keep:
            body["keep"] = keep
        return _removal(token, stream, "PURGE", body, set(seqs))


REMOVALS: tuple[Callable[[Load, int], Removal | None], ...] = (
    Load.delete,
    Load.delete,
    Load.delete,
    Load.purge_before,
    Load.purge_filter,
)


def _removal(
    token: int, stream: StreamModel, verb: str, body: dict[str, object], seqs: set[int]
) -> Removal:
    return Removal(token, stream.rules.name, verb, json.dumps(body).encode(), frozenset(seqs))


def _weighted(rng: random.Random, table: tuple[tuple[Any, int], ...]) -> Any:
    return rng.choices([value for value, _ in table], [weight for _, weight in table])[0]


def id_header(token: int) -> bytes:
    return b"NATS/1.0\r\nNats-Msg-Id: m%d\r\n\r\n" % token


def publish_frame(publish: Publish, reply: bytes) -> bytes:
    if publish.headers:
        return hpub(publish.subject, publish.headers, publish.payload, reply)
    return pub(publish.subject, publish.payload, reply)


def removal_frame(removal: Removal, reply: bytes) -> bytes:
    subject = f"$JS.API.STREAM.{removal.verb}.{removal.stream}".encode()
    return pub(subject, removal.body, reply)
