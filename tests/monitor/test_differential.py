"""Monitoring answers of both servers, side by side after the same traffic."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.monitor.compare import (
    FIRST_CLIENT,
    Traffic,
    ask,
    eventually,
    get,
    join,
    leave,
    normal,
    normal_text,
)
from tests.support.server import KINDS, ORACLE, OURS, Server, Servers, Start, StartServer
from tests.support.wire import pub

pytestmark = pytest.mark.xdist_group("monitor")
FLAGS = ["-m", "-1"]


class Pair(NamedTuple):
    oracle: Server
    ours: Server


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both servers after the same traffic."""
    with Servers(tmp_path_factory.mktemp("monitor")) as servers:
        both = Pair(*(servers.start(kind, flags=FLAGS) for kind in KINDS))
        traffic = [Traffic(server) for server in both]
        yield both
        for each in traffic:
            each.close()


def row(ids: str, *paths: str) -> list[Any]:
    marks = pytest.mark.behaviour(*(f"MON-{number}" for number in ids.split()))
    return [pytest.param(path, marks=marks, id=path) for path in paths]


@pytest.mark.parametrize(
    "path",
    [
        *row("002", "/connz", "/connz?sort=cid", "/connz?sort=", "/connz?limit=0", "/connz?limit=-1"),
        *row(
            "003", "/connz?sort=foo", "/connz?sort=CID", "/connz?sort=bytes", "/connz?sort=%3Cb%3E%26"
        ),
        *row(
            "004", "/connz?limit=x", "/connz?limit=1.5", "/connz?limit=%22", "/connz?limit=%E2%82%AC",
            "/connz?limit=99999999999999999999", "/connz?offset=y", "/connz?limit=x&offset=y",
            "/connz?limit=+5", "/connz?limit=%zz", "/connz?limit=", "/connz?limit=%C2%AD%7F%00",
        ),
        *row("005", "/connz?auth=1", "/connz?auth=T&state=any", "/connz?auth=yes", "/connz?auth=0"),
        *row("006", "/connz?subs=1", "/connz?subs=true&state=any", "/connz?subs=x"),
        *row("007", "/connz?subs=detail", "/connz?subs=DETAIL&auth=1&state=closed"),
        *row(
            "008", "/connz?state=any", "/connz?state=OPEN", "/connz?state=all&subs=1",
            "/connz?state=foo", "/connz?sort=start&state=closed",
        ),
        *row(
            "009", "/connz?cid=5", "/connz?cid=7", "/connz?cid=7&state=closed",
            "/connz?cid=7&state=any&subs=1", "/connz?cid=5&offset=1", "/connz?cid=5&limit=9",
            "/connz?cid=0", "/connz?cid=-1", "/connz?cid=x", "/connz?cid=99999999999999999999",
        ),
        *row(
            "010", "/connz?acc=$G", "/connz?acc=$SYS", "/connz?acc=nope", "/connz?user=u1",
            "/connz?acc=nope&cid=5&offset=-3", "/connz?user=u1&auth=1", "/connz?user=nobody",
            "/connz?user=u1&acc=$G&state=any&cid=6", "/connz?acc=$G&state=closed",
            "/connz?filter_subject=foo", "/connz?mqtt_client=x",
        ),
        *row(
            "011", "/connz?limit=1", "/connz?limit=1&offset=1", "/connz?offset=1",
            "/connz?offset=2", "/connz?offset=-5", "/connz?offset=9223372036854775807",
            "/connz?limit=2&offset=1&state=any",
        ),
        *row(
            "013", "/connz?sort=stop", "/connz?sort=reason", "/connz?sort=stop&state=any",
            "/connz?sort=stop&state=closed", "/connz?sort=reason&state=closed",
        ),
        *row("015", "/subsz?subs=x", "/subsz?limit=x", "/subsz?offset=x&limit=x", "/subsz?subs=detail"),
        *row("015", "/subsz?acc=nope&subs=1", "/subscriptionsz?acc=nope&limit=-1&offset=-1"),
        *row("016", "/subsz?test=a..b", "/subsz?test=a.*", "/subsz?test=%3E&subs=1", "/subsz?test=.a"),
        *row("016", "/subsz?test=a%20b&acc=nope", "/subsz?test=a.%2Ab&acc=nope"),
        *row("014", "/routez", "/routez?subs=1", "/routez?subs=detail", "/routez?subs=x"),
        *row("014", "/gatewayz", "/gatewayz?accs=x&subs=y", "/gatewayz?accs=x&subs=Detail"),
        *row("014", "/gatewayz?accs=1&gw_name=a&acc_name=b", "/leafz", "/leafz?subs=detail"),
        *row("014", "/leafz?subs=1&acc=$G", "/raftz", "/raftz?acc=x&group=y", "/expvarz"),
        *row("014", "/ipqueuesz", "/ipqueuesz?all=x", "/ipqueuesz?queues=x"),
        *row("017", "/accountz?acc=nope", "/accountz?acc=%20"),
        *row("018", "/accstatz?unused=x"),
        *row("019", "/jsz", "/jsz?acc=$G&accounts=1", "/jsz?accounts=1&limit=-1&offset=-1"),
        *row("019", "/jsz?offset=9223372036854775807&limit=9223372036854775807&streams=1"),
        *row("019", "/jsz?limit=x", "/jsz?accounts=x&raft=y", "/jsz?leader-only=x&raft=y"),
        *row("019", "/jsz?raft=x&stream-leader-only=y", "/jsz?stream-leader-only=y&acc=x"),
        *row("019", "/jsz?limit=99999999999999999999", "/jsz?direct-consumers=x&config=y&offset=z"),
        *row("021", "/healthz", "/healthz?details=1", "/healthz?details=x"),
        *row("021", "/healthz?stream=S", "/healthz?consumer=C&details=true", "/healthz?account=A"),
        *row("022", "/healthz?js-enabled-only=true", "/healthz?js-enabled=1"),
        *row("022", "/healthz?js-server-only=x", "/healthz?js-meta-only=x&js-enabled-only=x"),
        *row("024", "/nope", "/varz/", "/varz/x", "/VARZ", "/healthz%2f"),
        *row("024", "//varz", "/a/../healthz?x=1&y", "/./connz"),
        *row("027", "/connz?callback=cb", "/healthz?callback=cb"),
    ],
)  # fmt: skip
def test_same_answer(pair: Pair, path: str) -> None:
    oracle, ours = (get(server, path) for server in pair)
    assert ours[:3] == oracle[:3]
    assert normal_text(tame(ours.text)) == normal_text(tame(oracle.text))


def tame(text: str) -> str:
    """What nats-server had queued for a client that it threw out depends on the moment."""
    if '"reason"' not in text:
        return text
    answer = json.loads(text)
    for connection in answer["connections"]:
        if "reason" in connection:
            connection["pending_bytes"] = 0
    return json.dumps(answer)


@pytest.mark.behaviour("MON-001", "MON-027")
@pytest.mark.parametrize("path", ["/varz", "/varz?callback=cb"])
def test_varz(pair: Pair, path: str) -> None:
    oracle, ours = (get(server, path) for server in pair)
    assert ours[:3] == oracle[:3]
    theirs, own = (normal(json.loads(reply.text)) for reply in (oracle, ours))
    for answer in (theirs, own):
        answer.pop("http_req_stats")  # its place is compared below, its values elsewhere
        assert answer.pop("subscriptions") >= 3
    assert json.dumps(own, indent=2) == json.dumps(theirs, indent=2)
    assert (own["connections"], own["total_connections"]) == (2, 4)
    assert (own["in_msgs"], own["in_bytes"], own["out_msgs"], own["out_bytes"]) == (3, 19, 3, 19)


@pytest.mark.behaviour("MON-001")
def test_varz_fields_and_their_order(pair: Pair) -> None:
    oracle, ours = (ask(server, "/varz") for server in pair)
    assert list(ours) == [*oracle, "jetstream_py_version"]
    assert {key: type(value) for key, value in oracle.items() if key != "cpu"} == {
        key: type(ours[key]) for key in oracle if key != "cpu"
    }


@pytest.mark.behaviour("MON-015")
@pytest.mark.parametrize("path", ["/subsz?acc=$G", "/subscriptionsz?acc=$G"])
def test_subscription_statistics(pair: Pair, path: str) -> None:
    """Four subscriptions are services of the server's own."""
    oracle, ours = (ask(server, path) for server in pair)
    assert list(ours) == list(oracle)
    assert {key: ours[key] for key in ("total", "offset", "limit")} == {
        "total": 0,
        "offset": 0,
        "limit": 1024,
    }
    for key in ("num_subscriptions", "num_inserts", "num_removes"):
        assert ours[key] == oracle[key]
    assert ours["num_subscriptions"] == 3 + 4
    assert oracle["num_inserts"] - oracle["num_removes"] == oracle["num_subscriptions"]
    assert (ours["max_fanout"], ours["num_cache"]) == (1, 3)
    assert 0 <= ours["cache_hit_rate"] <= 1


@pytest.mark.behaviour("MON-015")
def test_subscriptions_of_all_accounts(pair: Pair) -> None:
    """Those of the system account are the server's own, and as many as it has services."""
    ours = ask(pair.ours, "/subsz")
    parts = [ask(pair.ours, f"/subsz?acc={account}") for account in ("$G", "$SYS")]
    for key in ("num_subscriptions", "num_inserts", "num_removes"):
        assert ours[key] == sum(part[key] for part in parts)


@pytest.mark.behaviour("MON-015", "MON-016")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("subs=1", ["bar.*", "foo", "lim"]),
        ("subs=1&acc=$G", ["bar.*", "foo", "lim"]),
        ("subs=1&test=foo", ["foo"]),
        ("subs=1&test=bar.x", ["bar.*"]),
        ("subs=1&test=bar.x.y", []),
        ("subs=1&test=foo&acc=$SYS", []),
    ],
)
def test_subscription_list(pair: Pair, query: str, found: list[str]) -> None:
    oracle, ours = (listed(server, query) for server in pair)
    assert ours == oracle
    assert [each["subject"] for each in ours] == found


def listed(server: Server, query: str) -> list[dict[str, Any]]:
    """The subscriptions of clients."""
    subs: list[dict[str, Any]] = ask(server, f"/subsz?{query}").get("subscriptions_list", [])
    return sorted(
        (each for each in subs if each["cid"] >= FIRST_CLIENT), key=lambda each: each["subject"]
    )


@pytest.mark.behaviour("MON-008")
def test_closed_connections(pair: Pair) -> None:
    oracle, ours = (closed(server) for server in pair)
    assert ours == oracle
    assert [(each["name"], each["reason"]) for each in ours] == [
        ("gone", "Client Closed"),
        ("rude", "Protocol Violation"),
    ]
    assert [each["subject"] for each in ours[0]["subscriptions_list_detail"]] == ["z", "z2"]


def closed(server: Server) -> list[dict[str, Any]]:
    text = get(server, "/connz?state=closed&subs=detail").text
    connections: list[dict[str, Any]] = normal(json.loads(tame(text)))["connections"]
    return connections


@pytest.mark.behaviour("MON-025")
def test_index(pair: Pair) -> None:
    for server in pair:
        reply = get(server, "/")
        assert reply[:3] == (200, "text/html; charset=utf-8", None)
        assert "<html" in reply.text
        for page in ("varz", "connz", "subsz", "healthz"):
            assert f"/{page}" in reply.text


@pytest.mark.behaviour("MON-028")
def test_requests_are_counted(pair: Pair) -> None:
    paths = (
        "/", "/varz", "/connz", "/connz?sort=foo", "/connz?limit=x", "/connz?state=x", "/subsz",
        "/subscriptionsz", "/subsz?limit=x", "/healthz", "/healthz?details=x", "/nope",
        "/routez", "/routez?subs=x", "/gatewayz", "/gatewayz?accs=x", "/leafz", "/leafz?subs=x",
        "/accountz", "/accountz?acc=nope", "/accstatz", "/accstatz?unused=x", "/jsz", "/jsz?limit=x",
        "/stacksz", "/ipqueuesz", "/raftz", "/debug/vars", "/expvarz",
    )  # fmt: skip
    counted = []
    for server in pair:
        before = ask(server, "/varz")["http_req_stats"]
        for path in paths:
            get(server, path)
        after = ask(server, "/varz")["http_req_stats"]
        assert list(after) == sorted(after)
        counted.append({key: after[key] - before.get(key, 0) for key in after})
    theirs, own = counted
    assert own == theirs
    assert own == {
        "/": 1, "/accountz": 2, "/accstatz": 2, "/connz": 2, "/gatewayz": 2, "/healthz": 2, "/jsz": 2,
        "/leafz": 2, "/routez": 1, "/subsz": 3, "/varz": 2,
    }  # fmt: skip


# -- orders ----------------------------------------------------------------------------------------

FIELD = {
    "start": "start", "subs": "subscriptions", "msgs_to": "out_msgs", "msgs_from": "in_msgs",
    "bytes_to": "out_bytes", "bytes_from": "in_bytes", "last": "last_activity",
    "idle": "last_activity", "uptime": "start", "pending": "pending_bytes",
}  # fmt: skip
ASCENDING = {"start", "idle"}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both servers with three clients whose order differs by every measure."""
    with Servers(tmp_path_factory.mktemp("crowd")) as servers:
        both = Pair(*(servers.start(kind, flags=FLAGS) for kind in KINDS))
        clients = [client for server in both for client in gather(server)]
        yield both
        for client in clients:
            client.close()


def gather(server: Server) -> list[Any]:
    clients = [join(server, name=name) for name in "abc"]
    a, b, c = clients
    a.exchange(b"SUB to.a 1\r\n")
    b.exchange(b"SUB to.b 1\r\nSUB x 2\r\nSUB y 3\r\n")
    c.exchange(b"SUB to.c 1\r\nSUB x 2\r\n")
    a.exchange(pub(b"to.c", b"1") * 3 + pub(b"to.b", b"123456") * 2)
    b.exchange(pub(b"to.a", b"12345678901234567890"))
    c.exchange(pub(b"nobody", b"12"))
    for last in (b, c, a):
        last.exchange(b"UNSUB 99\r\n")  # counts as activity, unlike PING
    return clients


@pytest.mark.behaviour("MON-012")
@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("start", "abc"),
        ("subs", "bca"),
        ("msgs_to", "cba"),
        ("bytes_to", "abc"),
        ("bytes_from", "bac"),
        ("last", "acb"),
        ("idle", "bca"),
        ("uptime", "cba"),
    ],
)
def test_orders(crowd: Pair, sort: str, order: str) -> None:
    for server in crowd:
        connections = ask(server, f"/connz?sort={sort}")["connections"]
        assert "".join(each["name"] for each in connections) == order, server.kind
        values = [each[FIELD[sort]] for each in connections]
        assert values == sorted(values, reverse=sort not in ASCENDING)


@pytest.mark.behaviour("MON-012")
@pytest.mark.parametrize("sort", ["msgs_from", "pending"])
def test_orders_with_equals(crowd: Pair, sort: str) -> None:
    for server in crowd:
        values = [each[FIELD[sort]] for each in ask(server, f"/connz?sort={sort}")["connections"]]
        assert len(values) == 3
        assert values == sorted(values, reverse=True)


@pytest.mark.behaviour("MON-012")
def test_order_by_round_trip(crowd: Pair) -> None:
    for server in crowd:
        found = [each["rtt"] for each in ask(server, "/connz?sort=rtt")["connections"]]
        values = [seconds(text) for text in found]
        assert len(values) == 3
        assert values == sorted(values, reverse=True)


def seconds(text: str) -> float:
    for unit, factor in (("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    raise AssertionError(text)


# -- servers with settings -------------------------------------------------------------------------

SETTINGS = """
http_base_path: "/base/path"
server_name: monitored
server_tags: [a, "b:c"]
server_metadata: {k: v, a: b}
client_advertise: "1.2.3.4:999"
authorization {
  users: [{user: u1, password: p1}, {user: u2, password: p2}]
  timeout: 1.5
}
max_subscriptions: 7
max_connections: 12
max_control_line: 2048
max_payload: 4096
max_pending: 65536
ping_interval: 3s
ping_max: 5
write_deadline: 2500ms
write_timeout: retry
feature_flags { js_ack_fc_v2: true }
"""


@pytest.mark.behaviour("MON-001", "MON-005", "MON-010", "MON-026")
def test_settings_users_and_base_path(start_server: StartServer) -> None:
    both = [start_server(kind, SETTINGS, FLAGS) for kind in KINDS]
    clients = []
    for server in both:
        assert [get(server, path).status for path in ("/varz", "/", "/base/path/")] == [404] * 3
        assert get(server, "/base/path").content_type == "text/html; charset=utf-8"
        for user, password in (("u1", "p1"), ("u2", "p2")):
            clients.append(join(server, user=user, **{"pass": password}))
        leave(join(server, user="u2", **{"pass": "wrong"}))
        path = "/base/path/connz?state=closed"
        eventually(lambda server=server, path=path: ask(server, path)["total"] == 1)  # type: ignore[misc]
    for path in (
        "/connz?auth=1", "/connz?user=u1", "/connz?user=u2&auth=1&state=any",
        "/connz?state=closed&auth=1", "/connz?acc=$G&state=any&auth=1", "/healthz",
    ):  # fmt: skip
        oracle, ours = (get(server, f"/base/path{path}").text for server in both)
        assert normal_text(tame(ours)) == normal_text(tame(oracle)), path
    theirs, own = (ask(server, "/base/path/varz") for server in both)
    for answer in (theirs, own):
        assert answer["server_name"] == "monitored"
        assert (answer["host"], answer["port"]) == ("1.2.3.4", 999)
        answer["server_name"] = answer["server_id"]
        answer.pop("subscriptions")
        assert answer.pop("config_digest").startswith("sha256:")
    assert json.dumps(normal(own), indent=2) == json.dumps(normal(theirs), indent=2)
    for client in clients:
        client.close()


@pytest.mark.behaviour("MON-005")
def test_tokens_are_never_shown(start: Start) -> None:
    server = start(flags=[*FLAGS, "--auth", "t-secret"])
    with join(server, auth_token="t-secret"):
        leave(join(server, auth_token="wrong-secret"))
        eventually(lambda: ask(server, "/connz?state=closed")["total"] == 1)
        text = get(server, "/connz?auth=1&state=any").text
        assert "secret" not in text
        users = [each["authorized_user"] for each in json.loads(text)["connections"]]
        assert users == ["[REDACTED]", "[REDACTED]"]
        assert ask(server, "/connz?user=%5BREDACTED%5D")["num_connections"] == 1


@pytest.mark.behaviour("MON-021")
def test_a_lame_duck_is_not_healthy(start: Start) -> None:
    server = start(flags=FLAGS)
    with join(server):
        assert get(server, "/healthz").status == 200
        server.signal(signal.SIGUSR2)
        eventually(lambda: get(server, "/healthz").status != 200)
        reply = get(server, "/healthz")
        text = "failed to be ready for connections after 1ms: server"
        assert (reply.status, json.loads(reply.text)) == (500, {"status": "error", "error": text})
        server.kill()


def test_kinds() -> None:
    assert KINDS == (ORACLE, OURS)  # pairs are unpacked in this order
