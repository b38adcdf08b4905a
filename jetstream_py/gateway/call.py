"""One request, as handlers see it: decoded names, arguments, a bounded body, and streams as its user may use
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import msgspec
from aiohttp import web

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.gateway.errors import BAD_REQUEST, PRECONDITION, TIMEOUT, TOO_LARGE, HttpError
from jetstream_py.js import JetStream

OWN_HEADER: Final = "nats-header-"  # in front of a header that has any other name
_OURS: Final = ("nats-subject", "nats-inbox-prefix")  # for the gateway, not for the message
_SPELLING: Final = {
    name.decode().lower(): name.decode()
    for name in vars(hdr).values()
    if isinstance(name, bytes) and name.startswith(b"Nats-")
}


def split_path(target: str) -> list[str]:
    """The decoded parts of a path behind its version. A name may hold slashes, so the third part is all that
    follows; it comes as it was sent, without dots resolved."""
    path = target.partition("?")[0].partition("#")[0]
    try:
        parts = [unquote(part, errors="strict") for part in path.split("/", 4)[2:]]
    except UnicodeDecodeError:
        raise HttpError(BAD_REQUEST, "the path is not UTF-8") from None
    if any("\0" in part for part in parts):
        raise HttpError(BAD_REQUEST, "no NUL in names")
    return parts[:-1] if parts[-1] == "" and len(parts) > 1 else parts


def split_query(target: str) -> dict[str, str]:
    query = target.partition("?")[2].partition("#")[0]
    try:
        pairs = parse_qsl(query, True, errors="strict", max_num_fields=limits.GATEWAY_QUERY)
    except ValueError:
        raise HttpError(BAD_REQUEST, "the query is not UTF-8, or has too many arguments") from None
    if len(dict(pairs)) != len(pairs):
        raise HttpError(BAD_REQUEST, "an argument comes twice")
    return dict(pairs)


class Call:
    """A request of somebody who was let in."""

    def __init__(
        self,
        request: web.BaseRequest,
        js: JetStream,
        parts: list[str],
        query: dict[str, str],
        max_upload: int,
        cors: Mapping[str, str],
    ) -> None:
        """`cors` goes with every answer."""
        self.request = request
        self.js = js
        self.parts = parts
        self.query = query
        self.max_upload = max_upload
        self.cors = cors
        self.headers: Mapping[str, str] = request.headers

    # -- arguments ---------------------------------------------------------------------------------

    def expect(self, names: Collection[str]) -> None:
        """An argument that nobody looks at is a mistake of the caller's."""
        for name in self.query:
            if name not in names:
                raise HttpError(BAD_REQUEST, f"unknown argument {name[:100]!r}")

    def flag(self, name: str) -> bool:
        value = self.query.get(name, "false").lower()
        if value not in ("", "true", "1", "false", "0"):
            raise HttpError(BAD_REQUEST, f"{name} is true or false")
        return value in ("", "true", "1")

    def number(self, name: str, default: int = 0) -> int:
        return _number(self.query.get(name, str(default)), name)

    def limit(self) -> int:
        asked = self.number("limit", limits.GATEWAY_PAGE)
        if not 1 <= asked <= limits.GATEWAY_PAGE_MAX:
            raise HttpError(BAD_REQUEST, f"limit is 1 to {limits.GATEWAY_PAGE_MAX}")
        return asked

    def time(self, name: str) -> datetime:
        try:
            found = datetime.fromisoformat(self.query[name])
        except ValueError:
            raise HttpError(BAD_REQUEST, f"{name} is a time like 2026-01-31T12:00:00Z") from None
        if found.tzinfo is None:
            raise HttpError(BAD_REQUEST, f"{name} needs a time zone, like Z")
        if not 1970 <= found.year < 2262:
            raise HttpError(BAD_REQUEST, f"{name} is no time that a message can have")
        return found

    def ttl(self) -> float | None:
        """`Nats-TTL`: seconds, or with a unit."""
        text = self.headers.get("Nats-TTL")
        if text is None:
            return None
        units = {"s": 1, "m": 60, "h": 3600}
        digits, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
        return float(_number(digits, "Nats-TTL") * unit)

    def last_event(self) -> int | None:
        """Behind which event a watch goes on."""
        text = self.headers.get("Last-Event-ID") or self.query.get("last_event_id")
        return None if text is None else _number(text, "Last-Event-ID")

    # -- conditions --------------------------------------------------------------------------------

    def revision(self) -> int | None:
        """`If-Match` as the revision that a key must have; None: there is none, or it is `*`."""
        text = self.headers.get("If-Match", "*").strip()
        if text == "*":
            return None
        try:
            return _number(text.strip('"'), "If-Match")
        except HttpError:
            raise HttpError(PRECONDITION, "If-Match names no revision of this key") from None

    @property
    def must_exist(self) -> bool:
        return self.headers.get("If-Match", "").strip() == "*"

    @property
    def must_be_new(self) -> bool:
        condition = self.headers.get("If-None-Match")
        if condition is not None and condition.strip() != "*":
            raise HttpError(BAD_REQUEST, "If-None-Match of a write is *")
        return condition is not None

    def knows(self, etag: str) -> bool:
        """Does the caller have it already? For reads."""
        known = self.headers.get("If-None-Match", "")
        tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
        return "*" in tags or etag in tags

    # -- bodies ------------------------------------------------------------------------------------

    async def body(self, most: int) -> bytes:
        return b"".join([piece async for piece in self.pieces(most)])

    async def pieces(self, most: int) -> AsyncIterator[bytes]:
        """The body as it comes. It may not be too large, and not stand still."""
        size = self.request.content_length or 0
        if size > most:
            raise _too_large(most)
        self._continue()
        seen = 0
        while True:
            try:
                async with asyncio.timeout(limits.GATEWAY_STALL):
                    piece = await self.request.content.readany()
            except TimeoutError:
                raise HttpError(TIMEOUT, "the body does not come") from None
            if not piece:
                return
            seen += len(piece)
            if seen > most:
                raise _too_large(most)
            yield piece

    def _continue(self) -> None:
        """Who asked before it sends the body is told to."""
        transport = self.request.transport
        if self.headers.get("Expect", "").lower() == "100-continue" and transport is not None:
            transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def options(self) -> dict[str, Any]:
        """A body of JSON, or none."""
        text = await self.body(limits.GATEWAY_OPTIONS)
        try:
            return msgspec.json.decode(text or b"{}", type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            raise HttpError(BAD_REQUEST, f"not the options of a bucket: {error}") from None

    def own_headers(self) -> dict[str, str]:
        """Headers that the caller gave to what it stores: `Nats-Header-Color: red` is `Color: red`. Names are
        taken as they come, and proxies may change their case."""
        start = len(OWN_HEADER)
        return {
            name[start:]: _text(value)
            for name, value in self.headers.items()
            if name.lower().startswith(OWN_HEADER) and name[start:]
        }

    def message_headers(self) -> dict[str, str]:
        """Those and what JetStream understands (`Nats-Msg-Id`, `Nats-Expected-...`), as it spells it."""
        found = self.own_headers()
        for name, value in self.headers.items():
            lower = name.lower()
            if lower in _OURS or lower.startswith(OWN_HEADER) or not lower.startswith("nats-"):
                continue
            found[_SPELLING.get(lower, name)] = _text(value)
        return found


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise HttpError(BAD_REQUEST, f"{name} is a number, not {text[:100]!r}")
    return int(text)


def _text(value: str) -> str:
    """A header is UTF-8, or it cannot be stored as what it was."""
    if not value.isprintable():  # the parts of what is not UTF-8 are not
        raise HttpError(BAD_REQUEST, "a header is not UTF-8, or has control characters")
    return value


def _too_large(most: int) -> HttpError:
    return HttpError(TOO_LARGE, f"more than {most} bytes", headers={"Connection": "close"})
