"""What a stranger costs: before the login a connection holds at most 64 KiB and ends in time, whatever
is sent and however it is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

import bcrypt
import pytest

from jetstream_py import limits
from jetstream_py.config.account_options import Tls, User, WebSocket
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from tests.security.ledger import held
from tests.server.net import FakeTransport, Net
from tests.support.certs import Authority, Pair
from tests.support.wire import connect
from tests.wire import websocket as ws
from tests.wire.secure import MemoryClient
from tests.wire.test_tls_door import TlsNet
from tests.wire.test_ws_door import WebNet

MOST = 64 * 1024
READ = 64 * 1024
TIMEOUT = 2.0
HASH = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
AUTH = Authorization(users=(User(name="bob", password=Secret(HASH)),), timeout=TIMEOUT)
LOGIN = connect(user="bob", **{"pass": "wrong"})
PUB = b"PUB a 1\r\nx\r\n"
ENOUGH = 4 << 20  # bytes after which a stranger has been listened to for too long

Attack = Iterable[bytes]


def then_endless(start: bytes, filler: bytes) -> Iterator[bytes]:
    yield start
    yield from repeat(filler)


def slowly(data: bytes) -> Attack:
    return (data[i : i + 1] for i in range(len(data)))


class Cost:
    """Send until it is over; the most that was held meanwhile."""

    def __init__(self, net: Net, transport: FakeTransport, attack: Attack) -> None:
        self.sent = self.most = 0
        for i, data in enumerate(attack):
            if transport.closing or transport.ended or self.sent > ENOUGH:
                break
            if transport.reading_paused:
                break  # the kernel's business from here on
            net.send(transport, data)
            self.sent += len(data)
            if i % 64 == 0 or len(data) > 512:
                self.most = max(self.most, held(net, transport))
        self.most = max(self.most, held(net, transport))
        assert self.most <= MOST
        # An endless talker is stopped for its volume, a silent one for its time.
        assert self.sent <= limits.EARLY_INPUT + 3 * READ
        net.pass_time(TIMEOUT + 0.5)
        assert transport.closing or transport.ended


def plain_attacks() -> dict[str, Attack]:
    return {
        "silence": [],
        "half a verb": [b"CONN"],
        "partial CONNECT": [b'CONNECT {"user":"'],
        "CONNECT byte by byte": slowly(b'CONNECT {"user":"%b' % (b"x" * 2000)),
        "endless control line": then_endless(b"CONNECT {", b"x" * 1000),
        "endless blanks": then_endless(b"CONNECT", b" " * READ),
        "endless tabs, cut small": then_endless(b"CONNECT", b"\t" * 100),
        "publishes": repeat(PUB * 1000),
        "subscriptions": [b"".join(b"SUB a.%d %d\r\n" % (i, i) for i in range(1000))],
        "pings": repeat(b"PING\r\n" * 1000),
        "what follows a hash": [LOGIN + PUB * 20_000],
        "what follows a hash, later": [LOGIN, *[PUB * 100] * 1000],
        "a large login": [connect(user="bob", jwt="j" * 4000)[:-2]],
    }


@pytest.mark.parametrize("name", plain_attacks())
def test_plain(name: str) -> None:
    net = Net(Options(authorization=AUTH))
    Cost(net, net.open(b""), plain_attacks()[name])
    net.bench.close()


def bomb(data: bytes) -> bytes:
    return ws.deflated(data * (1 << 20))


def websocket_attacks() -> dict[str, Attack]:
    cookie = "jwt=" + "j" * 15_000
    head = ws.request({**ws.DEFLATE, "Cookie": cookie})
    return {
        "silence": [],
        "partial request": [head[:-2]],
        "a request byte by byte": slowly(head[:-2]),
        "endless head": then_endless(b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 1000),
        "one huge head": [ws.request({"Cookie": "jwt=" + "j" * 100_000})],
        "wrong requests": repeat(b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"),
        "cookies and silence": [head],
        "cookies and half a frame": [head, ws.frame(b'CONNECT {"user":"' + b"x" * 4000)[:-1]],
        "bomb": then_endless(head, bomb(b"\0")),
        "bomb of blanks": [head, ws.deflated(b"CONNECT" + b" " * (1 << 20))] * 50,
        "bombs of blanks": then_endless(head, bomb(b" ") * 50),
        "bomb behind a login": [head, ws.deflated(LOGIN + PUB * 80_000)],
        "pings": then_endless(head, ws.frame(b"x" * 125, ws.PING) * 100),
        "empty frames": then_endless(head, ws.frame(b"", final=False) + ws.frame(b"", 0) * 10_000),
    }


@pytest.mark.parametrize("name", websocket_attacks())
def test_websocket(name: str) -> None:
    block = WebSocket(no_tls=True, jwt_cookie="jwt", compression=True)
    net = WebNet(Options(authorization=AUTH, websocket=block))
    transport = net.knock()
    transport.room = 4096  # it does not read its answers
    Cost(net, transport, websocket_attacks()[name])
    net.bench.close()


def tls_attacks(hello: bytes) -> dict[str, Attack]:
    record = b"\x16\x03\x01\x40\x00"
    return {
        "silence": [],
        "hello only": [hello],
        "half a hello": [hello[:-1]],
        "a hello byte by byte": slowly(hello[:-1]),
        "a record that does not end": [record + b"\x01" * 16_000],
        "a message of many records": repeat(
            b"\x16\x03\x01\x40\x00\x01\x00\xff\xff" + b"\x03" * 16_380
        ),
        "alerts": then_endless(hello, b"\x15\x03\x03\x00\x02\x01\x5a" * 1000),
        "no TLS at all": [b"GET / HTTP/1.1\r\n\r\n"],
    }


@pytest.mark.parametrize("name", tls_attacks(b"\0"))
def test_tls(name: str, authority: Authority, pair: Pair) -> None:
    block = Tls(cert_file=str(pair.cert), key_file=str(pair.key), timeout=TIMEOUT)
    net = TlsNet(authority, Options(authorization=AUTH, tls=block))
    hello = MemoryClient(authority.client_context()).shake()
    Cost(net, net.knock(), tls_attacks(hello)[name])
    net.bench.close()


@pytest.mark.parametrize("cut", [9, 1])
def test_a_hello_that_promises_to_be_long(authority: Authority, pair: Pair, cut: int) -> None:
    """OpenSSL would take memory for all of it before it comes."""
    block = Tls(cert_file=str(pair.cert), key_file=str(pair.key), timeout=TIMEOUT)
    net = TlsNet(authority, Options(authorization=AUTH, tls=block))
    transport = net.knock()
    opening = b"\x16\x03\x01\x02\x00\x01\x01\xff\xff"
    for at in range(0, len(opening), cut):
        assert not transport.closing
        net.send(transport, opening[at : at + cut])
    assert transport.closing
    net.bench.close()


@pytest.mark.parametrize("name", ["partial CONNECT", "endless blanks", "publishes"])
def test_inside_tls(name: str, authority: Authority, pair: Pair) -> None:
    """The same attacks through a finished handshake."""
    block = Tls(cert_file=str(pair.cert), key_file=str(pair.key), timeout=TIMEOUT)
    net = TlsNet(authority, Options(authorization=AUTH, tls=block))
    transport = net.knock()
    transport.take()
    client = net.shake(transport)
    Cost(net, transport, (client.encrypt(data) for data in plain_attacks()[name]))
    net.bench.close()


def test_what_stays_of_the_refused() -> None:
    """Thousands of closed connections are remembered, without their secrets and in few words."""
    net = Net(Options(authorization=AUTH))
    fields = dict.fromkeys(("jwt", "auth_token", "sig"), "s3cret" * 100)
    for i in range(50):
        net.send(net.open(b""), connect(user="u" * 1500, name="n" * 500, nkey=f"k{i}", **fields))
    assert len(net.broker.closed) == 50
    for closed in net.broker.closed:
        assert "s3cret" not in repr(closed)
        assert len(closed.connect.user) == limits.CLOSED_TEXT
    net.bench.close()


def test_nothing_is_fast_before_the_login() -> None:
    """Lines that another client made fast are no way in, and no stream or subscriber gets anything."""
    net = Net(Options(authorization=Authorization(users=(User(name="a", password=Secret("p")),))))
    known = net.open(connect(user="a", **{"pass": "p"}) + b"SUB a 1\r\n")
    seen: list[object] = []
    account = net.broker.default_account
    account.internal.collect(b"c", lambda items: seen.append(list(items)))
    lines = (b"PUB a 1\r\nx\r\nPUB c 1\r\nx\r\n") * 200
    net.send(known, lines)
    assert known.take().count(b"MSG a 1 1\r\nx\r\n") == 200
    assert account.router.lines_for(None)
    heard = len(seen)
    for opening in (b"", b"CONNECT {", b'CONNECT {"user":"a","pass":"q"}\r\n'):
        stranger = net.open(b"")
        net.send(stranger, opening + lines)
        assert b"MSG" not in known.take()
        assert len(seen) == heard
        assert b"MSG" not in stranger.take()
        net.pass_time(TIMEOUT + 0.5)
        assert stranger.closing or stranger.ended
    net.bench.close()


def test_a_refused_talker_is_not_listened_to() -> None:
    """A moment to read the error is for those who stop talking."""
    net = Net(Options(authorization=AUTH))
    calm, talker = net.open(b""), net.open(b"")
    for transport in (calm, talker):
        net.send(transport, PUB)
        assert transport.ended
        assert not transport.closing
    net.send(calm, PUB * 10)
    assert not calm.closing
    for _ in range(3):
        net.send(talker, b" " * READ)
    assert talker.aborted
    net.bench.close()
