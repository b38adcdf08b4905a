"""Names and numbers from the wire: the subject decides, nothing becomes a path, no number overflows, the
server's own headers are the server's. Everything is compared with nats-server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.accounts.support import Actor, Stage, scenario
from tests.accounts.test_system_account import CONFIG as SYSTEM
from tests.monitor.compare import get
from tests.support.server import OURS, StartServer
from tests.support.wire import connect, hpub, pub

CONFIG = """
jetstream: {store_dir: "js", max_mem: 10MB, max_file: 10MB}
accounts { A { jetstream: enabled, users: [{user: a, password: a}] } }
"""
HUGE = [2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64, -1, -(2**63), -(2**64), 1e300, 0.5]
PATHS = ["..", ".", "../x", "../../etc/passwd", "/etc", "a/b", "a\\b", "a\0b", "a\r\nb", "a b", "a\tb",
         "C:", "~", "$(id)", "a" * 255, "a" * 256, "\u00e9", "\u202e", "nul"]  # fmt: skip


def ask(client: Actor, verb: str, body: object) -> None:
    """One request to the API, and its one answer."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    client.client.send(pub(b"$JS.API." + verb.encode(), text, b"_INBOX.1"))
    client.lines.append(f"> {verb} {text!r}")
    client.wait(1)


def enter(stage: Stage) -> Actor:
    client = stage.enter("a")
    client.say(b"SUB _INBOX.> 1\r\n")
    return client


def stream(name: str, **config: object) -> dict[str, object]:
    return {"name": name, "subjects": [f"{name}.>"], "storage": "memory", **config}


@scenario(config=CONFIG, own=True)
def test_the_name_in_the_subject_is_the_name(stage: Stage) -> None:
    client = enter(stage)
    ask(client, "STREAM.CREATE.S", stream("T"))
    ask(client, "STREAM.CREATE.S", {"subjects": ["S.>"], "storage": "memory"})
    for name in "ST":
        ask(client, f"STREAM.CREATE.{name}", stream(name))
    ask(client, "STREAM.UPDATE.S", stream("T", max_msgs=1))
    consumer = {"durable_name": "C", "name": "C", "ack_policy": "explicit"}
    for verb in ("CONSUMER.DURABLE.CREATE.S.C", "CONSUMER.CREATE.S.C", "CONSUMER.CREATE.S"):
        ask(client, verb, {"stream_name": "T", "config": consumer})
    for verb in ("CONSUMER.DURABLE.CREATE.S.D", "CONSUMER.CREATE.S.D"):
        ask(client, verb, {"stream_name": "S", "config": consumer})
    wanted = consumer | {"filter_subject": "S.b"}
    ask(client, "CONSUMER.CREATE.S.C.S.a", {"stream_name": "S", "config": wanted})
    ask(client, "CONSUMER.CREATE.S.C.S.a", {"stream_name": "S", "config": consumer})
    for verb in ("STREAM.INFO.S", "CONSUMER.NAMES.S", "CONSUMER.NAMES.T"):
        ask(client, verb, {})


@scenario(config=CONFIG, own=True)
def test_numbers(stage: Stage) -> None:
    client = enter(stage)
    ask(client, "STREAM.CREATE.S", stream("S"))
    ask(client, "CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"name": "C"}})
    client.say(pub(b"S.a", b"x"))
    for number in HUGE:
        for verb in ("STREAM.NAMES", "STREAM.LIST", "CONSUMER.NAMES.S", "CONSUMER.LIST.S"):
            ask(client, verb, {"offset": number})
        ask(client, "STREAM.INFO.S", {"subjects_filter": ">", "offset": number})
        ask(client, "STREAM.MSG.GET.S", {"seq": number})
        ask(client, "STREAM.MSG.DELETE.S", {"seq": number})


@scenario(config=CONFIG, own=True)
def test_purges(stage: Stage) -> None:
    """The numbers of a purge: each with a stream that has something to lose."""
    client = enter(stage)
    for number in HUGE:
        for key in ("seq", "keep"):
            ask(client, "STREAM.CREATE.S", stream("S"))
            client.client.send(pub(b"S.a", b"x", b"_INBOX.1") * 3)
            client.wait(3)
            ask(client, "STREAM.PURGE.S", {key: number})
            ask(client, "STREAM.DELETE.S", {})


def test_numbers_for_monitoring(start_server: StartServer) -> None:
    """Every number has an answer, and none is a failure of ours."""
    server = start_server(OURS, SYSTEM, ["-m", "-1"])
    client = server.client(connect(user="a", **{"pass": "a"}))
    client.exchange(b"SUB x 1\r\n")
    system = server.client(connect(user="sys", **{"pass": "sys"}))
    system.exchange(b"SUB in 1\r\n")
    for number in (2**31, 2**63 - 1, 2**63, -1, -(2**63), 2**64):
        for path in (
            "/connz",
            "/subsz?subs=1",
            "/jsz?streams=1",
            "/connz?state=closed",
            "/connz?cid=1",
        ):
            for key in ("offset", "limit"):
                mark = "&" if "?" in path else "?"
                reply = get(server, f"{path}{mark}{key}={number}")
                assert reply.status in (200, 400), (path, key, reply)
        for name in ("CONNZ", "SUBSZ", "JSZ", "ACCOUNTZ"):
            for key in ("offset", "limit"):
                body = json.dumps({key: number, "subscriptions": True}).encode()
                system.send(pub(f"$SYS.REQ.SERVER.PING.{name}".encode(), body, b"in"))
                assert b'"server":' in system.read_frame()
    assert "failed" not in server.log()


@scenario(config=CONFIG, own=True)
@pytest.mark.parametrize("kind_of", ["stream", "consumer"])
def test_names_that_look_like_paths(stage: Stage, kind_of: str) -> None:
    client = enter(stage)
    ask(client, "STREAM.CREATE.S", stream("S"))
    for name in PATHS:
        spoken = "".join(c for c in name if c not in " \t\r\n\0") or "x"
        if kind_of == "stream":
            ask(client, f"STREAM.CREATE.{spoken}", {"name": name, "storage": "file"})
        else:
            config = {"durable_name": name, "ack_policy": "explicit"}
            verb = f"CONSUMER.DURABLE.CREATE.S.{spoken}"
            ask(client, verb, {"stream_name": "S", "config": config})
    ask(client, "STREAM.NAMES", {})


def test_the_store_has_no_names(start_server: StartServer, tmp_path: Path) -> None:
    """Whatever streams, consumers, subjects and accounts are called, the files are the same."""
    store = tmp_path / "store"
    config = f"""
    jetstream: {{store_dir: "{store}"}}
    accounts {{ "../evil/acc": {{ jetstream: enabled, users: [{{user: a, password: a}}] }} }}
    """
    server = start_server(OURS, config)
    client = server.client(connect(user="a", **{"pass": "a"}, headers=True) + b"SUB _INBOX.> 1\r\n")
    made = 0
    for name in ("evilname", "/evil", "evil/name", "evil\\name"):
        body = json.dumps({"name": name, "subjects": [f"s.{made}"]}).encode()
        client.send(pub(b"$JS.API.STREAM.CREATE." + name.encode(), body, b"_INBOX.1"))
        made += b'"error"' not in client.read_frame()
    assert made >= 1
    client.send(pub(b"s.0", b"x", b"_INBOX.1"))
    assert b'"seq":1' in client.read_frame()
    found = sorted(path.name for path in tmp_path.rglob("*"))
    assert found
    assert not [name for name in found if "evil" in name]
    assert not list(tmp_path.parent.glob("*evil*"))


HEADERS = [
    "Nats-Stream: OTHER", "Nats-Subject: other", "Nats-Sequence: 77", "Nats-Time-Stamp: never",
    "Nats-Last-Sequence: 5", "Nats-Num-Pending: 9",
    'Nats-Request-Info: {"acc":"SYS"}', "Nats-Marker-Reason: Purge", "Nats-Pin-Id: x", "Nats-Msg-Size: 9",
    "Nats-Consumer-Stalled: x", "Status: 100", "Description: FlowControl Request",
]  # fmt: skip


@scenario(config=CONFIG, own=True)
def test_headers_of_the_server(stage: Stage) -> None:
    """A client's own are stored or refused as nats-server does, and do not replace the server's."""
    client = enter(stage)
    republish = {"src": "S.>", "dest": "re.>"}
    ask(client, "STREAM.CREATE.S", stream("S", allow_direct=True, republish=republish))
    client.say(b"SUB re.> 2\r\n")
    for seq, name in enumerate(HEADERS, 1):
        block = f"NATS/1.0\r\n{name}\r\n\r\n".encode()
        client.client.send(hpub(b"S.a", block, b"x", b"_INBOX.ack"))
        client.wait(2)
        client.client.send(pub(b"$JS.API.DIRECT.GET.S", b'{"seq":%d}' % seq, b"_INBOX.1"))
        client.wait(1)
        ask(client, "STREAM.MSG.GET.S", {"seq": seq})
    source = b"NATS/1.0\r\nNats-Stream-Source: OTHER 1 > > x\r\n\r\n"
    client.client.send(hpub(b"S.a", source, b"x", b"_INBOX.ack"))
    client.wait(1)
