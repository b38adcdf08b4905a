"""Every way to ask for credentials, against every way to show some."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from nacl.signing import SigningKey

from jetstream_py.nkey import encode
from tests.accounts.support import Stage, Theatre, scenario
from tests.differential.transcript import assert_same, normal_info
from tests.support.server import ORACLE, Kind
from tests.support.wire import connect, frames, pub

USER_KEY = 20 << 3
ALICE, BOB, NOBODY = (SigningKey(bytes([number]) * 32) for number in (1, 2, 3))


def public(key: SigningKey) -> str:
    return encode(USER_KEY, bytes(key.verify_key))


# The passwords behind the hashes are "hidden" and "token".
PASSWORD_HASH = "$2b$04$zxIwu3HdGOdXblEpIDj6guV2eHxZweiFQEcZfLEZ4NzSMU4JsZ2Ta"
TOKEN_HASH = "$2b$04$S6vmGEjDN5iZyCKRESKi3u/qHSrqI1FQCb7R4LODVG/JfR93136X2"

U, B = "{user: u, password: p}", "{user: b, password: b}"
NKEY = f"{{nkey: {public(ALICE)}}}"


def users(*texts: str) -> str:
    return "users: [" + ", ".join(texts) + "]"


def authorization(*texts: str) -> str:
    return f"authorization {{{', '.join(texts)}}}\n"


def accounts(**texts: str) -> str:
    return "accounts {" + ", ".join(f"{name} {{{text}}}" for name, text in texts.items()) + "}\n"


def only(user: str, kinds: str) -> str:
    return user.replace("}", f", allowed_connection_types: {kinds}}}")


CONFIGS = {
    "open": "",
    "user": authorization("user: u", "password: p"),
    "users": authorization(users(U, B)),
    "token": authorization("token: t"),
    "token_like_user": authorization("token: u"),
    "guest": authorization(users(U, B)) + "no_auth_user: b",
    "accounts": accounts(A=users(U), B=users(B)),
    "account_guest": accounts(A=users(U), B=users(B)) + "no_auth_user: b",
    "nkey": authorization(users(NKEY)),
    "nkeys_and_users": authorization(users(NKEY, f"{{nkey: {public(BOB)}}}", U)),
    "nkey_guest": authorization(users(NKEY, U)) + "no_auth_user: u",
    "nkey_in_account": accounts(A=users(NKEY, U), B=users(B)),
    "bcrypt": authorization(users(f'{{user: u, password: "{PASSWORD_HASH}"}}', B)),
    "bcrypt_token": authorization(f'token: "{TOKEN_HASH}"'),
    "websocket_only": authorization(users(only(U, "[WEBSOCKET]"), only(B, "[standard, mqtt]"))),
    "system": accounts(SYS=users(U), B=users(B)) + "system_account: SYS",
    "accounts_and_users": accounts(A=users(U)) + authorization(users(B)),
    "empty_accounts": accounts(A="", B=""),
    "no_system": "no_system_account: true\n" + authorization(users(U)),
}

Credentials = Callable[[str], dict[str, Any]]


def fixed(**fields: Any) -> Credentials:
    return lambda nonce: {name.rstrip("_"): value for name, value in fields.items()}


def signed(key: SigningKey, name: str = "", standard: bool = False, **fields: Any) -> Credentials:
    """The nonce signed by the key, under its own name or another."""

    def credentials(nonce: str) -> dict[str, Any]:
        signature = key.sign(nonce.encode()).signature
        text = (
            base64.b64encode(signature)
            if standard
            else base64.urlsafe_b64encode(signature).rstrip(b"=")
        )
        names = {field.rstrip("_"): value for field, value in fields.items()}
        return {"nkey": name or public(key), "sig": text.decode(), **names}

    return credentials


CLIENTS: dict[str, Credentials] = {
    "nothing": fixed(),
    "right user": fixed(user="u", pass_="p"),
    "other user": fixed(user="b", pass_="b"),
    "wrong password": fixed(user="u", pass_="x"),
    "unknown user": fixed(user="x", pass_="p"),
    "other case": fixed(user="U", pass_="p"),
    "user alone": fixed(user="u"),
    "password alone": fixed(pass_="p"),
    "empty password": fixed(user="u", pass_=""),
    "empty user": fixed(user="", pass_="p"),
    "empty both": fixed(user="", pass_=""),
    "hidden password": fixed(user="u", pass_="hidden"),
    "hash as password": fixed(user="u", pass_=PASSWORD_HASH),
    "token": fixed(auth_token="t"),
    "wrong token": fixed(auth_token="x"),
    "empty token": fixed(auth_token=""),
    "hidden token": fixed(auth_token="token"),
    "hash as token": fixed(auth_token=TOKEN_HASH),
    "token like user": fixed(auth_token="u"),
    "token as user": fixed(user="t"),
    "token as password": fixed(user="t", pass_="t"),
    "token and right user": fixed(auth_token="t", user="u", pass_="p"),
    "token and wrong user": fixed(auth_token="t", user="u", pass_="x"),
    "wrong token and right user": fixed(auth_token="x", user="u", pass_="p"),
    "nkey": signed(ALICE),
    "second nkey": signed(BOB),
    "unknown nkey": signed(NOBODY),
    "nkey in standard base64": signed(ALICE, standard=True),
    "nkey signed by another": signed(BOB, public(ALICE)),
    "nkey without signature": fixed(nkey=public(ALICE)),
    "nkey with empty signature": fixed(nkey=public(ALICE), sig=""),
    "nkey with junk signature": fixed(nkey=public(ALICE), sig="junk"),
    "nkey with bad base64": fixed(nkey=public(ALICE), sig="!!"),
    "bad nkey": fixed(nkey="UABC", sig="AAAA"),
    "signature alone": fixed(sig="AAAA"),
    "nkey and right user": signed(ALICE, user="u", pass_="p"),
    "bad nkey and right user": fixed(nkey=public(ALICE), sig="junk", user="u", pass_="p"),
    "unknown nkey and right user": signed(NOBODY, user="u", pass_="p"),
    "nkey as user": fixed(user=public(ALICE), pass_=""),
    "jwt": fixed(jwt="a.b.c", sig="AAAA"),
    "jwt and right user": fixed(jwt="a.b.c", sig="AAAA", user="u", pass_="p"),
    "account field": fixed(user="u", pass_="p", account="B"),
    "new account": fixed(user="u", pass_="p", account="N", new_account=True),
    "account alone": fixed(account="B"),
    "number as user": fixed(user=1, pass_="p"),
    "null user": fixed(user=None, pass_=None),
}


def answers(kind: Kind, theatre: Theatre, config: str) -> list[str]:
    server = theatre.server(kind, config, ())
    lines: list[str] = []
    for name, credentials in CLIENTS.items():
        with server.client() as client:
            nonce = client.info.get("nonce", "none")
            first = normal_info(client.info)
            heard = list(frames(client.exchange(connect(protocol=1, **credentials(nonce)))))
            lines.append(f"{name}: {heard} {'closed' if client.eof else 'stays'}")
            if not client.eof:
                second = normal_info(client.read_info())
                changes = {key: value for key, value in second.items() if first.get(key) != value}
                lost = sorted(first.keys() - second.keys())
                lines.append(f"{name}: INFO {sorted(changes.items())} without {lost}")
    return lines


@pytest.mark.behaviour(
    "AUTH-001", "AUTH-002", "AUTH-003", "AUTH-004", "AUTH-005", "AUTH-006", "AUTH-007"
)
@pytest.mark.behaviour("AUTH-008", "AUTH-009", "AUTH-010", "AUTH-022")
@pytest.mark.parametrize("config", CONFIGS)
def test_who_gets_in(kind: Kind, theatre: Theatre, config: str) -> None:
    expected = answers(ORACLE, theatre, CONFIGS[config])
    if kind != ORACLE:
        assert_same(expected, answers(kind, theatre, CONFIGS[config]))


def first_info(kind: Kind, theatre: Theatre, config: str) -> dict[str, Any]:
    with theatre.server(kind, config, ()).client() as client:
        return normal_info(client.info)


@pytest.mark.behaviour("AUTH-007", "AUTH-010")
@pytest.mark.parametrize("config", CONFIGS)
def test_first_info(kind: Kind, theatre: Theatre, config: str) -> None:
    expected = first_info(ORACLE, theatre, CONFIGS[config])
    assert first_info(kind, theatre, CONFIGS[config]) == expected


@pytest.mark.behaviour("AUTH-007")
def test_nonces_differ(kind: Kind, theatre: Theatre) -> None:
    server = theatre.server(kind, CONFIGS["nkey"], ())
    with server.client() as one, server.client() as two:
        assert one.info["nonce"] != two.info["nonce"]
        assert len(one.info["nonce"]) == len(two.info["nonce"]) == 15


TWO_ACCOUNTS = """
accounts {
  A {users: [{user: a, password: a}, {user: a2, password: a2, permissions: {
    publish: "a2.>", subscribe: "a2.>"}}]}
  B {users: [{user: b, password: b}]}
}
"""


@scenario(config=TWO_ACCOUNTS)
def test_second_connect_of_another_account(stage: Stage) -> None:
    client, a, b = stage.enter("a", "client"), stage.enter("a"), stage.enter("b")
    client.say(b"SUB x 1\r\n")
    client.say(connect(user="b", **{"pass": "b"}))
    client.say(b"SUB y 2\r\n")
    a.say(pub(b"x", b"of a") + pub(b"y", b"of a"))
    b.say(pub(b"x", b"of b") + pub(b"y", b"of b"))
    client.hear(any_order=True)
    stage.connections("sort=cid&auth=1", "account", "authorized_user", "subscriptions")
    client.say(b"UNSUB 1\r\n")
    a.say(pub(b"x", b"again"))
    client.hear()


@scenario(config=TWO_ACCOUNTS)
def test_second_connect_with_fewer_permissions(stage: Stage) -> None:
    client, a = stage.enter("a", "client"), stage.enter("a")
    client.say(b"SUB x 1\r\nSUB a2.x 2\r\n")
    client.say(connect(user="a2", **{"pass": "a2"}))
    client.say(pub(b"x", b"own") + b"SUB y 3\r\n")
    a.say(pub(b"x", b"1") + pub(b"a2.x", b"2"))
    client.hear()


@scenario(config=TWO_ACCOUNTS)
def test_second_connect_of_the_same_user(stage: Stage) -> None:
    client, a = stage.enter("a", "client"), stage.enter("a")
    client.say(b"SUB x 1\r\n")
    client.say(connect(user="a", **{"pass": "a"}))
    a.say(pub(b"x", b"1"))
    client.hear()
    client.say(connect(verbose=True))
    a.say(pub(b"x", b"2"))
    client.hear()
    client.say(b"SUB x 1\r\nUNSUB 1 1\r\n")
    a.say(pub(b"x", b"3"))
    client.hear()


@scenario(config=TWO_ACCOUNTS)
def test_second_connect_with_wrong_password(stage: Stage) -> None:
    client = stage.enter("a", "client")
    client.say(connect(user="b", **{"pass": "x"}))


@scenario(config=TWO_ACCOUNTS)
def test_second_connect_without_credentials(stage: Stage) -> None:
    client = stage.enter("a2", "client")
    client.say(connect() + pub(b"x") + pub(b"a2.x"))


USERS = f"""
accounts {{
  A {{users: [
    {{user: plain, password: plain}}
    {{user: perms, password: perms, permissions: {{
      publish: {{allow: "$SYS.REQ.USER.INFO", deny: "c"}},
      subscribe: {{allow: "s", deny: "u v"}}, allow_responses: {{max: 5, expires: "1m"}}}}}}
    {{user: short, password: short, permissions: {{
      publish: "$SYS.REQ.USER.INFO", subscribe: "inbox"}}}}
    {{user: denied, password: denied, permissions: {{publish: "x"}}}}
    {{nkey: {public(ALICE)}}}
  ]}}
  SYS {{users: [{{user: sys, password: sys}}]}}
}}
authorization {{users: [{{user: g, password: g}}]}}
system_account: SYS
"""


@scenario("AUTH-047", config=USERS)
@pytest.mark.parametrize("name", ["plain", "short", "denied", "sys", "g"])
def test_user_info(stage: Stage, name: str) -> None:
    client = stage.enter(name)
    client.say(b"SUB inbox 1\r\n")
    client.client.send(pub(b"$SYS.REQ.USER.INFO", b"", b"inbox"))
    client.wait()
    client.client.send(pub(b"$SYS.REQ.USER.INFO", b"junk", b"inbox"))
    client.wait()


@scenario("AUTH-047", config=USERS)
def test_user_info_with_permissions(stage: Stage) -> None:
    client = stage.enter("perms")
    client.say(b"SUB s 1\r\n")
    client.client.send(pub(b"$SYS.REQ.USER.INFO", b"", b"s"))
    client.wait()


@scenario("AUTH-005", "AUTH-047", config=USERS)
def test_user_info_of_an_nkey(stage: Stage) -> None:
    client = stage.connect("nkey", lambda info: connect(protocol=1, **signed(ALICE)(info["nonce"])))
    client.say(b"SUB inbox 1\r\n")
    client.client.send(pub(b"$SYS.REQ.USER.INFO", b"", b"inbox"))
    client.wait()
    stage.connections("state=open&auth=1", "account", "authorized_user", "nkey")


@scenario(config=USERS, own=True)
def test_refused_login_is_remembered(stage: Stage) -> None:
    for opening in (
        connect(user="plain", **{"pass": "x"}),
        connect(),
        connect(user="nobody", **{"pass": "y"}),
        b"PING\r\n",
    ):
        stage.connect("client", opening)
    keys = ("reason", "authorized_user", "account", "kind", "type", "in_msgs")
    stage.connections("state=closed&auth=1&sort=cid", *keys)
    log = stage.server.wait_for_log("authentication error", count=4)
    stage.note(
        "log",
        [
            line.split("cid:")[1].split(" ", 2)[2]
            for line in log.splitlines()
            if "authentication" in line
        ],
    )
