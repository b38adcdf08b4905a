"""Stock JavaScript clients, both generations, on nats-server and on ours.

Each generation runs all its scenarios in one node process for each server, because starting node
costs more than the scenarios do.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from tests.clients.expected_js import GENERATIONS, SCENARIOS, Generation, expected
from tests.clients.node import Transcript, play, require_node
from tests.support.server import KINDS, ORACLE, OURS, Kind, Server, Servers

USERS = """
authorization {
  users: [{user: alice, password: a-secret}, {user: bob, password: b-secret}]
}
"""

# One worker, so that each process is started once.
pytestmark = pytest.mark.xdist_group("js")


@pytest.fixture(scope="module")
def node() -> str:
    return require_node()


class Runs:
    """Transcripts, made when they are first asked for."""

    def __init__(self, node: str, servers: Servers) -> None:
        self._node = node
        self._servers = servers
        self.transcript = cache(self._transcript)
        self._started = cache(self._start)

    def _start(self, kind: Kind) -> dict[str, Server]:
        return {
            "plain": self._servers.start(kind),
            "users": self._servers.start(kind, USERS),
            "token": self._servers.start(kind, flags=["--auth", "t-secret"]),
        }

    def _transcript(self, generation: Generation, kind: Kind) -> Transcript:
        return play(self._node, generation, "scenarios", self._started(kind))


@pytest.fixture(scope="module")
def runs(node: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    with Servers(tmp_path_factory.mktemp("js")) as servers:
        yield Runs(node, servers)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(runs: Runs, scenario: str, generation: Generation, kind: Kind) -> None:
    assert runs.transcript(generation, kind)[scenario] == expected(generation)[scenario]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_clients_cannot_tell_the_servers_apart(runs: Runs, generation: Generation) -> None:
    ours = runs.transcript(generation, OURS)
    assert set(ours) == set(SCENARIOS)
    assert ours == runs.transcript(generation, ORACLE)
