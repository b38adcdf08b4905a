"""Many at once: logins with hashes, and a small crowd at a real server."""

from __future__ import annotations

from pathlib import Path

import bcrypt

from jetstream_py import limits
from jetstream_py.config.account_options import User
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from tests.security.abuse import Crowd, attacks, start
from tests.server.harness import Bench, Client
from tests.support.certs import Authority
from tests.support.server import OURS, Servers, port_of
from tests.support.wire import PONG, UNAUTHORIZED, connect

HASH = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()


def test_logins_with_hashes() -> None:
    """No more wait than may; the rest is refused at once, and nobody else waits for them."""
    users = (User(name="slow", password=Secret(HASH)), User(name="fast", password=Secret("p")))
    bench = Bench(Options(authorization=Authorization(users=users)))
    other = bench.client(connect(user="fast", **{"pass": "p"}))
    crowd = []
    for _ in range(limits.LOGIN_QUEUE + 20):
        crowd.append(Client(bench))
        crowd[-1].send(connect(user="slow", **{"pass": "wrong"}))
        assert other.ask(b"PING\r\n") == PONG  # the loop did not wait for a thread
    held = [client.session.held and not client.session.closed for client in crowd]
    assert held == [True] * limits.LOGIN_QUEUE + [False] * 20
    assert crowd[-1].read() == UNAUTHORIZED
    bench.broker.reception.workers.close()
    bench.close()


def test_a_crowd_at_a_real_server(authority: Authority, tmp_path: Path) -> None:
    """The attacks of the long form do what they are meant to: the server ends each connection."""
    known = {attack.name: attack for attack in attacks(authority)}
    with Servers(tmp_path) as servers:
        server = start(servers, OURS, authority, secure=False)
        for name in (
            "endless control line",
            "endless blanks",
            "bombs of blanks",
            "WebSocket pings",
        ):
            attack = known[name]
            crowd = Crowd(port_of(server.ports[attack.port][0]), attack, 5)
            crowd.run(20.0)
            assert len(crowd.lived) == 5
            assert max(crowd.lived) < 20.0, name
        assert "Traceback" not in server.log()
