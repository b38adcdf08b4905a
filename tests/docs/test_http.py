"""docs/http.md: its configurations and commands."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetstream_py.config import parse_args
from tests.docs.snippets import snippets
from tests.support.server import OURS, Server, Servers, port_of

PAGE = "docs/http.md"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    (config,) = snippets(PAGE, "conf", "http")
    with Servers(tmp_path_factory.mktemp("docs-http")) as servers:
        text = config.text.replace("8222", "-1").replace("./data", str(servers.directory / "data"))
        yield servers.start(OURS, text)


def test_settings(tmp_path: Path) -> None:
    (config,) = snippets(PAGE, "conf", "http-more")
    file = tmp_path / "server.conf"
    file.write_text(config.text)
    gateway = parse_args(["-c", str(file)], {}).options.http_gateway
    assert (gateway.enabled, gateway.max_upload) == (True, 100 * 1024 * 1024)
    assert gateway.allowed_origins == ("https://app.example.com",)


def curl(server: Server, name: str) -> str:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl: the commands of docs/http.md were NOT run")
    port = port_of(server.ports["monitoring"][0])
    text = "\n".join(each.text for each in snippets(PAGE, "sh", name))
    text = text.replace("http://127.0.0.1:8222", f"http://127.0.0.1:{port}")
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text],
        capture_output=True,
        text=True,
        timeout=30,
        env=os.environ | {"no_proxy": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_keys_and_objects(server: Server) -> None:
    told = curl(server, "http")
    for part in ('"history":5', "green", '"revision":3', '"code":412', "event: current", "}10\n"):
        assert part in told, part
    assert "content-length: 300000" in told.lower()
    assert "image/x-none" in told


def test_streams(server: Server) -> None:
    with server.client(b'CONNECT {"verbose":false}\r\nSUB i 1\r\n') as client:
        body = b'{"name":"ORDERS","subjects":["orders.>"]}'
        create = b"PUB $JS.API.STREAM.CREATE.ORDERS i %d\r\n%b\r\n" % (len(body), body)
        client.send(create)
        client.read_until(b'"did_create":true')  # on disk, so not before the next PONG
    told = curl(server, "http-streams")
    for part in ('{"stream":"ORDERS","seq":1}', '"subject":"orders.new"', "event: message"):
        assert part in told, part
