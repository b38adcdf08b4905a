"""What happens when a client does nothing, or reads nothing."""

from __future__ import annotations

import time

import pytest

from tests.support.raw import RawClient, Silence
from tests.support.server import Server, Start
from tests.support.wire import PONG, QUIET, connect, pub

PING = b"PING\r\n"
STALE = b"-ERR 'Stale Connection'\r\n"
MEGABYTE = b"x" * 1_000_000


@pytest.mark.behaviour("CORE-050")
def test_first_ping_comes_two_seconds_after_connect(server: Server) -> None:
    begin = time.monotonic()
    with server.client() as silent, server.client(connect(protocol=1)) as client:
        assert client.read_frame(timeout=3.5) == PING
        assert 1.9 < time.monotonic() - begin < 3.5
        with pytest.raises(Silence, match="deadline"):
            silent.read_frame(timeout=0.01)  # without CONNECT it comes after ping_interval


@pytest.mark.behaviour("CORE-050", "CORE-051")
def test_unanswered_pings_end_in_stale_connection(start: Start) -> None:
    server = start('ping_interval: "200ms"\nping_max: 2\n')
    begin = time.monotonic()
    with server.client(QUIET) as dead, server.client(QUIET) as alive:
        assert dead.read_frame() == PING
        assert 0.15 < time.monotonic() - begin < 1.5
        assert alive.read_frame() == PING
        alive.send(PONG)
        assert dead.read_all() == PING + STALE
        assert alive.exchange().replace(PING, b"") == b""
        assert not alive.eof


@pytest.mark.behaviour("CORE-051")
def test_ping_max_counts_the_unanswered(start: Start) -> None:
    with start('ping_interval: "100ms"\nping_max: 1\n').client() as client:
        assert client.read_all() == PING + STALE


@pytest.mark.behaviour("CORE-061")
@pytest.mark.parametrize("beginning", [b"", b"C", b"CONNECT {"])
def test_no_connect_in_time_is_an_authentication_timeout(start: Start, beginning: bytes) -> None:
    server = start("authorization { user: u, password: p, timeout: 0.2 }\n")
    login = connect(user="u", **{"pass": "p"})
    begin = time.monotonic()
    with server.client(login) as admitted, server.client(beginning) as late:
        assert late.read_all() == b"-ERR 'Authentication Timeout'\r\n"
        assert 0.15 < time.monotonic() - begin < 2
        assert admitted.exchange() == b""


def close_reason(server: Server, client: RawClient) -> str:
    """Why the server closed the client, once it has."""
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline:
        for connection in server.monitor("/connz?state=closed")["connections"]:
            if connection["cid"] == client.info["client_id"]:
                return str(connection["reason"])
    raise AssertionError("the slow consumer is still connected")


def flood(server: Server) -> RawClient:
    """A subscriber that reads nothing of the twenty megabytes sent to it."""
    slow = server.client(QUIET + b"SUB flood 1\r\n")
    slow.exchange()
    with server.client(QUIET) as publisher:
        assert publisher.exchange(pub(b"flood", MEGABYTE) * 20) == b""
    return slow


@pytest.mark.behaviour("CORE-052", "CORE-054")
def test_blocked_writer_is_closed_after_the_write_deadline(start: Start) -> None:
    server = start('write_deadline: "300ms"\n', flags=["-m", "-1"])
    with flood(server) as slow:
        assert close_reason(server, slow) == "Slow Consumer (Write Deadline)"
        rest = slow.read_all()
    assert len(rest) < 20 * len(MEGABYTE)
    assert b"-ERR" not in rest
    assert server.monitor("/varz")["slow_consumers"] == 1
    assert "Slow Consumer Detected: WriteDeadline of 300ms exceeded with " in server.log()


@pytest.mark.behaviour("CORE-053", "CORE-054")
def test_pending_bytes_above_the_limit_close(start: Start) -> None:
    server = start('write_deadline: "60s"\nmax_pending: 2MB\n', flags=["-m", "-1"])
    with flood(server) as slow:
        assert close_reason(server, slow) == "Slow Consumer (Pending Bytes)"
        rest = slow.read_all()
    assert len(rest) < 20 * len(MEGABYTE)
    assert b"-ERR" not in rest
    assert server.monitor("/varz")["slow_consumers"] == 1
    assert "Slow Consumer Detected: MaxPending of 2097152 Exceeded" in server.log()
