"""How long a service takes: the samples that an export with `latency` publishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from jetstream_py import headers as header
from jetstream_py.gotext import rfc3339_nano

if TYPE_CHECKING:
    from jetstream_py.server.services import ServiceImport
    from jetstream_py.server.session import Session

# Whoever traces a request wants it measured, too.
_TRACES = (b"X-B3-Sampled", b"X-B3-TraceId", b"B3", b"Uber-Trace-Id", b"traceparent")
_HUNDRED = 100


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
        found = {
            name.decode(): [value.decode("utf-8", "replace")]
            for name in _TRACES
            if (value := header.get(block, name)) is not None
        }
        if latency.sampling <= 0:
            return cls(service, client, found) if found else None
        drawn = service.broker.chance() * _HUNDRED < latency.sampling
        return cls(service, client, {}) if drawn else None

    def answered(self, responder: Session | None) -> None:
        self._publish(200, "", responder)

    def expired(self) -> None:
        self._publish(504, "Service Timeout", None)

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
        service.exporter.internal.publish(latency.subject.encode(), msgspec.json.encode(metric))


def _rtt(session: Session | None) -> int:
    return round((session.rtt or 0.0) * 1e9) if session is not None else 0
