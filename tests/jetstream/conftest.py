"""The stage of the scenarios, and the kinds of servers they run on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.jetstream.support import KINDS, Stage
from tests.support.server import Kind


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    kind: Kind = request.param
    return kind


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("jetstream"))
    with stage.servers:
        yield stage
