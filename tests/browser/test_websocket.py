"""The stock JavaScript client in a page of a real browser, over WebSocket."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.clients.node import JS
from tests.support.server import Server, Start, port_of

pytestmark = pytest.mark.xdist_group("browser")

PAGE = (
    '<!doctype html><title>app</title><link rel="icon" href="data:,"><script src="app.js"></script>'
)
COUNT = 25


class Files(SimpleHTTPRequestHandler):
    """Quiet."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A web application, served from a place of its own."""
    directory = tmp_path_factory.mktemp("site")
    bundle(directory / "app.js")
    (directory / "index.html").write_text(PAGE)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(directory))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def bundle(target: Path) -> None:
    """The client as a web application would ship it: its packages are made for node."""
    esbuild = JS / "node_modules/.bin/esbuild"
    if not esbuild.exists():
        pytest.skip("npm install was not run: the client was NOT tested in a browser")
    command = [str(esbuild), "browser.mjs", "--bundle", f"--outfile={target}", "--log-level=error"]
    subprocess.run([*command, "--platform=browser"], cwd=JS, check=True, timeout=60)


@pytest.fixture
def app(browser: Browser, site: str) -> Iterator[Page]:
    page = browser.new_page()
    page.goto(site)
    yield page
    page.close()


def websocket(server: Server) -> str:
    return f"ws://127.0.0.1:{port_of(server.ports['websocket'][0])}"


@pytest.mark.parametrize("compression", ["false", "true"])
def test_requests_streams_and_buckets(
    start: Start, app: Page, tmp_path: Path, compression: str
) -> None:
    server = start(
        f"""
        jetstream {{ store_dir: "{tmp_path}" }}
        websocket {{ listen: "127.0.0.1:-1", no_tls: true, compression: {compression} }}
        """
    )
    played = app.evaluate("play", {"servers": websocket(server)})
    assert played == {
        "requests": {"word": "grüße", "same": True, "nobody": True},
        "streams": {
            "acks": list(range(1, COUNT + 1)),
            "read": list(range(COUNT)),
            "num_pending": 0,
            "num_ack_pending": 0,
        },
        "buckets": {
            "seen": [
                ["before", "PUT", "1"],
                ["colour", "PUT", "blue"],
                ["colour", "PUT", "green"],
                ["before", "DEL", ""],
            ],
            "value": "green",
            "gone": True,
        },
        "closed": True,
    }


def test_users_and_origins(start: Start, app: Page, site: str) -> None:
    server = start(
        f"""
        websocket {{ listen: "127.0.0.1:-1", no_tls: true, allowed_origins: ["{site}"] }}
        authorization {{ user: ann, password: secret }}
        """
    )
    known = {"servers": websocket(server), "user": "ann", "pass": "secret"}
    assert app.evaluate("refused", known) == "let in"
    assert "Authorization Violation" in app.evaluate("refused", {**known, "pass": "wrong"})
    app.goto(site.replace("127.0.0.1", "localhost"))  # the same page from another origin
    assert app.evaluate("refused", known) != "let in"
