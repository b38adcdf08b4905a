"""Connections on a fake transport and a clock that is moved by hand: timers, bounds, order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jetstream_py import limits
from jetstream_py.config.account_options import User
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from jetstream_py.server.connection import LARGE_READ, ClientConnection
from tests.server.harness import CONNECT
from tests.server.net import FakeTransport, Net, journal


@pytest.fixture
def net() -> Iterator[Net]:
    journal.clear()
    net = Net(Options())
    yield net
    net.bench.close()


def reason(net: Net) -> str:
    return net.broker.closed[-1].reason


def test_messages_leave_before_the_pong_that_follows_them(net: Net) -> None:
    """Also when the publisher's connection is so new that its INFO left a moment ago."""
    reader = net.open(CONNECT + b"SUB a 1\r\n")
    journal.clear()
    writer = FakeTransport(1)
    writer.protocol = ClientConnection(net.broker)
    writer.protocol.connection_made(writer)
    writer.protocol.data_received(CONNECT + b"PUB a 1\r\nx\r\n")
    writer.protocol.data_received(b"PING\r\n")
    net.tick()
    assert [port for port, data in journal if not data.startswith(b"INFO")] == [reader.port, 1]
    assert net.broker.dirty == []


def test_small_reads_of_one_tick_are_written_once(net: Net) -> None:
    reader = net.open(CONNECT + b"SUB a 1\r\n")
    writers = [net.open() for _ in range(3)]
    journal.clear()
    for writer in writers:
        writer.protocol.data_received(b"PUB a 1\r\nx\r\n")
    assert journal == []
    net.tick()
    assert journal == [(reader.port, b"MSG a 1 1\r\nx\r\n" * 3)]


def test_first_ping_two_seconds_after_connect_then_every_interval(net: Net) -> None:
    client, silent = net.open(), net.open(b"")
    net.pass_time(1.9)
    assert client.take() == b""
    net.pass_time(0.2)
    assert client.take() == b"PING\r\n"
    net.send(client, b"PONG\r\n")
    net.pass_time(119)
    assert (client.take(), silent.take()) == (b"", b"PING\r\n")
    net.pass_time(3)
    assert client.take() == b"PING\r\n"


def test_unanswered_pings_make_a_stale_connection(net: Net) -> None:
    client = net.open()
    net.pass_time(2 + 240 + 1)
    assert client.take() == b"PING\r\nPING\r\n-ERR 'Stale Connection'\r\n"
    assert client.ended
    assert reason(net) == "Stale Connection"
    assert net.broker.stale_connections == 1


def test_a_busy_client_is_not_pinged(net: Net) -> None:
    client = net.open()
    net.pass_time(2.1)
    net.send(client, b"PONG\r\n")
    client.take()
    for _ in range(10):
        net.pass_time(60)
        net.send(client, b"PUB a 1\r\nx\r\n")
    assert client.take() == b""


def test_round_trip_time_is_measured(net: Net) -> None:
    client = net.open()
    net.pass_time(2.1)
    net.bench.clock.advance(0.05)
    net.send(client, b"PONG\r\n")
    (session,) = net.broker.sessions.values()
    assert session.rtt == pytest.approx(0.15, abs=0.06)


def test_no_connect_in_time_ends_the_connection() -> None:
    auth = Authorization(users=(User("bob", Secret("pw")),))
    net = Net(Options(authorization=auth))
    late = net.open(b"")
    known = net.open(CONNECT.replace(b"}", b',"user":"bob","pass":"pw"}'))
    net.pass_time(1.9)
    assert not late.closing
    net.pass_time(0.2)
    assert late.take() == b"-ERR 'Authentication Timeout'\r\n"
    assert (late.ended, known.ended) == (True, False)
    assert reason(net) == "Authentication Timeout"
    net.bench.close()


def test_a_client_that_takes_nothing_for_the_write_deadline_is_dropped(net: Net) -> None:
    reader, writer = net.open(CONNECT + b"SUB a 1\r\n"), net.open()
    reader.room = 10
    net.send(writer, b"PUB a 9\r\nxxxxxxxxx\r\n")
    net.pass_time(9.9)
    assert not reader.closing
    net.pass_time(0.2)
    assert reader.aborted
    assert reason(net) == "Slow Consumer (Write Deadline)"
    assert net.broker.slow_consumers == 1
    assert net.broker.default_account.router.sublist.count == 0


def test_a_client_that_reads_again_in_time_stays(net: Net) -> None:
    reader, writer = net.open(CONNECT + b"SUB a 1\r\n"), net.open()
    for _ in range(5):
        reader.room = 10
        net.send(writer, b"PUB a 9\r\nxxxxxxxxx\r\n")
        net.pass_time(8)
        reader.drain()
        net.send(reader, b"PONG\r\n")
    assert not reader.closing
    assert net.broker.slow_consumers == 0


def test_pending_bytes_above_the_limit_end_the_connection() -> None:
    net = Net(Options(max_pending=1_000, max_payload=1_000))
    reader, writer = net.open(CONNECT + b"SUB a 1\r\n"), net.open()
    reader.room = 0
    for _ in range(20):
        if not reader.closing:
            net.send(writer, b"PUB a 100\r\n" + b"x" * 100 + b"\r\n")
            assert reader.waiting <= 1_000
    assert reader.aborted
    assert reason(net) == "Slow Consumer (Pending Bytes)"
    assert not writer.closing
    net.bench.close()


@pytest.mark.parametrize("never", [False, True])
def test_a_producer_that_fills_a_buffer_is_paused_for_a_moment(never: bool) -> None:
    net = Net(Options(max_pending=100_000, no_fast_producer_stall=never))
    reader, writer = net.open(CONNECT + b"SUB a 1\r\n"), net.open()
    reader.room = 0
    frame = b"PUB a 1000\r\n" + b"x" * 1000 + b"\r\n"
    net.send(writer, frame * (LARGE_READ // 1000 + 1))
    assert not writer.reading_paused
    net.send(writer, frame * 70)
    assert writer.reading_paused is not never
    assert net.broker.stalled_clients == (0 if never else 1)
    net.pass_time(0.1)
    assert not writer.reading_paused
    net.bench.close()


def test_a_closing_client_gets_its_last_words_or_is_cut_off(net: Net) -> None:
    client = net.open()
    client.room = 4
    net.send(client, b"FOO\r\n")
    assert client.written == b"-ERR"
    assert client.ended
    net.pass_time(0.9)
    assert not client.closing
    net.pass_time(0.2)
    assert client.closing
    net.pass_time(9)
    assert client.aborted
    assert net.broker.slow_consumers == 0


def test_what_comes_after_an_error_is_passed_over_until_the_client_leaves(net: Net) -> None:
    """Closing at once, with input unread, would reset the connection and lose the error text."""
    watcher = net.open(CONNECT + b"SUB > 1\r\n")
    client = net.open()
    net.send(client, b"FOO\r\nPUB a 1\r\nx\r\n")
    net.send(client, b"PUB a 1\r\nx\r\n")
    assert client.take() == b"-ERR 'Unknown Protocol Operation'\r\n"
    assert client.ended
    assert not client.closing
    assert len(net.broker.lingering) == 1
    client.protocol.connection_lost(None)
    assert not net.broker.lingering
    assert watcher.take() == b""


def test_only_so_many_connections_linger(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LINGERING", 2)
    clients = [net.open() for _ in range(4)]
    for client in clients:
        net.send(client, b"FOO\r\n")
    assert [client.closing for client in clients] == [False, False, True, True]


def test_a_retried_write_is_waited_for() -> None:
    net = Net(Options(write_timeout="retry"))
    reader, writer = net.open(CONNECT + b"SUB a 1\r\n"), net.open()
    reader.room = 10
    net.send(writer, b"PUB a 9\r\nxxxxxxxxx\r\n")
    net.pass_time(60)
    assert not reader.closing
    net.bench.close()


def test_a_lost_connection_leaves_nothing_behind(net: Net) -> None:
    client = net.open(CONNECT + b"SUB a 1\r\nSUB b q 2\r\n")
    client.protocol.connection_lost(ConnectionResetError())
    assert not net.broker.sessions
    assert net.broker.default_account.router.sublist.count == 0
    assert reason(net) == "Read Error"
    net.pass_time(300)
    assert client.take() == b""


def test_half_a_close_still_gets_what_was_queued(net: Net) -> None:
    client = net.open(CONNECT + b"SUB a 1\r\n")
    client.protocol.data_received(b"PUB a 1\r\nx\r\nPING\r\n")
    client.protocol.eof_received()
    assert client.take() == b"MSG a 1 1\r\nx\r\nPONG\r\n"
