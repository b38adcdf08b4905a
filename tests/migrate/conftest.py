"""One server of each kind for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.migrate.support import Pair, Side, start
from tests.support.server import KINDS, ORACLE, OURS, Kind, Servers


@pytest.fixture(scope="package")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Kind, Side]]:
    root = tmp_path_factory.mktemp("migrate")
    with Servers(root) as servers:
        yield {kind: start(servers, kind, root / f"store-{kind}") for kind in KINDS}


def opened(sides: dict[Kind, Side], source: Kind, target: Kind) -> Iterator[Pair]:
    pair = Pair(sides[source].open(), sides[target].open())
    yield pair
    pair.source.close()
    pair.target.close()


@pytest.fixture(params=[OURS, ORACLE], ids=["to nats-server", "from nats-server"])
def pair(request: pytest.FixtureRequest, sides: dict[Kind, Side]) -> Iterator[Pair]:
    """Ours and nats-server, in both directions."""
    source: Kind = request.param
    yield from opened(sides, source, ORACLE if source == OURS else OURS)


@pytest.fixture
def inwards(sides: dict[Kind, Side]) -> Iterator[Pair]:
    """From nats-server to ours."""
    yield from opened(sides, ORACLE, OURS)


@pytest.fixture
def outwards(sides: dict[Kind, Side]) -> Iterator[Pair]:
    """From ours to nats-server."""
    yield from opened(sides, OURS, ORACLE)
