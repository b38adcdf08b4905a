"""A NATS server for tests, as fixtures of pytest: see docs/testing.md.

pytest loads this in every project that has jetstream-py installed, so it costs nothing until a test asks
for a server: only then is anything of the server imported. Servers run in threads of their own, so plain
tests and those of pytest-asyncio and anyio use the same fixtures; each takes a port and a store that
nobody else has, so xdist may run any number of them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from jetstream_py.embed import Faults, ManualClock, Server
    from jetstream_py.js.wire import WireJetStream
    from jetstream_py.kv import KeyValue
    from jetstream_py.objstore import ObjectStore

MARK = "nats_server"
_STORE_HELP = "where the nats_server fixtures have their streams: memory, tmp or a directory"
_CONFIG_HELP = "configuration of the nats_server fixtures: a file of nats-server, or its text"
_SERVERS = pytest.StashKey[list["Server"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("jetstream-py", "NATS servers for tests")
    group.addoption("--jetstream-store", default=None, help=_STORE_HELP)
    group.addoption("--jetstream-config", default=None, help=_CONFIG_HELP)
    parser.addini("jetstream_store", _STORE_HELP, default="")
    parser.addini("jetstream_config", _CONFIG_HELP, default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARK}(**options): options of the server that this test gets, as `Server` has them",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and report.when == "call":
        for server in item.stash.get(_SERVERS, []):
            report.sections.append((f"NATS server {server.title}", _state(server)))
    return report


def _state(server: Server) -> str:
    try:
        return str(server.describe_now())
    except Exception as error:
        return f"not available: {error}"


# -- servers ---------------------------------------------------------------------------------------


def _server(config: pytest.Config, options: dict[str, Any]) -> Server:
    from jetstream_py.embed import Server

    def chosen(name: str) -> Any:
        given = config.getoption(f"--jetstream-{name}")
        return given if given is not None else config.getini(f"jetstream_{name}")

    defaults = {
        "store": chosen("store") or None,
        "config": chosen("config"),
        "jetstream": True,
        "record": True,
    }
    return Server(**(defaults | options)).start_in_thread()


@pytest.fixture
def nats_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of this test's own. `@pytest.mark.nats_server(...)` gives it options; if the test asks for
    `nats_clock` its time is moved by hand."""
    options: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers(MARK))):
        options |= mark.kwargs
    if "nats_clock" in request.fixturenames:
        options.setdefault("manual_clock", True)
    server = _server(request.config, options)
    request.node.stash.setdefault(_SERVERS, []).append(server)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def nats_server_session(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server for all tests of this process: what one leaves behind the next one finds."""
    server = _server(request.config, {})
    yield server
    server.stop()


@pytest.fixture
def nats_url(nats_server: Server) -> str:
    """Where clients connect."""
    return nats_server.url


@pytest.fixture(scope="session")
def nats_url_session(nats_server_session: Server) -> str:
    """Where clients connect, of the session's server."""
    return nats_server_session.url


# -- what is in them -------------------------------------------------------------------------------


@pytest.fixture
def jetstream(nats_server: Server) -> WireJetStream:
    """Streams, without a connection."""
    return nats_server.jetstream


@pytest.fixture
def kv(nats_server: Server) -> KeyValue:
    """A key-value bucket with the name `kv`; others by `nats_server.kv(name)`."""
    bucket: KeyValue = nats_server.kv("kv")
    return bucket


@pytest.fixture
def objects(nats_server: Server) -> ObjectStore:
    """An object store with the name `objects`; others by `nats_server.objects(name)`."""
    store: ObjectStore = nats_server.objects("objects")
    return store


@pytest.fixture
def nats_clock(nats_server: Server) -> ManualClock:
    """The server's clock, which stands still until it is moved: `nats_clock.advance(30)`."""
    clock: ManualClock = nats_server.clock
    return clock


@pytest.fixture
def nats_faults(nats_server: Server) -> Faults:
    """What may go wrong."""
    return nats_server.faults
