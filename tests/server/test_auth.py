"""Logins that take more than a comparison: hashes and signatures."""

from __future__ import annotations

import asyncio
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator

import bcrypt
import msgspec
import pytest

from jetstream_py import limits, nkey
from jetstream_py.config.account_options import User
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from jetstream_py.server.auth import Later, Refusal
from jetstream_py.server.workers import Workers
from tests.server.harness import Bench, Client

HASH = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
KEY = nkey.KeyPair(nkey.encode_seed(nkey.USER, bytes(range(32))))


@pytest.fixture
def bench() -> Iterator[Bench]:
    users = (User(name="bob", password=Secret(HASH)), User(nkey=KEY.public))
    bench = Bench(Options(authorization=Authorization(users=users)))
    yield bench
    bench.close()


def connect(**fields: object) -> bytes:
    return b"CONNECT " + msgspec.json.encode({"verbose": False, **fields}) + b"\r\n"


def turn(bench: Bench, client: Client) -> None:
    """Let the loop run until the client is not held any more."""

    async def wait() -> None:
        while client.session.held and not client.session.closed:
            await asyncio.sleep(0.001)

    bench.loop.run_until_complete(asyncio.wait_for(wait(), 30))


def test_what_follows_a_login_waits_for_it(bench: Bench) -> None:
    client = Client(bench)
    client.send(connect(user="bob", **{"pass": "right"}) + b"SUB a 1\r\nPUB a 1\r\nx\r\n")
    assert client.link.is_held
    client.send(b"PING\r\n")
    assert client.read() == b""
    turn(bench, client)
    assert client.read() == b"MSG a 1 1\r\nx\r\nPONG\r\n"
    assert not client.link.is_held
    assert client.session.user == "bob"


def test_a_wrong_password_ends_it(bench: Bench) -> None:
    client = Client(bench)
    client.send(connect(user="bob", **{"pass": "wrong"}) + b"PUB a 1\r\nx\r\n")
    turn(bench, client)
    assert client.read() == b"-ERR 'Authorization Violation'\r\n"
    assert client.session.closed
    assert client.session.in_msgs == 0


def test_the_hash_is_not_the_password(bench: Bench) -> None:
    client = Client(bench)
    client.send(connect(user="bob", **{"pass": HASH}))
    turn(bench, client)
    assert client.session.closed


def test_input_behind_a_login_is_bounded(bench: Bench) -> None:
    client = Client(bench)
    client.send(connect(user="bob", **{"pass": "right"}))
    for _ in range(limits.HELD_INPUT // 1000 + 1):
        client.send(b"x" * 1000)
    assert client.session.closed


def test_logins_that_wait_are_bounded() -> None:
    workers = Workers(lambda run: None)  # nothing is ever reported
    later = Later(lambda: True, lambda result: Refusal())
    wanted = [
        workers.run(later, lambda: False, lambda verdict: None)
        for _ in range(limits.LOGIN_QUEUE + 1)
    ]
    workers.close()
    assert wanted == [True] * limits.LOGIN_QUEUE + [False]


@pytest.mark.parametrize(
    ("sign", "admitted"),
    [
        (lambda nonce: urlsafe_b64encode(KEY.sign(nonce)).decode().rstrip("="), True),
        (lambda nonce: b64encode(KEY.sign(nonce)).decode(), True),
        (lambda nonce: urlsafe_b64encode(KEY.sign(nonce + b"x")).decode(), False),
        (lambda nonce: urlsafe_b64encode(KEY.sign(nonce)[:63]).decode(), False),
        (lambda nonce: "", False),
        (lambda nonce: "\u00e9~", False),
    ],
)
def test_an_nkey_signs_the_nonce(bench: Bench, sign: object, admitted: bool) -> None:
    client = Client(bench)
    nonce = msgspec.json.decode(client.greeting[5:])["nonce"]
    assert callable(sign)
    client.send(connect(nkey=KEY.public, sig=sign(nonce.encode())))
    assert client.session.connected is admitted
    assert client.session.closed is not admitted


def test_every_connection_has_a_nonce_of_its_own(bench: Bench) -> None:
    nonces = {msgspec.json.decode(Client(bench).greeting[5:])["nonce"] for _ in range(50)}
    assert len(nonces) == 50
