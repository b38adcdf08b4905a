"""What the server tells those who listen: stream actions and the audit of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from jetstream_py import headers as hdr
from jetstream_py.api.fields import Wire
from jetstream_py.api.times import time_text
from jetstream_py.api.types import StreamState
from jetstream_py.gotext import escape_json, utf8

if TYPE_CHECKING:
    from jetstream_py.api.service import Caller
    from jetstream_py.engine.jetstream import JetStream

_SUBJECT = b"$JS.EVENT.ADVISORY."
_TYPE = "io.nats.jetstream.advisory.v1."
_PAST = {"create": b"CREATED", "modify": b"UPDATED", "delete": b"DELETED"}


class StreamAction(msgspec.Struct, omit_defaults=True):
    type: str
    id: str
    timestamp: str
    stream: str
    action: str
    domain: str = ""


class BatchAbandoned(msgspec.Struct, omit_defaults=True, kw_only=True):
    type: str
    id: str
    timestamp: str
    stream: str
    domain: str = ""
    batch: str
    reason: str


class LimitReached(msgspec.Struct, omit_defaults=True, kw_only=True):
    type: str
    id: str
    timestamp: str
    server: str
    domain: str = ""
    dropped: int


class Backup(Wire):
    """The beginning or the end of a snapshot or a restore."""

    type: str
    id: str
    timestamp: str
    stream: str
    state: StreamState | None = None
    start: str = ""
    end: str = ""
    bytes: int | None = None
    client: dict[str, object] | None = None
    domain: str = ""
    error: str = ""


class ApiAudit(msgspec.Struct, omit_defaults=True):
    type: str
    id: str
    timestamp: str
    server: str
    client: dict[str, object] | None
    subject: str
    request: str = ""
    response: str = ""
    domain: str = ""


def stream_action(js: JetStream, name: str, action: str) -> None:
    subject = _SUBJECT + b"STREAM." + _PAST[action] + b"." + name.encode()
    if js.bus.has_interest(subject):
        now = time_text(js.clock.now_ns())
        advisory = StreamAction(
            _TYPE + "stream_action", js.new_id(), now, name, action, js.settings.domain
        )
        js.outbox.send(js.bus, subject, msgspec.json.encode(advisory))


def batch_abandoned(js: JetStream, name: str, batch: str, reason: str) -> None:
    subject = _SUBJECT + b"STREAM.BATCH_ABANDONED." + name.encode()
    if js.bus.has_interest(subject):
        advisory = BatchAbandoned(
            type=_TYPE + "stream_batch_abandoned",
            id=js.new_id(),
            timestamp=time_text(js.clock.now_ns()),
            stream=name,
            domain=js.settings.domain,
            batch=batch,
            reason=reason,
        )
        js.outbox.send(js.bus, subject, escape_json(msgspec.json.encode(advisory)))


def limit_reached(system: JetStream, server_id: str, dropped: int) -> None:
    """The API has dropped requests; the system account is told."""
    subject = _SUBJECT + b"API.LIMIT_REACHED"
    if system.bus.has_interest(subject):
        advisory = LimitReached(
            type=_TYPE + "api_limit_reached",
            id=system.new_id(),
            timestamp=time_text(system.clock.now_ns()),
            server=server_id,
            domain=system.settings.domain,
            dropped=dropped,
        )
        system.outbox.send(system.bus, subject, msgspec.json.encode(advisory))


class BackupEvents:
    """What is told of one snapshot or one restore."""

    def __init__(
        self, js: JetStream, kind: str, stream: str, caller: Caller | None, headers: bytes
    ) -> None:
        self._js = js
        self._kind = kind
        self._stream = stream
        self._client = _client(js, caller, headers) if caller is not None else None
        self._start = time_text(js.clock.now_ns())

    def begun(self, state: StreamState | None = None) -> None:
        self._tell("create", state=state)

    def ended(self, size: int | None = None, error: str = "") -> None:
        end = time_text(self._js.clock.now_ns())
        self._tell("complete", start=self._start, end=end, bytes=size, error=error)

    def _tell(self, what: str, **more: Any) -> None:
        js, kind = self._js, f"{self._kind}_{what}"
        subject = _SUBJECT + f"STREAM.{kind.upper()}.{self._stream}".encode()
        if js.bus.has_interest(subject):
            now = time_text(js.clock.now_ns())
            advisory = Backup(
                type=_TYPE + kind,
                id=js.new_id(),
                timestamp=now,
                stream=self._stream,
                client=self._client,
                domain=js.settings.domain,
                **more,
            )
            js.outbox.send(js.bus, subject, escape_json(msgspec.json.encode(advisory)))


def audit(
    js: JetStream,
    subject: bytes,
    request: bytes,
    response: bytes,
    caller: Caller | None,
    headers: bytes = b"",
) -> None:
    where = _SUBJECT + b"API"
    if not js.bus.has_interest(where):
        return
    advisory = ApiAudit(
        _TYPE + "api_audit",
        js.new_id(),
        time_text(js.clock.now_ns()),
        js.server_name,
        _client(js, caller, headers) if caller is not None else None,
        utf8(subject),
        utf8(request),
        utf8(response),
        js.settings.domain,
    )
    js.outbox.send(js.bus, where, escape_json(msgspec.json.encode(advisory)))


def _client(js: JetStream, caller: Caller, headers: bytes) -> dict[str, object]:
    """One of another account is named as the import says by which it came."""
    known = caller.describe()
    if known.get("acc", js.account) == js.account:
        return known
    introduction = hdr.get(headers, hdr.REQUEST_INFO)
    if introduction:
        known = msgspec.json.decode(introduction, type=dict[str, object])
    named: dict[str, object] = {}
    for key, value in known.items():
        named.setdefault(key, value)
        if key == "acc":
            named["svc"] = js.account
    return named | {"server": js.server_name}
