"""ARCHITECTURE.md has a place for every file of the rooms that it goes through one by one."""

from __future__ import annotations

import re

import pytest

from tests.docs.snippets import DOCS

ROOT = DOCS.parent
ROOMS = ["server", "server/monitor", "server/system", "jwt", "app", "transforms"]
ROOMS += ["js", "kv", "objstore", "embed"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_file_is_named(room: str) -> None:
    named = set(re.findall(r"`([\w/]+)`", (ROOT / "ARCHITECTURE.md").read_text()))
    folder = ROOT / "jetstream_py" / room
    files = {file.stem for file in folder.glob("*.py") if file.stem != "__init__"}
    assert files
    assert files - named == set()
