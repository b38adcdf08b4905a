"""The benchmarks' own tests: counts and invariants on both servers, never times or rates."""

from __future__ import annotations

import sys

import pytest

from benchmarks.servers import NATS, OURS, executable


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
