"""Talking to the system account of both servers, and answers cut down to what must be equal."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.monitor.compare import SHAPES, TIME, join
from tests.support.raw import RawClient
from tests.support.server import Server
from tests.support.wire import frames, pub

CONFIG = """
server_name: monitored
server_tags: [a, "k:v"]
server_metadata: {k: v, a: b}
accounts {
  A {
    users: [
      {user: a, password: pa}
      {user: r, password: pr, permissions: {
        publish: {allow: "$SYS.>", deny: ["zero", "zero.*"]}, subscribe: {deny: "x.>"}
        allow_responses: {max: 5, expires: "1m"}}}
    ]
    exports: [{stream: "pub.>"}, {service: "svc.*", accounts: [B]}]
    mappings: {m1: m2}
  }
  B {
    users: [{user: b, password: pb}]
    imports: [
      {service: {account: A, subject: "svc.1"}, to: s1}
      {stream: {account: A, subject: "pub.>"}, prefix: x}
    ]
  }
  C {}
  $SYS {users: [{user: s, password: ps}]}
}
"""
USERS = {"a": "pa", "r": "pr", "b": "pb", "s": "ps"}

# Numbers that count what a server does for itself, or what it is made of.
COUNTS = {
    *(
        "num_subscriptions",
        "num_cache",
        "num_inserts",
        "num_removes",
        "num_matches",
        "subscriptions",
    ),
    *("cache_hit_rate", "max_fanout", "avg_fanout", "mem", "cpu", "port", "http_port", "seq"),
}
IDENTITY = re.compile(r"[0-9A-Za-z]{22}|N[A-Z2-7]{55}")
TIMES = {"time", "timestamp", "update_time", "created", "first_ts", "last_ts", "ts"}


class Client:
    """A client that asks."""

    def __init__(self, server: Server, user: str, **options: object) -> None:
        self.user = user
        self.raw: RawClient = join(server, user=user, **{"pass": USERS[user]}, **options)
        self.server_id: str = self.raw.info["server_id"]
        self.cid: int = self.raw.info["client_id"]
        self._asked = 0
        self._inbox = f"_INBOX.{user}.".encode()
        self.raw.exchange(b"SUB %b* 1000\r\n" % self._inbox)

    def ask(self, subject: str, body: str = "", wait: bool = True) -> Any:
        """The answer to a request: its JSON, or the status of a message without one. None when it stays
        out; unless told to wait, that is when later requests are answered, and nats-server has two
        queues for them."""
        self._asked += 1
        inbox = b"%b%d" % (self._inbox, self._asked)
        fences = {inbox + b"ping": "PING", inbox + b"id": "<id>"}
        self.raw.send(pub(self._named(subject), self._named(body), inbox))
        if not wait:
            for reply, server in fences.items():
                self.raw.send(pub(self._named(f"$SYS.REQ.SERVER.{server}.IDZ"), b"", reply))
        while fences:
            frame = self.next_message()
            head, _, payload = frame.partition(b"\r\n")
            subjects = head.split()
            if subjects[1] == inbox:
                status = head.startswith(b"HMSG")
                return payload[:-2].decode() if status else json.loads(payload)
            fences.pop(subjects[1], None)
        return None

    def _named(self, text: str) -> bytes:
        return text.replace("<id>", self.server_id).replace("<cid>", str(self.cid)).encode()

    def next_message(self) -> bytes:
        while True:
            frame = self.raw.read_frame()
            if frame.startswith((b"MSG", b"HMSG")):
                return frame
            if frame.startswith(b"PING"):
                self.raw.send(b"PONG\r\n")

    def heard(self, data: bytes = b"") -> list[tuple[str, Any]]:
        """What came meanwhile: subjects and their JSON."""
        return [told(frame) for frame in frames(self.raw.exchange(data)) if frame[:3] == b"MSG"]

    def close(self) -> None:
        self.raw.close()


def told(frame: bytes) -> tuple[str, Any]:
    head, _, payload = frame.partition(b"\r\n")
    return head.split()[1].decode(), json.loads(payload)


def tame(value: Any, key: str = "", first: int = 0) -> Any:
    """Values that belong to one process become their shape, ids of connections count from the `first`;
    the order of keys stays."""
    if isinstance(value, dict):
        return {name: tame(each, name, first) for name, each in value.items() if name not in OWN}
    if isinstance(value, list):
        items = [tame(each, "", first) for each in value]
        return sorted(items, key=json.dumps) if key in UNORDERED else items
    if key == "rtt":  # a text in lists of connections, a number in events
        return "<rtt>"
    if key in TIMES:
        assert TIME.fullmatch(value), (key, value)
        return f"<{key}>"
    if key in COUNTS:
        assert isinstance(value, int | float), (key, value)
        return f"<{key}>"
    if key in ("id", "server_id") and isinstance(value, str) and IDENTITY.fullmatch(value):
        return f"<{key}>"
    if key in SHAPES and key != "server_name":
        assert SHAPES[key].fullmatch(value), (key, value)
        return f"<{key}>"
    return value - first if key == "cid" else value


OWN = {"jetstream_py_version"}
# nats-server keeps these in maps.
UNORDERED = {
    *("accounts", "account_statz", "imports", "exports", "allow", "deny"),
    *("subscriptions_list", "subscriptions_list_detail", "stream_detail", "account_details"),
}


def text(value: Any, first: int = 0) -> str:
    return json.dumps(tame(value, "", first), indent=1)
