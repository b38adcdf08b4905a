"""`python -m benchmarks.nullserver MODE SIZE SUBJECTS`: a server that does no work per message.

It answers the handshake and then only moves bytes: for every received byte of a publisher's cycle
it sends the matching share of the rendered deliveries; requests and replies become MSG frames by
calls on whole batches; publishes to a stream all get the same ack; consumers get deliveries that
were rendered before. What the load generator reaches against it is the generator's ceiling on this
machine, with the very same processes, frames and proofs of the end as against a real server.

It prints its port, serves one run after the other (a run ends when the last client leaves), and
ends with its stdin or after half a minute in which nothing happened.
"""

from __future__ import annotations

import re
import select
import socket
import sys
from base64 import b64encode
from typing import Final, Protocol

from benchmarks import wire
from benchmarks.conn import HOST, READ_BYTES
from benchmarks.nullconsumer import CONSUMER_MODES, ConsumerRelay, Frames

INFO: Final = b'INFO {"server_id":"null","version":"null","proto":1,"max_payload":1048576}\r\n'
TIMEOUT: Final = 30.0
_STDIN: Final = 0


class Relay(Protocol):
    """What happens to the bytes of a run once a client has started to publish."""

    def joined(self, sock: socket.socket, subscriptions: bytes) -> None: ...

    def received(self, sock: socket.socket, data: memoryview) -> None: ...


class BulkRelay:
    """For each received share of a cycle, the same share of its deliveries to every subscriber."""

    def __init__(self, load: wire.Load) -> None:
        cycle = wire.cycle(load)
        self._incoming = len(cycle.data)
        self._outgoing = memoryview(cycle.delivered)
        self._subscribers: list[socket.socket] = []
        self._received = 0
        self._sent = 0
        self._tail = b""

    def joined(self, sock: socket.socket, subscriptions: bytes) -> None:
        self._subscribers.append(sock)

    def received(self, sock: socket.socket, data: memoryview) -> None:
        self._received += len(data)
        self._tail = (self._tail + data[-len(wire.PING) :])[-len(wire.PING) :]
        # We stay behind by what ends a run, and so never take it for a part of a cycle.
        behind = len(wire.PING) + (len(wire.end_pub()) if self._subscribers else 0)
        if self._subscribers:
            self._deliver(max(0, self._received - behind) * len(self._outgoing) // self._incoming)
        if self._tail == wire.PING:
            for subscriber in self._subscribers:
                subscriber.sendall(wire.end_msg())
            sock.sendall(wire.PONG)

    def _deliver(self, until: int) -> None:
        while self._sent < until:
            start = self._sent % len(self._outgoing)
            part = self._outgoing[start : start + until - self._sent]
            for subscriber in self._subscribers:
                subscriber.sendall(part)
            self._sent += len(part)


class RequestRelay:
    """PUB frames become MSG frames in both directions; a regex skips the payloads by count.

    Every request is delivered with the same subject, which the responder does not look at.
    """

    def __init__(self, load: wire.Load) -> None:
        end = b" %d\r\n%b\r\n" % (load.size, wire.payloads(load)[0])
        rest = rb" %d\r\n.{%d}" % (load.size, load.size + 2)
        self._request = re.compile(rb"(?s)PUB [^ ]+ ([^ ]+)" + rest)
        self._reply = re.compile(rb"(?s)PUB ([^ ]+)" + rest)
        self._request_frame = (b"MSG %b 1 " % wire.ONE_SUBJECT, end)
        self._reply_frame = (b"MSG ", b" 1" + end)
        self._requester: socket.socket | None = None
        self._responder: socket.socket | None = None
        self._rest: dict[socket.socket, bytes] = {}

    def joined(self, sock: socket.socket, subscriptions: bytes) -> None:
        if wire.INBOX in subscriptions:
            self._requester = sock
        else:
            self._responder = sock

    def received(self, sock: socket.socket, data: memoryview) -> None:
        asks = sock is self._requester
        pattern = self._request if asks else self._reply
        head, end = self._request_frame if asks else self._reply_frame
        frames = self._rest.get(sock, b"") + data
        names = pattern.findall(frames)
        if names:
            peer = self._responder if asks else self._requester
            assert peer
            peer.sendall(head + (end + head).join(names) + end)
        rest = wire.incomplete(pattern, b"PUB ", frames)
        if rest == wire.PING:
            sock.sendall(wire.PONG)
            rest = b""
        self._rest[sock] = rest


class AnswerRelay:
    """Answers every request of a client itself, always with the same text.

    Publishes get a PubAck whose sequence has as many digits as those that would follow it, so that
    its length is right for a while.
    """

    ACK = b'{"stream":"BENCH","seq":100000001}'

    def __init__(self, mode: str, load: wire.Load) -> None:
        publish = rb"(?s)PUB [^ ]+ ([^ ]+) %d\r\n.{%d}" % (load.size, load.size + 2)
        ack = b" 1 %d\r\n%b\r\n" % (len(self.ACK), self.ACK)
        self._publish = (re.compile(publish), b"MSG ", ack)
        direct = "direct" in mode or mode.startswith("kv-")
        answer = _direct_answer if direct else _json_answer
        get = re.compile(rb"PUB \$JS[^ ]+ ([^ ]+) \d+\r\n[^\r]*\r\n")
        self._get = (get, *answer(wire.payloads(load)[0]))
        self._rest: dict[socket.socket, bytes] = {}

    def joined(self, sock: socket.socket, subscriptions: bytes) -> None:
        pass

    def received(self, sock: socket.socket, data: memoryview) -> None:
        frames = self._rest.get(sock, b"") + data
        pattern, head, end = self._get if frames.startswith(b"PUB $JS") else self._publish
        names = pattern.findall(frames)
        if names:
            sock.sendall(head + (end + head).join(names) + end)
        rest = wire.incomplete(pattern, b"PUB ", frames)
        if rest == wire.PING:
            sock.sendall(wire.PONG)
            rest = b""
        self._rest[sock] = rest


def _json_answer(payload: bytes) -> tuple[bytes, bytes]:
    text = b'{"type":"io.nats.jetstream.api.v1.stream_msg_get_response","message":{'
    text += b'"subject":"%b","seq":1,"data":"%b",' % (wire.ONE_SUBJECT, b64encode(payload))
    text += b'"time":"2026-01-01T00:00:00.123456789Z"}}'
    return b"MSG ", b" 1 %d\r\n%b\r\n" % (len(text), text)


def _direct_answer(payload: bytes) -> tuple[bytes, bytes]:
    headers = b"NATS/1.0\r\nNats-Stream: BENCH\r\nNats-Subject: %b\r\n" % wire.ONE_SUBJECT
    headers += b"Nats-Sequence: 1\r\nNats-Time-Stamp: 2026-01-01T00:00:00.123456789Z\r\n\r\n"
    lengths = (len(headers), len(headers) + len(payload))
    return b"HMSG ", b" 1 %d %d\r\n%b%b\r\n" % (*lengths, headers, payload)


class NullServer:
    """Accepts, greets, and hands everything after a client's first PUB or MSG to the relay."""

    def __init__(self, mode: str, load: wire.Load) -> None:
        self._mode, self._load = mode, load
        self._listener = socket.create_server((HOST, 0))
        self._clients: dict[int, socket.socket] = {}
        self._subscribed: set[socket.socket] = set()
        self._publishing: set[socket.socket] = set()
        self._frames = Frames(load)
        self._relay = self._fresh_relay()
        self._buffer = memoryview(bytearray(READ_BYTES))

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def serve(self) -> None:
        while True:
            watched = [_STDIN, self._listener.fileno(), *self._clients]
            ready, _, _ = select.select(watched, [], [], TIMEOUT)
            if not ready or _STDIN in ready:
                return
            for fd in ready:
                if fd in self._clients:
                    self._read(self._clients[fd])
                else:
                    self._accept()

    def _fresh_relay(self) -> Relay:
        if self._mode.startswith(CONSUMER_MODES):
            return ConsumerRelay(self._mode, self._frames)
        if self._mode.startswith(("js-", "kv-")):
            return AnswerRelay(self._mode, self._load)
        return RequestRelay(self._load) if "reqrep" in self._mode else BulkRelay(self._load)

    def _accept(self) -> None:
        sock, _ = self._listener.accept()
        sock.settimeout(TIMEOUT)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(INFO)
        self._clients[sock.fileno()] = sock

    def _read(self, sock: socket.socket) -> None:
        # Into one buffer: a fresh 256 KiB object per read would cost more than the reading.
        count = sock.recv_into(self._buffer)
        data = self._buffer[:count]
        if not count:
            self._left(sock)
        elif sock in self._publishing or bytes(data[:4]) == b"PUB ":
            self._publishing.add(sock)
            self._relay.received(sock, data)
        else:
            self._control(sock, bytes(data))

    def _control(self, sock: socket.socket, lines: bytes) -> None:
        if lines.startswith(b"SUB ") and sock not in self._subscribed:
            self._subscribed.add(sock)
            self._relay.joined(sock, lines)
        sock.sendall(wire.PONG * lines.count(wire.PING))

    def _left(self, sock: socket.socket) -> None:
        del self._clients[sock.fileno()]
        self._subscribed.discard(sock)
        self._publishing.discard(sock)
        sock.close()
        if not self._clients:
            self._relay = self._fresh_relay()


def main(mode: str, size: str, subjects: str) -> None:
    server = NullServer(mode, wire.Load(int(size), int(subjects)))
    print(server.port, flush=True)
    server.serve()


if __name__ == "__main__":
    main(*sys.argv[1:4])
