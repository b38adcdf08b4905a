"""/view on a running server: its own users, hashes and tokens decide."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from base64 import b64encode
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from tests.browser.content import Client
from tests.support.server import OURS, Server, StartServer, port_of

HASH = bcrypt.hashpw(b"hashed", bcrypt.gensalt(4, b"2a")).decode()
USERS = f"""
    no_auth_user: guest
    authorization {{
        users: [
            {{ user: ann, password: "{HASH}" }}
            {{ user: bob, password: plain, allowed_connection_types: ["WEBSOCKET"] }}
            {{ user: guest, password: guest }}
        ]
    }}
"""


def ask(server: Server, authorization: str = "", path: str = "/view/account") -> Any:
    """The JSON, or the status of a refusal."""
    port = port_of(server.ports["monitoring"][0])
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    if authorization:
        request.add_header("Authorization", authorization)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.status


def basic(text: str) -> str:
    return f"Basic {b64encode(text.encode()).decode()}"


def test_users(start_server: StartServer) -> None:
    server = start_server(OURS, USERS, ["-m", "-1"])
    assert ask(server) == {"account": "$G", "user": "guest"}
    assert ask(server, basic("ann:hashed")) == {"account": "$G", "user": "ann"}
    assert ask(server, basic("ann:wrong")) == 401
    assert ask(server, basic(f"ann:{HASH}")) == 401
    assert ask(server, basic("bob:plain")) == 401  # not by this way
    assert ask(server, basic("nobody:x")) == 401
    assert "127.0.0.1 - monitor - authentication error" in server.log()
    assert "hashed" not in server.log()


@pytest.mark.parametrize("scheme", ["Bearer s3cret", basic(":s3cret")])
def test_a_token(start_server: StartServer, scheme: str) -> None:
    server = start_server(OURS, "authorization { token: s3cret }", ["-m", "-1"])
    assert ask(server, scheme) == {"account": "$G", "user": ""}
    assert ask(server, scheme[:-3]) == 401
    assert ask(server) == 401


def test_a_server_without_streams(start_server: StartServer) -> None:
    server = start_server(OURS, flags=["-m", "-1"])
    assert ask(server) == {"account": "$G", "user": ""}
    assert ask(server, path="/view/streams/$G/S/messages") == 404
    assert ask(server, path="/view/streams/OTHER/S/messages") == 403


def test_accounts(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(
        OURS,
        f"""
        jetstream {{ store_dir: "{tmp_path}" }}
        accounts {{
            A {{ jetstream: enabled, users: [ {{ user: a, password: pa }} ] }}
            B {{ jetstream: enabled, users: [ {{ user: b, password: pb }} ] }}
        }}
        """,
        ["-m", "-1"],
    )
    for name in ("a", "b"):
        client = Client(server, name, f"p{name}")
        client.create("S", subjects=["s"])
        client.publish("s", name.encode())
        client.close()
    own = ask(server, basic("a:pa"), "/view/streams/A/S/messages")
    assert [each["data"] for each in own["messages"]] == [b64encode(b"a").decode()]
    assert ask(server, basic("a:pa"), "/view/streams/B/S/messages") == 403
    assert ask(server, basic("b:pb"), "/view/streams/B/S/messages/1")["size"] == 1
    assert ask(server, basic("b:pb"), "/view/account") == {"account": "B", "user": "b"}
