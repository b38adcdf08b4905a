"""The stage of the account scenarios."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.accounts.support import KINDS, Theatre
from tests.support.server import Kind


@pytest.fixture(scope="session")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    theatre = Theatre(tmp_path_factory.mktemp("accounts"))
    with theatre.servers:
        yield theatre


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    kind: Kind = request.param
    return kind
