"""JetStream in monitoring: the same streams on both servers, over HTTP and over NATS."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.monitor.compare import ask, get
from tests.monitor.system import Client, tame
from tests.support.server import KINDS, Server, Servers

pytestmark = pytest.mark.xdist_group("monitor")

CONFIG = """
server_name: monitored
jetstream {max_mem: 64MB, max_file: 128MB, store_dir: "store"}
accounts {
  A {jetstream: enabled, users: [{user: a, password: pa}]}
  B {jetstream: {max_mem: 1000000, max_file: 2000000}, users: [{user: b, password: pb}]}
  C {users: [{user: r, password: pr}]}
  $SYS {users: [{user: s, password: ps}]}
}
"""
# How things are stored is a matter of each server.
OWN = {"storage", "bytes", "compress_ok", "sync_always", "store_dir", "active", "memory"}


class Both(NamedTuple):
    oracle: Server
    ours: Server
    systems: list[Client]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Both servers with the same streams and consumers."""
    with Servers(tmp_path_factory.mktemp("jsz")) as servers:
        pair = [
            servers.start(
                kind, CONFIG.replace('"store"', f'"{servers.directory / kind}"'), ["-m", "-1"]
            )
            for kind in KINDS
        ]
        for server in pair:
            fill(server)
        systems = [Client(server, "s") for server in pair]
        yield Both(pair[0], pair[1], systems)
        for client in systems:
            client.close()


def fill(server: Server) -> None:
    a, b = Client(server, "a"), Client(server, "b")
    for client, name, more in (
        (a, "S2", {"storage": "memory", "max_bytes": 1000}),
        (a, "S1", {"description": "first"}),
        (b, "S1", {}),
    ):
        config = {"name": name, "subjects": [f"{name}.>"], "num_replicas": 1, **more}
        made = client.ask(f"$JS.API.STREAM.CREATE.{name}", json.dumps(config))
        assert "error" not in made, made
    for name in ("C1", "C2"):
        config = {"name": name, "durable_name": name, "ack_policy": "explicit", "description": "d"}
        body = json.dumps({"stream_name": "S1", "config": config})
        assert "error" not in a.ask(f"$JS.API.CONSUMER.CREATE.S1.{name}", body)
    for subject in ("S1.a", "S1.b", "S1.a"):
        a.ask(subject, "hello")
    b.ask("$JS.API.STREAM.INFO.nope")
    a.close()
    b.close()


def plain(value: Any) -> Any:
    """Without what depends on how a server stores."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key not in OWN}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def same(own: Any, theirs: Any) -> None:
    assert json.dumps(plain(tame(own)), indent=1) == json.dumps(plain(tame(theirs)), indent=1)


@pytest.mark.behaviour("MON-019", "MON-020")
@pytest.mark.parametrize(
    "query",
    [
        "", "acc=A", "acc=nope", "acc=C", "acc=$G", "accounts=1", "streams=1", "consumers=1", "config=1",
        "accounts=1&streams=1&consumers=1&config=1", "consumers=1&direct-consumers=1&raft=1", "raft=1",
        "acc=A&streams=1", "acc=B&consumers=1&config=1", "accounts=1&limit=1", "accounts=1&offset=1",
        "accounts=1&limit=1&offset=1", "accounts=1&offset=7", "accounts=1&limit=-1&offset=-1",
        "accounts=1&limit=9223372036854775807&offset=9223372036854775807", "acc=B&offset=1",
        "leader-only=1", "stream-leader-only=1&streams=1", "direct-consumers=1", "streams=1&limit=2",
    ],
)  # fmt: skip
def test_jsz(both: Both, query: str) -> None:
    theirs, own = (ask(server, f"/jsz?{query}") for server in both[:2])
    same(own, theirs)


@pytest.mark.behaviour("MON-020")
def test_what_is_inside(both: Both) -> None:
    answer = ask(both.ours, "/jsz?consumers=1&config=1")
    first = answer["account_details"][0]["stream_detail"][0]
    assert (first["name"], first["state"]["messages"]) == ("S1", 3)
    assert [each["num_pending"] for each in first["consumer_detail"]] == [3, 3]
    assert (answer["streams"], answer["consumers"], answer["messages"]) == (3, 2, 3)


@pytest.mark.behaviour("MON-021", "MON-022", "MON-023")
@pytest.mark.parametrize(
    "query",
    [
        "", "account=A", "account=nope", "account=C", "account=A&stream=S1", "account=A&stream=nope",
        "account=A&stream=S1&consumer=C1", "account=A&stream=S1&consumer=nope", "stream=S1",
        "consumer=C1", "account=A&consumer=C1", "js-server-only=1&account=nope", "details=1",
        "js-enabled-only=1&account=A&stream=nope", "js-meta-only=1&account=nope", "js-enabled=1&account=x",
        "account=nope&details=1", "account=A&stream=nope&details=1", "account=A&consumer=C&details=1",
        "account=A&stream=S1&consumer=nope&details=1", "account=B&stream=S2", "account=%22",
    ],
)  # fmt: skip
def test_health(both: Both, query: str) -> None:
    theirs, own = (get(server, f"/healthz?{query}") for server in both[:2])
    assert own == theirs


@pytest.mark.behaviour("MON-029", "MON-034")
@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ("SERVER.PING.JSZ", ""),
        ("SERVER.PING.JSZ", '{"accounts":true,"streams":true,"consumer":true,"config":true}'),
        ("SERVER.PING.JSZ", '{"consumer":true,"raft":true,"limit":1}'),
        ("SERVER.PING.HEALTHZ", '{"account":"A","stream":"nope","details":true}'),
        ("SERVER.PING.HEALTHZ", '{"account":"A","stream":"S1","consumer":"C1"}'),
        ("SERVER.PING.ACCOUNTZ", '{"account":"A"}'),
        ("SERVER.PING.ACCOUNTZ", '{"account":"C"}'),
        ("SERVER.PING.ACCOUNTZ", '{"account":"$SYS"}'),
        ("ACCOUNT.A.JSZ", ""),
        ("ACCOUNT.A.JSZ", '{"streams":true,"account":"B"}'),
        ("ACCOUNT.A.JSZ", '{"consumer":true}'),
        ("ACCOUNT.A.JSZ", '{"consumer":true,"streams":true,"config":true}'),
        ("ACCOUNT.C.JSZ", ""),
        ("ACCOUNT.$G.JSZ", ""),
        ("ACCOUNT.nope.JSZ", ""),
        ("ACCOUNT.A.INFO", ""),
    ],
)
def test_over_nats(both: Both, subject: str, body: str) -> None:
    theirs, own = (client.ask(f"$SYS.REQ.{subject}", body) for client in both.systems)
    same(own, theirs)


@pytest.mark.behaviour("MON-001", "MON-029")
def test_statistics(both: Both) -> None:
    theirs, own = (client.ask("$SYS.REQ.SERVER.PING")["statsz"] for client in both.systems)
    assert list(own) == list(theirs)
    same(own["jetstream"], theirs["jetstream"])
    theirs, own = (ask(server, "/varz")["jetstream"] for server in both[:2])
    same(own, theirs)


@pytest.mark.behaviour("MON-017", "MON-018", "MON-010")
@pytest.mark.parametrize(
    "path",
    [
        "/accountz", "/accountz?acc=A", "/accountz?acc=B", "/accountz?acc=C", "/accountz?acc=$SYS",
        "/accountz?acc=$G", "/accstatz", "/accstatz?unused=1", "/accstatz?unused=0",
        "/connz?acc=$SYS&auth=1", "/connz?acc=A&auth=1&state=closed", "/connz?user=s&auth=1",
        "/connz?acc=C&state=any",
    ],
)  # fmt: skip
def test_accounts_over_http(both: Both, path: str) -> None:
    theirs, own = (ask(server, path) for server in both[:2])
    for answer in (theirs, own):
        for part in (*answer.get("account_statz", ()), *(answer.get("connections") or ())):
            counted = {"sent", "received", "in_msgs", "out_msgs", "in_bytes", "out_bytes", "cid"}
            part |= dict.fromkeys(counted & part.keys(), 0)
    same(own, theirs)


@pytest.mark.behaviour("MON-020")
def test_copies(both: Both) -> None:
    """Where messages come from. It is the last test: nats-server counts API requests for that."""
    details = [copies(server) for server in both[:2]]
    same(details[1], details[0])
    mirror, _, sources = details[1]
    assert mirror["mirror"]["name"] == "S1"
    assert [each["name"] for each in sources["sources"]] == ["S1", "S1", "nobody"]  # sorted


def copies(server: Server) -> Any:
    """A mirror, and a stream with sources, one of which is not there; what is told of them."""
    client = Client(server, "b")
    client.ask("S1.x", "hello")
    part = {"name": "S1", "filter_subject": "S1.x"}
    moved = {"name": "S1", "subject_transforms": [{"src": "S1.y", "dest": "y"}]}
    for name, config in (
        ("Mirror", {"mirror": {"name": "S1"}}),
        ("Sources", {"sources": [part, moved, {"name": "nobody"}]}),
    ):
        body = json.dumps({"name": name, **config})
        assert "error" not in client.ask(f"$JS.API.STREAM.CREATE.{name}", body)
    client.close()
    told: Any = []
    deadline = time.monotonic() + 30
    while "stream not found" not in str(told) or sum(it["state"]["messages"] for it in told) < 3:
        assert time.monotonic() < deadline, told
        answer = ask(server, "/jsz?acc=B&streams=1&config=1")
        told = answer["account_details"][0]["stream_detail"]
    for detail in told:
        detail.get("sources", []).sort(key=lambda it: (it["name"], "filter_subject" in it))
    return sorted(told, key=lambda detail: str(detail["name"]))
