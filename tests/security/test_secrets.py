"""Secrets show nowhere: every place where a running server tells something is read, with traces on, after
logins of all kinds, good and bad."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import bcrypt
import pytest

import jetstream_py
from jetstream_py import nkey
from jetstream_py.config.account_options import User
from jetstream_py.config.secret import Secret
from jetstream_py.server.tracing import redact
from tests.jwt.world import Chain, Login, judge
from tests.monitor.compare import get
from tests.support.raw import RawClient
from tests.support.server import OURS, Server, StartError, StartServer
from tests.support.tokens import Key
from tests.support.wire import connect, pub
from tests.wire import websocket as ws

WORDS = {
    "user": "Hush-plain-1", "token": "Hush-token-2", "hashed": "Hush-hashed-3", "wrong": "Hush-wrong-4",
    "cookie": "Hush-cookie-5", "flag": "Hush-flag-6",
}  # fmt: skip
HASH = bcrypt.hashpw(WORDS["hashed"].encode(), bcrypt.gensalt(4, b"2a")).decode()
CONFIG = f"""
jetstream {{ store_dir: js }}
websocket {{ listen: "127.0.0.1:-1", no_tls: true, user_cookie: u, pass_cookie: p, token_cookie: t }}
accounts {{
  A {{ jetstream: enabled, users: [{{user: ann, password: "{WORDS["user"]}"}},
       {{user: bob, password: "{HASH}"}}] }}
  SYS {{ users: [{{user: sys, password: sys-pass}}] }}
}}
system_account: SYS
"""
ENDPOINTS = (
    "/", "/varz", "/connz?auth=1&subs=detail", "/connz?state=all&auth=1", "/subsz?subs=1", "/jsz?config=1&"
    "accounts=1&streams=1&consumers=1", "/accountz?acc=A", "/accountz", "/accstatz?unused=1", "/healthz",
    "/stacksz", "/debug/vars", "/metrics", "/expvarz", "/gatewayz", "/routez", "/leafz", "/ipqueuesz",
    "/raftz", "/nosuch", "/varz?x=%zz",
)  # fmt: skip
SERVICES = (
    "SERVER.PING", "SERVER.PING.VARZ", "SERVER.PING.CONNZ", "SERVER.PING.SUBSZ", "SERVER.PING.JSZ",
    "SERVER.PING.ACCOUNTZ", "SERVER.PING.STATSZ", "SERVER.PING.PROFILEZ", "SERVER.PING.EXPVARZ",
    "ACCOUNT.A.CONNZ", "ACCOUNT.A.INFO", "ACCOUNT.A.SUBSZ", "ACCOUNT.A.JSZ", "ACCOUNT.PING.STATZ",
    "USER.INFO",
)  # fmt: skip


def log_in(server: Server, **fields: object) -> RawClient:
    client = server.client()
    client.exchange(connect(headers=True, **fields))
    return client


def attempts(server: Server) -> list[RawClient]:
    """Logins by every way, right and wrong; those that got in stay."""
    seed = Key(nkey.USER)
    kept = [
        log_in(server, user="ann", **{"pass": WORDS["user"]}),
        log_in(server, user="bob", **{"pass": WORDS["hashed"]}),
    ]
    for fields in (
        {"user": "ann", "pass": WORDS["wrong"]}, {"user": "bob", "pass": WORDS["wrong"]},
        {"auth_token": WORDS["wrong"]}, {"user": "x", "pass": WORDS["wrong"], "jwt": WORDS["wrong"]},
        {"nkey": seed.public, "sig": WORDS["wrong"]}, {"user": 1, "pass": WORDS["wrong"]},
        {"PASS": WORDS["wrong"], "USER": "ann"},
    ):  # fmt: skip
        log_in(server, **fields).close()
    broken = f'CONNECT {{"user":"ann","pass":"{WORDS["wrong"]}"'
    for line in (broken, broken + "\r\n", broken.replace("CONNECT", "CONNECTX") + "}\r\n"):
        client = server.client(line.encode())
        client.half_close()
        client.read_all()
    for cookie in (
        f"u=ann; p={WORDS['user']}",
        f"u=ann; p={WORDS['cookie']}",
        f"t={WORDS['cookie']}",
    ):
        client = RawClient(ws.port(server))
        ws.upgraded(client, ws.request({"Cookie": cookie}))
        client.send(ws.frame(connect() + b"PING\r\n"))
        ws.read_frame(client)
        kept.append(client)
    return kept


@pytest.fixture
def quiet() -> list[str]:
    """What must not be seen, in any of its forms."""
    return [*WORDS.values(), HASH, HASH.split("$")[-1]]


def shows(text: str, secrets: list[str]) -> list[str]:
    return [secret for secret in secrets if secret in text]


def test_nowhere(start_server: StartServer, quiet: list[str]) -> None:
    server = start_server(OURS, CONFIG, ["-m", "-1", "-DV"])
    system = log_in(server, user="sys", **{"pass": "sys-pass"})
    system.exchange(b"SUB > 1\r\n")
    kept = attempts(server)
    seen = [get(server, path).text for path in ENDPOINTS]
    for name in SERVICES:
        system.send(pub(f"$SYS.REQ.{name}".encode(), b'{"auth":true,"state":2}', b"in"))
    seen += [system.exchange().decode("utf-8", "replace") for _ in range(2)]
    assert "CLIENT.AUTH.ERR" in seen[-2] + seen[-1]
    assert "authorized_user" in seen[2]
    server.reload(CONFIG.replace("ann", "amy"))
    server.wait_for_log("Reloaded: accounts")
    log = server.log()
    assert "[REDACTED]" in log
    assert not shows("\n".join([*seen, log]), quiet)
    assert "sys-pass" not in "\n".join(seen) + log
    for client in kept:
        client.close()


@pytest.mark.parametrize(
    "flags", [["--auth", WORDS["flag"]], ["--user", "u", "--pass", WORDS["flag"]]]
)
def test_flags(start_server: StartServer, flags: list[str], quiet: list[str]) -> None:
    """Other users of the machine may see the arguments; the server itself repeats them to nobody."""
    server = start_server(OURS, None, ["-m", "-1", "-DV", *flags])
    server.client().close()
    seen = [get(server, path).text for path in ENDPOINTS]
    assert not shows("\n".join([*seen, server.log()]), quiet)


@pytest.mark.parametrize(
    "config",
    [
        f"authorization {{ users: [{{user: a, password: {WORDS['user']}, oops: 1}}] }}",
        f"authorization {{ token: {WORDS['token']}, users: [{{user: a, password: b}}] }}",
        f"authorization {{ users: [{{user: a, password: {WORDS['user']}}}, {{user: a, password: x}}] }}",
        f"authorization {{ user: a, pass: {WORDS['user']}, timeout: x }}",
        f"accounts {{ A {{ users: [{{user: a, pass: {WORDS['user']}, permissions: 7}}] }} }}",
        f"authorization {{ password: [{WORDS['user']}] }}",
        f"websocket {{ port: 1, authorization {{ user: a, password: {WORDS['user']} }} }}",
    ],
)
def test_mistakes_in_a_configuration(
    start_server: StartServer, config: str, quiet: list[str]
) -> None:
    with pytest.raises(StartError) as told:
        start_server(OURS, config)
    assert not shows(str(told.value), quiet)


def test_the_type() -> None:
    secret = Secret(WORDS["user"])
    for text in (repr(secret), f"{secret!r}", repr([secret]), repr({"a": secret})):
        assert WORDS["user"] not in text


SECRET_NAMES = re.compile(r"(?i)(password|token|secret|passw|\bsig$)")


def compared(tree: ast.AST) -> list[str]:
    """Sources of == and != with a side that is named like a secret; against constants is no secret."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            continue
        sides = [node.left, *node.comparators]
        if any(isinstance(side, ast.Constant) for side in sides):
            continue
        names = [side for side in sides if isinstance(side, ast.Name | ast.Attribute)]
        if any(
            SECRET_NAMES.search(getattr(side, "attr", getattr(side, "id", ""))) for side in names
        ):
            found.append(ast.unparse(node))
    return found


def test_secrets_are_compared_in_constant_time() -> None:
    """In the code that judges clients there is no == between secrets."""
    root = Path(jetstream_py.__file__).parent
    files = [*root.glob("server/**/*.py"), *root.glob("jwt/*.py"), root / "nkey.py"]
    assert len(files) > 60
    found = {file.name: texts for file in files if (texts := compared(ast.parse(file.read_text())))}
    assert found == {}
    assert compared(ast.parse("a.password == b")) == ["a.password == b"]
    assert "hmac.compare_digest" in (root / "server" / "auth.py").read_text()


@pytest.mark.parametrize(
    "line",
    [
        b'{"pass":"%b"}', b'{ "pass" : "%b", "user":"a"}', b'{"PASS":"%b"}', b'{"p\\u0061ss":"%b"}',
        b'{"pass":"\\"%b"}', b'{"pass":"%b', b'{"pass":["%b"]}', b'{"auth_token":%b}',
        b'{"jwt":"a","sig":"%b"}', b'{"pass":{"a":"b","c":"%b"}}',
    ],
)  # fmt: skip
def test_what_is_traced_of_a_login(line: bytes) -> None:
    assert b"Hush" not in redact(line % b"Hush")


def test_cut_and_changed_keys() -> None:
    """Not one character less or other: keys have a checksum, tokens a signature."""
    key = Key(nkey.USER, bytes(range(32)))
    assert nkey.is_public(key.public, nkey.USER)
    signed = key.pair.sign(b"nonce")
    for i in range(len(key.public)):
        other = "A" if key.public[i] != "A" else "B"
        for wrong in (key.public[:i], key.public[:i] + other + key.public[i + 1 :]):
            assert not nkey.is_public(wrong, nkey.USER)
            assert not nkey.verify(wrong, b"nonce", signed)
    assert nkey.verify(key.public, b"nonce", signed)
    for i in range(64):
        assert not nkey.verify(key.public, b"nonce", signed[:i])
        assert not nkey.verify(key.public, b"nonce", signed + signed[:i] if i else b"")


def test_cut_and_changed_tokens() -> None:
    made = Chain()
    mode, jwt = made.mode(), made.user.jwt()
    assert isinstance(judge(mode, Login(jwt, made.user.key)), User)
    for i in range(0, len(jwt), 7):
        other = "A" if jwt[i] != "A" else "B"
        for wrong in (jwt[:i], jwt[:i] + other + jwt[i + 1 :]):
            assert not isinstance(judge(mode, Login(wrong, made.user.key)), User), i
