"""/healthz: whether the server does its work."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext
from jetstream_py.server.monitor.query import Query, boolean
from jetstream_py.server.monitor.view import BrokerView

# In this order: the first one that cannot be read is the one complained about.
_SWITCHES = ("js-enabled", "js-enabled-only", "js-server-only", "js-meta-only", "details")


class HealthError(msgspec.Struct):
    type: str
    error: str


class Health(msgspec.Struct):
    status: str
    error: str | UnsetType = UNSET
    errors: list[HealthError] | UnsetType = UNSET


class HealthzOptions(msgspec.Struct):
    """What was asked for, on either face."""

    account: str = ""
    stream: str = ""
    consumer: str = ""
    details: bool = False
    deprecated: bool = False  # asked with a name from before 2.9

    @classmethod
    def from_query(cls, query: Query) -> HealthzOptions:
        switches = {name: boolean(query, name) for name in _SWITCHES}
        return cls(
            account=query.get("account", ""),
            stream=query.get("stream", ""),
            consumer=query.get("consumer", ""),
            details=switches["details"],
            deprecated=switches["js-enabled"],
        )


def healthz(broker: BrokerView, options: HealthzOptions) -> tuple[int, Health]:
    """The HTTP status and the answer. A server that is not well also says so in its log."""
    if options.deprecated:
        broker.log.warn("Healthcheck: js-enabled deprecated, use js-enabled-only instead")
    code, kind, error = _complaint(broker, options)
    if not error:
        return 200, Health("ok")
    if options.details:
        broker.log.warn("Healthcheck failed: 1 errors")
        return code, Health("error", errors=[HealthError(kind, error)])
    broker.log.warn(f"Healthcheck failed: {gotext.quote(error)}")
    return code, Health("error", error)


def _complaint(broker: BrokerView, options: HealthzOptions) -> tuple[int, str, str]:
    if options.consumer and not options.stream:
        return 400, "BAD_REQUEST", '"stream" must not be empty when checking consumer health'
    if options.stream and not options.account:
        return 400, "BAD_REQUEST", '"account" must not be empty when checking stream health'
    if broker.lame_duck_mode:
        # Not nice, but it is what probes have learned to look for.
        return 500, "CONNECTION", "failed to be ready for connections after 1ms: server"
    if broker.jetstream_failure:
        return 503, "JETSTREAM", broker.jetstream_failure
    return 200, "", ""
