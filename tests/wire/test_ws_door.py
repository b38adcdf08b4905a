"""Coming in by WebSocket, on a fake transport and a clock that is moved by hand: requests in any cut,
timers, bounds, the last word."""

from __future__ import annotations

import asyncio
import gc
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jetstream_py import limits
from jetstream_py.config.account_options import Tls, User, WebSocket
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from jetstream_py.server.tls import Contexts
from jetstream_py.server.ws_door import WebSocketDoor
from tests.server.harness import CONNECT
from tests.server.net import FakeTransport, Net, journal
from tests.support.certs import Authority, Pair
from tests.wire import websocket as ws
from tests.wire.secure import MemoryClient


class WebNet(Net):
    """Connections to a websocket port."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        assert options.websocket is not None
        self.websocket = options.websocket
        self.contexts: Contexts | None = None
        if self.websocket.tls is not None:
            log = self.broker.log
            self.contexts = Contexts(self.websocket.tls, self.broker.timers, log)
        self.broker.bound_websocket("h", 1, self.contexts is not None)

    def knock(self) -> FakeTransport:
        transport = FakeTransport(next(self.ports))
        transport.protocol = WebSocketDoor(self.broker, self.websocket, self.contexts)
        transport.protocol.connection_made(transport)
        return transport

    def enter(self, headers: dict[str, str | None] | None = None) -> FakeTransport:
        transport = self.knock()
        self.send(transport, ws.request(headers))
        head, _, rest = transport.take().partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head
        assert ws.content(rest).startswith(b"INFO {")
        return transport


Make = Callable[..., WebNet]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[WebNet] = []
    journal.clear()

    def make(block: dict[str, Any] | None = None, **options: Any) -> WebNet:
        made.append(WebNet(Options(websocket=WebSocket(**(block or {})), **options)))
        return made[-1]

    yield make
    for each in made:
        each.bench.close()


def reason(net: WebNet) -> str:
    return net.broker.closed[-1].reason


def test_a_request_in_any_cut(make: Make) -> None:
    net = make()
    asking = ws.request()
    for cut in range(1, len(asking)):
        transport = net.knock()
        net.send(transport, asking[:cut])
        assert transport.take() == b""
        net.send(transport, asking[cut:])
        assert transport.take().startswith(b"HTTP/1.1 101 ")


def test_refused_requests_may_be_followed_by_a_better_one(make: Make) -> None:
    net = make()
    transport = net.knock()
    net.send(transport, ws.request(method="POST") + ws.request({"Upgrade": None}) + ws.request())
    codes = re.findall(rb"HTTP/1.1 (\d+)", transport.take())
    assert codes == [b"405", b"400", b"101"]
    assert not transport.closing


def test_bytes_behind_the_request_end_it(make: Make) -> None:
    net = make()
    transport = net.knock()
    net.send(transport, ws.request() + ws.frame(b"PING\r\n"))
    assert transport.closing
    assert transport.take() == b""
    assert not net.broker.sessions


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_no_request_in_time(make: Make, said: bytes) -> None:
    net = make({"handshake_timeout": 3.0})
    transport = net.knock()
    if said:
        net.send(transport, said)
    net.pass_time(2.9)
    assert not transport.closing
    net.pass_time(0.2)
    assert transport.closing
    assert transport.take() == b""


def test_a_client_that_keeps_asking_wrongly_gets_time_for_each(make: Make) -> None:
    net = make({"handshake_timeout": 2.0})
    transport = net.knock()
    for _ in range(3):
        net.pass_time(1.5)
        net.send(transport, ws.request(method="POST"))
        assert not transport.closing
    net.pass_time(2.1)
    assert transport.closing


@pytest.mark.parametrize("filler", [b"X: y\r\n", b"y"])
def test_a_head_without_end_is_bounded(make: Make, filler: bytes) -> None:
    net = make()
    transport = net.knock()
    net.send(transport, b"GET / HTTP/1.1\r\n" + (b"" if b"\r" in filler else b"X: "))
    sent = 0
    while not transport.closing:
        net.send(transport, filler * 1000)
        sent += 1000 * len(filler)
        assert sent < limits.WEBSOCKET_HEAD + 10_000
    assert transport.take().startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")


def test_refusals_that_nobody_reads_are_bounded(make: Make) -> None:
    net = make()
    transport = net.knock()
    transport.room = 0
    net.send(transport, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 10_000)
    assert transport.aborted
    assert len(b"".join(data for port, data in journal if port == transport.port)) < 20_000


def test_after_the_upgrade_time_for_the_request_is_over(make: Make) -> None:
    net = make({"handshake_timeout": 1.0})
    transport = net.enter()
    net.pass_time(1.5)
    assert not transport.closing
    net.send(transport, ws.frame(b"PING\r\n"))
    assert ws.content(transport.take()) == b"PONG\r\n"


def test_messages_between_plain_and_websocket_clients(make: Make) -> None:
    net = make()
    reader, writer = net.enter(), net.open()
    net.send(reader, ws.frame(CONNECT + b"SUB a 1\r\n"))
    net.send(writer, b"PUB a 2\r\nhi\r\n" * 3)
    assert list(ws.split(reader.take())) == [(0x82, b"MSG a 1 2\r\nhi\r\n" * 3)]


def test_its_own_timeouts(make: Make) -> None:
    users = Authorization(users=(User("bob", Secret("pw")),), timeout=9.0)
    net = make({"auth_timeout": 1.0}, authorization=users)
    transport = net.enter()
    net.pass_time(1.1)
    wire = transport.take()
    assert ws.content(wire) == b"-ERR 'Authentication Timeout'\r\n"
    assert ws.close_code(wire) == (1008, "Authentication Timeout")
    net = make({"ping_interval": 1.0})
    transport = net.enter()
    net.pass_time(1.1)
    assert ws.content(transport.take()) == b"PING\r\n"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"NONSENSE\r\n", (1002, "Protocol Violation")),
        (b"PUB a 9999999\r\n", (1009, "Maximum Message Payload Exceeded")),
        (b"SUB " + b"x" * 5000, (1008, "Maximum Control Line Exceeded")),
        (b'CONNECT {"protocol":7}\r\n', (1002, "Bad Client Protocol Version")),
    ],
)
def test_the_last_word_tells_why(make: Make, said: bytes, code: tuple[int, str]) -> None:
    net = make()
    transport = net.enter()
    net.send(transport, ws.frame(said))
    wire = transport.take()
    assert ws.content(wire).startswith(b"-ERR '")
    assert ws.close_code(wire) == code
    assert transport.ended  # it lingers, so that this is read
    net.pass_time(1.1)
    assert transport.closing


def test_shutdown_and_stale_connections_go_away(make: Make) -> None:
    net = make()
    transport = net.enter()
    net.broker.shutdown()
    assert ws.close_code(transport.take()) == (1001, "Server Shutdown")


def test_a_close_frame_comes_after_what_was_asked_before(make: Make) -> None:
    net = make()
    transport = net.enter()
    net.send(transport, ws.frame(b"PING\r\n") + ws.close(1000, "bye") + ws.frame(b"PING\r\n"))
    assert transport.take() == ws.frame(b"PONG\r\n", masked=False) + ws.frame(
        b"\x03\xe8bye", ws.CLOSE, masked=False
    )
    assert transport.closing
    assert reason(net) == "Client Closed"


def test_wrong_frames_end_the_connection(make: Make) -> None:
    net = make()
    transport = net.enter()
    net.send(transport, ws.frame(b"PING\r\n") + ws.frame(b"PING\r\n", masked=False))
    wire = transport.take()
    assert ws.content(wire) == b"PONG\r\n"
    assert ws.close_code(wire) == (1002, "mask bit missing")
    assert reason(net) == "Read Error"
    assert transport.ended
    net.pass_time(1.1)
    assert transport.closing


def test_pongs_that_nobody_takes_end_the_connection(make: Make) -> None:
    net = make(max_pending=10_000, max_payload=10_000)
    transport = net.enter()
    transport.room = 0
    for _ in range(100):
        if not transport.closing:
            net.send(transport, ws.frame(b"x" * 125, ws.PING) * 10)
            assert transport.waiting <= 12_000
    assert transport.aborted
    assert reason(net) == "Slow Consumer (Pending Bytes)"


def test_a_bomb_ends_the_connection(make: Make) -> None:
    net = make({"compression": True}, max_payload=100_000)
    transport = net.enter(dict(ws.DEFLATE))
    net.send(transport, ws.deflated(b"PING\r\n" * 100_000))
    assert ws.close_code(transport.take()) == (1009, "maximum payload exceeded")
    assert reason(net) == "Read Error"


def test_cookies_are_credentials(make: Make) -> None:
    users = Authorization(users=(User("bob", Secret("pw")),))
    block = {"user_cookie": "u", "password_cookie": "p"}
    net = make(block, authorization=users)
    for cookie, said, admitted in [
        ("u=bob; p=pw", b"{}", True),
        ('x=y; u="bob";p="pw"', b"{}", True),
        ("u=bob; p=pw; p=no", b"{}", False),
        ("u=bob", b"{}", False),
        ("u=bob", b'{"pass":"pw"}', True),
        ("u=eve; p=no", b'{"user":"bob","pass":"pw"}', True),
    ]:
        transport = net.enter({"Cookie": cookie})
        net.send(transport, ws.frame(b"CONNECT " + said + b"\r\nPING\r\n"))
        assert ws.content(transport.take()).endswith(b"PONG\r\n") is admitted, cookie


def test_secured(make: Make, authority: Authority, pair: Pair) -> None:
    tls = Tls(cert_file=str(pair.cert), key_file=str(pair.key))
    net = make({"tls": tls, "handshake_timeout": 2.0})
    transport = net.knock()
    client = MemoryClient(authority.client_context())
    flight = client.shake()
    while flight:
        net.send(transport, flight)
        flight = client.shake(transport.take())
    net.send(transport, client.encrypt(ws.request()))
    answer = client.decrypt(transport.take())
    assert answer.startswith(b"HTTP/1.1 101 ")
    assert b'"tls_required":true,"tls_available":true' in answer
    net.send(transport, client.encrypt(ws.frame(b"PING\r\n")))
    assert ws.content(client.decrypt(transport.take())) == b"PONG\r\n"
    (session,) = net.broker.sessions.values()
    assert session.link.tls_info() is not None
    silent = net.knock()
    net.pass_time(2.1)
    assert silent.closing
    plain = net.knock()
    net.send(plain, ws.request())
    assert plain.take().endswith(b"Client sent an HTTP request to an HTTPS server.\n")
    assert plain.closing


def test_a_closed_connection_is_no_cycle(make: Make) -> None:
    net = make()
    transport = net.enter()
    layer = weakref.ref(transport.protocol)
    gc.disable()
    try:
        transport.protocol.connection_lost(None)
        transport.protocol = asyncio.Protocol()
        assert layer() is None
    finally:
        gc.enable()
    assert reason(net) == "Client Closed"
