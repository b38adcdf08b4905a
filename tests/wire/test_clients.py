"""Stock clients over TLS and WebSocket, on both servers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import nats
import pytest
from nats.errors import NoRespondersError

from tests.clients.expected_js import GENERATIONS, Generation
from tests.clients.node import JS, require_node
from tests.support.certs import Authority, Pair
from tests.support.server import KINDS, Kind, Server, Servers, port_of

LIMIT = 30.0


class Ways:
    """The ways into a server."""

    def __init__(self, server: Server, first: Server, authority: Authority) -> None:
        websocket, wss = (port_of(each.ports["websocket"][0]) for each in (server, first))
        self.authority = authority
        self.urls = {
            "tls": f"tls://localhost:{server.port}",
            "first": f"tls://localhost:{first.port}",
            "ws": f"ws://localhost:{websocket}",
            "wss": f"wss://localhost:{wss}",
        }


@pytest.fixture(scope="module", params=KINDS)
def ways(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    authority: Authority,
    tls_block: str,
) -> Iterator[Ways]:
    kind: Kind = request.param
    listen = 'listen: "127.0.0.1:-1"'
    plain = f"websocket {{ {listen}, no_tls: true, compression: true }}"
    secure = f"websocket {{ {listen}, tls {{ {tls_block} }}, compression: true }}"
    with Servers(tmp_path_factory.mktemp("ways")) as servers:
        server = servers.start(kind, f"tls {{ {tls_block} }}, {plain}")
        first = servers.start(kind, f"tls {{ {tls_block} handshake_first: true }}, {secure}")
        yield Ways(server, first, authority)


@pytest.mark.behaviour("TLS-001", "TLS-004", "WS-001", "WS-002")
@pytest.mark.parametrize("way", ["tls", "first", "ws", "wss"])
def test_python(ways: Ways, way: str) -> None:
    options: dict[str, Any] = {}
    if way != "ws":
        options["tls"] = ways.authority.client_context()
    if way == "first":
        options["tls_handshake_first"] = True

    async def story() -> None:
        client = await nats.connect(ways.urls[way], **options)
        try:
            subscription = await client.subscribe("greet.*")
            sent = [b"x" * size for size in (0, 1, 100, 5000, 200_000)]
            for payload in sent:
                await client.publish("greet.joe", payload, headers={"A": "b"})
            messages = [await subscription.next_msg() for _ in sent]
            assert [message.data for message in messages] == sent
            assert [message.headers for message in messages] == [{"A": "b"}] * len(sent)
            with pytest.raises(NoRespondersError):
                await client.request("nobody", b"")
        finally:
            await client.close()

    asyncio.run(asyncio.wait_for(story(), LIMIT))


EXPECTED = {"word": "grüße", "same": True, "count": 1000, "tls": True, "nobody": True}


@pytest.mark.behaviour("TLS-001", "TLS-004", "WS-001", "WS-011")
@pytest.mark.parametrize("generation", GENERATIONS)
def test_javascript(ways: Ways, generation: Generation, pair: Pair) -> None:
    addresses = json.dumps({"ca": str(ways.authority.cert), **hosts(ways.urls)})
    done = subprocess.run(
        [require_node(), "--experimental-websocket", "--no-warnings", str(JS / "wire.mjs"),
         generation, addresses],
        env={**os.environ, "NODE_EXTRA_CA_CERTS": str(ways.authority.cert)},
        capture_output=True, text=True, timeout=LIMIT * 2,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = {"tls": EXPECTED, "first": EXPECTED}
    if generation == "v3":
        expected |= {"ws": {**EXPECTED, "tls": False}, "wss": EXPECTED}
    assert json.loads(done.stdout) == expected


def hosts(urls: dict[str, str]) -> dict[str, str]:
    """The way that these clients want addresses."""
    return {way: url.removeprefix("tls://") for way, url in urls.items()}
