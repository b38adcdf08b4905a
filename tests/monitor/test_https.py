"""Monitoring over TLS, and what /varz says of it, on both servers."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import urllib.request
from pathlib import Path

import pytest

from tests.monitor.compare import DEADLINE, normal
from tests.support.certs import Authority
from tests.support.server import KINDS, Server, Start, StartServer, port_of

pytestmark = pytest.mark.xdist_group("monitor")


@pytest.fixture
def block(tmp_path: Path) -> str:
    authority = Authority(tmp_path)
    server = authority.server()
    return f'cert_file: "{server.cert}", key_file: "{server.key}", ca_file: "{authority.cert}"'


def fetch(server: Server, path: str) -> str:
    url = server.ports["monitoring"][0]
    assert url.startswith("https://")
    context = ssl._create_unverified_context()
    where = f"https://127.0.0.1:{port_of(url)}{path}"
    with urllib.request.urlopen(where, timeout=DEADLINE, context=context) as answer:
        text: str = answer.read().decode()
        return text


@pytest.mark.behaviour("MON-001")
@pytest.mark.parametrize(
    "more",
    [
        "",
        ", verify: true, timeout: 3",
        "}\nwebsocket {port: 0, no_tls: true, compression: true, same_origin: true",
        '}\nwebsocket {port: 0, no_tls: true, allowed_origins: ["http://a"], handshake_timeout: 3s',
    ],
)
def test_varz_of_a_server_with_tls(start_server: StartServer, block: str, more: str) -> None:
    config = f"https: 127.0.0.1:-1\ntls {{ {block}{more} }}\n".replace("port: 0", "port: -1")
    answers = []
    for kind in KINDS:
        server = start_server(kind, config)
        answer = json.loads(fetch(server, "/varz"))
        assert answer["https_port"] in (-1, port_of(server.ports["monitoring"][0]))
        answer |= {"https_port": 0, "subscriptions": 0, "config_digest": ""}
        answers.append(normal(answer))
    assert json.dumps(answers[1], indent=1) == json.dumps(answers[0], indent=1)


@pytest.mark.behaviour("MON-021")
def test_plain_http_is_not_served(start: Start, block: str) -> None:
    server = start(f"https: 127.0.0.1:-1\ntls {{ {block} }}\n")
    assert json.loads(fetch(server, "/healthz")) == {"status": "ok"}
    port = port_of(server.ports["monitoring"][0])
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as plain:
        plain.sendall(b"GET /varz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"server_id" not in plain.recv(4096)


@pytest.mark.behaviour("TLS-008")
def test_certificates_are_read_again(start: Start, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.server("changing")
    server = start(
        f'https: 127.0.0.1:-1\ntls {{ cert_file: "{pair.cert}", key_file: "{pair.key}" }}\n'
    )
    where = ("127.0.0.1", port_of(server.ports["monitoring"][0]))
    fetch(server, "/healthz")
    before = ssl.get_server_certificate(where, timeout=DEADLINE)
    authority.server("changing")
    server.signal(signal.SIGHUP)
    server.wait_for_log("Reloaded server configuration")
    assert ssl.get_server_certificate(where, timeout=DEADLINE) != before
    assert json.loads(fetch(server, "/healthz")) == {"status": "ok"}
