"""/metrics, read as Prometheus reads it."""

from __future__ import annotations

import importlib.util
import json
import re
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from jetstream_py import limits
from jetstream_py.server.monitor.endpoints import answer
from jetstream_py.server.monitor.state import MonitorState
from tests.monitor.compare import get, join
from tests.monitor.fakes import FakeBroker
from tests.support.server import Start, StartServer
from tests.support.wire import pub

pytestmark = pytest.mark.xdist_group("monitor")

# What the published dashboards and alert rules of the usual exporter ask for.
DASHBOARDS = [
    "gnatsd_varz_cpu",
    "gnatsd_varz_mem",
    "gnatsd_varz_in_bytes",
    "gnatsd_varz_in_msgs",
    "gnatsd_varz_out_bytes",
    "gnatsd_varz_out_msgs",
    "gnatsd_varz_connections",
    "gnatsd_varz_subscriptions",
    "gnatsd_varz_slow_consumers",
    "gnatsd_varz_jetstream_stats_storage",
    "gnatsd_varz_jetstream_config_max_storage",
    "gnatsd_varz_jetstream_stats_memory",
    "gnatsd_varz_jetstream_config_max_memory",
    "gnatsd_varz_jetstream_stats_accounts",
    "gnatsd_varz_jetstream_stats_api_errors",
    "gnatsd_connz_num_connections",
    "gnatsd_connz_pending_bytes",
    "gnatsd_healthz_status",
    "gnatsd_subsz_num_subscriptions",
    "gnatsd_accstatz_current_connections",
    "gnatsd_accstatz_sent_messages",
    "jetstream_server_total_streams",
    "jetstream_server_total_consumers",
    "jetstream_server_total_messages",
    "jetstream_server_jetstream_disabled",
    "jetstream_account_storage_used",
    "jetstream_stream_total_bytes",
    "jetstream_stream_total_messages",
    "jetstream_stream_last_seq",
    "jetstream_stream_limit_bytes",
    "jetstream_stream_consumer_count",
    "jetstream_consumer_num_pending",
    "jetstream_consumer_num_ack_pending",
    "jetstream_consumer_num_redelivered",
    "jetstream_consumer_delivered_consumer_seq",
    "jetstream_consumer_ack_floor_stream_seq",
]

Samples = dict[str, list[tuple[dict[str, str], float]]]


def samples(text: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge", family.name
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def scrape(broker: FakeBroker) -> Samples:
    reply = answer(broker, MonitorState(), "/metrics")
    assert reply.render is not None
    assert reply.content_type == "text/plain; version=0.0.4; charset=utf-8"
    return samples(reply.render().decode())


@pytest.fixture
def stored(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """A server with a stream and a consumer, after a scrape."""
    folder = tmp_path_factory.mktemp("store")
    server = start_server("jetstream-py", None, ["-m", "-1", "-js", "-sd", str(folder)])
    with join(server, name="client") as client:
        config = json.dumps({"name": "S", "subjects": ["s.*"], "num_replicas": 1}).encode()
        client.exchange(pub(b"$JS.API.STREAM.CREATE.S", config, b"x"))
        consumer = {"durable_name": "C", "ack_policy": "explicit", "description": 'q"\\'}
        body = json.dumps({"stream_name": "S", "config": consumer}).encode()
        client.exchange(pub(b"$JS.API.CONSUMER.DURABLE.CREATE.S.C", body, b"x"))
        client.exchange(pub(b"s.1", b"abc", b"x") * 7)
        reply = get(server, "/metrics")
    assert reply.status == 200
    return samples(reply.text)


def test_dashboards_find_what_they_ask_for(stored: Samples) -> None:
    assert [name for name in DASHBOARDS if name not in stored] == []


def test_labels_and_numbers(stored: Samples) -> None:
    ((labels, value),) = stored["jetstream_consumer_num_pending"]
    assert value == 7
    assert labels["stream_name"] == "S"
    assert (labels["consumer_name"], labels["consumer_desc"]) == ("C", 'q"\\')
    assert (labels["account"], labels["is_consumer_leader"]) == ("$G", "true")
    ((labels, value),) = stored["jetstream_stream_last_seq"]
    assert (labels["server_id"], value) == (stored["gnatsd_varz_connections"][0][0]["server_id"], 7)
    assert stored["gnatsd_varz_in_msgs"][0][1] == 9
    assert stored["gnatsd_healthz_status"][0][1] == 0
    assert stored["jetstream_py_metrics_left_out"][0][1] == 0


def test_names_are_names(stored: Samples) -> None:
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in stored)


def test_counters_are_exact() -> None:
    broker = FakeBroker()
    broker.connect(5, in_msgs=3, in_bytes=2**40 + 1, out_msgs=5, out_bytes=7)
    broker.traffic = (2**53 - 1, 1, 2, 3)
    found = scrape(broker)
    assert found["gnatsd_varz_in_msgs"][0][1] == 2**53 - 1
    assert found["gnatsd_connz_in_bytes"][0][1] == 2**40 + 1
    by_account = {labels["account"]: value for labels, value in found["gnatsd_accstatz_sent_bytes"]}
    assert by_account == {"$G": 7, "$SYS": 0}


def test_without_jetstream() -> None:
    found = scrape(FakeBroker())
    assert found["jetstream_server_jetstream_disabled"][0][1] == 1
    assert "jetstream_stream_last_seq" not in found


def test_a_server_that_is_not_well() -> None:
    broker = FakeBroker(jetstream_failure="disk full")
    found = scrape(broker)
    assert found["gnatsd_healthz_status"][0][1] == 1
    assert found["gnatsd_healthz_status_value"][0] == (
        {"server_id": "NSERVER", "value": "unavailable"},
        0,
    )


class Many:
    """More streams than fit into a scrape."""

    def varz(self) -> dict[str, object]:
        return {"config": {}, "stats": {}, "limits": {}}

    def dropped(self) -> tuple[int, int]:
        return 5, 6

    def jsz(self, options: object) -> dict[str, object]:
        told = getattr(options, "details")  # noqa: B009 - a field of what was asked
        assert told == limits.METRICS_DETAILS
        state = {"messages": 1, "bytes": 2, "first_seq": 3, "last_seq": 4, "consumer_count": 0}
        config = {"max_bytes": -1, "max_msgs": -1}
        streams = [{"name": f"S{i}", "state": state, "config": config} for i in range(told)]
        account = {"name": "A", "id": "A", "memory": 0, "storage": 0, "stream_detail": streams}
        account |= {"reserved_memory": 0, "reserved_storage": 0}
        return {
            "config": {"max_memory": 0, "max_storage": 0},
            "streams": told + 10,
            "consumers": 2,
            "messages": 0,
            "bytes": 0,
            "account_details": [account],
        }

    def account_jsz(self, account: str, options: object) -> object:
        raise NotImplementedError

    def missing(self, account: str, stream: str, consumer: str) -> str:
        return ""


def test_a_scrape_is_bounded() -> None:
    found = scrape(FakeBroker(jetstream_view=Many()))
    assert len(found["jetstream_stream_last_seq"]) == limits.METRICS_DETAILS
    assert found["jetstream_py_metrics_left_out"][0][1] == 12
    assert found["jetstream_py_dropped_publishes"][0][1] == 5
    assert found["jetstream_py_dropped_requests"][0][1] == 6


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jetstream_py.server.monitor.metrics", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    reply = answer(FakeBroker(), MonitorState(), "/metrics")
    assert reply.status == 501
    assert b"pip install 'jetstream-py[monitor]'" in reply.body
    assert importlib.util.find_spec("jetstream_py.server.monitor.metrics") is not None


def test_scrapes_are_counted(start: Start) -> None:
    server = start(flags=["-m", "-1"])
    if server.kind == "nats-server":
        assert get(server, "/metrics").status == 404  # it needs an exporter
        return
    for _ in range(2):
        found = samples(get(server, "/metrics").text)
    assert found["gnatsd_varz_http_req_stats_metrics"][0][1] == 2
