"""Two servers, and what is brought from one to the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jetstream_py import nkey
from jetstream_py.backup import archive
from jetstream_py.backup.archive import Entry
from jetstream_py.migrate import Endpoint, Options, Outcome, migrate
from jetstream_py.migrate.options import Progress
from tests.jetstream.backups import pack, restore
from tests.jetstream.support import JetStream, Json, encode_body, keep_streams_directory
from tests.support.server import ORACLE, Kind, Server, Servers
from tests.support.tokens import Key

USER = Key(nkey.USER)
CONFIG = f"""
authorization {{ users: [
    {{user: a, password: a}}
    {{user: reader, password: r, permissions: {{publish: {{deny: ["$JS.API.STREAM.SNAPSHOT.>"]}}}}}}
    {{user: writer, password: w, permissions: {{publish: {{deny: ["$JS.API.STREAM.RESTORE.>"]}}}}}}
    {{nkey: {USER.public}}}
] }}
no_auth_user: a
"""
TIME = 1_700_000_000_000_000_000  # of the first message that is placed
Messages = list[tuple[int, str, bytes, bytes]]  # sequence, subject, headers, data


@dataclass
class Side:
    server: Server
    store: Path

    def open(self) -> JetStream:
        js = JetStream(self.server, self.store)
        js.clear()
        return js


def start(servers: Servers, kind: Kind, store: Path) -> Side:
    server = servers.start(kind, CONFIG, ["-js", "-sd", str(store)])
    if kind == ORACLE:
        keep_streams_directory(store)
    return Side(server, store)


@dataclass
class Pair:
    """A source and a target, both empty at first."""

    source: JetStream
    target: JetStream

    def options(self, *streams: str, source: str = "", target: str = "", **options: Any) -> Options:
        ends = [
            Endpoint(f"nats://{login}127.0.0.1:{side.server.port}")
            for side, login in ((self.source, source), (self.target, target))
        ]
        return Options(ends[0], ends[1], streams or ("*",), **options)

    def migrate(self, *streams: str, **options: Any) -> dict[str, Outcome]:
        outcomes = asyncio.run(migrate(self.options(*streams, **options)))
        return {outcome.stream: outcome for outcome in outcomes}

    def one(self, *streams: str, **options: Any) -> Outcome:
        (outcome,) = self.migrate(*streams, **options).values()
        return outcome

    def stored(self, side: JetStream, stream: str) -> list[tuple[Any, ...]]:
        """Everything in a stream but times."""
        state = side.ask(f"STREAM.INFO.{stream}")["state"]
        found = []
        for seq in range(max(state["first_seq"], 1), state["last_seq"] + 1):
            answer = side.ask(f"STREAM.MSG.GET.{stream}", {"seq": seq})
            if it := answer.get("message"):
                found.append((seq, it["subject"], it.get("hdrs"), it.get("data")))
        return found

    def assert_same(self, stream: str, target: str = "") -> None:
        """Messages, state and configuration."""
        target = target or stream
        assert self.stored(self.target, target) == self.stored(self.source, stream)
        ours, theirs = (
            js.ask(f"STREAM.INFO.{name}")
            for js, name in ((self.source, stream), (self.target, target))
        )
        for key in ("messages", "first_seq", "last_seq", "num_subjects", "num_deleted"):
            assert theirs["state"].get(key) == ours["state"].get(key), key
        assert plain(theirs["config"]) == {**plain(ours["config"]), "name": target}


def plain(config: Json) -> Json:
    """Without what servers write into it, and what only matters at creation."""
    metadata = config.get("metadata", {}).items()
    own = {key: value for key, value in metadata if not key.startswith("_nats.")}
    return {**config, "metadata": own, "first_seq": 0}


def place(js: JetStream, stream: str, messages: Messages, last_seq: int = 0, **config: Any) -> None:
    """A stream with these messages, whatever a publish would have said to them."""
    state = {
        "messages": len(messages),
        "first_seq": messages[0][0],
        "last_seq": max(last_seq, messages[-1][0]),
    }
    entries = [Entry(archive.STATE, TIME, data=encode_body(state))]
    for seq, subject, headers, data in messages:
        entries.append(Entry(subject.encode(), TIME + seq * 10**9, seq, headers, data))
    request = {"config": {"name": stream, **config}, "state": state}
    assert "error" not in restore(js, stream, request, pack(entries))


def numbered(subject: str, *sequences: int) -> Messages:
    return [(seq, subject, b"", b"%d" % seq) for seq in sequences]


class StoppedError(Exception):
    """The end of a migration, as a test would have it."""


def stop_at(step: str, done: int) -> Progress:
    def progress(at: str, stream: str, so_far: int, total: int) -> None:
        if at == step and so_far >= done:
            raise StoppedError

    return progress


def once(step: str, deed: Callable[[], None], done: int = 0) -> Progress:
    """Something happens in the middle."""
    steps = [step]

    def progress(at: str, stream: str, so_far: int, total: int) -> None:
        if at in steps and so_far >= done:
            steps.remove(at)
            deed()

    return progress
