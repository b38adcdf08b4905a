"""Buckets and objects between the Go client and our views: written by the one, read by the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from jetstream_py.js import remote
from tests.interop.outcome import Outcome, Transcript
from tests.views.members import HEADERS, SEEN, SIZES, Child, Member, Ours, content, listed

Story = Callable[[Member, Member, str], Awaitable[list[str]]]


async def _buckets(writer: Member, reader: Member, name: str) -> list[str]:
    await writer.write(name)
    found = await reader.read(name)
    assert found == SEEN, found
    return [json.dumps(found)]


async def _objects(writer: Member, reader: Member, name: str) -> list[str]:
    await writer.put(name)
    found = await reader.list(name)
    assert found == [listed(), HEADERS], found
    for each, (size, _) in SIZES.items():
        assert await reader.get(name, each) == content(size), each
    return [json.dumps(found)]


async def _links(writer: Member, reader: Member, name: str) -> list[str]:
    await writer.link(name)
    assert await reader.get(name, "link") == content(1)
    return ["followed"]


STORIES: dict[str, Story] = {"buckets": _buckets, "objects": _objects, "links": _links}


async def _outcome(story: Story, writer: Member, reader: Member, name: str) -> Outcome:
    try:
        return Outcome(facts=await story(writer, reader, name))
    except Exception as error:
        return Outcome(failed=f"{type(error).__name__}: {error}")


async def _play(program: Path, url: str) -> Transcript:
    go = Child([str(program), "views"])
    told: dict[str, Outcome] = {}
    async with remote.connect(url) as js:
        view = Ours(js)
        try:
            await go.begin(url)
            for what, story in STORIES.items():
                told[f"{what}, Go to view"] = await _outcome(story, go, view, f"go-{what}")
                told[f"{what}, view to Go"] = await _outcome(story, view, go, f"view-{what}")
        finally:
            await go.end()
    return told


def play(program: Path, url: str) -> Transcript:
    return asyncio.run(_play(program, url))
