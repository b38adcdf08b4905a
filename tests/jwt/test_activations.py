"""Activations end while they are used: in the test's own process, and on both servers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import pytest

from jetstream_py.clock import Clock, ManualClock
from jetstream_py.config.options import Options
from jetstream_py.jwt import OperatorMode
from jetstream_py.server.operator import OperatorPart
from tests.jwt.world import WITH_OPERATOR, Chain, Login, attempt
from tests.server.harness import Bench, Client
from tests.support.raw import TIMEOUT
from tests.support.server import Kind, Servers
from tests.support.tokens import Account, Claims, User, claim, forge
from tests.support.wire import connect, msg

KINDS = "stream", "service"
NOBODY = b"HMSG in 2 34 34\r\nNATS/1.0 503\r\nNats-Subject: sv\r\n\r\n\r\n"


class Deal(NamedTuple):
    """An account that gives a stream `tr` and a service `sv`, and one that takes them with tokens."""

    made: Chain
    giver: Account
    taker: Account

    def imports(self, **ends: int) -> Claims:
        return {
            "imports": [
                {
                    "subject": subject,
                    "account": self.giver.public,
                    "type": kind,
                    "token": self._token(subject, kind, ends[kind]),
                }
                for subject, kind in zip(("tr", "sv"), KINDS, strict=True)
            ]
        }

    def _token(self, subject: str, kind: str, end: int) -> str:
        body = {"subject": subject, "kind": kind}
        key = self.giver.key
        return forge(claim("activation", self.taker.public, key.public, body, exp=end), key)


@pytest.fixture
def deal() -> Deal:
    made = Chain()
    giver, taker = Account(made.operator, "GIVES"), Account(made.operator, "TAKES")
    exports = [
        {"subject": subject, "type": kind, "token_req": True}
        for subject, kind in zip(("tr", "sv"), KINDS, strict=True)
    ]
    made.preload[giver.public] = giver.jwt(nats={"exports": exports})
    return Deal(made, giver, taker)


class World:
    """Both accounts with a user each, on a clock moved by hand."""

    def __init__(self, deal: Deal, stream: int, service: int) -> None:
        """Seconds from now until the tokens end."""
        self.deal = deal
        self.bench = bench = Bench(Options())
        self.clock: ManualClock = bench.clock
        imports = self.imports(stream, service)
        deal.made.preload[deal.taker.public] = deal.taker.jwt(nats=imports)
        self.mode = OperatorMode(deal.made.options(), self.clock, deal.made.system.public)
        self.part = OperatorPart(bench.broker, self.mode)
        bench.broker.use_operator(self.part, deal.made.system.public)
        self.giver, self.taker = self.client(deal.giver), self.client(deal.taker)
        self.giver.send(b"SUB sv 1\r\n")
        self.taker.send(b"SUB tr 1\r\nSUB in 2\r\n")

    def imports(self, stream: int, service: int) -> Claims:
        now = int(seconds(self.clock))
        return self.deal.imports(stream=now + stream, service=now + service)

    def client(self, account: Account) -> Client:
        token = User(account).jwt(nats={"bearer_token": True})
        return self.bench.client(connect(jwt=token, headers=True, no_responders=True))

    def pass_time(self, by: float) -> None:
        self.clock.advance(by)
        self.bench.broker.timers.run_due()

    def open_ways(self) -> set[str]:
        """What gets from one account to the other."""
        self.giver.send(b"PUB tr 1\r\nx\r\n")
        got = self.taker.ask(b"PUB sv in 1\r\nq\r\n")
        ways = {"stream"} if msg(b"tr", 1, b"x") in got else set()
        asked = b"HMSG sv 1 " in self.giver.read()
        assert asked == (NOBODY not in got)
        return ways | ({"service"} if asked else set())


def seconds(clock: Clock) -> float:
    return clock.now_ns() / 1e9


def test_each_ends_when_its_token_does(deal: Deal) -> None:
    world = World(deal, stream=10, service=20)
    assert world.open_ways() == {"stream", "service"}
    world.pass_time(9.5)
    assert world.open_ways() == {"stream", "service"}
    world.pass_time(2)
    assert world.open_ways() == {"service"}
    world.taker.send(b"SUB tr 1\r\n")  # nor does who comes later get anything
    assert world.open_ways() == {"service"}
    world.pass_time(10)
    assert world.open_ways() == set()
    world.bench.close()


def test_a_new_token_in_time_keeps_the_way_open(deal: Deal) -> None:
    world = World(deal, stream=10, service=10)
    options = world.mode.update(deal.taker.jwt(nats=world.imports(stream=100, service=5)))
    world.part.changed(options)
    world.pass_time(7)
    assert world.open_ways() == {"stream"}
    world.pass_time(50)
    assert world.open_ways() == {"stream"}
    world.pass_time(50)
    assert world.open_ways() == set()
    options = world.mode.update(deal.taker.jwt(nats=world.imports(stream=100, service=100)))
    world.part.changed(options)
    assert world.open_ways() == {"stream", "service"}
    world.bench.close()


@pytest.mark.parametrize("kind", WITH_OPERATOR)
def test_both_servers_notice_the_end(deal: Deal, kind: Kind, tmp_path: Path) -> None:
    end = int(time.time()) + 1
    imports = deal.imports(stream=end, service=end)
    deal.made.preload[deal.taker.public] = deal.taker.jwt(nats=imports)
    with Servers(tmp_path) as servers:
        server = servers.start(kind, deal.made.config())
        users = [User(deal.giver), User(deal.taker)]
        giver, taker = (attempt(server, Login(one.jwt(), one.key))[0] for one in users)
        with giver, taker:
            giver.exchange(b"SUB sv 1\r\n")
            taker.exchange(b"SUB tr 1\r\nSUB in 2\r\n")
            deadline = time.monotonic() + TIMEOUT
            while NOBODY not in taker.exchange(b"PUB sv in 1\r\nq\r\n"):
                assert time.monotonic() < deadline, "it never ends"
            giver.exchange(b"PUB tr 1\r\nx\r\n")
            assert taker.exchange() == b""
