"""The same traffic on both servers, and answers cut down to what must be equal."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.raw import RawClient
from tests.support.server import Server, port_of
from tests.support.wire import connect, hpub, pub

DEADLINE = 5.0
FIRST_CLIENT = 5  # nats-server keeps the ids below for itself, and so do we

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?Z")
SPAN = re.compile(r"(\d+y)?(\d+d)?(\d+h)?(\d+m)?\d+s")
ROUND_TRIP = re.compile(r"0s|[\d.]+(µs|ms|s)")
SHAPES: dict[str, re.Pattern[str]] = {
    "server_id": re.compile(r"N[A-Z2-7]{55}|"),
    "server_name": re.compile(r"N[A-Z2-7]{55}"),
    "git_commit": re.compile(r"\w[\w.]*"),
    "go": re.compile(r"\w[\w.]*"),
    "now": TIME,
    "start": TIME,
    "stop": TIME,
    "last_activity": TIME,
    "config_load_time": TIME,
    "uptime": SPAN,
    "idle": SPAN,
    "rtt": ROUND_TRIP,
}
NUMBERS = {"port", "http_port", "mem", "cpu"}
OWN = {"jetstream_py_version"}


class Reply(NamedTuple):
    status: int
    content_type: str
    origin: str | None  # Access-Control-Allow-Origin
    text: str


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def get(server: Server, path: str) -> Reply:
    port = port_of(server.ports["monitoring"][0])
    try:
        answer = _OPENER.open(f"http://127.0.0.1:{port}{path}", timeout=DEADLINE)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        headers = answer.headers
        return Reply(
            answer.status,
            headers["Content-Type"],
            headers["Access-Control-Allow-Origin"],
            answer.read().decode(),
        )


def ask(server: Server, path: str) -> dict[str, Any]:
    reply = get(server, path)
    assert reply.status == 200, reply
    answer = json.loads(reply.text)
    assert isinstance(answer, dict)
    return answer


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.005)


# -- making answers comparable ---------------------------------------------------------------------


def normal(value: Any, key: str = "") -> Any:
    """Values that belong to one process become their shape; subscriptions get one order."""
    if isinstance(value, dict):
        return {name: normal(each, name) for name, each in value.items() if name not in OWN}
    if isinstance(value, list):
        items = [normal(each) for each in value]
        return sorted(items, key=json.dumps) if key.startswith("subscriptions_list") else items
    if key in SHAPES:
        assert SHAPES[key].fullmatch(value), (key, value)
        return f"<{key}>"
    if key in NUMBERS:
        assert isinstance(value, int | float), (key, value)
        return f"<{key}>"
    return value


def normal_text(text: str) -> str:
    """A JSON answer normalised, or any other text as it is. The order of keys stays."""
    if not text.startswith("{"):
        return text
    return json.dumps(normal(json.loads(text)), indent=2)


# -- traffic ---------------------------------------------------------------------------------------


class Traffic:
    """Four clients: two stay, one says goodbye, one is thrown out."""

    def __init__(self, server: Server) -> None:
        self.alice = join(server, name="alice", lang="python", version="1.0", user="u1")
        self.alice.exchange(b"SUB foo 1\r\nSUB bar.* q 2\r\nSUB lim 3\r\nUNSUB 3 5\r\n")
        self.bob = join(server)
        headers = hpub(b"lim", b"NATS/1.0\r\n\r\n", b"hi")
        self.bob.exchange(pub(b"foo", b"abc") + pub(b"bar.x", b"ab", b"reply") + headers)
        self.alice.exchange(b"")
        gone = join(server, name="gone")
        gone.exchange(b"SUB z 9\r\nSUB z2 group 8\r\nUNSUB 9 7\r\n")
        leave(gone)
        rude = join(server, name="rude")
        rude.send(b"BOGUS\r\n")
        rude.read_all()
        rude.close()
        eventually(lambda: ask(server, "/connz?state=closed")["total"] == 2)

    def close(self) -> None:
        self.alice.close()
        self.bob.close()


def join(server: Server, **options: object) -> RawClient:
    """A client that is connected for certain."""
    client = server.client()
    client.exchange(connect(protocol=1, headers=True, no_responders=True, **options))
    return client


def leave(client: RawClient) -> None:
    """Close with nothing unread, so that the server sees an end and not a reset."""
    client.half_close()
    client.read_all()
    client.close()
