"""Parts of the server as subscribers and publishers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jetstream_py.config.account_options import Permissions, Rule, User
from jetstream_py.server.internal import Internal
from jetstream_py.server.session import Session
from tests.server.harness import Bench


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def test_a_handler_gets_what_clients_publish(bench: Bench) -> None:
    got: list[tuple[bytes, bytes, bytes, bytes, int]] = []

    def handler(
        subject: bytes, reply: bytes, headers: bytes, data: bytes, client: Session | None
    ) -> None:
        got.append((subject, reply, headers, data, client.cid if client else 0))

    part = Internal(bench.broker, bench.broker.default_account)
    sub = part.subscribe(b"a.*", handler)
    client = bench.client()
    client.send(b"SUB a.b 1\r\nPUB a.b r 2\r\nhi\r\nHPUB a.c 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
    client.send(b"PUB a.b 0\r\n\r\n" * 200)
    cid = client.session.cid
    assert got[:2] == [
        (b"a.b", b"r", b"", b"hi", cid),
        (b"a.c", b"", b"NATS/1.0\r\n\r\n", b"hi", cid),
    ]
    assert got[2:] == [(b"a.b", b"", b"", b"", cid)] * 200
    assert client.read().count(b"MSG a.b 1") == 201
    part.unsubscribe(sub)
    client.send(b"PUB a.b 0\r\n\r\n")
    assert len(got) == 202


def test_the_server_publishes_to_clients_and_to_its_own_parts(bench: Bench) -> None:
    part = Internal(bench.broker, bench.broker.default_account)
    seen: list[bytes] = []
    part.subscribe(b"x.>", lambda subject, *rest: seen.append(subject))
    client = bench.client()
    client.send(b"SUB x.y 4\r\n")
    assert part.has_interest(b"x.y")
    assert not part.has_interest(b"z")
    part.publish(b"x.y", b"data", reply=b"$JS.ACK.s", headers=b"NATS/1.0\r\n\r\n")
    part.publish(b"x.y", b"")
    assert client.read() == (
        b"HMSG x.y 4 $JS.ACK.s 12 16\r\nNATS/1.0\r\n\r\ndata\r\nMSG x.y 4 0\r\n\r\n"
    )
    assert seen == [b"x.y", b"x.y"]


def test_a_handler_counts_as_a_receiver(bench: Bench) -> None:
    """No 503 for a request that a part of the server will answer."""
    part = Internal(bench.broker, bench.broker.default_account)
    part.subscribe(b"api", lambda subject, reply, *rest: part.publish(reply, b"ok"))
    client = bench.client()
    assert client.ask(b"SUB _INBOX.q.* 1\r\nPUB api _INBOX.q.1 0\r\n\r\n") == (
        b"MSG _INBOX.q.1 1 2\r\nok\r\n"
    )


def test_one_message_goes_straight_to_one_listener_alone(bench: Bench) -> None:
    part = Internal(bench.broker, bench.broker.default_account)
    client = bench.client()
    block = b"NATS/1.0\r\n\r\n"

    def straight(headers: bytes = b"", most: int = 0) -> bool:
        return part.deliver_one(b"in.1", b"s", b"r", headers, b"data", most)

    assert not straight()
    client.send(b"SUB in.* 4\r\n")
    assert straight()
    assert straight(block)
    plain = client.read()
    for headers in (b"", block):
        part.deliver(b"in.1", [b"s"], [b"r"], [headers], [b"data"])
    assert plain == client.read()
    assert not straight(most=-1)  # it has more to take than that
    rule = bench.broker.reception.rights_of(
        User(permissions=Permissions(subscribe=Rule(deny=("x",))))
    )
    assert rule is not None
    client.session.hidden = rule.subscribe  # some messages are not for it
    assert not straight()
    client.session.hidden = None
    client.send(b"SUB in.1 5\r\n")
    assert not straight()
    client.send(b"UNSUB 4\r\nUNSUB 5 9\r\n")
    assert not straight()
    assert client.read() == b""
