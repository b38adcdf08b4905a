"""Coming in by TLS, on a fake transport and a clock that is moved by hand: who speaks first, timers,
bounds, what a plain client pays."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jetstream_py.config.account_options import Tls, User
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from jetstream_py.server.connection import ClientConnection
from jetstream_py.server.tls import Contexts
from jetstream_py.server.tls_door import TlsDoor
from jetstream_py.server.tls_layer import TlsLayer
from tests.server.harness import CONNECT
from tests.server.net import FakeTransport, Net, journal
from tests.support.certs import Authority, Pair
from tests.wire.secure import MemoryClient


class TlsNet(Net):
    """Connections to a port that speaks TLS."""

    def __init__(self, authority: Authority, options: Options) -> None:
        super().__init__(options)
        assert options.tls is not None
        self.authority = authority
        self.contexts = Contexts(options.tls, self.broker.timers, self.broker.log)

    def knock(self) -> FakeTransport:
        transport = FakeTransport(next(self.ports))
        transport.protocol = TlsDoor(self.broker, self.contexts)
        transport.protocol.connection_made(transport)
        self.tick()
        return transport

    def shake(self, transport: FakeTransport, certificate: Pair | None = None) -> MemoryClient:
        client = MemoryClient(self.authority.client_context(certificate))
        flight = client.shake()
        while flight:
            self.send(transport, flight)
            flight = client.shake(transport.take())
        return client


Make = Callable[..., TlsNet]


@pytest.fixture
def make(authority: Authority, pair: Pair) -> Iterator[Make]:
    made: list[TlsNet] = []

    def make(tls: dict[str, Any] | None = None, **options: Any) -> TlsNet:
        files = {"cert_file": str(pair.cert), "key_file": str(pair.key)}
        block = Tls(**files, ca_file=str(authority.cert), **(tls or {}))  # type: ignore[arg-type]
        made.append(TlsNet(authority, Options(tls=block, **options)))
        return made[-1]

    yield make
    for each in made:
        each.bench.close()


def info(line: bytes) -> dict[str, Any]:
    assert line.startswith(b"INFO "), line
    answer = json.loads(line[5:])
    assert isinstance(answer, dict)
    return answer


def reason(net: TlsNet) -> str:
    return net.broker.closed[-1].reason


def test_info_in_plain_text_then_everything_inside(make: Make) -> None:
    net = make()
    transport = net.knock()
    assert info(transport.take())["tls_required"] is True
    client = net.shake(transport)
    net.send(transport, client.encrypt(CONNECT + b"SUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n"))
    assert client.decrypt(transport.take()) == b"MSG a 1 2\r\nhi\r\nPONG\r\n"
    assert isinstance(transport.protocol, TlsLayer)
    (session,) = net.broker.sessions.values()
    told = session.link.tls_info()
    assert told is not None
    assert (told.version, told.first, told.chain) == ("1.3", False, ())


def test_an_error_text_is_read_before_the_end(make: Make) -> None:
    net = make()
    transport = net.knock()
    transport.take()
    client = net.shake(transport)
    net.send(transport, client.encrypt(b"NONSENSE\r\n"))
    assert client.decrypt(transport.take()) == b"-ERR 'Unknown Protocol Operation'\r\n"
    assert transport.ended
    assert not transport.closing  # it lingers, so that the text is not overtaken by a reset
    net.pass_time(1.1)
    assert transport.closing


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00\x01\x00\x01"])
def test_no_handshake_in_time(make: Make, said: bytes) -> None:
    net = make()
    transport = net.knock()
    transport.take()
    if said:
        net.send(transport, said)
    net.pass_time(1.9)
    assert not transport.closing
    net.pass_time(0.2)
    assert transport.closing
    assert transport.take() == b""
    assert reason(net) == "TLS Handshake Failure"


def test_a_plain_client_is_closed_without_a_word(make: Make) -> None:
    net = make()
    transport = net.knock()
    transport.take()
    net.send(transport, CONNECT)
    assert transport.closing
    assert transport.take() == b""
    assert reason(net) == "TLS Handshake Failure"


def test_authentication_time_starts_after_the_handshake(make: Make) -> None:
    users = Authorization(users=(User("bob", Secret("pw")),), timeout=1.0)
    net = make({"timeout": 5.0}, authorization=users)
    transport = net.knock()
    transport.take()
    net.pass_time(3)
    client = net.shake(transport)
    net.pass_time(0.9)
    assert not transport.ended
    net.pass_time(0.2)
    assert client.decrypt(transport.take()) == b"-ERR 'Authentication Timeout'\r\n"


def test_both_kinds_are_welcome_and_plain_ones_have_no_layer(make: Make) -> None:
    net = make(allow_non_tls=True)
    plain, secured = net.knock(), net.knock()
    first = info(plain.take())
    assert first["tls_available"] is True
    assert "tls_required" not in first
    secured.take()
    net.send(plain, CONNECT + b"PING\r\n")
    assert plain.take() == b"PONG\r\n"
    assert type(plain.protocol) is ClientConnection
    client = net.shake(secured)
    net.send(secured, client.encrypt(CONNECT + b"PING\r\n"))
    assert client.decrypt(secured.take()) == b"PONG\r\n"


def test_who_says_nothing_for_the_tls_timeout_is_plain(make: Make) -> None:
    net = make(allow_non_tls=True)
    transport = net.knock()
    transport.take()
    net.pass_time(2.1)
    assert type(transport.protocol) is ClientConnection
    net.send(transport, b"PING\r\n")
    assert transport.take() == b"PONG\r\n"


def test_handshake_first(make: Make) -> None:
    net = make({"handshake_first": True})
    transport = net.knock()
    assert transport.take() == b""
    client = MemoryClient(net.authority.client_context())
    net.send(transport, client.shake())
    net.send(transport, client.shake(transport.take()))
    assert info(client.decrypt(transport.take()))["tls_required"] is True
    (session,) = net.broker.sessions.values()
    told = session.link.tls_info()
    assert told is not None
    assert told.first


def test_handshake_first_with_a_way_back(make: Make) -> None:
    net = make({"handshake_first": True, "handshake_fallback": 0.3}, allow_non_tls=True)
    early, late, plain = net.knock(), net.knock(), net.knock()
    net.pass_time(0.2)
    assert late.take() == b""
    client = MemoryClient(net.authority.client_context())
    net.send(early, client.shake())
    net.send(early, client.shake(early.take()))
    net.pass_time(0.2)
    inside = info(client.decrypt(early.take()))
    assert (inside["tls_required"], inside["tls_available"]) == (True, True)
    assert "tls_required" not in info(late.take())
    client = net.shake(late)
    net.send(late, client.encrypt(b"PING\r\n"))
    assert client.decrypt(late.take()) == b"PONG\r\n"
    plain.take()
    net.send(plain, b"PING\r\n")
    assert plain.take() == b"PONG\r\n"


def test_plain_bytes_before_the_way_back_are_no_handshake(make: Make) -> None:
    net = make({"handshake_first": True, "handshake_fallback": 0.3}, allow_non_tls=True)
    transport = net.knock()
    net.send(transport, b"PING\r\n")
    assert transport.closing
    assert transport.take() == b""


def test_no_more_handshakes_in_a_second_than_the_limit(make: Make) -> None:
    net = make({"connection_rate_limit": 2})
    first = [net.knock() for _ in range(4)]
    throttled = b"-ERR 'Connection throttling is active. Please try again later.'\r\n"
    assert [each.take().endswith(throttled) for each in first] == [False, False, True, True]
    assert reason(net) == "Maximum Connections Exceeded"
    net.pass_time(1.2)
    assert not net.knock().take().endswith(throttled)


def test_pinned_certificates(make: Make, authority: Authority) -> None:
    known = authority.issue("pinned", [])
    other = authority.issue("not-pinned", [])
    net = make({"verify": True, "pinned_certs": frozenset({known.pin})})
    for pair, stays in ((known, True), (other, False)):
        transport = net.knock()
        transport.take()
        net.shake(transport, pair)
        assert transport.closing is not stays
    assert reason(net) == "TLS Handshake Failure"


def test_new_certificates_are_for_new_handshakes(make: Make, authority: Authority) -> None:
    net = make()
    old = net.knock()
    old.take()
    client = net.shake(old)
    fresh = authority.server("fresh")
    tls = Tls(cert_file=str(fresh.cert), key_file=str(fresh.key))
    net.contexts.apply(tls)
    new = net.knock()
    new.take()
    shown = net.shake(new).object.getpeercert()
    assert shown is not None
    assert shown != client.object.getpeercert()
    net.send(old, client.encrypt(b"PING\r\n"))
    assert client.decrypt(old.take()) == b"PONG\r\n"


def test_pending_bytes_count_what_the_socket_did_not_take(make: Make) -> None:
    net = make(max_pending=200_000, max_payload=100_000)
    reader, writer = net.knock(), net.open()
    reader.take()
    client = net.shake(reader)
    net.send(reader, client.encrypt(CONNECT + b"SUB a 1\r\n"))
    reader.room = 0
    frame = b"PUB a 90000\r\n" + b"x" * 90_000 + b"\r\n"
    net.send(writer, frame)
    (session,) = (each for each in net.broker.sessions.values() if each.subs)
    assert 90_000 < session.pending_bytes() < 91_000
    net.send(writer, frame * 2)
    assert reader.aborted
    assert reason(net) == "Slow Consumer (Pending Bytes)"


def test_one_write_for_each_flush(make: Make) -> None:
    net = make()
    reader, writer = net.knock(), net.open()
    reader.take()
    client = net.shake(reader)
    net.send(reader, client.encrypt(CONNECT + b"SUB a 1\r\n"))
    reader.take()
    journal.clear()
    net.send(writer, b"PUB a 90000\r\n" + b"x" * 90_000 + b"\r\n")
    assert [port for port, _ in journal] == [reader.port]
    assert client.decrypt(reader.take()).endswith(b"x\r\n")


def test_a_closed_connection_is_no_cycle(make: Make) -> None:
    net = make()
    transport = net.knock()
    transport.take()
    client = net.shake(transport)
    net.send(transport, client.encrypt(CONNECT))
    layer = weakref.ref(transport.protocol)
    gc.disable()
    try:
        transport.protocol.connection_lost(None)
        transport.protocol = asyncio.Protocol()
        assert layer() is None
    finally:
        gc.enable()
    assert reason(net) == "Client Closed"
