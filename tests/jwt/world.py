"""One chain of trust, seen by both servers: nats-server gets it as a config, ours as options."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from jetstream_py.clock import ManualClock
from jetstream_py.config.account_options import Operator as OperatorOptions
from jetstream_py.config.account_options import User as UserOptions
from jetstream_py.jwt import OperatorMode, Refusal
from tests.support.raw import RawClient
from tests.support.server import KINDS, Kind, Server
from tests.support.tokens import Account, Claims, Key, Operator, User
from tests.support.wire import connect

# Servers that know `operator` in a config file.
WITH_OPERATOR: tuple[Kind, ...] = KINDS
NONCE = "AAAAAAAAAAAAAAA"
INBOX = b"_INBOX.jwt"
INFO = "$SYS.REQ.USER.INFO"


class Login(NamedTuple):
    """What a client sends."""

    jwt: str
    key: Key
    sig: str | None = None  # instead of a true one


class Connect(msgspec.Struct):
    jwt: str = ""
    sig: str = ""


class Chain:
    """An operator, a system account with a user, and an account with a user."""

    def __init__(self, operator: Claims | None = None) -> None:
        self.operator = Operator(seed=b"\1" * 32)
        self.system = Account(self.operator, "SYS", b"\2" * 32)
        self.account = Account(self.operator, "ACC", b"\3" * 32)
        self.user = User(self.account, "u", b"\4" * 32)
        self.system_user = User(self.system, "su", b"\5" * 32)
        self.operator_nats = operator or {}
        self.preload = {
            self.system.public: self.system.jwt(),
            self.account.public: self.account.jwt(),
        }

    def config(self, resolver: str = "resolver: MEMORY", more: str = "") -> str:
        tokens = "".join(f"  {name}: {jwt}\n" for name, jwt in self.preload.items())
        return (
            f"operator: {self.operator.jwt(nats=self.operator_nats)}\n"
            f"system_account: {self.system.public}\n"
            f"{resolver}\n{more}\nresolver_preload {{\n{tokens}}}\n"
        )

    def options(self, **more: Any) -> OperatorOptions:
        return OperatorOptions(
            jwts=(self.operator.jwt(nats=self.operator_nats),),
            **{"resolver": "memory", "preload": tuple(self.preload.items()), **more},
        )

    def mode(self, **more: Any) -> OperatorMode:
        """Ours, at the time that it is."""
        return OperatorMode(self.options(**more), ManualClock(time.time_ns()), self.system.public)


def judge(mode: OperatorMode, login: Login, nonce: str = NONCE) -> UserOptions | Refusal:
    """Ours, to a client on this machine."""
    sig = login.key.sig(nonce) if login.sig is None else login.sig
    return mode.authenticate(Connect(login.jwt, sig), nonce.encode(), "127.0.0.1")


def attempt(server: Server, login: Login) -> tuple[RawClient, bytes]:
    """A connection that tried to log in, and the answer to it."""
    client = server.client()
    sig = login.key.sig(client.info["nonce"]) if login.sig is None else login.sig
    client.send(connect(jwt=login.jwt, sig=sig, headers=True, no_responders=True))
    return client, client.exchange()


def reason(server: Server, client: RawClient) -> str:
    """Why nats-server refused the client, from its log (it needs `-D`)."""
    here = rf"cid:{client.info['client_id']} - "
    log = server.wait_for_log(f"{here}Client connection closed")
    lines = re.findall(rf"\[(?:DBG|ERR)\] \S+ - {here}(.*)", log)
    lines = [line for line in lines if not line.startswith(("Client connection", "authentication"))]
    return lines[-1] if lines else ""


def request(client: RawClient, subject: str, body: bytes = b"") -> bytes:
    """The payload of the first answer."""
    return requests(client, subject, body, 1)[0]


def requests(client: RawClient, subject: str, body: bytes, count: int) -> list[bytes]:
    client.send(b"SUB %b 77\r\nPUB %b %b %d\r\n%b\r\n" % (
        INBOX, subject.encode(), INBOX, len(body), body,
    ))  # fmt: skip
    answers = [_payload(frame) for frame in _frames(client, count)]
    client.exchange(b"UNSUB 77\r\n")
    return answers


def _frames(client: RawClient, count: int) -> Iterable[bytes]:
    while count:
        frame = client.read_frame()
        if frame == b"PING\r\n":
            client.send(b"PONG\r\n")
        elif not frame.startswith(b"INFO "):
            count -= 1
            yield frame


def _payload(frame: bytes) -> bytes:
    line, _, rest = frame.partition(b"\r\n")
    head = int(line.split()[-2]) if line.startswith(b"HMSG") else 0
    return rest[head:-2] if not head else rest[:head]
