"""What a reload does to those who are connected."""

from __future__ import annotations

import pytest

from tests.accounts.support import Stage, scenario
from tests.support.wire import pub

BASE = """
authorization {{ users: [
  {{user: stay, password: stay}}
  {user}
] }}
"""


def users(user: str) -> str:
    return BASE.format(user=user)


FULL = users("{user: u, password: u}")


@scenario("CORE-067", config=FULL, own=True)
@pytest.mark.parametrize(
    "user",
    [
        "",
        "{user: u, password: new}",
        "{user: u, password: u}",
        "{user: u, password: u, permissions: {publish: ok, subscribe: ok}}",
        '{user: u, password: u, permissions: {subscribe: {deny: ["a", "w.no"]}}}',
        '{user: u, password: u, permissions: {subscribe: {deny: "q grp"}}}',
        '{user: u, password: u, permissions: {publish: {deny: "a"}}}',
        "{user: u, password: u, allowed_connection_types: [WEBSOCKET]}",
    ],
)
def test_user_changes(stage: Stage, user: str) -> None:
    changed, stays = stage.enter("u"), stage.enter("stay")
    changed.say(b"SUB a 1\r\nSUB w.* 2\r\nSUB q grp 3\r\nSUB ok 4\r\n")
    stays.say(b"SUB a 1\r\n")
    stage.reload(users(user))
    changed.hear(any_order=True)
    if changed.client.eof:
        stage.connections("state=closed&auth=1", "reason", "authorized_user")
    else:
        changed.say(pub(b"a", b"own") + pub(b"ok", b"fine"), any_order=True)
    stays.say(pub(b"a", b"x") + pub(b"w.no", b"x") + pub(b"w.yes", b"x") + pub(b"q", b"x"))
    changed.hear(any_order=True) if not changed.client.eof else None
    stage.enter("u", "again")


@scenario(
    "CORE-067",
    config=users("{user: u, password: u, permissions: {publish: ok, subscribe: ok}}"),
    own=True,
)
def test_user_may_more(stage: Stage) -> None:
    user = stage.enter("u")
    user.say(b"SUB a 1\r\n" + pub(b"a"))
    stage.reload(FULL)
    user.say(b"SUB a 1\r\n" + pub(b"a", b"x"))


@scenario("CORE-067", config="", own=True)
@pytest.mark.parametrize("protocol", [0, 1])
def test_open_server_asks_for_users(stage: Stage, protocol: int) -> None:
    guest = stage.enter(protocol=protocol)
    guest.hear()
    named = stage.enter("u", "named")
    guest.say(b"SUB a 1\r\n")
    stage.reload(FULL)
    guest.hear()
    named.hear()
    stage.enter("u", "later")


@scenario("CORE-067", config=FULL, own=True)
def test_users_are_lifted(stage: Stage) -> None:
    user = stage.enter("u")
    user.say(b"SUB a 1\r\n")
    stage.reload("")
    user.say(pub(b"a", b"x"))
    stage.enter(name="guest")


@scenario("CORE-067", config="authorization {token: a}", own=True)
def test_token_changes(stage: Stage) -> None:
    client = stage.enter(name="client", auth_token="a")
    stage.reload("authorization {token: b}")
    client.hear()
    stage.connections("state=closed", "reason")
    stage.enter(name="old", auth_token="a")
    stage.enter(name="new", auth_token="b")


GUEST = "authorization {users: [{user: a, password: a}, {user: b, password: b}]}\nno_auth_user: "


@scenario("CORE-067", config=GUEST + "a", own=True)
def test_no_auth_user_cannot_change(stage: Stage) -> None:
    client = stage.enter(name="client")
    stage.server.reload(GUEST + "b")
    log = stage.server.wait_for_log("Failed to reload server configuration: ")
    stage.note("log", log.partition("Failed to reload server configuration: ")[2])
    client.say(b"SUB a 1\r\n" + pub(b"a", b"x"))


A = "A {users: [{user: a, password: a}], %s}"
B = "B {users: [{user: b, password: b}], %s}"
EXPORTS = 'exports: [{stream: "ev.>"}, {service: "help"}]'
IMPORTS = (
    'imports: [{stream: {account: A, subject: "ev.>"}}, {service: {account: A, subject: "help"}}]'
)


def accounts(*texts: str) -> str:
    return "accounts {" + ", ".join(texts) + "}"


TWO = accounts(A % EXPORTS, B % IMPORTS)


@scenario("CORE-067", config=TWO, own=True)
@pytest.mark.parametrize(
    "after",
    [
        accounts(A % "", B % ""),
        accounts(A % ""),
        accounts("A {users: [{user: a, password: a}, {user: b, password: b}]}"),
        accounts(
            A % 'mappings: {"ev.x": "ev.y"}, exports: [{stream: "ev.>"}]',
            B % 'imports: [{stream: {account: A, subject: "ev.>"}, prefix: "p"}]',
        ),
        accounts("A {users: [{user: b, password: b}]}", "B {users: [{user: a, password: a}]}"),
    ],
    ids=["no imports", "no B", "b moves", "other imports", "swap"],
)
def test_accounts_change(stage: Stage, after: str) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    a.say(b"SUB help 1\r\n")
    b.say(b"SUB > 1\r\n")
    a.say(pub(b"ev.x", b"1"))
    b.hear()
    stage.reload(after)
    a.say(pub(b"ev.x", b"2"))
    if not a.client.eof:
        b.hear()
    if not b.client.eof:
        b.say(pub(b"help", b"?", b"inbox"), any_order=True)
        a.hear()
    stage.connections("state=closed&auth=1&sort=cid", "reason", "authorized_user")
    stage.connections("state=open&auth=1&sort=cid", "account", "authorized_user", "subscriptions")


@scenario("CORE-067", config=accounts(A % EXPORTS, B % ""), own=True)
def test_imports_appear(stage: Stage) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    a.say(b"SUB help 1\r\n")
    b.say(b"SUB > 1\r\n")
    stage.reload(TWO)
    a.say(pub(b"ev.x", b"2"))
    b.hear()
    b.say(pub(b"help", b"?", b"inbox"), any_order=True)
    a.hear()


def limited(limits: str) -> str:
    users = "[{user: a, password: a}, {user: a2, password: a2}]"
    return f"accounts {{A {{limits: {{{limits}}}, users: {users}}}}}"


@scenario("CORE-067", config=limited(""), own=True)
def test_fewer_connections(stage: Stage) -> None:
    """Which of the two has to go is chance."""
    pair = [stage.enter("a"), stage.enter("a2")]
    stage.reload(limited("max_connections: 1"))
    heard = sorted((actor.client.exchange().decode(), actor.client.eof) for actor in pair)
    stage.note("heard", heard)
    stage.connections("state=closed", "reason")


@scenario("CORE-067", config=limited(""), own=True)
def test_fewer_subscriptions(stage: Stage) -> None:
    client = stage.enter("a")
    client.say(b"SUB a 1\r\nSUB b 2\r\nSUB c 3\r\n")
    stage.reload(limited("max_subscriptions: 1"))
    client.hear()
    client.say(pub(b"a", b"x") + pub(b"b", b"x") + pub(b"c", b"x"))
    client.say(b"SUB d 4\r\n")
    client.say(b"UNSUB 1\r\nUNSUB 2\r\nUNSUB 3\r\nSUB d 4\r\nSUB e 5\r\n")


@scenario("CORE-067", config=limited(""), own=True)
@pytest.mark.parametrize("protocol", [0, 1])
def test_smaller_payload(stage: Stage, protocol: int) -> None:
    client = stage.enter("a", protocol=protocol)
    client.hear()
    stage.reload(limited("max_payload: 10"))
    client.hear()
    client.say(pub(b"a", b"x" * 11))


@scenario("CORE-067", config='mappings: {"a": "b"}', own=True)
def test_mappings_change(stage: Stage) -> None:
    client = stage.enter()
    client.say(b"SUB > 1\r\n" + pub(b"a", b"1"))
    stage.reload('mappings: {"a": "c", "x": "y"}')
    client.say(pub(b"a", b"2") + pub(b"x", b"3"))
    stage.reload('mappings: {"x": "z"}')
    client.say(pub(b"a", b"4") + pub(b"x", b"5"))
