"""A server in the test's loop, and HTTP requests to its gateway."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import aiohttp
from yarl import URL

from jetstream_py.app import inprocess
from jetstream_py.js import WireJetStream
from tests.views.meeting import Inside

LIMIT = 20.0
OPEN = "http: 127.0.0.1:-1, http_gateway: true"
T = TypeVar("T")


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"}


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, int]:
        """Status and JetStream's code of an answer that says what is wrong."""
        told = self.json
        assert set(told) == {"code", "err_code", "description"}
        assert told["code"] == self.status
        assert told["description"]
        return self.status, told["err_code"]


class Event(NamedTuple):
    name: str
    id: str
    data: Any


class Place:
    """One server, one loop."""

    def __init__(self, directory: Path, config: str = OPEN) -> None:
        self.loop = asyncio.new_event_loop()
        self.run(self._open(directory, config))

    async def _open(self, directory: Path, config: str) -> None:
        self.server = Inside(directory, config)
        await self.server.start()
        self.url = self.server.http_url
        self.http = aiohttp.ClientSession(auto_decompress=False)

    def js(self, account: str = "$G") -> WireJetStream:
        return inprocess.jetstream(self.server.app.broker, account)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(coroutine, LIMIT))

    async def send(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """The path goes out as it stands here."""
        url = URL(self.url + path, encoded=True)
        async with self.http.request(method, url, data=body, headers=headers) as answer:
            return Reply(answer.status, answer.headers, await answer.read())

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        return self.run(self.send(method, path, body, headers))

    @asynccontextmanager
    async def events(
        self, path: str, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[AsyncIterator[Event]]:
        async with self.http.get(self.url + path, headers=headers) as answer:
            assert answer.status == 200, await answer.read()
            assert answer.content_type == "text/event-stream"
            yield _events(answer.content)

    def close(self) -> None:
        async def leave() -> None:
            await self.http.close()
            await self.server.close()

        self.run(leave())
        self.loop.close()


async def _events(lines: aiohttp.StreamReader) -> AsyncIterator[Event]:
    found: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            found[name] = value
        elif "event" in found:
            yield Event(found["event"], found.get("id", ""), json.loads(found["data"]))
            found = {}
        else:
            found = {}  # a sign of life


def data(text: bytes) -> str:
    return b64encode(text).decode()
