"""Each story goes the same way on nats-server and on ours, and as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell, both_shells
from tests.cli.story import STORIES, played
from tests.support.server import Kind


@pytest.fixture(scope="module")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Kind, Shell]]:
    with both_shells(tmp_path_factory.mktemp("stories")) as found:
        yield found


@pytest.mark.parametrize("name", sorted(file.stem for file in STORIES.glob("*.txt")))
def test_story(name: str, kind: Kind, shells: dict[Kind, Shell], tmp_path: Path) -> None:
    story = (STORIES / f"{name}.txt").read_text()
    assert played(shells[kind], story, tmp_path) == story
