"""Those who meet in the matrix: whoever can write and read buckets and objects.

A member takes the steps of a script, in its own words, and tells what it reads in one form that is the same
for all. To bring another one into the matrix, give it these methods and add it in `meeting.py`; a program in
another language speaks lines of JSON (`Child`) instead.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from typing import Any, Protocol

from jetstream_py import kv, objstore
from jetstream_py.js import JetStream
from jetstream_py.objstore import ObjectInfo

HISTORY = 5
MARKER = 3600
LIMIT = 30.0

# What is done to a bucket. One message each, so the last column's revision is the step's number.
STEPS: list[list[Any]] = [
    ["put", "a", "1"],
    ["put", "a", "2"],
    ["update", "a", "3", 2],
    ["create", "b.c", "x"],
    ["delete", "b.c"],
    ["create", "b.c", "y"],  # behind a marker
    ["put", "d", "z"],
    ["purge", "d"],
    ["create", "t/1=", "lasting", 7200],  # with a TTL
    ["put", "empty", ""],
    ["put", "e-_", "\x00\xff binary ä"],
    ["put", "gone", "1"],
    ["delete", "gone"],
    *(["put", "many", str(i)] for i in range(7)),  # two more than history keeps
]
# What everybody reads then.
SEEN: dict[str, Any] = {
    "keys": ["a", "b.c", "e-_", "empty", "many", "t/1="],
    "values": {
        "a": [3, "3"],
        "b.c": [6, "y"],
        "t/1=": [9, "lasting"],
        "empty": [10, ""],
        "e-_": [11, "\x00\xff binary ä"],
        "many": [20, "6"],
    },
    "deleted": {"d": "PURGE", "gone": "DEL"},
    "history": {
        "a": [[1, "PUT", "1"], [2, "PUT", "2"], [3, "PUT", "3"]],
        "b.c": [[4, "PUT", "x"], [5, "DEL", ""], [6, "PUT", "y"]],
        "d": [[8, "PURGE", ""]],
        "many": [[16 + i, "PUT", str(2 + i)] for i in range(5)],
    },
    "watch": [
        ["a", 3, "PUT"],
        ["b.c", 6, "PUT"],
        ["d", 8, "PURGE"],
        ["t/1=", 9, "PUT"],
        ["empty", 10, "PUT"],
        ["e-_", 11, "PUT"],
        ["gone", 13, "DEL"],
        ["many", 20, "PUT"],
    ],
    "status": [17, HISTORY, MARKER],
}
# What is put into a store: name, size, description. Edges are those of the chunks that all clients make.
CHUNK = 128 * 1024
OBJECTS: list[list[Any]] = [
    ["empty", 0, ""],
    ["one", 1, "a byte"],
    ["below", CHUNK - 1, ""],
    ["edge", CHUNK, ""],
    ["above", CHUNK + 1, ""],
    ["replaced", 2 * CHUNK + 5, ""],
    ["replaced", 10, "now small"],
    ["name with / and ?", 5, "not a token"],
    ["removed", 7, ""],
]
SIZES = {name: (size, text) for name, size, text in OBJECTS if name != "removed"}
Row = list[Any]
HEADERS = {"Kind": ["of test"]}


def content(size: int) -> bytes:
    """The bytes of an object; JavaScript and Go make the same."""
    return (bytes(i * 7919 % 251 for i in range(251)) * (size // 251 + 1))[:size]


def brief(name: str, size: int, chunks: int, digest: str, description: str) -> Row:
    return [name, size, chunks, digest.rstrip("="), description]


def listed() -> list[list[Any]]:
    """What everybody lists."""
    rows = []
    for name, (size, text) in SIZES.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content(size)).digest()).decode()
        rows.append(brief(name, size, -(-size // CHUNK), f"SHA-256={digest}", text))
    return sorted(rows)


class Member(Protocol):
    """One who takes part."""

    async def write(self, bucket: str) -> None:
        """Make a bucket of `HISTORY` and `MARKER` and take all `STEPS`."""

    async def read(self, bucket: str) -> Any:
        """What `SEEN` tells."""

    async def write_brief(self, bucket: str) -> None:
        """Make a bucket, and a key `brief` in it that lives for a second."""

    async def await_marker(self, bucket: str) -> Any:
        """Watch until the key is purged, by whom ever; returns its last operation and its revision."""

    async def put(self, store: str) -> None:
        """Make a store, put `OBJECTS` with `HEADERS`, delete `removed`."""

    async def list(self, store: str) -> Any:
        """What `listed` tells, and headers of `one`."""

    async def link(self, store: str) -> None:
        """Make a store, put `one`, and a link to it as `link`."""

    async def get(self, store: str, name: str) -> bytes: ...


class Ours:
    """The views of this package, over whatever bus."""

    def __init__(self, js: JetStream) -> None:
        self.js = js

    async def write(self, bucket: str) -> None:
        made = await kv.create_bucket(self.js, bucket, history=HISTORY, limit_marker_ttl=MARKER)
        for number, (verb, key, *rest) in enumerate(STEPS, 1):
            value = rest[0].encode("latin-1") if rest else b""
            if verb in ("delete", "purge"):
                await (made.delete(key) if verb == "delete" else made.purge(key))
            elif verb == "update":
                assert await made.update(key, value, rest[1]) == number
            elif verb == "create":
                ttl = rest[1] if len(rest) > 1 else None
                assert await made.create(key, value, ttl=ttl) == number
            else:
                assert await made.put(key, value) == number

    async def read(self, bucket: str) -> Any:
        found = await kv.open_bucket(self.js, bucket)
        told: dict[str, Any] = {"keys": sorted(await found.keys())}
        told["values"] = {}
        for key in SEEN["values"]:
            entry = await found.get(key)
            told["values"][key] = [entry.revision, entry.value.decode("latin-1")]
        told["deleted"] = {}
        for key in SEEN["deleted"]:
            try:
                await found.get(key)
            except kv.KeyDeleted as deleted:
                told["deleted"][key] = deleted.operation
        told["history"] = {
            key: [
                [each.revision, each.operation, each.value.decode("latin-1")]
                for each in await found.history(key)
            ]
            for key in SEEN["history"]
        }
        told["watch"] = []
        async with found.watch(meta_only=True) as watcher:
            async for each in watcher:
                if each is None:
                    break
                told["watch"].append([each.key, each.revision, each.operation])
        status = await found.status()
        told["status"] = [status.values, status.history, round(status.limit_marker_ttl)]
        return told

    async def write_brief(self, bucket: str) -> None:
        made = await kv.create_bucket(self.js, bucket, limit_marker_ttl=MARKER)
        await made.create("brief", b"", ttl=1)

    async def await_marker(self, bucket: str) -> Any:
        found = await kv.open_bucket(self.js, bucket)
        async with found.watch() as watcher:
            async for each in watcher:
                if each is not None and each.deleted:
                    return [each.operation, each.revision]
        raise AssertionError("the watch has ended")

    async def put(self, store: str) -> None:
        made = await objstore.create_store(self.js, store)
        for name, size, text in OBJECTS:
            await made.put(name, content(size), description=text, headers=HEADERS)
        await made.delete("removed")

    async def list(self, store: str) -> Any:
        found = await objstore.open_store(self.js, store)
        rows = {each.name: each for each in await found.list()}
        return [sorted(self._row(each) for each in rows.values()), rows["one"].headers]

    async def link(self, store: str) -> None:
        made = await objstore.create_store(self.js, store)
        await made.link("link", await made.put("one", content(1)))

    def _row(self, info: ObjectInfo) -> Row:
        return brief(info.name, info.size, info.chunks, info.digest, info.description)

    async def get(self, store: str, name: str) -> bytes:
        return await (await objstore.open_store(self.js, store)).get_bytes(name)


class NatsPy:
    """The stock client for Python."""

    def __init__(self, connection: Any) -> None:
        self.js = connection.jetstream()

    async def write(self, bucket: str) -> None:
        made = await self.js.create_key_value(
            bucket=bucket, history=HISTORY, limit_marker_ttl=MARKER
        )
        for verb, key, *rest in STEPS:
            value = rest[0].encode("latin-1") if rest else b""
            if verb in ("delete", "purge"):
                await getattr(made, verb)(key)
            elif verb == "update":
                await made.update(key, value, last=rest[1])
            elif verb == "create":
                await made.create(key, value, msg_ttl=rest[1] if len(rest) > 1 else None)
            else:
                await made.put(key, value)

    async def read(self, bucket: str) -> Any:
        from nats.js.errors import KeyNotFoundError

        found = await self.js.key_value(bucket)
        told: dict[str, Any] = {"keys": sorted(await found.keys())}
        told["values"] = {}
        for key in SEEN["values"]:
            entry = await found.get(key)
            told["values"][key] = [entry.revision, (entry.value or b"").decode("latin-1")]
        told["deleted"] = {}
        for key in SEEN["deleted"]:
            try:
                await found.get(key)
            except KeyNotFoundError as deleted:
                told["deleted"][key] = deleted.op
        told["history"] = {
            key: [
                [each.revision, each.operation or "PUT", (each.value or b"").decode("latin-1")]
                for each in await found.history(key)
            ]
            for key in SEEN["history"]
        }
        watcher = await found.watchall()
        told["watch"] = []
        while (each := await watcher.updates()) is not None:
            told["watch"].append([each.key, each.revision, each.operation or "PUT"])
        await watcher.stop()
        status = await found.status()
        told["status"] = [status.values, status.history, round(status.marker_ttl)]
        return told

    async def write_brief(self, bucket: str) -> None:
        made = await self.js.create_key_value(bucket=bucket, limit_marker_ttl=MARKER)
        await made.create("brief", b"", msg_ttl=1)

    async def await_marker(self, bucket: str) -> Any:
        watcher = await (await self.js.key_value(bucket)).watchall()
        while True:
            each = await watcher.updates(timeout=LIMIT)
            if each is not None and each.operation:
                await watcher.stop()
                return [each.operation, each.revision]

    async def put(self, store: str) -> None:
        from nats.js.api import ObjectMeta

        made = await self.js.create_object_store(store)
        for name, size, text in OBJECTS:
            await made.put(name, content(size), meta=ObjectMeta(description=text, headers=HEADERS))
        await made.delete("removed")

    async def list(self, store: str) -> Any:
        found = await self.js.object_store(store)
        rows = {each.name: each for each in await found.list(ignore_deletes=True)}
        told = [
            brief(each.name, each.size, each.chunks, each.digest, each.description or "")
            for each in rows.values()
        ]
        return [sorted(told), rows["one"].headers]

    async def link(self, store: str) -> None:
        raise NotImplementedError("nats.py makes no links")

    async def get(self, store: str, name: str) -> bytes:
        data = (await (await self.js.object_store(store)).get(name)).data
        return data or b""


class Child:
    """A program that takes a call a line and answers with a line: `{"call", "args"}`, then `{"result"}` or
    `{"error"}`. What it needs to know comes with the call `begin`."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def begin(self, url: str) -> None:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, limit=16 * 1024 * 1024
        )
        script = {"history": HISTORY, "marker": MARKER, "steps": STEPS, "seen": SEEN}
        await self._call("begin", url, {**script, "objects": OBJECTS, "headers": HEADERS})

    async def _call(self, call: str, *args: object) -> Any:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        async with self._lock:
            process.stdin.write(json.dumps({"call": call, "args": args}).encode() + b"\n")
            async with asyncio.timeout(LIMIT):
                line = await process.stdout.readline()
        answer = json.loads(line or b'{"error": "the program has ended"}')
        assert "error" not in answer, answer["error"]
        return answer["result"]

    async def end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def write(self, bucket: str) -> None:
        await self._call("write", bucket)

    async def read(self, bucket: str) -> Any:
        return await self._call("read", bucket)

    async def write_brief(self, bucket: str) -> None:
        await self._call("write_brief", bucket)

    async def await_marker(self, bucket: str) -> Any:
        return await self._call("await_marker", bucket)

    async def put(self, store: str) -> None:
        await self._call("put", store)

    async def list(self, store: str) -> Any:
        return await self._call("list", store)

    async def link(self, store: str) -> None:
        await self._call("link", store)

    async def get(self, store: str, name: str) -> bytes:
        return base64.b64decode(await self._call("get", store, name))
