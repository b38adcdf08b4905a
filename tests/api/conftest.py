from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.oracle import Oracle
from tests.support.server import ORACLE, Servers


@pytest.fixture(scope="session")
def jetstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """nats-server with JetStream and no limits."""
    with Servers(tmp_path_factory.mktemp("jetstream")) as servers:
        store = tmp_path_factory.mktemp("store")
        oracle = Oracle(servers.start(ORACLE, flags=["-js", "-sd", str(store)]))
        with oracle.client:
            yield oracle
