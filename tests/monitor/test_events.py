"""Events of the system account: both servers tell the same when the same happens."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.monitor.compare import leave
from tests.monitor.system import CONFIG, Client, tame, told
from tests.support.raw import RawClient
from tests.support.server import Server, Servers, Start
from tests.support.wire import connect, pub

pytestmark = pytest.mark.xdist_group("monitor")
KINDS_OF_EVENTS = ("$SYS.ACCOUNT.>", "$SYS.SERVER.>")


class Listener:
    """A client of the system account that hears everything."""

    def __init__(self, server: Server, *subjects: str) -> None:
        self.client = Client(server, "s")
        # What nats-server tells of this login waits in the queue in which its answers wait, too.
        self.client.ask("$SYS.REQ.SERVER.PING.IDZ")
        for i, subject in enumerate(subjects or KINDS_OF_EVENTS):
            self.client.raw.exchange(f"SUB {subject} {i}\r\n".encode())

    def hear(self, count: int) -> list[tuple[str, Any]]:
        """The next so many events, without the statistics that come by themselves."""
        events: list[tuple[str, Any]] = []
        while len(events) < count:
            subject, event = told(self.client.next_message())
            if not subject.endswith(".STATSZ") and not subject.startswith("_INBOX."):
                events.append((subject.replace(self.client.server_id, "ID"), event))
        return events

    def close(self) -> None:
        self.client.close()


@pytest.fixture
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    with Servers(tmp_path_factory.mktemp("events")) as servers:
        yield [servers.start(kind, CONFIG) for kind in ("nats-server", "jetstream-py")]


Play = Callable[[Server], None]


def compare(pair: list[Server], play: Play, count: int) -> list[tuple[str, Any]]:
    """What is told while a scene is played, equal on both; ours is returned."""
    heard = []
    for server in pair:
        listener = Listener(server)
        play(server)
        events = listener.hear(count)
        first = listener.client.cid
        heard.append([(subject, renumber(tame(event), first)) for subject, event in events])
        listener.close()
    # nats-server tells of different things from different threads.
    theirs, own = (sorted(events, key=lambda told: told[0]) for events in heard)
    assert own == theirs
    assert [list(event) for _, event in own] == [list(event) for _, event in theirs]
    return heard[1]


def renumber(event: Any, first: int) -> Any:
    if "client" in event:  # nats-server gives ids to clients of its own meanwhile
        assert event["client"]["id"] > first
        event["client"]["id"] = 0
    if event.get("acc") == "$SYS":  # it has heard of itself
        event["sent"] = event["received"] = {}
    return event


def come_and_go(server: Server) -> None:
    client = Client(server, "a", name="visitor", lang="python", version="1.0")
    client.raw.exchange(b"SUB foo 1\r\n" + pub(b"foo", b"abc") + pub(b"bar", b"x"))
    leave(client.raw)


@pytest.mark.behaviour("MON-031")
def test_a_client_comes_and_goes(pair: list[Server]) -> None:
    events = compare(pair, come_and_go, 6)
    assert [subject for subject, _ in events] == [
        "$SYS.SERVER.ACCOUNT.A.CONNS",
        "$SYS.ACCOUNT.A.SERVER.CONNS",
        "$SYS.ACCOUNT.A.CONNECT",
        "$SYS.SERVER.ACCOUNT.A.CONNS",
        "$SYS.ACCOUNT.A.SERVER.CONNS",
        "$SYS.ACCOUNT.A.DISCONNECT",
    ]
    assert (events[0][1]["conns"], events[3][1]["conns"]) == (1, 0)
    assert events[-1][1]["sent"] == {"msgs": 2, "bytes": 4}
    assert events[-1][1]["reason"] == "Client Closed"


@pytest.mark.behaviour("MON-031")
def test_a_client_of_the_system_account(pair: list[Server]) -> None:
    def play(server: Server) -> None:
        leave(Client(server, "s", name="second").raw)

    events = compare(pair, play, 6)
    assert events[2][0] == "$SYS.ACCOUNT.$SYS.CONNECT"


CREDENTIALS: list[dict[str, object]] = [
    {"user": "a", "pass": "wrong-secret"},
    {"user": "nobody", "pass": "wrong-secret"},
    {"auth_token": "token-secret"},
    {"nkey": "UABC", "sig": "c2VjcmV0"},
    {"jwt": "x.y.z-secret"},
    {},
]


@pytest.mark.behaviour("MON-032")
@pytest.mark.parametrize("given", CREDENTIALS, ids=lambda given: "-".join(given) or "none")
def test_a_login_fails(pair: list[Server], given: dict[str, object]) -> None:
    def play(server: Server) -> None:
        with server.client(connect(name="stranger", lang="python", **given)) as client:
            client.read_all()

    events = compare(pair, play, 2)
    assert [subject for subject, _ in events] == [
        "$SYS.SERVER.ID.CLIENT.AUTH.ERR",
        "$SYS.ACCOUNT.$G.DISCONNECT",
    ]
    assert "secret" not in repr(events)


@pytest.mark.behaviour("MON-032")
def test_who_does_not_even_try(pair: list[Server]) -> None:
    def play(server: Server) -> None:
        with server.client(b"PING\r\n") as client:
            client.read_all()

    compare(pair, play, 2)


@pytest.mark.behaviour("MON-031")
def test_who_leaves_before_anything_was_said(pair: list[Server]) -> None:
    def play(server: Server) -> None:
        leave(server.client())

    assert compare(pair, play, 1)[0][0] == "$SYS.ACCOUNT.$G.DISCONNECT"


GLOBAL = """
accounts {$SYS {users: [{user: s, password: ps}]}}
authorization {users: [{user: a, password: pa}]}
"""


@pytest.mark.behaviour("MON-032")
def test_the_account_hears_of_failed_logins_too(start: Start) -> None:
    server = start(GLOBAL)
    member = Client(server, "a")
    member.raw.exchange(b"SUB $SYS.ACCOUNT.CLIENT.AUTH.ERR 7\r\n")
    with server.client(connect(user="x", **{"pass": "secret"})) as stranger:
        stranger.read_all()
    subject, event = told(member.next_message())
    assert subject == "$SYS.ACCOUNT.CLIENT.AUTH.ERR"
    assert (event["client"]["user"], event["reason"]) == ("x", "Authentication Failure")
    member.close()


# -- deeds -----------------------------------------------------------------------------------------


def ask_about(server: Server, verb: str, victim: Client) -> Any:
    system = Client(server, "s")
    answer = system.ask(f"$SYS.REQ.SERVER.<id>.{verb}", f'{{"cid":{victim.cid}}}')
    system.close()
    return answer


@pytest.mark.behaviour("MON-036")
def test_kick(start: Start) -> None:
    server = start(CONFIG)
    listener = Listener(server, "$SYS.ACCOUNT.A.DISCONNECT")
    victim = Client(server, "a")
    answer = ask_about(server, "KICK", victim)
    assert list(answer) == ["server"]
    assert victim.raw.read_all() == b""
    assert listener.hear(1)[0][1]["reason"] == "Kicked"
    listener.close()


@pytest.mark.behaviour("MON-036")
def test_send_away(pair: list[Server]) -> None:
    infos = []
    for server in pair:
        victim = Client(server, "a")
        assert list(ask_about(server, "LDM", victim)) == ["server"]
        frame = victim.raw.read_frame()
        assert frame.startswith(b"INFO")
        infos.append(tame(info_of(frame)))
        assert victim.raw.exchange() == b""  # it may stay
        victim.close()
    assert infos[0]["ldm"] is True
    assert list(infos[1]) == list(infos[0])


def info_of(frame: bytes) -> dict[str, Any]:
    client = RawClient.__new__(RawClient)
    client.buffer = bytearray(frame)
    client.timeout = 1.0
    return client.read_info()


@pytest.mark.behaviour("MON-036")
@pytest.mark.parametrize("verb", ["KICK", "LDM"])
@pytest.mark.parametrize(
    "body", ['{"cid":99999}', "{}", '{"name":"x"}', "{bad", "[]", "", '{"cid":-1}', '{"cid":"x"}']
)
def test_nobody_to_kick(start: Start, verb: str, body: str) -> None:
    server = start(CONFIG)
    system = Client(server, "s")
    answer = system.ask(f"$SYS.REQ.SERVER.<id>.{verb}", body, wait=False)
    if body in ('{"cid":99999}', "{}", '{"name":"x"}'):
        kind = "client or leafnode" if verb == "KICK" else "client"
        assert answer["error"] == {"code": 500, "description": f"no such {kind} id"}
    else:
        assert answer is None
    system.close()


@pytest.mark.behaviour("MON-035")
def test_reload(start: Start) -> None:
    server = start(CONFIG)
    system = Client(server, "s")
    changed = server.config_file.read_text().replace("password: pb", "password: changed")
    server.config_file.write_text(changed)
    member = Client(server, "b")
    assert list(system.ask("$SYS.REQ.SERVER.<id>.RELOAD")) == ["server"]
    assert b"Authorization Violation" in member.raw.read_all()
    assert "data" in system.ask("$SYS.REQ.SERVER.PING.CONNZ")  # services are still there
    system.close()


@pytest.mark.behaviour("MON-035")
def test_reload_of_a_broken_file(start: Start) -> None:
    server = start(CONFIG)
    system = Client(server, "s")
    server.config_file.write_text(server.config_file.read_text() + "\nunknown_key: 1\n")
    error = system.ask("$SYS.REQ.SERVER.<id>.RELOAD")["error"]
    assert error["code"] == 500
    assert "unknown_key" in error["description"]
    system.close()


# -- the server ------------------------------------------------------------------------------------


@pytest.mark.behaviour("MON-031")
def test_the_end_is_told(pair: list[Server]) -> None:
    told_by = []
    for server in pair:
        listener = Listener(server, "$SYS.SERVER.*.SHUTDOWN")
        server.signal(signal.SIGINT)
        told_by.append(tame(listener.hear(1)[0][1]))
        listener.close()
    assert told_by[1] == told_by[0]


@pytest.mark.behaviour("MON-031")
def test_lame_duck_is_told(pair: list[Server]) -> None:
    told_by = []
    for server in pair:
        listener = Listener(server, "$SYS.SERVER.*.LAMEDUCK")
        server.signal(signal.SIGUSR2)
        told_by.append(tame(listener.hear(1)[0][1]))
        listener.close()
        server.kill()
    assert told_by[1] == told_by[0]


@pytest.mark.behaviour("MON-031")
def test_statistics_come_by_themselves(start: Start) -> None:
    server = start(CONFIG)
    client = Client(server, "s")
    client.raw.exchange(b"SUB $SYS.SERVER.*.STATSZ 1\r\n")
    subject, event = told(client.next_message())
    assert subject == f"$SYS.SERVER.{client.server_id}.STATSZ"
    assert event["statsz"]["connections"] == 1
    client.close()
