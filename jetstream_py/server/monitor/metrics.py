"""/metrics: the same facts for Prometheus.

Names and labels are those of the usual exporter for NATS (`gnatsd_*`, `jetstream_*`), so its dashboards
and alerts work on a server that is scraped without one. As there, everything is a gauge; numbers that only
climb are meant for `rate()`.

An answer is bounded: the first so many streams, consumers and accounts are told of (see `limits`), and
`jetstream_py_metrics_left_out` says how many were not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from jetstream_py import limits
from jetstream_py.server.monitor.accstatz import accstatz
from jetstream_py.server.monitor.healthz import HealthzOptions, healthz
from jetstream_py.server.monitor.jsz import JszOptions, jsz
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.monitor.subsz import SubszOptions, subsz
from jetstream_py.server.monitor.varz import varz
from jetstream_py.server.monitor.view import BrokerView

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_SERVER: Final = ("server_id", "server_name", "cluster", "domain", "meta_leader", "is_meta_leader")
_ACCOUNT: Final = (*_SERVER, "account", "account_name", "account_id")
_STREAM: Final = (
    *_ACCOUNT,
    "stream_name",
    "stream_leader",
    "is_stream_leader",
    "stream_raft_group",
)
_CONSUMER: Final = (
    *_STREAM,
    "consumer_name",
    "consumer_leader",
    "is_consumer_leader",
    "consumer_desc",
)
_LABELLED: Final = ("server_id", "server_name", "version")  # texts of /varz that are told as labels

Value = int | float
Labels = Sequence[str]
Metric = tuple[str, Callable[[Any], Value]]

# One row for each metric: its name, and what it shows of the object in /jsz.
_OF_SERVER: Final[tuple[Metric, ...]] = (
    ("jetstream_disabled", lambda info: int(info.get("disabled", False))),
    ("max_memory", lambda info: info["config"]["max_memory"]),
    ("max_storage", lambda info: info["config"]["max_storage"]),
    ("total_streams", lambda info: info["streams"]),
    ("total_consumers", lambda info: info["consumers"]),
    ("total_messages", lambda info: info["messages"]),
    ("total_message_bytes", lambda info: info["bytes"]),
)
_OF_ACCOUNT: Final[tuple[Metric, ...]] = (
    ("max_memory", lambda account: account["reserved_memory"]),
    ("max_storage", lambda account: account["reserved_storage"]),
    ("memory_used", lambda account: account["memory"]),
    ("storage_used", lambda account: account["storage"]),
)
_OF_STREAM: Final[tuple[Metric, ...]] = (
    ("total_messages", lambda stream: stream["state"]["messages"]),
    ("total_bytes", lambda stream: stream["state"]["bytes"]),
    ("first_seq", lambda stream: stream["state"]["first_seq"]),
    ("last_seq", lambda stream: stream["state"]["last_seq"]),
    ("consumer_count", lambda stream: stream["state"]["consumer_count"]),
    ("subject_count", lambda stream: stream["state"].get("num_subjects", 0)),
    ("limit_bytes", lambda stream: stream["config"]["max_bytes"]),
    ("limit_messages", lambda stream: stream["config"]["max_msgs"]),
)
_OF_CONSUMER: Final[tuple[Metric, ...]] = (
    ("delivered_consumer_seq", lambda consumer: consumer["delivered"]["consumer_seq"]),
    ("delivered_stream_seq", lambda consumer: consumer["delivered"]["stream_seq"]),
    ("num_ack_pending", lambda consumer: consumer["num_ack_pending"]),
    ("num_redelivered", lambda consumer: consumer["num_redelivered"]),
    ("num_waiting", lambda consumer: consumer["num_waiting"]),
    ("num_pending", lambda consumer: consumer["num_pending"]),
    ("ack_floor_stream_seq", lambda consumer: consumer["ack_floor"]["stream_seq"]),
    ("ack_floor_consumer_seq", lambda consumer: consumer["ack_floor"]["consumer_seq"]),
)
_OF_ACCSTAT: Final[tuple[Metric, ...]] = (
    ("current_connections", lambda stat: stat.conns),
    ("total_connections", lambda stat: stat.total_conns),
    ("subscriptions", lambda stat: stat.num_subscriptions),
    ("leaf_nodes", lambda stat: stat.leafnodes),
    ("sent_messages", lambda stat: stat.sent.msgs),
    ("sent_bytes", lambda stat: stat.sent.bytes),
    ("received_messages", lambda stat: stat.received.msgs),
    ("received_bytes", lambda stat: stat.received.bytes),
    ("slow_consumers", lambda stat: stat.slow_consumers),
)


class _Ready(Collector):
    """Families that are gathered already."""

    def __init__(self, families: list[GaugeMetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families


def metrics(broker: BrokerView, state: MonitorState) -> Callable[[], bytes]:
    """Gather now; the text, which takes longer, may be made in another thread."""
    families = list(gather(broker, state))
    return lambda: generate_latest(_Ready(families))


def gather(broker: BrokerView, state: MonitorState) -> Iterator[GaugeMetricFamily]:
    server = (broker.server_id,)
    yield from _varz(msgspec.to_builtins(varz(broker, state)), server)
    times = {"start": broker.started_ns, "config_load_time": broker.config_loaded_ns}
    for name, time_ns in times.items():  # as milliseconds since 1970
        yield _family(f"gnatsd_varz_{name}", ("server_id",), [(server, time_ns // 1_000_000)])
    stats = msgspec.to_builtins(subsz(broker, SubszOptions()))
    for name in ("server_id", "now"):
        del stats[name]
    yield from _flat("gnatsd_subsz", stats, server)
    yield from _connz(broker, server)
    yield from _healthz(broker, server)
    yield _family("gnatsd_routez_num_routes", ("server_id",), [(server, 0)])
    yield _family("gnatsd_leafz_conn_nodes_total", ("server_id",), [(server, 0)])
    yield from _accstatz(broker)
    yield from _jsz(broker)


def _family(
    name: str, labels: Labels, samples: Iterable[tuple[Labels, Value]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, name.split("_", 1)[1], labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _rows(
    prefix: str, rows: Sequence[Metric], labels: Labels, items: Sequence[tuple[Labels, Any]]
) -> Iterator[GaugeMetricFamily]:
    """A family for each row, with a sample for each item."""
    for name, read in rows:
        yield _family(f"{prefix}_{name}", labels, [(values, read(item)) for values, item in items])


def _flat(prefix: str, facts: Mapping[str, Any], server: Labels) -> Iterator[GaugeMetricFamily]:
    """The numbers of an object, those inside others under joined names."""
    for name, value in facts.items():
        key = f"{prefix}_{name}".replace("/", "_" if name == "/" else "")
        if isinstance(value, dict):
            yield from _flat(key, value, server)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield _family(key, ("server_id",), [(server, value)])


def _varz(facts: dict[str, Any], server: Labels) -> Iterator[GaugeMetricFamily]:
    for name in _LABELLED:
        labels = ("server_id", "value")
        yield _family(f"gnatsd_varz_{name}", labels, [((*server, facts.pop(name)), 1)])
    yield from _flat("gnatsd_varz", facts, server)


def _connz(broker: BrokerView, server: Labels) -> Iterator[GaugeMetricFamily]:
    """Sums over the open connections."""
    sessions = list(islice(broker.sessions.values(), limits.METRICS_CONNECTIONS))
    facts = {
        "num_connections": len(sessions),
        "total": len(broker.sessions),
        "offset": 0,
        "limit": limits.METRICS_CONNECTIONS,
        "pending_bytes": sum(session.pending_bytes() for session in sessions),
        "subscriptions": sum(len(session.subs) for session in sessions),
        "in_msgs": sum(session.in_msgs for session in sessions),
        "in_bytes": sum(session.in_bytes for session in sessions),
        "out_msgs": sum(session.out_msgs for session in sessions),
        "out_bytes": sum(session.out_bytes for session in sessions),
    }
    return _flat("gnatsd_connz", facts, server)


def _healthz(broker: BrokerView, server: Labels) -> Iterator[GaugeMetricFamily]:
    """0 is well, as the exporter has it; the variants differ only where there is a cluster."""
    _, health = healthz(broker, HealthzOptions())
    well = health.status == "ok"
    for variant in ("", "_js_enabled_only", "_js_server_only"):
        name = f"gnatsd_healthz{variant}_status"
        yield _family(name, ("server_id",), [(server, int(not well))])
        labels = (*server, health.status)
        yield _family(f"{name}_value", ("server_id", "value"), [(labels, int(well))])


def _accstatz(broker: BrokerView) -> Iterator[GaugeMetricFamily]:
    stats = islice(accstatz(broker, include_unused=True).account_statz, limits.METRICS_ACCOUNTS)
    items = [((broker.server_id, each.acc, each.acc, each.name), each) for each in stats]
    labels = ("server_id", "account", "account_id", "account_name")
    return _rows("gnatsd_accstatz", _OF_ACCSTAT, labels, items)


def _jsz(broker: BrokerView) -> Iterator[GaugeMetricFamily]:
    options = JszOptions(
        consumers=True,
        config=True,
        limit=limits.METRICS_ACCOUNTS,
        details=limits.METRICS_DETAILS,
    )
    info = msgspec.to_builtins(jsz(broker, options))
    name, domain = broker.server_name, str(info["config"].get("domain", ""))
    server = (broker.server_id, name, "", domain, "", "true")
    accounts: list[tuple[Labels, Any]] = []
    streams: list[tuple[Labels, Any]] = []
    consumers: list[tuple[Labels, Any]] = []
    for account in info.get("account_details", ()):
        of_account = (*server, account["name"], account["name"], account["id"])
        accounts.append((of_account, account))
        for stream in account.get("stream_detail", ()):
            of_stream = (*of_account, stream["name"], name, "true", "")
            streams.append((of_stream, stream))
            for each in stream.get("consumer_detail", ()):
                about = each["config"].get("description", "")
                consumers.append(((*of_stream, each["name"], name, "true", about), each))
    yield from _rows("jetstream_server", _OF_SERVER, _SERVER, [(server, info)])
    yield from _rows("jetstream_account", _OF_ACCOUNT, _ACCOUNT, accounts)
    yield from _rows("jetstream_stream", _OF_STREAM, _STREAM, streams)
    yield from _rows("jetstream_consumer", _OF_CONSUMER, _CONSUMER, consumers)
    left_out = info["streams"] + info["consumers"] - len(streams) - len(consumers)
    labels, samples = ("server_id",), [((broker.server_id,), left_out)]
    yield _family("jetstream_py_metrics_left_out", labels, samples)
    if broker.jetstream_view is not None:
        publishes, requests = broker.jetstream_view.dropped()
        own = (broker.server_id,)
        yield _family("jetstream_py_dropped_publishes", labels, [(own, publishes)])
        yield _family("jetstream_py_dropped_requests", labels, [(own, requests)])
