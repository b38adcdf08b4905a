"""Limits of an account: connections, subscriptions, payload."""

from __future__ import annotations

import pytest

from tests.accounts.support import Stage, login, scenario
from tests.support.wire import connect, hpub, pub

CONFIG = """
max_payload: 1000
accounts {
  C { limits: {max_connections: 2}, users: [{user: c, password: c}, {user: c2, password: c2}] }
  S { limits: {max_subscriptions: 2}, users: [{user: s, password: s}] }
  P { limits: {max_payload: 10}, users: [{user: p, password: p}] }
  Q { limits: {max_payload: 5000}, users: [{user: q, password: q}] }
  N { limits: {max_connections: -1, max_subscriptions: -1, max_payload: -1}, users: [{user: n, password: n}] }
  Z { limits: {max_connections: 0}, users: [{user: z, password: z}] }
  D { limits: {max_subs: 1, max_conn: 1, max_pay: 7}, users: [{user: d, password: d}] }
}
"""


@scenario("AUTH-041", config=CONFIG, own=True)
def test_connections(stage: Stage) -> None:
    one = stage.enter("c", "one")
    stage.enter("c2", "two")
    stage.enter("c", "three")
    stage.connect("loud", login("c", verbose=True))
    stage.enter("s", "elsewhere")
    one.leave()
    stage.connections("state=closed&auth=1&sort=cid", "reason", "account", "authorized_user")
    stage.enter("c", "four")
    stage.enter("c", "five")
    log = stage.server.wait_for_log("maximum account active connections", count=3)
    lines = [
        line.split("cid:")[1].split(" ", 2)[2] for line in log.splitlines() if "maximum" in line
    ]
    stage.note("log", sorted(set(lines)))


@scenario("AUTH-041", config=CONFIG, own=True)
def test_switching_into_a_full_account(stage: Stage) -> None:
    one = stage.enter("c", "one")
    stage.enter("c", "two")
    guest = stage.enter("n", "guest")
    guest.say(connect(user="c", **{"pass": "c"}))
    one.say(connect(user="c2", **{"pass": "c2"}))
    one.say(connect(user="n", **{"pass": "n"}))
    stage.enter("c", "three")


@scenario("AUTH-041", config=CONFIG)
def test_no_connections_at_all(stage: Stage) -> None:
    stage.enter("z")


@scenario(config=CONFIG)
@pytest.mark.parametrize("verbose", [False, True])
def test_subscriptions(stage: Stage, verbose: bool) -> None:
    one, two = stage.enter("s", "one", verbose=verbose), stage.enter("s", "two")
    one.say(b"SUB a 1\r\nSUB b 2\r\nSUB c 3\r\nSUB d q 4\r\n")
    two.say(b"SUB a 1\r\n")
    one.say(b"UNSUB 1\r\nSUB e 5\r\nSUB f 6\r\n")
    one.say(b"SUB b 2\r\n")
    two.say(pub(b"b", b"x") + pub(b"e", b"y") + pub(b"c", b"z"))
    one.hear()
    one.say(b"UNSUB 2 1\r\n")
    two.say(pub(b"b", b"last"))
    one.say(b"SUB g 7\r\n")


@scenario(config=CONFIG)
@pytest.mark.parametrize("name", ["p", "q", "n", "d"])
def test_payload(stage: Stage, name: str) -> None:
    client = stage.enter(name, protocol=1)
    client.wait()
    witness = stage.enter(name, "witness") if name != "d" else client
    witness.say(b"SUB > 1\r\n")
    client.say(pub(b"a", b"1234567") + hpub(b"a", b"NATS/1.0\r\n\r\n", b""))
    client.say(pub(b"a", b"x" * 10))
    client.say(pub(b"a", b"x" * 11))
    client.say(pub(b"a", b"x" * 1001))
    witness.hear()


@scenario(config=CONFIG, own=True)
def test_payload_limit_and_old_clients(stage: Stage) -> None:
    client = stage.enter("p", protocol=0)
    client.say(pub(b"a", b"x" * 11))
    stage.connections("state=closed&auth=1", "reason", "account")


@scenario(config=CONFIG)
def test_payload_in_the_first_packet(stage: Stage) -> None:
    client = stage.connect("quick", login("p") + pub(b"a", b"x" * 11))
    client.hear()
    client = stage.connect("quick", login("p", verbose=True) + pub(b"a", b"x" * 11))
    client.hear()
