"""A browser for all tests, a window for each, and servers with something to look at.

All of it ends with this folder's tests: as long as Playwright is there a loop is running in this thread,
and tests that want to run one of their own could not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import DESK, Window, chromium, monitor_url
from tests.browser.content import Client, fill, guarded_config
from tests.support.server import OURS, Server, Servers

OpenWindow = Callable[..., Window]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with Servers(tmp_path_factory.mktemp("browser")) as servers:
        yield servers


@pytest.fixture(scope="package")
def full(servers: Servers) -> Iterator[Client]:
    """An open server with streams and a bucket, and a client of it."""
    flags = ["-m", "-1", "-js", "-sd", str(servers.directory / "full"), "-n", "full"]
    client = Client(servers.start(OURS, flags=flags))
    fill(client)
    yield client
    client.close()


@pytest.fixture(scope="package")
def guarded(servers: Servers) -> Iterator[Client]:
    """The same behind passwords."""
    config = guarded_config(servers.directory / "guarded")
    client = Client(servers.start(OURS, config, ["-m", "-1"]), user="ann", password="secret")
    fill(client)
    yield client
    client.close()


@pytest.fixture(scope="package")
def bare(servers: Servers) -> Server:
    """A server that nobody used yet, without JetStream."""
    return servers.start(OURS, flags=["-m", "-1", "-n", "bare"])


@pytest.fixture(scope="package")
def shared_window(browser: Browser) -> Window:
    return Window(browser)


@pytest.fixture
def window(shared_window: Window) -> Iterator[OpenWindow]:
    """A window on a server; at the end it may not have complained or gone elsewhere."""

    def window(server: Server, size: tuple[int, int] = DESK) -> Window:
        shared_window.turn_to(monitor_url(server), size)
        return shared_window

    yield window
    complaints, requests = list(shared_window.complaints), list(shared_window.requests)
    shared_window.leave()
    assert complaints == []
    assert [url for url in requests if not url.startswith(shared_window.url)] == []
