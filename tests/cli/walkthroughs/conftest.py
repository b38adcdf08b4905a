"""A server with a store for each walk-through, nats-server's and ours in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.shell import Shell
from tests.support.server import Kind, Servers


@pytest.fixture
def shell(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    directory = tmp_path_factory.mktemp("walk")
    with Servers(directory) as servers:
        yield Shell(servers.start(kind, None, ["-js", "-sd", str(directory / "store")]).url)
