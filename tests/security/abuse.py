"""Strangers by the hundred: what they cost a running server.

Each attack opens connections, sends its bytes and stays until the server ends them. Meanwhile a client that
is logged in pings. What comes out: growth of the server's memory for each connection, the time until they
were closed, and how long others waited.
"""

from __future__ import annotations

import multiprocessing
import selectors
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import bcrypt

from tests.support.certs import Authority
from tests.support.server import Kind, Server, Servers, port_of
from tests.support.wire import connect, pub
from tests.wire import websocket as ws
from tests.wire.secure import MemoryClient, TlsClient

HASH = bcrypt.hashpw(b"right", bcrypt.gensalt(8, b"2a")).decode()
READ = 64 * 1024
COOKIE = {"Cookie": "u=" + "x" * 12_000}
WAIT = ws.frame(b"", ws.PONG)
CLIENT, WEBSOCKET, MONITOR = "nats", "websocket", "monitoring"


class Attack(NamedTuple):
    name: str
    port: str
    first: bytes
    filler: bytes = b""  # again and again, while the server listens
    then: bytes = b""  # once, when the server has answered the first


class Outcome(NamedTuple):
    held: float  # bytes of memory for each connection
    median: float  # seconds until half of them were closed ...
    last: float  # ... and all; infinite: some were not
    p99: float  # milliseconds that another client waited for a PONG


def config(authority: Authority, secure: bool) -> str:
    pair = authority.server()
    tls = f'tls {{ cert_file: "{pair.cert}", key_file: "{pair.key}", timeout: 2 }}'
    return f"""
    authorization {{ users: [{{user: ann, password: right}}, {{user: bob, password: "{HASH}"}}], timeout: 2 }}
    {tls if secure else ""}
    websocket {{ listen: "127.0.0.1:-1", no_tls: true, compression: true, user_cookie: u }}
    """


def attacks(authority: Authority) -> Iterator[Attack]:
    hello = MemoryClient(authority.client_context()).shake()
    login = connect(user="bob", **{"pass": "wrong"})
    upgrade = ws.request({**ws.DEFLATE})
    blanks = ws.deflated(b" " * (1 << 20))
    yield Attack("silence", CLIENT, b"")
    yield Attack("partial CONNECT", CLIENT, b'CONNECT {"user":"' + b"x" * 3000)
    yield Attack("endless control line", CLIENT, b"CONNECT {", b"x" * 1000)
    yield Attack("endless blanks", CLIENT, b"CONNECT", b" " * READ)
    yield Attack("lines before CONNECT", CLIENT, pub(b"a", b"x") * 5000)
    yield Attack("bcrypt storm", CLIENT, login + pub(b"a", b"x") * 100)
    yield Attack("input behind a hash", CLIENT, login, pub(b"a", b"x") * 5000)
    yield Attack("TLS hello only", CLIENT, hello)
    yield Attack("half a TLS hello", CLIENT, hello[:-1])
    yield Attack("endless TLS handshake", CLIENT, b"", b"\x16\x03\x01\x40\x00" + b"\x01" * 0x4000)
    yield Attack("partial upgrade", WEBSOCKET, upgrade[:-2])
    yield Attack("endless HTTP head", WEBSOCKET, b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 1000)
    yield Attack("cookies, then silence", WEBSOCKET, ws.request({**ws.DEFLATE, **COOKIE}))
    half = ws.frame(b'CONNECT {"user":"' + b"x" * 3000)[:-1]
    yield Attack("half a frame", WEBSOCKET, upgrade, then=half)
    yield Attack("compression bomb", WEBSOCKET, upgrade, ws.deflated(b"x" * (1 << 20)), WAIT)
    yield Attack("bombs of blanks", WEBSOCKET, upgrade, blanks * 20, ws.deflated(b"CONNECT"))
    yield Attack("WebSocket pings", WEBSOCKET, upgrade, ws.frame(b"x" * 125, ws.PING) * 100, WAIT)
    yield Attack("slow request", MONITOR, b"GET /varz HTTP/1.1\r\nHost: x\r\n")


class Crowd:
    """The connections of one attack."""

    def __init__(self, port: int, attack: Attack, count: int) -> None:
        self._port, self._attack, self._count = port, attack, count
        self._selector = selectors.DefaultSelector()
        self._todo: dict[socket.socket, bytes] = {}
        self._answered: set[socket.socket] = set()
        self._since: dict[socket.socket, float] = {}
        self.lived: list[float] = []

    def run(self, patience: float) -> None:
        for _ in range(self._count):
            self._open()
        end = time.monotonic() + patience
        while self._since and time.monotonic() < end:
            for key, events in self._selector.select(0.05):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if events & selectors.EVENT_READ and not self._read(sock):
                    continue
                if events & selectors.EVENT_WRITE:
                    self._write(sock)
        self.lived += [float("inf")] * len(self._since)
        for sock in list(self._since):
            self._close(sock)

    def _open(self) -> None:
        sock = socket.create_connection(("127.0.0.1", self._port), timeout=5)
        sock.setblocking(False)
        self._todo[sock] = self._attack.first
        self._since[sock] = time.monotonic()
        self._selector.register(sock, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def _write(self, sock: socket.socket) -> None:
        attack = self._attack
        waiting = attack.then and sock not in self._answered
        data = self._todo[sock] or (b"" if waiting else attack.filler)
        if not data:
            self._selector.modify(sock, selectors.EVENT_READ)
            return
        try:
            sent = sock.send(data)
        except BlockingIOError:
            return
        except OSError:
            self.lived.append(time.monotonic() - self._since[sock])
            self._close(sock)
            return
        self._todo[sock] = data[sent:]

    def _read(self, sock: socket.socket) -> bool:
        try:
            if sock.recv(READ):
                if self._attack.then and sock not in self._answered:
                    self._answered.add(sock)
                    self._todo[sock] += self._attack.then
                    self._selector.modify(sock, selectors.EVENT_READ | selectors.EVENT_WRITE)
                return True
        except BlockingIOError:
            return True
        except OSError:
            pass
        self.lived.append(time.monotonic() - self._since[sock])
        self._close(sock)
        return False

    def _close(self, sock: socket.socket) -> None:
        if self._since.pop(sock, None) is not None:
            self._selector.unregister(sock)
            sock.close()


class Watch(threading.Thread):
    """Pings as a client, and looks at the server's memory."""

    def __init__(self, server: Server, authority: Authority) -> None:
        super().__init__()
        self._server = server
        self._client = TlsClient(server.port, authority.client_context())
        if self._client.read_info().get("tls_required"):
            self._client.secure()
        self._client.exchange(connect(user="ann", **{"pass": "right"}))
        assert not self._client.eof
        self._over = threading.Event()
        self.before = self.most = resident(server)
        self.waits: list[float] = []

    def run(self) -> None:
        while not self._over.wait(0.002):
            start = time.perf_counter()
            self._client.exchange(timeout=30)
            self.waits.append(time.perf_counter() - start)
            self.most = max(self.most, resident(self._server))

    def end(self) -> None:
        self._over.set()
        self.join()
        self._client.close()


def resident(server: Server) -> int:
    """Bytes of memory that the process has."""
    status = Path(f"/proc/{server.process.pid}/statm").read_text()
    return int(status.split()[1]) * 4096


def storm(port: int, attack: Attack, count: int, patience: float) -> list[float]:
    """How long each connection lived."""
    crowd = Crowd(port, attack, count)
    crowd.run(patience)
    return crowd.lived


def play(
    server: Server, authority: Authority, attack: Attack, count: int, patience: float
) -> Outcome:
    watch = Watch(server, authority)
    watch.start()
    port = port_of(server.ports[attack.port][0])
    try:  # in a process of its own, or it would be Python's lock that others wait for
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            lived = pool.submit(storm, port, attack, count, patience).result()
    finally:
        watch.end()
    waits = sorted(watch.waits) or [float("inf")]
    return Outcome(
        held=(watch.most - watch.before) / count,
        median=statistics.median(lived),
        last=max(lived),
        p99=waits[int(len(waits) * 0.99)] * 1000,
    )


def start(servers: Servers, kind: Kind, authority: Authority, secure: bool) -> Server:
    return servers.start(kind, config(authority, secure), ["-m", "-1"])
