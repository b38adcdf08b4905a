"""HTTP as one of those who meet in the matrix of views."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from tests.views.members import HEADERS, HISTORY, MARKER, OBJECTS, SEEN, STEPS, brief, content

NONE: Mapping[str, str] = MappingProxyType({})


class Http:
    """Keys and objects by GET, PUT and DELETE."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._session = session

    async def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = NONE
    ) -> tuple[int, Any, bytes]:
        url = URL(f"{self._url}/v1/{path}", encoded=True)
        async with self._session.request(method, url, data=body, headers=headers) as answer:
            return answer.status, answer.headers, await answer.read()

    async def _json(self, path: str) -> Any:
        status, _, body = await self._ask("GET", path)
        assert status == 200, body
        return json.loads(body)

    async def _do(self, method: str, path: str, body: bytes | None = None, **headers: str) -> str:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        status, told, text = await self._ask(method, path, body, named)
        assert status in (200, 204), text
        return str(told.get("ETag", ""))

    # -- buckets -----------------------------------------------------------------------------------

    async def write(self, bucket: str) -> None:
        options = json.dumps({"history": HISTORY, "limit_marker_ttl": MARKER}).encode()
        await self._do("PUT", f"kv/{bucket}", options)
        for number, (verb, key, *rest) in enumerate(STEPS, 1):
            path = f"kv/{bucket}/{quote(key, safe='')}"
            if verb in ("delete", "purge"):
                await self._do("DELETE", f"{path}?purge={str(verb == 'purge').lower()}")
                continue
            conditions = {}
            if verb == "update":
                conditions["If_Match"] = f'"{rest[1]}"'
            elif verb == "create":
                conditions["If_None_Match"] = "*"
                if len(rest) > 1:
                    conditions["Nats_TTL"] = str(rest[1])
            value = rest[0].encode("latin-1")
            assert await self._do("PUT", path, value, **conditions) == f'"{number}"'

    async def read(self, bucket: str) -> Any:
        told: dict[str, Any] = {"keys": sorted((await self._json(f"kv/{bucket}?keys"))["keys"])}
        told["values"] = {}
        for key in SEEN["values"]:
            _, headers, value = await self._ask("GET", f"kv/{bucket}/{quote(key)}")
            told["values"][key] = [int(headers["ETag"].strip('"')), value.decode("latin-1")]
        told["history"] = {key: await self._history(bucket, key) for key in SEEN["history"]}
        told["deleted"] = {}
        for key in SEEN["deleted"]:
            assert (await self._ask("GET", f"kv/{bucket}/{key}"))[0] == 404
            told["deleted"][key] = (await self._history(bucket, key))[-1][1]
        told["watch"] = [
            [each["key"], each["revision"], each["operation"]]
            for each in await self._watch(bucket, "")
        ]
        status = await self._json(f"kv/{bucket}")
        told["status"] = [status["values"], status["history"], round(status["limit_marker_ttl"])]
        return told

    async def _history(self, bucket: str, key: str) -> list[list[Any]]:
        found = (await self._json(f"kv/{bucket}/{quote(key)}?history"))["entries"]
        return [[each["revision"], each["operation"], _text(each["value"])] for each in found]

    async def _watch(self, bucket: str, until: str) -> list[dict[str, Any]]:
        """What a watch tells up to the end of what is there, or up to an operation."""
        found: list[dict[str, Any]] = []
        async with self._session.get(f"{self._url}/v1/kv/{bucket}?watch") as answer:
            name = ""
            async for line in answer.content:
                kind, _, value = line.decode().rstrip().partition(": ")
                if kind == "event":
                    name = value
                elif kind == "data":
                    if name == "current" and not until:
                        return found
                    if name != "current":
                        found.append(json.loads(value))
                    if name == until:
                        return found
        raise AssertionError("the watch has ended")

    async def write_brief(self, bucket: str) -> None:
        await self._do("PUT", f"kv/{bucket}", b'{"limit_marker_ttl": %d}' % MARKER)
        await self._do("PUT", f"kv/{bucket}/brief", b"", If_None_Match="*", Nats_TTL="1")

    async def await_marker(self, bucket: str) -> Any:
        last = (await self._watch(bucket, "purge"))[-1]
        return [last["operation"], last["revision"]]

    # -- objects -----------------------------------------------------------------------------------

    async def put(self, store: str) -> None:
        await self._do("PUT", f"objects/{store}")
        own = {f"Nats_Header_{name}": values[0] for name, values in HEADERS.items()}
        for name, size, text in OBJECTS:
            path = f"objects/{store}/{quote(name)}?description={quote(text)}"
            await self._do("PUT", path, content(size), **own)
        await self._do("DELETE", f"objects/{store}/removed")

    async def list(self, store: str) -> Any:
        rows = {each["name"]: each for each in (await self._json(f"objects/{store}"))["objects"]}
        told = [
            brief(*(each[x] for x in ("name", "size", "chunks", "digest", "description")))
            for each in rows.values()
        ]
        return [sorted(told), rows["one"]["headers"]]

    async def link(self, store: str) -> None:
        raise NotImplementedError("HTTP makes no links")

    async def get(self, store: str, name: str) -> bytes:
        status, _, body = await self._ask("GET", f"objects/{store}/{quote(name)}")
        assert status == 200, body
        return body


def _text(value: str) -> str:
    return base64.b64decode(value).decode("latin-1")
