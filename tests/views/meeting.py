"""A server and everybody who can use it at the same time.

On ours the server runs in the loop of the test, because one of the members does; the others come through its
ports. On nats-server that member is missing, and the one that speaks HTTP.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import nats

from jetstream_py.app import App, inprocess
from jetstream_py.clock import SystemClock
from jetstream_py.config import parse_args
from jetstream_py.js import remote
from jetstream_py.log import Log, LogSettings
from jetstream_py.timers import drive
from tests.gateway.member import Http
from tests.support.server import ORACLE, OURS, Kind, Servers
from tests.views.members import Child, Member, NatsPy, Ours

INSIDE, REMOTE, NATS_PY, NATS_JS, HTTP = "in-process", "remote", "nats.py", "nats.js", "http"
MEMBERS: dict[Kind, tuple[str, ...]] = {
    OURS: (INSIDE, REMOTE, NATS_PY, NATS_JS, HTTP),
    ORACLE: (REMOTE, NATS_PY, NATS_JS),
}


class Hosted(Protocol):
    """A server that runs."""

    url: str

    async def close(self) -> None: ...


def configuration(directory: Path, more: str = "") -> str:
    """With a domain: that is one more name of the API, the usual ones stay."""
    return f'jetstream {{ store_dir: "{directory}", domain: hub }}\n{more}'


class Inside:
    """Ours, in this loop."""

    def __init__(self, directory: Path, more: str = "") -> None:
        file = directory / "server.conf"
        file.write_text(configuration(directory / "store", more))
        flags = ["-p", "-1", "-a", "127.0.0.1", "-c", str(file)]
        loop = asyncio.get_running_loop()
        log = Log(LogSettings(file="/dev/null"))
        self.app = App(parse_args(flags, {}), {}, log, SystemClock(), loop)
        self._stop_timers = drive(self.app.broker.timers, loop)
        self._log = log
        self.url = self.http_url = ""

    async def start(self) -> None:
        await self.app.start()
        assert self.app.listener is not None
        self.url = f"nats://127.0.0.1:{self.app.listener.port}"
        if self.app.monitor is not None:
            self.http_url = f"http://127.0.0.1:{self.app.monitor.port}"

    async def close(self) -> None:
        await self.app.stop()
        self._stop_timers()
        self._log.close()


class Outside:
    """nats-server, a process of its own."""

    def __init__(self, directory: Path) -> None:
        self._servers = Servers(directory)
        self._servers.__enter__()
        self.url = self._servers.start(ORACLE, configuration(directory / "store")).url

    async def close(self) -> None:
        self._servers.__exit__(None, None, None)


class Meeting:
    """One server, its members, and a loop that runs while a test waits for something."""

    def __init__(self, kind: Kind, directory: Path, children: dict[str, list[str]]) -> None:
        self.kind = kind
        self.loop = asyncio.new_event_loop()
        self.members: dict[str, Member] = {}
        self._children = {name: Child(command) for name, command in children.items()}
        self.written: set[tuple[str, str]] = set()
        self.run(self._open(directory))

    def run(self, coroutine: Any) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(coroutine, 60))

    async def _open(self, directory: Path) -> None:
        self.server: Hosted
        if self.kind == OURS:
            self.server = inside = Inside(directory, "http: 127.0.0.1:-1, http_gateway: true")
            await inside.start()
            self._http = aiohttp.ClientSession()
            self.members[HTTP] = Http(inside.http_url, self._http)
            self.members[INSIDE] = Ours(inprocess.jetstream(inside.app.broker, "$G"))
        else:
            self.server = Outside(directory)
        self.connection = await nats.connect(self.server.url)
        self.members[REMOTE] = Ours(remote.jetstream(self.connection))
        self.members[NATS_PY] = NatsPy(self.connection)
        for name, child in self._children.items():
            await child.begin(self.server.url)
            self.members[name] = child

    def once(self, what: str, writer: str) -> str:
        """The bucket that a member has written, made when it is first asked for."""
        name = f"{what}-{writer.replace('.', '-')}"
        if (what, writer) not in self.written:
            self.written.add((what, writer))
            self.run(getattr(self.members[writer], what)(name))
        return name

    def close(self) -> None:
        async def leave() -> None:
            for child in self._children.values():
                await child.end()
            await self.connection.close()
            if self.kind == OURS:
                await self._http.close()
            await self.server.close()

        self.run(leave())
        self.loop.close()
