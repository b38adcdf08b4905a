"""Transcripts of one server's behaviour, made comparable with another's.

What differs between any two servers by nature is replaced by its shape: keys, ports, ids, nonces.
What remains is compared for equality.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from typing import Any

from tests.support.raw import RawClient, parse_info
from tests.support.server import Server
from tests.support.wire import QUIET, frames

# Our INFO says which release of jetstream-py speaks. It is the only key that nats-server lacks.
INFO_ADDITIONS = {"jetstream_py_version"}

# Values that belong to one build, process or connection. Their type is still compared.
INFO_VOLATILE = {
    "server_id", "git_commit", "go", "port", "client_id", "xkey", "nonce", "server_name",
}  # fmt: skip

KEY = re.compile(r"\b([NXAOU])[A-Z2-7]{55}\b")
INBOX = re.compile(r"_INBOX\.[0-9A-Za-z.]+")


def normal_info(info: dict[str, Any]) -> dict[str, Any]:
    """An INFO object with only what both servers must agree on."""
    normal = {key: value for key, value in info.items() if key not in INFO_ADDITIONS}
    for key in INFO_VOLATILE & normal.keys():
        value = normal[key]
        named = key == "server_name" and value != info["server_id"]
        normal[key] = value if named else KEY.sub(r"<\1>", f"<{type(value).__name__}>")
    return normal


def normal_text(text: str) -> str:
    return INBOX.sub("<inbox>", KEY.sub(r"<\1>", text))


def normal_frame(frame: bytes) -> str:
    if frame.startswith(b"INFO {") and frame.endswith(b"\r\n"):
        return "INFO " + json.dumps(normal_info(parse_info(frame)), sort_keys=True)
    return normal_text(repr(frame)[2:-1])


def normal(data: bytes) -> list[str]:
    """A server's stream as comparable lines."""
    return [normal_frame(frame) for frame in frames(data)]


class Actor:
    """A named connection whose words and answers go into the transcript."""

    def __init__(self, name: str, client: RawClient, lines: list[str]) -> None:
        self.name = name
        self.client = client
        self.lines = lines

    def say(self, data: bytes = b"", any_order: bool = False) -> None:
        """Send and note the answers up to a PONG, or that the server closed.

        `any_order` is for frames whose order nats-server leaves to chance.
        """
        self._note(">", [repr(data)[2:-1]])
        answers = normal(self.client.exchange(data))
        self._note("<", sorted(answers) if any_order else answers)
        if self.client.eof:
            self._note("<", ["(closed)"])

    def hear(self, any_order: bool = False) -> None:
        """Note what has arrived since."""
        self.say(b"", any_order)

    def leave(self) -> None:
        """Close, and wait until the server has noticed."""
        self._note("<", [*normal(self.client.talk(b"")), "(left)"])
        self.client.close()

    def _note(self, direction: str, texts: list[str]) -> None:
        self.lines += [f"{self.name} {direction} {text}" for text in texts]


class Stage:
    """One server, the connections of a scenario, and the transcript of it all."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.lines: list[str] = []
        self.actors: list[Actor] = []

    def enter(self, name: str, opening: bytes = QUIET) -> Actor:
        actor = Actor(name, self.server.client(), self.lines)
        self.actors.append(actor)
        actor.say(opening)
        return actor

    def close(self) -> None:
        for actor in self.actors:
            actor.client.close()


Scenario = Callable[[Stage], None]


def play(scenario: Scenario, server: Server) -> list[str]:
    stage = Stage(server)
    try:
        scenario(stage)
    finally:
        stage.close()
    return stage.lines


def assert_same(oracle: list[str], ours: list[str]) -> None:
    """Fail with a readable difference."""
    if oracle != ours:
        diff = difflib.unified_diff(oracle, ours, "nats-server", "jetstream-py", lineterm="", n=6)
        raise AssertionError("the servers differ:\n" + "\n".join(diff))


def assert_alike(
    oracle: Server, ours: Server, data: bytes, settle: Callable[[list[str]], list[str]] = list
) -> None:
    """Both answer the bytes alike, on a connection of their own.

    A connection that ended a moment ago may still count as a receiver, on either server, and keep a
    503 from being sent; so only a difference that stays is one.
    """
    for _ in range(3):
        expected, got = (settle(normal(server.talk(data))) for server in (oracle, ours))
        if expected == got:
            return
    assert_same(expected, got)
