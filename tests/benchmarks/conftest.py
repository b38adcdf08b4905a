"""The benchmarks' own tests: counts and invariants on both servers, never times or rates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cache

import pytest

from benchmarks.servers import NATS, OURS, Server, executable
from benchmarks.streams import Api, ApiError, delete, with_jetstream


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One at a time: each of these tests keeps the whole machine busy for a moment."""
    for item in items:
        if "tests/benchmarks" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("benchmarks"))


@pytest.fixture(params=[NATS, OURS])
def contender(request: pytest.FixtureRequest) -> str:
    """A server that is installed; a test that asks for it runs on both."""
    name: str = request.param
    if sys.platform != "linux":
        pytest.skip("the load generator reads /proc")
    if executable(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[str], Server]]:
    """One of each kind for all tests: every run makes its own streams and consumers."""
    with ExitStack() as stack:

        def start(kind: str) -> Server:
            server = stack.enter_context(with_jetstream(kind))
            # nats-server removes the folder of an account that has no stream left, in its own time,
            # and fails to make a stream meanwhile. So one stays.
            with Api(server.port) as api:
                api.ask("STREAM.CREATE.STAYS", {"name": "STAYS", "subjects": ["stays"]})
            return server

        yield cache(start)


@pytest.fixture
def server(contender: str, servers: Callable[[str], Server]) -> Iterator[Server]:
    yield servers(contender)
    with Api(servers(contender).port) as api, suppress(ApiError):
        delete(api)  # Streams that are only read stay as long as their server.
