"""docs/kv.md, objects.md and extensions.md: their examples, as the one coroutine that they are parts of."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from tests.docs.snippets import snippets
from tests.support.server import OURS, Server, Servers


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Servers(tmp_path_factory.mktemp("docs-views")) as servers:
        [config] = snippets("docs/extensions.md", "conf", "preview")
        yield servers.start(OURS, config.placed(servers.directory, servers.directory / "store"))


@pytest.mark.parametrize("name", ["kv", "objects", "extensions"])
def test_examples(server: Server, name: str) -> None:
    parts = snippets(f"docs/{name}.md", "python", name)
    assert parts
    text = "\n".join(part.text for part in parts).replace("nats://127.0.0.1:4222", server.url)
    made: dict[str, Any] = {}
    exec(f"async def example():\n{textwrap.indent(text, '    ')}", made)
    example: Callable[[], Awaitable[None]] = made["example"]

    async def play() -> None:
        await asyncio.wait_for(example(), 30)

    asyncio.run(play())
