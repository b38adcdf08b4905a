"""/healthz: whether the server does its work."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext
from jetstream_py.server.monitor.query import Query, boolean
from jetstream_py.server.monitor.view import BrokerView


class HealthError(msgspec.Struct):
    type: str
    account: str | UnsetType = UNSET
    stream: str | UnsetType = UNSET
    consumer: str | UnsetType = UNSET
    error: str = ""


class Health(msgspec.Struct):
    status: str
    status_code: int | UnsetType = UNSET  # over NATS, where there is no other place for it
    error: str | UnsetType = UNSET
    errors: list[HealthError] | UnsetType = UNSET


class HealthzOptions(msgspec.Struct, kw_only=True):
    """What was asked for, on either face."""

    account: str = ""
    stream: str = ""
    consumer: str = ""
    details: bool = False
    server_only: bool = False  # the server itself, and not what it stores
    deprecated: bool = False  # asked with a name from before 2.9

    @classmethod
    def from_query(cls, query: Query) -> HealthzOptions:
        # In this order: the first one that cannot be read is the one complained about.
        deprecated = boolean(query, "js-enabled")
        enabled = boolean(query, "js-enabled-only")
        server = boolean(query, "js-server-only")
        boolean(query, "js-meta-only")  # there is none without a cluster
        return cls(
            account=query.get("account", ""),
            stream=query.get("stream", ""),
            consumer=query.get("consumer", ""),
            details=boolean(query, "details"),
            server_only=deprecated or enabled or server,
            deprecated=deprecated,
        )


def healthz(broker: BrokerView, options: HealthzOptions) -> tuple[int, Health]:
    """The HTTP status and the answer. A server that is not well also says so in its log."""
    if options.deprecated:
        broker.log.warn("Healthcheck: js-enabled deprecated, use js-enabled-only instead")
    code, complaint = _complaint(broker, options)
    if complaint is None:
        return 200, Health("ok")
    if options.details:
        broker.log.warn("Healthcheck failed: 1 errors")
        return code, Health("error", errors=[complaint])
    broker.log.warn(f"Healthcheck failed: {gotext.quote(complaint.error)}")
    return code, Health("unavailable" if code in (404, 503) else "error", error=complaint.error)


def _complaint(broker: BrokerView, options: HealthzOptions) -> tuple[int, HealthError | None]:
    if options.consumer and not options.stream:
        text = '"stream" must not be empty when checking consumer health'
        return 400, HealthError("BAD_REQUEST", error=text)
    if options.stream and not options.account:
        text = '"account" must not be empty when checking stream health'
        return 400, HealthError("BAD_REQUEST", error=text)
    if broker.lame_duck_mode:
        # Not nice, but it is what probes have learned to look for.
        text = "failed to be ready for connections after 1ms: server"
        return 500, HealthError("CONNECTION", error=text)
    if broker.jetstream_failure:
        return 503, HealthError("JETSTREAM", error=broker.jetstream_failure)
    return 404, None if options.server_only else _missing(broker, options)


def _missing(broker: BrokerView, options: HealthzOptions) -> HealthError | None:
    """What was asked about and is not there."""
    account, stream, consumer = options.account, options.stream, options.consumer
    if broker.jetstream_view is None or not account:
        return None
    kind = broker.jetstream_view.missing(account, stream, consumer)
    quoted = gotext.quote
    if kind == "account":
        text = f"JetStream account {quoted(account)} not found"
        return HealthError("ACCOUNT", account, error=text)
    if kind == "stream":
        text = f"JetStream stream {quoted(stream)} not found on account {quoted(account)}"
        return HealthError("STREAM", account, stream, error=text)
    if kind == "consumer":
        text = (
            f"JetStream consumer {quoted(consumer)} not found for stream {quoted(stream)} "
            f"on account {quoted(account)}"
        )
        return HealthError("CONSUMER", account, stream, consumer, text)
    return None
