"""How a client of the websocket port comes in.

TLS first, if the port has it, then HTTP heads of bounded size, one after the other as long as they are
refused, within `handshake_timeout` each. With the answer 101 the door steps aside for the layer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

from jetstream_py import limits
from jetstream_py.gotext import join_host_port
from jetstream_py.server.sockets import peer
from jetstream_py.server.tls_door import NOT_PINNED, why_not_pinned
from jetstream_py.server.tls_engine import FIRST_RECORD, TlsEngine
from jetstream_py.server.tls_info import TlsInfo
from jetstream_py.server.tls_layer import TlsLayer
from jetstream_py.server.ws_layer import WebSocketConnection, WebSocketLayer
from jetstream_py.server.ws_upgrade import Malformed, Refused, Upgrade, head_end, judge, parse_head
from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.config.account_options import WebSocket
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.tls import Contexts

_PLAIN_HTTP: Final = (b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO")
_WRONG_SCHEME: Final = (
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
)


class WebSocketDoor(asyncio.Protocol):
    """Receives a socket of the websocket listener until it is one."""

    _transport: asyncio.Transport

    def __init__(self, broker: Broker, options: WebSocket, contexts: Contexts | None) -> None:
        self._broker = broker
        self._options = options
        self._contexts = contexts
        self._tls: TlsInfo | None = None
        self._layer: TlsLayer | None = None
        self._head = bytearray()
        self._tries = limits.WEBSOCKET_TRIES
        self._timer: Timer | None = None
        self._given_up = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._contexts is not None:
            engine = TlsEngine(self._contexts.context)
            self._layer = TlsLayer(self._transport, engine, self, self._shaken)
            self._transport.set_protocol(self._layer)
            self._transport = self._layer
        self._broker.arriving.add(self._transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._broker.arriving.discard(self._transport)
        self._cancel()

    def eof_received(self) -> None:
        if self._head:
            self._transport.write(Malformed("400 Bad Request").answer())

    # -- TLS --------------------------------------------------------------------------------------

    def _shaken(self, failure: str) -> None:
        assert self._layer is not None
        assert self._contexts is not None
        if self._given_up:
            return
        if not failure:
            self._tls = self._layer.info()
            if why_not_pinned(self._contexts.tls.pinned_certs, self._tls):
                failure = NOT_PINNED
        if not failure:
            self._wait()
            return
        self._cancel()
        if failure == FIRST_RECORD and self._layer.first_bytes in _PLAIN_HTTP:
            self._layer.write_plain(_WRONG_SCHEME)
            failure = "client sent an HTTP request to an HTTPS server"
        self._complain(f"websocket: TLS handshake error from {self._remote()}: {failure}")
        self._transport.close()

    # -- HTTP -------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        seen = len(self._head)
        self._head += data
        while (end := head_end(self._head, seen)) >= 0 and not self._transport.is_closing():
            head, self._head = bytes(self._head[:end]), self._head[end:]
            seen = 0
            if self._request(head):
                return
        if len(self._head) > limits.WEBSOCKET_HEAD and not self._transport.is_closing():
            self._end(Malformed("431 Request Header Fields Too Large").answer())

    def _request(self, head: bytes) -> bool:
        """Answer one request. True when it has become a WebSocket."""
        try:
            if len(head) > limits.WEBSOCKET_HEAD:
                raise Malformed("431 Request Header Fields Too Large")
            request = parse_head(head)
            upgrade = judge(request, self._options, secure=self._layer is not None)
        except Malformed as malformed:
            self._end(malformed.answer())
            return False
        except Refused as refused:
            self._refuse(str(refused))
            self._transport.write(refused.answer(self._broker.clock.now_ns() / 1e9))
            if request.has_body or not self._has_another_try():
                self._end(b"")
            else:
                self._wait()
            return False
        if self._head or request.has_body:
            self._refuse("client sent data before handshake is complete")
            self._end(b"")
            return False
        self._become(upgrade)
        return True

    def _has_another_try(self) -> bool:
        """Each request has its time, so their number is the bound of how long a stranger stays."""
        self._tries -= 1
        return self._tries > 0

    def _become(self, upgrade: Upgrade) -> None:
        self._cancel()
        self._transport.write(upgrade.answer(self._options.headers))
        if upgrade.path.endswith("/leafnode"):
            self._complain("Not configured to accept leaf node connections")
            self._transport.close()
            return
        self._broker.arriving.discard(self._transport)
        connection = WebSocketConnection(self._broker, upgrade, self._options)
        connection.tls = self._tls
        layer = WebSocketLayer(self._transport, connection, upgrade, self._broker)
        self._transport.set_protocol(layer)
        connection.connection_made(layer)

    def _refuse(self, text: str) -> None:
        self._complain(f"{self._remote()} - websocket handshake error: {text}")

    def _end(self, answer: bytes) -> None:
        self._cancel()
        self._head.clear()
        if answer:
            self._transport.write(answer)
        self._leave()

    def _leave(self) -> None:
        """Close; but who does not even take a few short answers is not waited for."""
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()

    def _complain(self, text: str) -> None:
        self._broker.log.error(text)

    def _remote(self) -> str:
        return join_host_port(*peer(self._transport.get_extra_info("peername")))

    # -- time -------------------------------------------------------------------------------------

    def _wait(self) -> None:
        self._cancel()
        self._timer = self._broker.timers.call_later(self._options.handshake_timeout, self._late)

    def _late(self) -> None:
        if self._layer is not None and self._tls is None:
            local = join_host_port(*peer(self._transport.get_extra_info("sockname")))
            text = f"read tcp {local}->{self._remote()}: i/o timeout"
            self._complain(f"websocket: TLS handshake error from {self._remote()}: {text}")
        self._given_up = True
        self._leave()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
