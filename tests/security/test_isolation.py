"""Nothing of one account is reachable from another.

Two accounts with the same names for everything: streams, consumers, buckets, subjects, inboxes. Everything
of B says VICTIM. A then tries each way there is, and whatever any client of A hears must not say it; and
B's state must be what it was.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py.engine.naming import short_hash
from tests.monitor.test_view_server import ask as view
from tests.monitor.test_view_server import basic
from tests.support.raw import RawClient
from tests.support.server import OURS, Server, Servers
from tests.support.wire import connect, frames, hpub, pub

VICTIM = b"VICTIM"
SHOWN = b64encode(VICTIM).decode()[:8]  # as JSON has payloads
CONSUMER = {"ack_policy": "explicit", "ack_wait": 60 * 10**9}


def config(store: Path) -> str:
    def account(name: str) -> str:
        return f"{name} {{ jetstream: enabled, users: [{{user: {name}, password: {name}}}] }}"

    return f"""
    jetstream {{ store_dir: "{store}" }}
    accounts {{ {account("A")}
      {account("B")}
      SYS {{ users: [{{user: SYS, password: SYS}}] }}
    }}
    system_account: SYS
    """


PUSH = {"name": "p2", "deliver_subject": "out.push"}


class Tenant:
    """A client of an account. Everything it ever hears is kept."""

    def __init__(self, server: Server, name: str) -> None:
        self.name = name
        self.client: RawClient = server.client(
            connect(user=name, headers=True, no_responders=True, echo=False, **{"pass": name})
        )
        self.heard: list[bytes] = []
        self.say(b"SUB _INBOX.> 1\r\nSUB > 2\r\nSUB > group 3\r\n")

    def say(self, data: bytes) -> list[bytes]:
        new = list(frames(self.client.exchange(data)))
        self.heard += new
        return new

    def ask(self, subject: str, body: object = b"") -> list[bytes]:
        """What arrives at the inbox by the time the server has answered what follows, too."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.client.send(
            pub(subject.encode(), text, b"_INBOX.q") + pub(b"$JS.API.INFO", b"", b"_INBOX.end")
        )
        return self.until(b"MSG _INBOX.end 1 ")

    def until(self, mark: bytes) -> list[bytes]:
        new = [self.client.read_frame()]
        while not new[-1].startswith(mark):
            new.append(self.client.read_frame())
        self.heard += new
        return new

    def ok(self, verb: str, body: object = b"") -> dict[str, Any]:
        for frame in self.ask(f"$JS.API.{verb}", body):
            if frame.startswith(b"MSG _INBOX.q 1 "):
                answer = json.loads(frame.partition(b"\r\n")[2])
                assert "error" not in answer, (verb, answer)
                assert isinstance(answer, dict)
                return answer
        raise AssertionError(verb)


def settle(tenant: Tenant, server: Server, word: bytes) -> str:
    """Fill an account; the reply subject of an unacknowledged message."""
    stream = {"name": "S", "subjects": ["s.>"], "allow_direct": True,
              "republish": {"src": "s.>", "dest": "re.>"}}  # fmt: skip
    tenant.ok("STREAM.CREATE.S", stream)
    bucket = {"name": "KV_conf", "subjects": ["$KV.conf.>"], "max_msgs_per_subject": 1,
              "allow_direct": True, "allow_rollup_hdrs": True}  # fmt: skip
    tenant.ok("STREAM.CREATE.KV_conf", bucket)
    objects = {"name": "OBJ_o", "subjects": ["$O.o.C.>", "$O.o.M.>"], "allow_direct": True}
    tenant.ok("STREAM.CREATE.OBJ_o", objects)
    pull = CONSUMER | {"durable_name": "pull", "name": "pull"}
    push = CONSUMER | {"durable_name": "push", "name": "push", "deliver_subject": "out.push"}
    tenant.ok("CONSUMER.CREATE.S.pull", {"stream_name": "S", "config": pull})
    tenant.ok("CONSUMER.CREATE.S.push", {"stream_name": "S", "config": push})
    for subject in (b"s.1", b"s.2", b"$KV.conf.k", b"$O.o.C.x", b"$O.o.M.x"):
        tenant.say(hpub(subject, b"NATS/1.0\r\nWho: %b\r\n\r\n" % word, word))
    got = tenant.ask("$JS.API.CONSUMER.MSG.NEXT.S.pull", b'{"batch":1,"no_wait":true}')
    lines = [frame.split(b"\r\n")[0].split(b" ") for frame in got]
    return next(line[3].decode() for line in lines if line[3:4] and line[3].startswith(b"$JS.ACK."))


def state(tenant: Tenant) -> dict[str, Any]:
    """Everything that somebody else could have changed."""
    found: dict[str, Any] = {
        name: tenant.ok(f"STREAM.INFO.{name}")["state"] for name in ("S", "KV_conf", "OBJ_o")
    }
    for name in ("pull", "push"):
        info = tenant.ok(f"CONSUMER.INFO.S.{name}")
        found[name] = {key: info[key] for key in ("delivered", "ack_floor", "num_ack_pending",
                                                  "num_pending", "num_waiting")}  # fmt: skip
    return found


class House:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.a, self.b = Tenant(server, "A"), Tenant(server, "B")
        self.ack_a = settle(self.a, server, b"MINE")
        self.ack_b = settle(self.b, server, VICTIM)
        self.a.heard.clear()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    directory = tmp_path_factory.mktemp("isolation")
    with Servers(directory) as servers:
        yield House(servers.start(OURS, config(directory / "store"), ["-m", "-1"]))


def ways(house: House) -> Iterator[tuple[str, object]]:
    """Subjects that A publishes to, with a body."""
    for verb, body in (
        ("STREAM.INFO.S", b""), ("STREAM.NAMES", b""), ("STREAM.LIST", b""),
        ("STREAM.MSG.GET.S", b'{"seq":1}'), ("STREAM.MSG.GET.S", b'{"last_by_subj":"s.2"}'),
        ("DIRECT.GET.S", b'{"seq":2}'), ("DIRECT.GET.S", b'{"batch":9,"seq":1}'),
        ("DIRECT.GET.S.s.1", b""), ("DIRECT.GET.KV_conf.$KV.conf.k", b""),
        ("DIRECT.GET.OBJ_o", b'{"last_by_subj":"$O.o.M.x"}'),
        ("DIRECT.GET.S", b'{"multi_last":["s.>"]}'),
        ("CONSUMER.MSG.NEXT.S.pull", b'{"batch":9,"no_wait":true}'),
        ("CONSUMER.INFO.S.pull", b""), ("CONSUMER.NAMES.S", b""), ("CONSUMER.LIST.S", b""),
        ("STREAM.SNAPSHOT.S", b'{"deliver_subject":"_INBOX.snap"}'),
        ("STREAM.CREATE.M", {"name": "M", "mirror": {"name": "S", "external": {"api": "$JS.B.API"}}}),
        ("STREAM.CREATE.N", {"name": "N", "sources": [{"name": "S", "external": {"api": "$JS.API"}}]}),
        ("STREAM.CREATE.R", {"name": "R", "subjects": ["r"], "republish": {"src": "r", "dest": "s.3"}}),
        ("STREAM.RESTORE.S", b"{}"), ("STREAM.PURGE.S", b""), ("CONSUMER.PAUSE.S.pull", b"{}"),
        ("STREAM.MSG.DELETE.S", b'{"seq":1}'), ("ACCOUNT.PURGE.B", b""), ("INFO", b""),
        ("CONSUMER.CREATE.S.p2", {"stream_name": "S", "config": PUSH}),
    ):  # fmt: skip
        yield f"$JS.API.{verb}", body
        yield f"$JS.B.API.{verb}", body
        yield f"$JS.{short_hash('B')}.API.{verb}", body
    rest = house.ack_b.removeprefix("$JS.ACK.")
    for word in (b"+ACK", b"-NAK", b"+TERM", b"+NXT", b"+WPI", b'+NXT {"batch":9}'):
        yield house.ack_b, word
        yield f"$JS.ACK._.{short_hash('B')}.{rest}", word
    for subject in ("s.1", "$KV.conf.k", "$O.o.C.x", "out.push", "re.s.1", "_INBOX.q", "_R_.x.y",
                    "$JS.EVENT.ADVISORY.x", "$JS.FC.S.push.x"):  # fmt: skip
        yield subject, b"from A"
    for name in ("INFO", "CONNZ", "SUBSZ", "JSZ", "LEAFZ", "STATZ", "CONNS", "CLAIMS.LOOKUP"):
        yield f"$SYS.REQ.ACCOUNT.B.{name}", b"{}"
        yield f"$SYS.REQ.ACCOUNT.PING.{name}", b'{"account":"B","acc":"B","name":"B"}'
    for name in ("CONNZ", "SUBSZ", "JSZ", "VARZ", "ACCOUNTZ", "STATSZ", "HEALTHZ"):
        body = b'{"auth":true,"subscriptions":true,"acc":"B","account":"B","accounts":true}'
        yield f"$SYS.REQ.SERVER.PING.{name}", body
        yield f"$SYS.REQ.SERVER.{house.server.client().info['server_id']}.{name}", body
    yield "$SYS.REQ.SERVER.PING.KICK", b'{"cid":5}'
    yield "$SYS.REQ.USER.INFO", b'{"account":"B","user":"B"}'


def test_nothing_crosses(house: House) -> None:
    before = state(house.b)
    house.b.heard.clear()
    for subject, body in ways(house):
        house.a.ask(subject, body)
    assert len(house.a.heard) > 150
    for frame in house.a.heard:
        assert VICTIM not in frame
        assert SHOWN.encode() not in frame
        assert b'"B"' not in frame, frame
    house.b.say(b"")
    assert state(house.b) == before
    assert not [frame for frame in house.b.heard if b"from A" in frame or b"MINE" in frame]


def test_live_queue_and_push(house: House) -> None:
    """What B does while A listens to everything that there is."""
    guess = house.b.client.info["client_id"]
    subjects = (
        "_R_.>",
        "$JS.>",
        "$SYS.>",
        "out.push",
        "out.push group",
        "$JS.EVENT.>",
        "*.*",
        "re.>",
    )
    for sid, subject in enumerate((*subjects, f"_INBOX.{guess}.*"), 10):
        house.a.say(f"SUB {subject} {sid}\r\n".encode())
    house.a.heard.clear()
    house.b.say(b"SUB out.push 20\r\nUNSUB 2\r\nUNSUB 3\r\n")
    for _ in range(20):
        house.b.say(pub(b"s.1", VICTIM) + pub(b"q.1", VICTIM, b"_INBOX.%d.1" % guess))
    house.b.ok("CONSUMER.DELETE.S.pull")
    house.b.ok("STREAM.DELETE.OBJ_o")
    assert any(b"out.push" in frame or b" 20 " in frame[:60] for frame in house.b.heard)
    house.a.ask("$JS.API.INFO")
    heard = [frame for frame in house.a.heard if b"account_info_response" not in frame]
    assert not [
        frame for frame in heard if VICTIM in frame or b'"B"' in frame or b"MSG s." in frame[:6]
    ]


def test_pages_of_the_monitoring_port(house: House) -> None:
    own, other = "/view/streams/A/S/messages", "/view/streams/B/S/messages"
    assert view(house.server, basic("A:A"), own)["messages"]
    for path in (other, f"{other}/1", "/view/streams/B/KV_conf/keys", "/view/streams/B/KV_conf/messages",
                 "/view/streams/A/../B/S/messages", "/view/streams/%42/S/messages"):  # fmt: skip
        assert view(house.server, basic("A:A"), path) in (403, 404), path
    for name in ("", basic("A:B"), basic("B:A"), basic(":"), "Bearer B"):
        assert view(house.server, name, other) == 401
