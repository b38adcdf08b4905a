"""JetStream through the stock JavaScript clients, both generations, on nats-server and on ours.

A scenario asserts what an application relies on and returns everything it was told; the two servers'
transcripts must be equal. So a scenario fails when both servers are wrong alike, and when ours
differs in a detail that no assertion names.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from tests.clients.expected_js import GENERATIONS, Generation
from tests.clients.node import Transcript, play, require_node
from tests.differential.transcript import assert_same
from tests.support.server import KINDS, ORACLE, OURS, Kind, Servers

# One worker, so that each process is started once.
pytestmark = pytest.mark.xdist_group("js-jetstream")

PROVES: dict[str, tuple[str, ...]] = {
    "acks": ("PULL-024", "PULL-025", "PULL-026", "PULL-028", "PULL-029", "PULL-055", "PULL-056"),
    "batches": ("PUB-047", "PUB-060", "PUB-067", "PUB-068", "PUB-069", "PUB-070", "PUB-071", "PUB-072",
                "PUB-076", "OBJ-015"),
    "consumers": ("CON-001", "CON-055", "CON-058", "CON-059", "CON-067", "PULL-046"),
    "kv": ("KV-002", "KV-003", "KV-004", "KV-005", "KV-006", "KV-007", "KV-008", "KV-010", "KV-012",
           "KV-013", "KV-015", "KV-023"),
    "kv_watch": ("DLV-009", "KV-011", "KV-021", "KV-022"),
    "kv_ttl": ("KV-017", "KV-018", "KV-024"),
    "objects": ("OBJ-001", "OBJ-003", "OBJ-004", "OBJ-005", "OBJ-006", "OBJ-007", "OBJ-008",
                "OBJ-009", "OBJ-010", "OBJ-011", "OBJ-012", "OBJ-013", "OBJ-014"),
    "ordered": ("DLV-008", "DLV-026", "DLV-033"),
    "priority": ("PULL-034", "PULL-035", "PULL-036", "PULL-038", "PULL-041", "PULL-043",
                 "PULL-044", "PULL-045"),
    "pull": ("PULL-003", "PULL-006", "PULL-010", "PULL-014", "PULL-017", "PULL-067"),
    "push": ("DLV-001", "DLV-007", "DLV-031"),
    "streams": ("STR-001", "STR-079", "MSG-001", "MSG-015", "PUB-001", "PUB-006"),
}  # fmt: skip
NEW = {"batches", "kv_ttl", "priority"}  # the second generation does not know them
PARAMETERS = [
    pytest.param(name, generation, kind, marks=pytest.mark.behaviour(*rows))
    for name, rows in PROVES.items()
    for generation in GENERATIONS
    for kind in KINDS
    if not (name in NEW and generation == "v2")
]


class Runs:
    """Transcripts, made when they are first asked for, each on a server of its own."""

    def __init__(self, node: str, servers: Servers) -> None:
        self._node = node
        self._servers = servers
        self.transcript = cache(self._transcript)

    def _transcript(self, generation: Generation, kind: Kind) -> Transcript:
        store = self._servers.directory / f"store-{generation}-{kind}"
        server = self._servers.start(kind, flags=["-js", "-sd", str(store)])
        try:
            return play(self._node, generation, "jetstream", {"plain": server})
        finally:
            server.stop()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    with Servers(tmp_path_factory.mktemp("js-jetstream")) as servers:
        yield Runs(require_node(), servers)


@pytest.mark.parametrize(("scenario", "generation", "kind"), PARAMETERS)
def test_scenario(runs: Runs, scenario: str, generation: Generation, kind: Kind) -> None:
    told = runs.transcript(generation, kind)[scenario]
    assert "unexpected" not in told, told
    if kind == OURS:
        assert_same(lines(runs.transcript(generation, ORACLE)[scenario]), lines(told))


def test_every_scenario_is_named(runs: Runs) -> None:
    assert set(runs.transcript("v3", ORACLE)) == set(PROVES)


def lines(told: object, path: str = "") -> list[str]:
    """A transcript, one fact a line, so that a difference can be read."""
    if isinstance(told, dict):
        return [line for key in sorted(told) for line in lines(told[key], f"{path}.{key}")]
    if isinstance(told, list):
        facts = [line for i, item in enumerate(told) for line in lines(item, f"{path}[{i}]")]
        return [f"{path} has {len(told)}", *facts]
    return [f"{path} = {told!r}"]
