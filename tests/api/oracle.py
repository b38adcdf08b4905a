"""nats-server's answers to API requests, and ours in the same form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from jetstream_py.api.decode import decode_body
from jetstream_py.api.errors import ApiError
from jetstream_py.api.requests import StreamConfigRequest
from jetstream_py.api.responses import encode
from jetstream_py.api.stream_config import Rules, check_create, check_update, with_versions
from jetstream_py.api.types import StreamConfig
from tests.support.raw import RawClient
from tests.support.server import Server
from tests.support.wire import REQUESTER, hpub, pub

Body = bytes | str | Mapping[str, Any]


class Oracle:
    """A connection to a server with JetStream; each request has an inbox of its own."""

    def __init__(self, server: Server) -> None:
        self.client: RawClient = server.client(REQUESTER + b"SUB inbox.* 1\r\n")
        self.requests = 0
        self.streams = 0

    def fresh_name(self) -> str:
        """A name that no stream has had: a deleted one's files may still be on their way out."""
        self.streams += 1
        return f"S{self.streams}"

    def request(self, subject: str, body: Body = b"") -> bytes:
        """The answer to an API request."""
        return self.publish(f"$JS.API.{subject}", as_bytes(body))

    def publish(self, subject: str, payload: bytes, headers: bytes = b"") -> bytes:
        """What comes back to the reply subject."""
        self.requests += 1
        inbox = b"inbox.%d" % self.requests
        self.client.send(
            hpub(subject.encode(), headers, payload, reply=inbox)
            if headers
            else pub(subject.encode(), payload, reply=inbox)
        )
        while True:
            frame = self.client.read_frame()
            if frame.startswith(b"PING"):
                self.client.send(b"PONG\r\n")
            elif frame.startswith((b"MSG " + inbox + b" ", b"HMSG " + inbox + b" ")):
                line, rest = frame.split(b"\r\n", 1)
                head = int(line.split(b" ")[-2]) if line.startswith(b"H") else 0
                return rest[head:-2]

    def config(self, verb: str, name: str, body: Body) -> str:
        """The config, or the error, of an answer to STREAM.CREATE or STREAM.UPDATE, as JSON text."""
        answer = self.request(f"STREAM.{verb}.{name}", body).decode()
        if '"error":{' in answer[:150]:
            return answer[answer.index('"error":') + 8 : -1]
        return answer[answer.index('"config":') + 9 : answer.index(',"created":')]

    def delete(self, name: str) -> None:
        self.request(f"STREAM.DELETE.{name}")


def as_bytes(body: Body) -> bytes:
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def created(body: Body, rules: Rules) -> str:
    """What we make of a STREAM.CREATE, as `Oracle.config` shows it."""
    try:
        request = decode_body(as_bytes(body), StreamConfigRequest)
        return shown(check_create(request, rules, request.pedantic))
    except ApiError as fault:
        return encode(fault.body).decode()


def updated(old: StreamConfig, body: Body, rules: Rules) -> str:
    """What we make of a STREAM.UPDATE."""
    try:
        request = decode_body(as_bytes(body), StreamConfigRequest)
        return shown(check_update(old, request, rules, request.pedantic))
    except ApiError as fault:
        return encode(fault.body).decode()


def shown(config: StreamConfig) -> str:
    return encode(replace(config, metadata=with_versions(config.metadata))).decode()
