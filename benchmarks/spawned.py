"""A plugin of pytest that gives tests a nats-server of their own, as a process: what people do without
ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.servers import NATS, running


@pytest.fixture
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = tmp_path_factory.mktemp("store")
    with running(NATS, extra=["-js", "-sd", str(store)]) as server:
        yield f"nats://127.0.0.1:{server.port}"
