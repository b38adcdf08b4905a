"""How long a service takes: the samples that an export with `latency` publishes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from jetstream_py import headers as header
from jetstream_py.gotext import rfc3339_nano

if TYPE_CHECKING:
    from jetstream_py.server.services import ServiceImport
    from jetstream_py.server.session import Session

_HUNDRED = 100
# Whoever traces a request wants it measured, too: headers that say so, and the others that go with them.
_SAMPLED = {
    b"Uber-Trace-Id": re.compile(rb"[^:]*:[^:]*:[^:]*:.*[13579bdf]\Z", re.IGNORECASE),
    b"X-B3-Sampled": re.compile(rb"1\Z"),
    b"B3": re.compile(rb"(?:1|.*-1(?:-.*)?)\Z"),
    b"traceparent": re.compile(rb"[^-]*-[^-]*-[^-]*-.*[13579bdf]\Z", re.IGNORECASE),
}
_TRACES = (
    *_SAMPLED,
    b"X-B3-TraceId",
    b"X-B3-SpanId",
    b"X-B3-ParentSpanId",
    b"tracestate",
    b"Uber-Ctx",
)


def _canonical(name: bytes) -> str:
    return "-".join(word.capitalize() for word in name.decode().split("-"))


class Measurement:
    """One request under way."""

    __slots__ = ("_client", "_headers", "_service", "_start")

    def __init__(
        self, service: ServiceImport, client: Session | None, headers: dict[str, list[str]]
    ) -> None:
        self._service = service
        self._client = client
        self._headers = headers
        self._start = service.broker.clock.now_ns()

    @classmethod
    def begin(
        cls, service: ServiceImport, block: bytes, client: Session | None
    ) -> Measurement | None:
        """Measure this one, if it is drawn or its headers ask for it."""
        latency = service.export.latency
        if latency is None:
            return None
        if latency.sampling <= 0:
            return cls(service, client, _traces(block)) if _sampled(block) else None
        drawn = service.broker.chance() * _HUNDRED < latency.sampling
        return cls(service, client, {}) if drawn else None

    def answered(self, responder: Session | None) -> None:
        self._publish(200, "", responder)

    def expired(self) -> None:
        self._publish(504, "Service Timeout", None)

    def no_reply(self) -> None:
        self._publish(400, "Bad Request", None)

    def unserved(self) -> None:
        self._publish(503, "Service Unavailable", None)

    def _publish(self, status: int, problem: str, responder: Session | None) -> None:
        service, latency = self._service, self._service.export.latency
        assert latency is not None
        now = service.broker.clock.now_ns()
        total = max(0, now - self._start)
        asked = _rtt(self._client)
        answered = _rtt(responder)
        metric: dict[str, object] = {
            "type": "io.nats.server.metric.v1.service_latency",
            "id": service.broker.new_id(),
            "timestamp": rfc3339_nano(now),
            "status": status,
        }
        if problem:
            metric["description"] = problem
        if self._client is not None:
            told = self._client.describe()
            if not service.imported.share:
                told = {key: told[key] for key in ("acc", "rtt") if key in told}
            metric["requestor"] = told
        if responder is not None:
            metric["responder"] = responder.describe()
        if self._headers:
            metric["header"] = self._headers
        metric["start"] = rfc3339_nano(self._start - asked)
        metric["service"] = max(0, total - answered)
        metric["system"] = 0
        metric["total"] = total + asked
        service.exporter.internal.announce(latency.subject.encode(), msgspec.json.encode(metric))


def _sampled(block: bytes) -> bool:
    return any(
        (value := header.get(block, name)) is not None and pattern.match(value) is not None
        for name, pattern in _SAMPLED.items()
    )


def _traces(block: bytes) -> dict[str, list[str]]:
    return {
        _canonical(name): [value.decode("utf-8", "replace")]
        for name in _TRACES
        if (value := header.get(block, name)) is not None
    }


def _rtt(session: Session | None) -> int:
    return round((session.rtt or 0.0) * 1e9) if session is not None else 0
