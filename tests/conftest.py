"""Servers for tests.

`server` is the default server; a test that asks for it runs twice, on nats-server and on
jetstream-py. `start` starts one with a config or flags, likewise on both. `oracle` and `ours` are
the two side by side, for tests that compare them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import settings

from tests.support.server import KINDS, ORACLE, OURS, Kind, Server, Servers, Start, StartServer

# How long a case takes says something about the machine, nothing about us.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def default_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with Servers(tmp_path_factory.mktemp("servers")) as servers:
        yield servers


@pytest.fixture(scope="session")
def oracle(default_servers: Servers) -> Server:
    """nats-server without a config."""
    return default_servers.start(ORACLE)


@pytest.fixture(scope="session")
def ours(default_servers: Servers) -> Server:
    """jetstream-py without a config."""
    return default_servers.start(OURS)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Asking for this makes a test run on both servers."""
    kind: Kind = request.param
    return kind


@pytest.fixture
def server(kind: Kind, request: pytest.FixtureRequest) -> Server:
    """The default server of each kind."""
    server: Server = request.getfixturevalue("oracle" if kind == ORACLE else "ours")
    return server


@pytest.fixture
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """A factory for servers that end with the test."""
    with Servers(tmp_path_factory.mktemp("started")) as servers:
        yield servers.start


@pytest.fixture
def start(kind: Kind, start_server: StartServer) -> Start:
    """The factory, bound to each kind in turn."""

    def start(
        config: str | None = None,
        flags: Sequence[str] = (),
        port: int = -1,
        host: str | None = "127.0.0.1",
    ) -> Server:
        return start_server(kind, config, flags, port, host)

    return start
