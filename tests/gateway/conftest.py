from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.place import Place


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server that asks nobody."""
    made = Place(tmp_path_factory.mktemp("gateway"))
    yield made
    made.close()
