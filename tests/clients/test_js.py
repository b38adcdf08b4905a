"""Stock JavaScript clients, both generations, on nats-server and on ours.

Each generation runs all its scenarios in one node process for each server, because starting node
costs more than the scenarios do.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from tests.clients.expected_js import GENERATIONS, SCENARIOS, Generation, expected
from tests.support.server import KINDS, ORACLE, OURS, Kind, Servers

JS = Path(__file__).with_name("js")
TIMEOUT = 120.0
USERS = """
authorization {
  users: [{user: alice, password: a-secret}, {user: bob, password: b-secret}]
}
"""

# One worker, so that each process is started once.
pytestmark = pytest.mark.xdist_group("js")

Transcript = dict[str, Any]


@pytest.fixture(scope="module")
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed: the JavaScript clients were NOT tested")
    if not (JS / "node_modules").is_dir():
        pytest.skip("npm install was not run: the JavaScript clients were NOT tested")
    return found


class Runs:
    """Transcripts, made when they are first asked for."""

    def __init__(self, node: str, servers: Servers) -> None:
        self._node = node
        self._servers = servers
        self.transcript = cache(self._transcript)
        self._addresses = cache(self._start)

    def _start(self, kind: Kind) -> str:
        started = {
            "plain": self._servers.start(kind),
            "users": self._servers.start(kind, USERS),
            "token": self._servers.start(kind, flags=["--auth", "t-secret"]),
        }
        return json.dumps({name: f"127.0.0.1:{each.port}" for name, each in started.items()})

    def _transcript(self, generation: Generation, kind: Kind) -> Transcript:
        command = [self._node, str(JS / "run.mjs"), generation, self._addresses(kind)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 0, done.stderr
        return cast(Transcript, json.loads(done.stdout))


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
