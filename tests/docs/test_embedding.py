"""docs/embedding.md and docs/testing.md: their programs and tests, run."""

from __future__ import annotations

import asyncio
import re
import textwrap
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from jetstream_py import Server, pytest_plugin
from tests.docs.snippets import ROOT, snippets
from tests.plugin.projects import ASYNCIO, run_project

EMBEDDING, TESTING = "docs/embedding.md", "docs/testing.md"


def test_every_block_is_run() -> None:
    for file, names in ((EMBEDDING, {"loop", "thread"}), (TESTING, {"tests"})):
        text = (ROOT / file).read_text()
        assert set(re.findall(r"^```python(?: (.*))?$", text, re.MULTILINE)) == names


def test_in_a_loop() -> None:
    parts = [*snippets(EMBEDDING, "python", "loop"), *snippets("README.md", "python", "embedded")]
    assert len(parts) >= 5
    text = "\n".join(["import nats", *(part.text for part in parts)])
    made: dict[str, Any] = {}
    exec(f"async def example():\n{textwrap.indent(text, '    ')}", made)
    example: Callable[[], Awaitable[None]] = made["example"]

    async def play() -> None:
        await asyncio.wait_for(example(), 30)

    asyncio.run(play())


def test_in_a_thread() -> None:
    [part] = snippets(EMBEDDING, "python", "thread")
    exec(part.text, {})


def test_tests(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [*snippets(TESTING, "python", "tests"), *snippets("README.md", "python", "tested")]
    pytester.makepyfile("\n\n".join(part.text for part in parts))
    result = run_project(pytester, monkeypatch, *ASYNCIO, "-o", "asyncio_mode=auto")
    result.assert_outcomes(passed=8)


def test_options_of_the_table_exist() -> None:
    text = (ROOT / EMBEDDING).read_text()
    table = text.partition("| option | |")[2].partition("```")[0]
    names = set(
        re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)))
    )
    assert names == {"config", "store", "jetstream", "monitor", "manual_clock", "clock", "record"}
    assert names <= set(Server.__init__.__annotations__)


def test_fixtures_of_the_table_exist() -> None:
    text = (ROOT / TESTING).read_text()
    table = text.partition("| fixture | |")[2].partition("\n\n")[0]
    names = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)))
    assert len(names) == 9
    assert [name for name in names if not hasattr(pytest_plugin, name)] == []
