"""The stream of a run: created through the JetStream API before it, checked and deleted after it."""

from __future__ import annotations

import json
import random
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from benchmarks import disk, wire
from benchmarks.conn import Connection, ConnectionLost
from benchmarks.servers import JETSTREAM, READY_LIMIT, Server, ServerFailed, running

STREAM: Final = "BENCH"
BUCKET: Final = "KV_BENCH"
API: Final = "$JS.API"
FILE: Final = "file"
MEMORY: Final = "memory"
# The length of the headers where there are any, the length of all.
_ANSWER: Final = re.compile(rb"H?MSG _INBOX\.[^ ]+ 1 (?:(\d+) )?(\d+)\r\n")
_LIMIT: Final = 30.0
_STEP: Final = 0.005


class ApiError(Exception):
    """The API answered with an error, or nobody listens to it."""


class Api:
    """A connection for requests to the API, one at a time."""

    def __init__(self, port: int, timeout: float = _LIMIT) -> None:
        self._conn = Connection(port, timeout)
        self._reply = b"_INBOX.bench-api.%d" % random.getrandbits(60)
        self._conn.subscribe(self._reply, b"1")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._conn.sock.close()

    def ask(self, verb: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer to `$JS.API.<verb>`."""
        payload = json.dumps(body).encode() if body else b""
        subject = f"{API}.{verb}".encode()
        self._conn.send(b"PUB %b %b %d\r\n%b\r\n" % (subject, self._reply, len(payload), payload))
        text = self._answer()
        answer: dict[str, Any] = json.loads(text) if text.startswith(b"{") else {}
        if not answer or "error" in answer:
            raise ApiError(f"{API}.{verb}: {answer.get('error') or text.decode().strip()}")
        return answer

    def _answer(self) -> bytes:
        """The payload of the next message, or its headers if there is nothing else."""
        data = self._conn.read_until(b"\r\n")
        line = _ANSWER.search(data)
        while not line or len(data) < line.end() + int(line[2]) + 2:
            data += self._conn.read_until(b"\n")
            line = _ANSWER.search(data)
        headers = int(line[1] or 0)
        whole = data[line.end() : line.end() + int(line[2])]
        return whole[headers:] or whole


@dataclass(frozen=True)
class Stream:
    """The stream of one run."""

    server: Server
    api: Api
    empty_bytes: int
    name: str = STREAM

    def check(self, messages: int, within: float = 0.0) -> None:
        """Every acknowledged message is there, and nothing else; some seconds may pass until then."""
        deadline = time.monotonic() + within
        found = message_count(self.api, self.name)
        while found != messages and time.monotonic() < deadline:
            time.sleep(_STEP)
            found = message_count(self.api, self.name)
        if found != messages:
            raise ServerFailed(f"{self.server.name}: {found} stored, {messages} acknowledged")

    def grown_bytes(self) -> int:
        """What the disk holds more than when the stream was empty."""
        return _store_bytes(self.server) - self.empty_bytes


@contextmanager
def stream(server: Server, storage: str, **config: object) -> Iterator[Stream]:
    """A fresh stream of all subjects of a load, deleted however the block is left."""
    name = str(config.get("name", STREAM))
    try:
        with Api(server.port) as api:
            create(api, storage, **config)
            try:
                yield Stream(server, api, _store_bytes(server), name)
            except BaseException:
                with suppress(ApiError, ConnectionLost):  # The first error is the one to tell.
                    delete(api, name)
                raise
            delete(api, name)
    except (ApiError, ConnectionLost) as error:
        raise ServerFailed(f"{server.name}: {error}\n{server.last_words()}".strip()) from error


def create(api: Api, storage: str, **config: object) -> None:
    common = {
        "name": STREAM,
        "subjects": [wire.ALL_SUBJECTS.decode()],
        "storage": storage,
        "allow_direct": True,
    }
    wanted = common | config
    api.ask(f"STREAM.CREATE.{wanted['name']}", wanted)


def delete(api: Api, name: str = STREAM) -> None:
    api.ask(f"STREAM.DELETE.{name}")


def message_count(api: Api, name: str = STREAM) -> int:
    return int(api.ask(f"STREAM.INFO.{name}")["state"]["messages"])


@contextmanager
def with_jetstream(
    kind: str, store: Path | None = None, limit: float = READY_LIMIT
) -> Iterator[Server]:
    """A server that answers the API, with its store in a folder of its own unless told where."""
    with tempfile.TemporaryDirectory(prefix="bench-store-") as folder:
        home = store or Path(folder)
        with running(kind, JETSTREAM[kind], ["-js", "-sd", str(home)], limit) as server:
            try:
                with Api(server.port) as api:
                    api.ask("INFO")
            except (ApiError, ConnectionLost, OSError) as error:
                raise ServerFailed(f"{server.name} has no JetStream: {error}") from error
            yield replace(server, store=home)


def _store_bytes(server: Server) -> int:
    return disk.settled_bytes(server.store) if server.store else 0
