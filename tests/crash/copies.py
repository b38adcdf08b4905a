"""Mirrors and sources under `kill -9`: the server dies while copies lag behind their origins.

Half of the messages are there before the copies are, so these have a long way to go; the others come while
they are on it. Before each kill one of the copies that lag is watched until it has come a part of its way.
In the end every copy is read from the disk: a mirror is its origin, in the same account or in another one;
a source with filters has each of its messages once, in order and under its new name; what a work queue gave
away is in the copy; and counters are exactly the sums of the counters they come from.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jetstream_py.store import StreamStore
from tests.crash import offline
from tests.crash.api import ask, connect, inbox, next_message, parse_answer
from tests.crash.model import Broken
from tests.crash.offline import rows
from tests.support.raw import RawClient
from tests.support.server import OURS, Server, Servers
from tests.support.wire import connect as opening
from tests.support.wire import hpub, pub

PATIENCE = 120.0  # seconds within which something must have been copied
BATCH = 10_000
COUNTERS = 5  # subjects of each stream of counters
EVERY = 10  # messages for one increment
CONFIG = """
accounts {
    A { jetstream: enabled, users: [{user: a, password: a}], exports: [
        {service: "$JS.API.>"}, {service: "$JS.FC.>"}, {service: "$JS.ACK.>"}, {stream: "deliver.>"}
    ]}
    B { jetstream: enabled, users: [{user: b, password: b}], imports: [
        {service: {account: A, subject: "$JS.API.>"}, to: "JS.A.API.>"}
        {service: {account: A, subject: "$JS.FC.>"}}, {service: {account: A, subject: "$JS.ACK.>"}}
        {stream: {account: A, subject: "deliver.>"}}
    ]}
}
no_auth_user: a
"""
B = opening(headers=True, no_responders=True, user="b", **{"pass": "b"})
ORIGINS: dict[str, dict[str, Any]] = {
    "O": {"subjects": ["o.>"]},
    "Q": {"subjects": ["q.>"], "retention": "workqueue"},
    "C1": {"subjects": ["c1.>"], "allow_msg_counter": True},
    "C2": {"subjects": ["c2.>"], "allow_msg_counter": True},
}
RENAMED = {b"o.1": b"one", b"o.2": b"two"}
_TRANSFORMS = [{"src": src.decode(), "dest": dest.decode()} for src, dest in RENAMED.items()]
COPIES: dict[str, dict[str, Any]] = {
    "M": {"mirror": {"name": "O"}},
    "S": {"sources": [{"name": "O", "subject_transforms": _TRANSFORMS}]},
    "T": {"sources": [{"name": "Q"}]},
    "K": {
        "allow_msg_counter": True,
        "sources": [
            {"name": name, "subject_transforms": [{"src": f"{name.lower()}.>", "dest": "k.>"}]}
            for name in ("C1", "C2")
        ],
    },
}
ABROAD = {
    "X": {"mirror": {"name": "O", "external": {"api": "JS.A.API", "deliver": "deliver.b"}}},
}


@dataclass
class Tally:
    """What the cycles saw."""

    kills: int = 0
    sent: int = 0
    under_way: int = 0  # copies that lagged when the server was killed
    kept: int = 0


class Cycles:
    """A server that is killed, and what is sent to it."""

    def __init__(self, servers: Servers, directory: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.tally = Tally()
        self.store = directory / "store"
        self._servers = servers
        self._start()
        for name, config in ORIGINS.items():
            self._create(self._a, name, config)

    def _start(self) -> None:
        self.server: Server = self._servers.start(
            OURS, CONFIG, flags=["-js", "-sd", str(self.store)]
        )
        self._a = connect(self.server.port, "audit", timeout=PATIENCE)
        self._b = connect(self.server.port, "audit", B, timeout=PATIENCE)

    def _create(self, client: RawClient, name: str, config: dict[str, Any]) -> None:
        answer = ask(client, f"STREAM.CREATE.{name}", {"name": name, **config})
        if "error" in answer:
            raise Broken(f"{name}: {answer}")

    def create_copies(self) -> None:
        for name, config in COPIES.items():
            self._create(self._a, name, config)
        for name, config in ABROAD.items():
            self._create(self._b, name, config)

    def publish(self, goal: int) -> None:
        """Without acks: what the origin has in the end is what counts. Much at once, so that copies lag."""
        sent = self.tally.sent
        while sent < goal:
            numbers = range(sent, min(goal, sent + BATCH))
            frames = [_increments(n) for n in numbers if n % EVERY == 0]
            for start in (b"q", b"o"):
                frames += [pub(b"%b.%d" % (start, n % 7), b"%d" % n) for n in numbers]
            self._a.send(b"".join(frames))
            sent = numbers.stop
        self.tally.sent = sent

    def states(self) -> dict[str, Any]:
        """Asked for at once: copies come on from answer to answer."""
        for client, names in self._sides():
            client.send(b"".join(_question(name) for name in names))
        return {
            name: parse_answer(next_message(client))[1]["state"]
            for client, names in self._sides()
            for name in names
        }

    def _sides(self) -> tuple[tuple[RawClient, tuple[str, ...]], ...]:
        return (self._b, tuple(ABROAD)), (self._a, (*ORIGINS, *COPIES))

    def lags(self) -> dict[str, int]:
        """How many messages copies lack. They move while they are asked, so it may be too many."""
        found = self.states()
        named = found["O"].get("subjects", {})
        wanted = {
            "M": found["O"]["messages"],
            "X": found["O"]["messages"],
            "S": sum(named.get(subject.decode(), 0) for subject in RENAMED),
            "T": found["Q"]["last_seq"],
            "K": found["C1"]["messages"] + found["C2"]["messages"],
        }
        return {name: want - found[name]["messages"] for name, want in wanted.items()}

    def kill_on_the_way(self) -> None:
        """When a copy that lags has come a part of its way."""
        behind = {name: lag for name, lag in self.lags().items() if lag}
        if behind:
            victim = self.rng.choice(sorted(behind))
            goal = self.rng.random() * behind[victim]
            deadline, left = time.monotonic() + PATIENCE, 0
            while behind.get(victim, 0) > goal:
                if behind[victim] != left:
                    deadline, left = time.monotonic() + PATIENCE, behind[victim]
                if time.monotonic() > deadline:
                    raise Broken(f"{victim} does not come on: {behind}")
                behind = {name: lag for name, lag in self.lags().items() if lag}
        self.kill()
        self.tally.under_way += len(behind)
        self.tally.kills += 1
        self._start()

    def delete(self, name: str, seq: int) -> None:
        ask(self._a, f"STREAM.MSG.DELETE.{name}", {"seq": seq})

    def wait(self) -> None:
        """Let the copies come to their end."""
        deadline, left = time.monotonic() + PATIENCE, -1
        while any((lags := self.lags()).values()) or self.states()["Q"]["messages"]:
            if sum(lags.values()) != left:
                deadline, left = time.monotonic() + PATIENCE, sum(lags.values())
            if time.monotonic() > deadline:
                raise Broken(f"copies are not complete: {lags}, {self.states()}")

    def kill(self) -> None:
        self.server.kill()
        self._a.close()
        self._b.close()


def _question(name: str) -> bytes:
    subject = f"$JS.API.STREAM.INFO.{name}".encode()
    return pub(subject, b'{"subjects_filter":">"}', inbox("audit", 0))


def _increments(number: int) -> bytes:
    headers = b"NATS/1.0\r\nNats-Incr: %d\r\n\r\n" % (number % 1_000 - 100)
    at = number // EVERY % COUNTERS
    return hpub(b"c1.%d" % at, headers) + hpub(b"c2.%d" % at, headers)


def run(messages: int, kills: int, seed: int, directory: Path) -> Tally:
    """Publish so many messages to each origin, and kill the server so many times meanwhile."""
    with Servers(directory) as servers:
        cycles = Cycles(servers, directory, seed)
        cycles.publish(messages // 2)
        cycles.create_copies()
        for done in range(kills):
            cycles.publish(messages // 2 + (messages - messages // 2) * (done + 1) // kills)
            cycles.kill_on_the_way()
        cycles.wait()
        cycles.kill()
    cycles.tally.kept = audit(cycles.store)
    return cycles.tally


# -- what is on disk -------------------------------------------------------------------------------


def audit(path: Path) -> int:
    """Compare copies with their origins; how many messages there are."""
    with offline.streams(path) as found:
        for mirror in ("M", "X"):
            _same(mirror, rows(found["O"]), rows(found[mirror]))
        named = (
            (RENAMED[message.subject], message.data)
            for message in rows(found["O"])
            if message.subject in RENAMED
        )
        _same("S", named, ((message.subject, message.data) for message in rows(found["S"])))
        _audit_queue(found["Q"], found["T"])
        for at in range(COUNTERS):
            parts = sum(_total(found[name], f"{name.lower()}.{at}") for name in ("C1", "C2"))
            if _total(found["K"], f"k.{at}") != parts:
                raise Broken(f"k.{at} is {_total(found['K'], f'k.{at}')}, its parts are {parts}")
        return sum(each.messages for each in found.values())


def _audit_queue(queue: StreamStore, copy: StreamStore) -> None:
    last = -1
    for message in rows(copy):
        if int(message.data) <= last:
            raise Broken(f"{message.data!r} from the work queue comes after {last}")
        last = int(message.data)
    if queue.messages or copy.messages != queue.last_seq:
        raise Broken(f"of {queue.last_seq} in the work queue {copy.messages} were copied")


def _same(name: str, origin: Iterator[Any], copy: Iterator[Any]) -> None:
    while (wanted := next(origin, None)) is not None:
        if (stored := next(copy, None)) != wanted:
            raise Broken(f"{name}: {stored} instead of {wanted}")
    if (more := next(copy, None)) is not None:
        raise Broken(f"{name}: {more} is not in the origin")


def _total(stream: StreamStore, subject: str) -> int:
    newest = stream.newest(subject.encode())
    return int(json.loads(newest.data)["val"]) if newest is not None else 0
