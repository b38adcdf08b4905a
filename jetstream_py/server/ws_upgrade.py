"""The way from an HTTP request to a WebSocket. Sans-IO: a head in, an answer or a verdict out.

HTTP libraries answer in their own words, close where Go keeps a connection open, and bring a framework
for one request per connection; clients and proxies in front of a NATS server have learned Go's answers.
So the head is read here, with its size bounded by the caller.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import ipaddress
import re
from email.utils import formatdate
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import msgspec

from jetstream_py.config.account_options import WebSocket
from jetstream_py.gotext import quote

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
_END: Final = re.compile(rb"\r?\n\r?\n")
_REQUEST: Final = re.compile(r"([!-~]+) ([!-~]+) HTTP/(\d)\.(\d)")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET: Final = re.compile(r"(?:https?://[^/?#%]*)?(/(?:[^?#%]|%[0-9a-fA-F]{2})*)(?:[?#].*)?")
_DEFLATE: Final = "permessage-deflate"

Headers = dict[str, list[str]]  # by name in lower case


class Malformed(Exception):
    """No HTTP that can be answered otherwise: `str()` is the status line's text, the last word."""

    def answer(self) -> bytes:
        return (
            f"HTTP/1.1 {self}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Connection: close\r\n\r\n{self}"
        ).encode()


class Refused(Exception):
    """A request that is no upgrade, or not one for us: `str()` is for the log."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self._status = status

    def answer(self, now: float) -> bytes:
        code, text = self._status.value, self._status.phrase
        return (
            f"HTTP/1.1 {code} {text}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Sec-Websocket-Version: 13\r\nX-Content-Type-Options: nosniff\r\n"
            f"Date: {formatdate(now, usegmt=True)}\r\nContent-Length: {len(text) + 1}\r\n\r\n{text}\n"
        ).encode()


class Request(msgspec.Struct, frozen=True):
    method: str
    path: str
    headers: Headers

    @property
    def has_body(self) -> bool:
        return self.value("content-length") not in ("", "0") or bool(
            self.value("transfer-encoding")
        )

    def value(self, name: str) -> str:
        """The first of a header's values, or ""."""
        return self.headers.get(name, [""])[0]

    def lists(self, name: str, token: str) -> bool:
        """Whether a header's comma separated values hold the token."""
        values = ",".join(self.headers.get(name, [])).split(",")
        return token.lower() in (value.strip(" \t").lower() for value in values)


class Upgrade(msgspec.Struct, frozen=True):
    """What was agreed on."""

    key: str
    path: str
    compress: bool = False
    masked: bool = True  # the client's frames have to be
    browser: bool = False  # wants small frames ...
    whole: bool = False  # ... but a compressed message as one
    forwarded_for: str = ""
    cookies: dict[str, str] = {}  # credentials, as fields of CONNECT

    def answer(self, headers: tuple[tuple[str, str], ...]) -> bytes:
        digest = hashlib.sha1(self.key.encode() + _GUID, usedforsecurity=False).digest()
        lines = [
            "HTTP/1.1 101 Switching Protocols",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}",
        ]
        if self.compress:
            lines.append(
                f"Sec-WebSocket-Extensions: {_DEFLATE}; "
                "server_no_context_takeover; client_no_context_takeover"
            )
        if not self.masked:
            lines.append("Nats-No-Masking: true")
        lines += [f"{name}: {value}" for name, value in headers]
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


# -- the head --------------------------------------------------------------------------------------


def head_end(data: bytes | bytearray, start: int) -> int:
    """Where the head ends, looking from `start` on; -1 if it does not yet."""
    found = _END.search(data, max(0, start - 3))
    return found.end() if found else -1


def parse_head(head: bytes) -> Request:
    """Read a head, its empty line included. Raises `Malformed`."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").replace("\r\n", "\n").split("\n")
    match = _REQUEST.fullmatch(first)
    if match is None:
        raise Malformed("400 Bad Request")
    method, target, major, minor = match.groups()
    if major != "1":
        raise Malformed("505 HTTP Version Not Supported: unsupported protocol version")
    found = _TARGET.fullmatch(target)
    if found is None:
        raise Malformed("400 Bad Request")
    headers = _headers(lines)
    hosts = headers.get("host", [])
    if not hosts and minor != "0":
        raise Malformed("400 Bad Request: missing required Host header")
    if len(hosts) > 1:
        raise Malformed("400 Bad Request")
    return Request(method, found[1], headers)


def _headers(lines: list[str]) -> Headers:
    headers: Headers = {}
    last: list[str] = []
    for line in lines:
        if line[:1] in (" ", "\t") and last:
            last[-1] += " " + line.strip(" \t")  # a line that goes on
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise Malformed("400 Bad Request")
        if not _TOKEN.fullmatch(name):
            raise Malformed("400 Bad Request: invalid header name")
        last = headers.setdefault(name.lower(), [])
        last.append(value.strip(" \t"))
    return headers


# -- the verdict -----------------------------------------------------------------------------------


def judge(request: Request, options: WebSocket, secure: bool) -> Upgrade:
    """Whether the request may become a WebSocket, and what it asks for. Raises `Refused`."""
    bad = HTTPStatus.BAD_REQUEST
    if request.path.endswith("/mqtt"):
        raise Refused(HTTPStatus.NOT_FOUND, "mqtt websocket endpoint not enabled")
    if request.method != "GET":
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "request method must be GET")
    if not request.value("host"):
        raise Refused(bad, "'Host' missing in request")
    for name, token in (("Upgrade", "websocket"), ("Connection", "Upgrade")):
        if not request.lists(name.lower(), token):
            raise Refused(bad, f"invalid value for header '{name}'")
    key = request.value("sec-websocket-key")
    if not key:
        raise Refused(bad, "key missing")
    if not _is_key(key):
        raise Refused(bad, "invalid websocket key")
    if not request.lists("sec-websocket-version", "13"):
        raise Refused(bad, "invalid version")
    if why := _bad_origin(request, options, secure):
        raise Refused(HTTPStatus.FORBIDDEN, f"origin not allowed: {why}")
    agent = request.value("user-agent")
    browser = agent.startswith("Mozilla/")
    return Upgrade(
        key=key,
        path=request.path,
        compress=options.compression and _offers_deflate(request),
        masked=request.value("nats-no-masking") != "true",
        browser=browser,
        whole=browser and "Version/" in agent and "Safari/" in agent,
        forwarded_for=_address(request.value("x-forwarded-for")),
        cookies=_credentials(request, options),
    )


def _is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == 16
    except (binascii.Error, ValueError):
        return False


def _offers_deflate(request: Request) -> bool:
    offers = ",".join(request.headers.get("sec-websocket-extensions", []))
    return any(part.strip(" \t").lower() == _DEFLATE for part in re.split("[,;]", offers))


def _address(text: str) -> str:
    """The client behind a proxy, if the header is one address and nothing else."""
    try:
        return text if "%" not in text and ipaddress.ip_address(text) else ""
    except ValueError:
        return ""


def _credentials(request: Request, options: WebSocket) -> dict[str, str]:
    names = {
        options.jwt_cookie: "jwt",
        options.user_cookie: "user",
        options.password_cookie: "password",
        options.token_cookie: "auth_token",
    }
    found = {}
    for part in ";".join(request.headers.get("cookie", [])).split(";"):
        name, _, value = part.strip(" \t").partition("=")
        if name and name in names:
            quoted = len(value) > 1 and value[0] == value[-1] == '"'
            found[names[name]] = value[1:-1] if quoted else value
    return found


# -- origins ---------------------------------------------------------------------------------------

Origin = tuple[str, str, str]  # scheme, host, port


def _bad_origin(request: Request, options: WebSocket, secure: bool) -> str:
    """Why pages from there may not connect; "" if they may. Clients that are no browsers have no
    origin and may always."""
    if not options.same_origin and not options.allowed_origins:
        return ""
    text = request.value("origin") or request.value("sec-websocket-origin")
    if not text:
        return ""
    origin = parse_origin(text)
    if origin is None:
        return f"parse {quote(text)}: invalid URI for request"
    if options.same_origin:
        own = parse_origin(f"{'https' if secure else 'http'}://{request.value('host')}")
        if origin != own:
            return "not same origin"
    if options.allowed_origins and origin not in map(parse_origin, options.allowed_origins):
        return "not in the allowed list"
    return ""


def parse_origin(text: str) -> Origin | None:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if not parts.scheme or not parts.netloc:
        return None
    default = "443" if parts.scheme == "https" else "80"
    return parts.scheme, parts.hostname or "", str(port or default)
