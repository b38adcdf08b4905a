"""/varz on a broker of plain records."""

from __future__ import annotations

import msgspec
import pytest

from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from jetstream_py.server.info import advertised
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.monitor.usage import Usage, cores, resident_bytes, usable_cores
from jetstream_py.server.monitor.varz import Varz, varz
from jetstream_py.version import __version__
from tests.monitor.fakes import FakeBroker

# As nats-server 2.15.1 without a config writes them, and ours at the end.
FIELDS = [
    "server_id", "server_name", "version", "proto", "git_commit", "go", "host", "port",
    "max_connections", "ping_interval", "ping_max", "http_host", "http_port", "http_base_path",
    "https_port", "auth_timeout", "max_control_line", "max_payload", "max_pending", "cluster",
    "gateway", "leaf", "mqtt", "websocket", "jetstream", "tls_timeout", "write_deadline",
    "start", "now", "uptime", "mem", "cores", "gomaxprocs", "cpu", "connections",
    "total_connections", "routes", "remotes", "leafnodes", "in_msgs", "in_bytes",
    "in_client_msgs", "in_client_bytes", "out_msgs", "out_bytes", "out_client_msgs",
    "out_client_bytes", "slow_consumers", "stale_connections", "stalled_clients",
    "subscriptions", "http_req_stats", "config_load_time", "config_digest", "feature_flags",
    "system_account", "slow_consumer_stats", "stale_connection_stats", "disk_io_wait_stats",
    "jetstream_py_version",
]  # fmt: skip


def ask(broker: FakeBroker, state: MonitorState | None = None) -> Varz:
    return varz(broker, state or MonitorState("0.0.0.0", 8222))


def test_fields_and_their_order() -> None:
    assert list(msgspec.to_builtins(ask(FakeBroker()))) == FIELDS


def test_settings() -> None:
    options = Options(
        authorization=Authorization(token=Secret("t"), timeout=1.5),
        max_subscriptions=7,
        max_connections=0,
        ping_interval=3.0,
        write_deadline=2.5,
        http_base_path="/base",
        server_tags=["a"],
        server_metadata={"k": "v"},
        feature_flags={"js_ack_fc_v2": True, "unheard_of": True},
        config_digest="sha256:00",
    )
    answer = ask(FakeBroker(options=options))
    assert answer.auth_required is True
    assert (answer.auth_timeout, answer.tls_timeout) == (1.5, 2)
    assert (answer.max_subscriptions, answer.max_connections) == (7, -1)
    assert (answer.ping_interval, answer.write_deadline) == (3_000_000_000, 2_500_000_000)
    assert (answer.http_host, answer.http_port, answer.http_base_path) == ("0.0.0.0", 8222, "/base")
    assert (answer.tags, answer.metadata) == (["a"], {"k": "v"})
    assert answer.feature_flags == {
        "js_ack_fc_v2": True,
        "js_api_reply_v2": False,
        "js_raft_delete_range": True,
        "js_snapshot_sources": False,
    }
    assert answer.config_digest == "sha256:00"
    assert answer.jetstream_py_version == __version__


def test_counters() -> None:
    broker = FakeBroker(
        traffic=(1, 2, 3, 4), slow_consumers=5, stale_connections=6, stalled_clients=7
    )
    broker.subscribe(broker.connect(5), b"a")
    broker.leave(broker.connect(6))
    broker.clock.advance(3723)
    answer = ask(broker)
    assert (answer.in_msgs, answer.in_bytes, answer.out_msgs, answer.out_bytes) == (1, 2, 3, 4)
    assert (answer.in_client_msgs, answer.out_client_bytes) == (1, 4)
    assert (answer.connections, answer.total_connections, answer.subscriptions) == (1, 2, 1)
    assert (answer.slow_consumers, answer.slow_consumer_stats.clients) == (5, 5)
    assert (answer.stale_connections, answer.stale_connection_stats.clients) == (6, 6)
    assert answer.stalled_clients == 7
    assert answer.uptime == "1h2m3s"
    assert answer.start == answer.config_load_time == "2023-11-14T22:13:20Z"
    assert answer.now == "2023-11-14T23:15:23Z"


def test_resources_are_real() -> None:
    answer = ask(FakeBroker())
    assert answer.mem > 1 << 20
    assert resident_bytes() > 1 << 20
    assert 1 <= usable_cores() <= cores()


def test_cpu_is_measured_over_a_second_at_least() -> None:
    now, used = 100.0, 1.0
    usage = Usage(lambda: now, lambda: used)
    assert usage.cpu() == 0
    now, used = 100.9, 1.9
    assert usage.cpu() == 0  # too early to tell
    now, used = 102.0, 2.5
    assert usage.cpu() == 75.0
    now, used = 112.0, 2.6
    assert usage.cpu() == 1.0


def test_requests_are_told_in_order() -> None:
    state = MonitorState()
    for endpoint in ("/varz", "/connz", "/varz"):
        state.count(endpoint)
    assert list(ask(FakeBroker(), state).http_req_stats.items()) == [("/connz", 1), ("/varz", 2)]


@pytest.mark.parametrize(
    ("advertise", "address"),
    [
        ("", ("h", 1)),
        ("1.2.3.4:999", ("1.2.3.4", 999)),
        ("name", ("name", 1)),
        ("[::1]:999", ("::1", 999)),
        ("[::1]", ("::1", 1)),
    ],
)
def test_clients_are_told_the_advertised_address(advertise: str, address: tuple[str, int]) -> None:
    assert advertised(advertise, "h", 1) == address
