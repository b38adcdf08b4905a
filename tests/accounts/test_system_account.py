"""The system account: what the server tells there, and what other accounts may ask."""

from __future__ import annotations

import re

import pytest

from tests.accounts.support import Stage, login, scenario
from tests.support.wire import connect, pub

CONFIG = """
accounts {
  A {users: [{user: a, password: a}, {user: denied, password: denied, permissions: {publish: {deny: "no"}}}]}
  B {limits: {max_connections: 1}, users: [{user: b, password: b}]}
  SYS {users: [{user: sys, password: sys}]}
}
system_account: SYS
"""

OWN = ["USER.INFO", "SERVER.PING.CONNZ", "ACCOUNT.PING.CONNZ", "ACCOUNT.PING.STATZ"]
CLOSED = [
    "SERVER.PING", "SERVER.PING.VARZ", "SERVER.PING.STATSZ", "SERVER.PING.SUBSZ", "SERVER.PING.JSZ",
    "SERVER.PING.IDZ", "ACCOUNT.A.CONNZ", "ACCOUNT.A.INFO", "ACCOUNT.A.SUBSZ", "ACCOUNT.A.JSZ",
    "ACCOUNT.A.LEAFZ", "ACCOUNT.A.STATZ", "ACCOUNT.A.CONNS", "ACCOUNT.B.CONNZ", "ACCOUNT.PING.JSZ",
    "ACCOUNT.PING.INFO", "ACCOUNT.PING.SUBSZ", "ACCOUNT.PING.LEAFZ", "ACCOUNT.PING.CONNS",
    "SERVER.RELOAD", "SERVER.PING.RELOAD", "USER.AUTH", "CLAIMS.LIST",
]  # fmt: skip


def shape(frame: bytes) -> str:
    """The subject and the names of the keys; values are the monitor's business."""
    line, _, body = frame.decode().partition("\r\n")
    names = re.findall(r'"(\w+)":', body)
    return f"{line.split(' ')[1]} {names}"


@scenario(config=CONFIG)
@pytest.mark.parametrize("name", OWN)
def test_questions_about_oneself(stage: Stage, name: str) -> None:
    client, other = stage.enter("a"), stage.enter("b")
    other.say(b"SUB x 1\r\n")
    client.say(b"SUB inbox 1\r\n")
    client.client.send(pub(b"$SYS.REQ." + name.encode(), b"", b"inbox"))
    stage.note(name, shape(client.client.read_frame()))


@scenario(config=CONFIG)
@pytest.mark.parametrize("name", CLOSED)
def test_questions_for_the_system_account_only(stage: Stage, name: str) -> None:
    client = stage.enter("a")
    client.say(b"SUB inbox 1\r\n" + pub(b"$SYS.REQ." + name.encode(), b"", b"inbox"))


@scenario(config=CONFIG)
def test_system_subjects_of_a_normal_account(stage: Stage) -> None:
    """In another account they are subjects like all others."""
    one, two = stage.enter("a", "one"), stage.enter("a", "two")
    one.say(b"SUB $SYS.> 1\r\nSUB $SYS.ACCOUNT.A.CONNECT 2\r\n")
    two.say(pub(b"$SYS.ACCOUNT.A.CONNECT", b"fake") + pub(b"$SYS.x", b"y"))
    one.hear(any_order=True)
    stage.enter("b")
    one.hear()


@scenario(config=CONFIG, own=True)
def test_events_of_a_connection(stage: Stage) -> None:
    watcher = stage.enter("sys")
    watcher.say(b"SUB $SYS.ACCOUNT.A.CONNECT 1\r\nSUB $SYS.ACCOUNT.A.DISCONNECT 2\r\n")
    client = stage.enter("denied", lang="python", version="1.0")
    watcher.wait()
    client.say(b"SUB x 1\r\n" + pub(b"x", b"12345") + pub(b"no", b"1"))
    client.leave()
    watcher.wait()
    named = stage.connect("named", login("a", name="my name"))
    watcher.wait()
    named.say(b"FOO\r\n")
    watcher.wait()


@scenario(config=CONFIG, own=True)
def test_events_of_an_account(stage: Stage) -> None:
    watcher = stage.enter("sys")
    watcher.say(b"SUB $SYS.SERVER.ACCOUNT.A.CONNS 1\r\nSUB $SYS.ACCOUNT.A.SERVER.CONNS 2\r\n")
    client = stage.enter("a")
    watcher.wait(2)
    client.say(b"SUB x 1\r\n" + pub(b"x", b"12345"))
    client.leave()
    watcher.wait(2)


@scenario(config=CONFIG, own=True)
@pytest.mark.parametrize(
    "opening",
    [
        connect(),
        connect(user="a", **{"pass": "x"}),
        connect(user="z", **{"pass": "x"}, name="n", lang="l"),
    ],
)
def test_events_of_a_refused_login(stage: Stage, opening: bytes) -> None:
    watcher = stage.enter("sys")
    watcher.say(b"SUB $SYS.SERVER.*.CLIENT.AUTH.ERR 1\r\nSUB $SYS.ACCOUNT.$G.DISCONNECT 2\r\n")
    stage.connect("refused", opening)
    watcher.wait(2)


@scenario("AUTH-041", config=CONFIG, own=True)
def test_events_of_a_full_account(stage: Stage) -> None:
    watcher = stage.enter("sys")
    stage.enter("b", "first")
    watcher.say(b"SUB $SYS.ACCOUNT.B.DISCONNECT 1\r\n")
    stage.enter("b", "second")
    watcher.wait()


@scenario(config=CONFIG, own=True)
def test_events_of_another_account_after_a_second_connect(stage: Stage) -> None:
    watcher = stage.enter("sys")
    watcher.say(b"SUB $SYS.ACCOUNT.A.* 1\r\nSUB $SYS.ACCOUNT.B.* 2\r\n")
    client = stage.enter("a")
    watcher.wait()
    client.say(connect(user="b", **{"pass": "b"}))
    client.leave()
    watcher.wait(2)


@scenario(config=CONFIG, own=True)
def test_empty_reply_in_the_words_of_the_server(stage: Stage) -> None:
    """What the server itself says in the system account has a reply subject, an empty one."""
    watcher = stage.enter("sys")
    watcher.say(b"SUB $SYS.ACCOUNT.A.CONNECT 1\r\nSUB inbox 2\r\n")
    stage.enter("a")
    stage.note("event", watcher.client.read_frame().decode().split(" ")[:-1])
    watcher.client.send(pub(b"$SYS.REQ.SERVER.PING.IDZ", b"", b"inbox"))
    stage.note("answer", watcher.client.read_frame().decode().split(" ")[:-1])
