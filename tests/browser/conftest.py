"""A browser for all tests, a window for each, and servers with something to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import Window, chromium, monitor_url
from tests.browser.content import Client, fill, guarded_config
from tests.support.server import OURS, Server, Servers

OpenWindow = Callable[..., Window]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with Servers(tmp_path_factory.mktemp("browser")) as servers:
        yield servers


@pytest.fixture(scope="session")
def full(servers: Servers) -> Iterator[Client]:
    """An open server with streams and a bucket, and a client of it."""
    flags = ["-m", "-1", "-js", "-sd", str(servers.directory / "full"), "-n", "full"]
    client = Client(servers.start(OURS, flags=flags))
    fill(client)
    yield client
    client.close()


@pytest.fixture(scope="session")
def guarded(servers: Servers) -> Iterator[Client]:
    """The same behind passwords."""
    config = guarded_config(servers.directory / "guarded")
    client = Client(servers.start(OURS, config, ["-m", "-1"]), user="ann", password="secret")
    fill(client)
    yield client
    client.close()


@pytest.fixture(scope="session")
def bare(servers: Servers) -> Server:
    """A server that nobody used yet, without JetStream."""
    return servers.start(OURS, flags=["-m", "-1", "-n", "bare"])


@pytest.fixture
def window(browser: Browser) -> Iterator[OpenWindow]:
    """Opens windows; at the end none of them may have complained or gone elsewhere."""
    opened: list[Window] = []

    def window(server: Server, **options: tuple[int, int]) -> Window:
        opened.append(Window(browser, monitor_url(server), **options))
        return opened[-1]

    yield window
    for each in opened:
        each.close()
        assert each.complaints == []
        assert [url for url in each.requests if not url.startswith((each.url, "about:"))] == []
