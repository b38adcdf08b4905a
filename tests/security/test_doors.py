"""No block of a configuration opens a door that another one closed.

Shapes of configurations, and who gets in with no, wrong, empty or half credentials, by each way in:
refused wherever nats-server refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.shapes import PAIRS, config
from tests.support.certs import Authority
from tests.support.raw import RawClient
from tests.support.server import KINDS, OURS, Server, StartServer
from tests.support.wire import PONG, UNAUTHORIZED, connect, frames
from tests.wire import websocket as ws
from tests.wire.secure import TlsClient

CLIENTS: dict[str, dict[str, object]] = {
    "nothing": {},
    "no names": {"user": "", "pass": "", "auth_token": "", "jwt": "", "nkey": ""},
    "unknown": {"user": "nobody", "pass": "x"},
    "no password": {"user": "alice"},
    "empty password": {"user": "alice", "pass": ""},
    "wrong password": {"user": "alice", "pass": "wrong"},
    "half a password": {"user": "alice", "pass": "s3cre"},
    "more than the password": {"user": "alice", "pass": "s3cret\0"},
    "another's password": {"user": "guest", "pass": "s3cret"},
    "name as token": {"auth_token": "alice"},
    "password as token": {"auth_token": "s3cret"},
    "half a token": {"auth_token": "t0ke"},
    "unsigned JWT": {"jwt": "eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0.e30."},
    "cut nkey": {"nkey": "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF", "sig": "AA"},
    "nkey without signature": {"nkey": "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"},
    "right": {"user": "alice", "pass": "s3cret"},
    "right token": {"auth_token": "t0ken"},
    "right, for an account": {"user": "alice", "pass": "s3cret", "account": "A"},
}
FENCE = b"PING\r\n"
# A guest is asked for by name, or only operators have names at all.
OPEN = ("guest", "guest of an account", "system account only")


def verdict(said: bytes) -> str:
    answers = set(frames(said))
    assert answers & {PONG, UNAUTHORIZED}, said
    return "in" if PONG in answers else "refused"


def by_socket(client: RawClient, opening: bytes) -> str:
    with client:
        client.send(opening + FENCE)
        client.half_close()
        return verdict(client.read_all())


def by_websocket(server: Server, opening: bytes) -> str:
    with RawClient(ws.port(server)) as client:
        ws.upgraded(client)
        client.send(ws.frame(opening + FENCE))
        said = b""
        while b"PONG" not in said and b"-ERR" not in said:
            said += ws.content(ws.read_frame(client))
        return verdict(said)


def doors(server: Server, authority: Authority) -> Iterator[str]:
    """Who gets in where; a password is not worth more in one place than in another."""
    info = server.client().info
    for name, fields in CLIENTS.items():
        opening = connect(**fields)
        if not info.get("tls_required"):
            yield f"plain, {name}: {by_socket(server.client(), opening)}"
        if info.get("tls_required") or info.get("tls_available"):
            secured = TlsClient(server.port, authority.client_context())
            secured.read_info()
            secured.secure()
            secured.send(opening + FENCE)
            while b"PONG" not in secured.buffer and b"-ERR" not in secured.buffer:
                secured.buffer += secured.secured.recv(4096)
            yield f"TLS, {name}: {verdict(bytes(secured.buffer))}"
            secured.close()
        if "websocket" in server.ports:
            yield f"websocket, {name}: {by_websocket(server, opening)}"


@pytest.mark.parametrize(("auth", "beside"), PAIRS)
def test_doors(
    auth: str,
    beside: tuple[str, ...],
    start_server: StartServer,
    authority: Authority,
    tls_block: str,
    tmp_path: Path,
) -> None:
    found = {}
    for kind in KINDS:
        text = config(auth, beside, tls_block, str(tmp_path / kind))
        found[kind] = list(doors(start_server(kind, text), authority))
    theirs, ours = found.values()
    assert ours == theirs
    assert any("refused" in line for line in ours)
    nobody = [line for line in found[OURS] if ", nothing: in" in line]
    assert not nobody or auth in OPEN or "websocket for a guest" in beside
