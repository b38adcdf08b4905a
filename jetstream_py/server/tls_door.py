"""How a client of the NATS port comes in when the port speaks TLS.

INFO goes out in plain text first, or not (`handshake_first`), or only if the client keeps silent for a
moment (`handshake_fallback`). Where plain clients are welcome as well (`allow_non_tls`), the first byte
tells which kind it is. The session exists from the start; so the door has the transport first, and steps
aside by handing it to the TLS layer, or, for good, to the connection itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from jetstream_py.gotext import join_host_port
from jetstream_py.server import proto
from jetstream_py.server.certificates import key_digest
from jetstream_py.server.connection import ClientConnection
from jetstream_py.server.sockets import peer
from jetstream_py.server.tls_engine import FIRST_RECORD, HANDSHAKE, TlsEngine
from jetstream_py.server.tls_info import TlsInfo
from jetstream_py.server.tls_layer import TlsLayer
from jetstream_py.server.tracing import label
from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.tls import Contexts

NOT_PINNED: Final = "certificate not pinned"
THROTTLED: Final = "Connection throttling is active. Please try again later."


def why_not_pinned(pins: frozenset[str], info: TlsInfo) -> str:
    """Why `pinned_certs` do not admit this client; "" if they do."""
    if not pins:
        return ""
    if not info.chain:
        return "Failed pinned cert test as client did not provide a certificate"
    digest = key_digest(info.chain[0])
    return "" if digest in pins else f"Failed pinned cert test for key id: {digest}"


class TlsDoor(asyncio.Protocol):
    """Lets a client of the NATS port in: plain, or through a handshake."""

    _transport: asyncio.Transport

    def __init__(self, broker: Broker, contexts: Contexts) -> None:
        self._broker = broker
        self._contexts = contexts
        self._connection = ClientConnection(broker)
        self._layer: TlsLayer | None = None
        self._timer: Timer | None = None
        self._first = contexts.tls.handshake_first

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        connection, tls = self._connection, self._contexts.tls
        connection.open(self._transport)
        if not self._first:
            self._greet()
        elif not self._admitted():
            return
        elif tls.handshake_fallback:
            self._wait(tls.handshake_fallback, self._fall_back)
        else:
            self._secure(b"")

    def _admitted(self) -> bool:
        self._broker.check_room(self._connection.session)
        return not self._connection.session.closed

    def _greet(self) -> None:
        """INFO in plain text, then the client begins."""
        self._broker.greet(self._connection.session)
        self._broker.flush()
        if self._connection.session.closed:
            return
        if self._broker.options.allow_non_tls:
            self._wait(self._contexts.tls.timeout, self._stay_plain)
        else:
            self._secure(b"")

    def _fall_back(self) -> None:
        self._first = False
        self._greet()

    def data_received(self, data: bytes) -> None:
        if self._connection.session.closed:
            return
        if self._first or data[0] == HANDSHAKE:
            self._secure(data)
        else:
            self._stay_plain()
            self._connection.data_received(data)

    def eof_received(self) -> None:
        self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        self._connection.connection_lost(exc)

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()

    # -- the two ways in --------------------------------------------------------------------------

    def _stay_plain(self) -> None:
        self._cancel()
        if not self._connection.session.closed:
            self._transport.set_protocol(self._connection)
            self._connection.start()

    def _secure(self, data: bytes) -> None:
        self._cancel()
        broker, session, contexts = self._broker, self._connection.session, self._contexts
        if not contexts.may_shake():
            broker.close_session(session, proto.MAX_CONNECTIONS, THROTTLED)
            return
        self._debug("Starting TLS client connection handshake")
        layer = TlsLayer(
            self._transport, TlsEngine(contexts.context), self._connection, self._shaken
        )
        self._layer = layer
        self._connection.secure(layer)
        self._transport.set_protocol(layer)
        self._wait(contexts.tls.timeout, self._timeout)
        if data:
            layer.data_received(data)

    def _shaken(self, failure: str) -> None:
        self._cancel()
        session, layer = self._connection.session, self._layer
        if session.closed:
            return
        assert layer is not None
        info = layer.info(self._first) if not failure else None
        if info is not None and (why := why_not_pinned(self._contexts.tls.pinned_certs, info)):
            self._debug(why)
            failure = NOT_PINNED
        if failure:
            quiet = failure == FIRST_RECORD
            write = self._broker.log.debug if quiet else self._broker.log.error
            write(f"{label(session)} - TLS handshake error: {failure}")
            self._broker.close_session(session, proto.TLS_HANDSHAKE)
            return
        assert info is not None
        self._connection.tls = info
        self._debug("TLS handshake complete")
        self._debug(f"TLS version {info.version}, cipher suite {info.cipher_suite}")
        if self._first:
            self._broker.introduce(session)
            self._broker.flush()
        self._connection.start()

    # -- time -------------------------------------------------------------------------------------

    def _timeout(self) -> None:
        session = self._connection.session
        if session.closed:
            return
        ends = (self._transport.get_extra_info(name) for name in ("sockname", "peername"))
        local, remote = (join_host_port(*peer(end)) for end in ends)
        self._debug(f"TLS handshake error: read tcp {local}->{remote}: i/o timeout")
        self._debug("TLS handshake timeout")
        self._broker.close_session(session, proto.TLS_HANDSHAKE)

    def _wait(self, delay: float, action: Callable[[], None]) -> None:
        self._timer = self._broker.timers.call_later(delay, action)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _debug(self, text: str) -> None:
        if self._broker.log.debugging:
            self._broker.log.debug(f"{label(self._connection.session)} - {text}")
