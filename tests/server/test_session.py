"""Sessions without sockets: what one client's bytes do to it and to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from jetstream_py.config.account_options import User
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from tests.server.harness import CONNECT, Bench


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def test_counters_are_true_after_every_kind_of_traffic(bench: Bench) -> None:
    publisher, receiver = bench.client(), bench.client()
    receiver.send(b"SUB a 1\r\nSUB a.* 2\r\nPING\r\n")
    publisher.send(b"PUB a 3\r\nabc\r\nPUB a.b 0\r\n\r\nHPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
    publisher.send(b"PUB nobody 10\r\n0123456789\r\nPING\r\n" + b"PUB a 5\r\nhello\r\n" * 500)
    receiver.read()
    sent, got = publisher.session, receiver.session
    assert (sent.in_msgs, sent.in_bytes) == (504, 3 + 14 + 10 + 2500)
    assert (got.out_msgs, got.out_bytes) == (503, 3 + 14 + 2500)
    assert {sid: sub.msgs for sid, sub in got.subs.items()} == {b"1": 502, b"2": 1}
    publisher.drop()
    receiver.drop()
    assert bench.broker.totals() == (504, 2527, 503, 2517)


def test_queue_members_share_evenly(bench: Bench) -> None:
    publisher = bench.client()
    members = [bench.client() for _ in range(4)]
    for member in members:
        member.send(b"SUB work crew 1\r\n")
    publisher.send(b"PUB work 1\r\nx\r\n" * 4_000)
    counts = Counter({i: member.read().count(b"MSG work") for i, member in enumerate(members)})
    assert counts.total() == 4_000
    assert min(counts.values()) > 850


def test_queue_groups_on_different_patterns_are_one_group(bench: Bench) -> None:
    publisher, one, two = bench.client(), bench.client(), bench.client()
    one.send(b"SUB a.b q 1\r\n")
    two.send(b"SUB a.* q 1\r\n")
    publisher.send(b"PUB a.b 1\r\nx\r\n" * 50)
    assert one.read().count(b"MSG") + two.read().count(b"MSG") == 50


def test_messages_keep_their_order_across_gears(bench: Bench) -> None:
    """Bulk, control lines and messages with LF in the payload change the gear in mid-read."""
    client = bench.client()
    client.send(b"SUB > 1\r\n")
    frames, want = [], []
    for i in range(2_000):
        body = b"%d\n" % i if i % 7 == 0 else b"%d" % i
        frames.append(b"PUB s%d %d\r\n%b\r\n" % (i % 3, len(body), body))
        want.append(b"MSG s%d 1 %d\r\n%b\r\n" % (i % 3, len(body), body))
        if i % 50 == 0:
            frames.append(b"PING\r\n")
            want.append(b"PONG\r\n")
    assert client.ask(b"".join(frames)) == b"".join(want)


def test_a_payload_in_many_pieces_is_joined_once(bench: Bench) -> None:
    client = bench.client()
    client.send(b"SUB a 1\r\n")
    body = bytes(range(256)) * 4_000
    frame = b"PUB a %d\r\n%b\r\n" % (len(body), body)
    client.send(frame, range(1_000, len(frame), 1_000))
    assert client.read() == b"MSG a 1 %d\r\n%b\r\n" % (len(body), body)


def test_unfinished_input_is_bounded(bench: Bench) -> None:
    """Endless blanks, an endless PING and an endless argument hold no more than a control line."""
    for endless in (b"PUB ", b"PING", b"+OK", b"CONNECT "):
        client = bench.client()
        client.send(endless)
        for _ in range(100):
            client.send(b" " * 10_000)
        assert sum(map(len, client.session._chunks)) < 16
        client.drop()
    client = bench.client()
    client.send(b"SUB " + b"x" * 4_096)
    assert not client.session.closed
    client.send(b"x")
    assert client.read() == b"-ERR 'maximum control line exceeded'\r\n"
    assert client.session.closed


def test_nothing_is_fast_before_connect() -> None:
    """With authentication on, a cached publish of somebody else opens no door."""
    auth = Authorization(users=(User("bob", Secret("pw")),))
    bench = Bench(Options(authorization=auth))
    login = CONNECT.replace(b"}", b',"user":"bob","pass":"pw"}')
    inside = bench.client(login)
    inside.send(b"SUB a 1\r\nPUB a 1\r\nx\r\n")
    outside = bench.client(b"")
    assert outside.ask(b"PUB a 1\r\nx\r\n" * 200) == b"-ERR 'Authorization Violation'\r\n"
    assert inside.read() == b"MSG a 1 1\r\nx\r\n"
    bench.close()


@pytest.mark.parametrize(
    ("given", "admitted"),
    [
        (b'"user":"bob","pass":"pw"', True),
        (b'"user":"bob","pass":"PW"', False),
        (b'"user":"bob","pass":""', False),
        (b'"user":"bob"', False),
        (b'"user":"eve","pass":"pw"', False),
        (b'"user":"bob","pass":"pw\\u00e9"', False),
        (b'"user":"bob","pass":"\\ud800"', False),
        (b'"auth_token":"pw"', False),
        (b'"name":"x"', False),
    ],
)
def test_user_and_password(given: bytes, admitted: bool) -> None:
    auth = Authorization(users=(User("bob", Secret("pw")), User("al", Secret("x"))))
    bench = Bench(Options(authorization=auth))
    client = bench.client(b"")
    answer = client.ask(b'CONNECT {"verbose":false,' + given + b"}\r\nPING\r\n")
    assert (answer == b"PONG\r\n") is admitted
    assert client.session.closed is not admitted
    bench.close()


def test_an_empty_password_never_matches() -> None:
    bench = Bench(Options(authorization=Authorization(users=(User("bob", Secret("")),))))
    client = bench.client(b"")
    assert (
        client.ask(b'CONNECT {"user":"bob","pass":""}\r\n') == b"-ERR 'Authorization Violation'\r\n"
    )
    bench.close()


def test_secrets_do_not_show() -> None:
    auth = Authorization(users=(User("bob", Secret("hunter2")),), token=Secret("hunter2"))
    assert "hunter2" not in repr(Options(authorization=auth))
