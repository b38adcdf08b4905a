"""Scenarios with users and accounts, and the transcript of what was said and heard.

A scenario is a function that takes a `Stage`. It is played on nats-server, then on each server of
`KINDS`, and the transcripts are compared. Servers are kept by their configuration, so a scenario ends
by giving back all its subscriptions.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.differential.transcript import assert_same, normal_frame, normal_text
from tests.support.raw import RawClient
from tests.support.server import ORACLE, OURS, Kind, Server, Servers
from tests.support.wire import connect, frames, pub

PING = b"PING\r\n"
Json = dict[str, Any]
KINDS: tuple[Kind, ...] = (OURS,)

VOLATILE = [
    (re.compile(r"_R_\.[0-9A-Za-z]{6}\.[0-9A-Za-z]{6}\.[0-9A-Za-z]{8}\.T"), "_R_.<id>.<server>.T"),
    (re.compile(r"_R_\.[0-9A-Za-z]{6}\.[0-9A-Za-z]{6}"), "_R_.<id>"),
    (re.compile(r"(\$JS\.ACK(?:\.[^. ]+){5}\.)\d{19}"), r"\1<ts>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)"), "<time>"),
    (re.compile(r'("(?:rtt|service|system|total|id|cid|seq)":)\d+'), r"\1<number>"),
    (re.compile(r'("(?:id|server|name)":)"[0-9A-Za-z]{22}"'), r'\1"<nuid>"'),
    (re.compile(r'("sig":)"[0-9A-Za-z_-]{86}"'), r'\1"<signature>"'),
]
SUBSCRIPTION = re.compile(rb"(?:^|\n)SUB[ \t][^\r\n]*?([^ \t\r\n]+)[ \t]*\r\n")
LONGEST = 400  # of what was said; what was heard is noted in full
DONE = "Reloaded server configuration (sha256:"


def normal_volatile(text: str) -> str:
    for pattern, stand_in in VOLATILE:
        text = pattern.sub(stand_in, text)
    return text


def normal(frame: bytes) -> str:
    """A frame as a comparable line; sizes go with the numbers that they count."""
    head, end, body = normal_frame(frame).partition("\\r\\n")
    head, settled = normal_volatile(head), normal_volatile(body)
    if settled != body and head.startswith(("MSG ", "HMSG ")):
        words = head.split()
        head = " ".join([*words[: -2 if words[0] == "HMSG" else -1], "<size>"])
    return head + end + settled


def login(user: str | None = None, **options: object) -> bytes:
    """A CONNECT of a user whose password is its name."""
    credentials = {} if user is None else {"user": user, "pass": user}
    return connect(**{"headers": True, "no_responders": True} | credentials | options)


class Actor:
    """A named connection whose words and answers go into the transcript."""

    def __init__(self, name: str, client: RawClient, lines: list[str]) -> None:
        self.name = name
        self.client = client
        self.lines = lines
        self.reply = b""  # of the latest message
        self.sids: list[bytes] = []

    def say(self, data: bytes = b"", any_order: bool = False) -> list[bytes]:
        """Send and note the answers up to a PONG, or that the server closed."""
        self._note(">", [normal_volatile(repr(data)[2:-1])[:LONGEST]] if data else [])
        self.sids += SUBSCRIPTION.findall(data)
        answers = [frame for frame in frames(self.client.exchange(data)) if frame != PING]
        self._heard(answers, any_order)
        if self.client.eof:
            self._note("<", ["(closed)"])
        return answers

    def hear(self, any_order: bool = False) -> list[bytes]:
        """Note what has arrived since."""
        return self.say(b"", any_order)

    def wait(self, count: int = 1) -> list[bytes]:
        """Wait for frames that the server sends in its own time, in an order of its own."""
        answers = [self._next() for _ in range(count)]
        self._heard(answers, True)
        return answers

    def answer(self, payload: bytes = b"") -> list[bytes]:
        """Publish to the reply subject of the latest message."""
        return self.say(pub(self.reply, payload))

    def end(self) -> None:
        """Note what the server says until it closes."""
        self._heard(list(frames(self.client.read_all())), False)
        self._note("<", ["(closed)"])

    def leave(self) -> None:
        """Close, and wait until the server has noticed."""
        self._heard(list(frames(self.client.talk(b""))), False)
        self._note("<", ["(left)"])
        self.client.close()

    def exit(self) -> None:
        """Leave no subscription behind."""
        if not self.client.eof and self.client.socket.fileno() >= 0:
            self.client.exchange(b"".join(b"UNSUB %b\r\n" % sid for sid in self.sids))
        self.client.close()

    def _next(self) -> bytes:
        """The next frame; the server's own PINGs are a matter of time."""
        while (frame := self.client.read_frame()) == PING:
            pass
        return frame

    def _heard(self, answers: list[bytes], any_order: bool) -> None:
        for frame in answers:
            if frame.startswith((b"MSG ", b"HMSG ")):
                line = frame.partition(b"\r\n")[0].split(b" ")
                sizes = 2 if frame.startswith(b"H") else 1
                self.reply = line[3] if len(line) == 4 + sizes else b""
        texts = [normal(frame) for frame in answers]
        self._note("<", sorted(texts) if any_order else texts)

    def _note(self, direction: str, texts: list[str]) -> None:
        self.lines += [f"{self.name} {direction} {text}" for text in texts]


class Stage:
    """One server, the connections of a scenario, and the transcript of it all."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.lines: list[str] = []
        self.actors: list[Actor] = []

    def enter(self, user: str | None = None, name: str = "", **options: object) -> Actor:
        """Connect as the user; the transcript calls it by `name`."""
        return self.connect(name or user or "guest", login(user, **options))

    def connect(self, name: str, opening: bytes | Callable[[Json], bytes]) -> Actor:
        """Open a connection with these bytes, which may depend on the server's INFO."""
        actor = Actor(name, self.server.client(), self.lines)
        self.actors.append(actor)
        actor.say(opening if isinstance(opening, bytes) else opening(actor.client.info))
        return actor

    def note(self, what: str, value: object) -> None:
        text = normal_text(json.dumps(value, sort_keys=True))
        self.lines.append(f"{what}: {normal_volatile(text)}")

    def reload(self, config: str) -> None:
        """Returns when the server says that the new configuration is in force."""
        reloads = self.server.log().count(DONE) + 1
        self.server.reload(config)
        self.server.wait_for_log(DONE, count=reloads)

    def connections(self, query: str, *keys: str) -> None:
        """Note these keys of the connections that /connz lists."""
        listed = self.server.monitor(f"/connz?{query}")["connections"]
        self.note(f"connz?{query}", [{key: one.get(key) for key in keys} for one in listed])

    def close(self) -> None:
        for actor in self.actors:
            actor.exit()


Story = Callable[[Stage], None]


class Theatre:
    """The servers, one of each kind and configuration."""

    def __init__(self, directory: Path) -> None:
        self.servers = Servers(directory)
        self.kept: dict[tuple[Kind, str, tuple[str, ...]], Server] = {}

    def server(self, kind: Kind, config: str, flags: Sequence[str]) -> Server:
        key = kind, config, tuple(flags)
        if key not in self.kept:
            self.kept[key] = self.servers.start(kind, config, ["-m", "-1", *flags])
        return self.kept[key]

    def play(self, server: Server, story: Story) -> list[str]:
        stage = Stage(server)
        try:
            story(stage)
            return stage.lines
        except BaseException as error:
            error.add_note(f"on {server.kind}, after:\n" + "\n".join(stage.lines[-12:]))
            raise
        finally:
            stage.close()


Test = Callable[..., None]


def scenario(
    *rows: str, config: str, flags: Sequence[str] = (), own: bool = False
) -> Callable[[Test], Test]:
    """A test played on each kind of server; `own`: on one that no other scenario sees."""

    def decorate(story: Test) -> Test:
        def test(kind: Kind, theatre: Theatre, **arguments: Any) -> None:
            def play(kind: Kind) -> list[str]:
                if not own:
                    server = theatre.server(kind, config, flags)
                    return theatre.play(server, lambda stage: story(stage, **arguments))
                server = theatre.servers.start(kind, config, ["-m", "-1", *flags])
                try:
                    return theatre.play(server, lambda stage: story(stage, **arguments))
                finally:
                    server.stop()

            expected = play(ORACLE)
            if kind != ORACLE:
                assert_same(expected, play(kind))

        first = list(inspect.signature(test).parameters.values())[:2]
        rest = list(inspect.signature(story).parameters.values())[1:]
        test.__name__ = story.__name__
        test.__doc__ = story.__doc__
        test.__module__ = story.__module__
        test.__signature__ = inspect.Signature(first + rest)  # type: ignore[attr-defined]
        test.story = story  # type: ignore[attr-defined]
        test.config = config  # type: ignore[attr-defined]
        marks = [*getattr(story, "pytestmark", [])]
        if rows:
            marks.append(pytest.mark.behaviour(*rows).mark)
        test.pytestmark = marks  # type: ignore[attr-defined]
        return test

    return decorate
