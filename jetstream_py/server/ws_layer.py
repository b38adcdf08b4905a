"""A NATS connection over WebSocket: the layer that takes frames apart and puts them together, and above
it an ordinary connection with a few habits of its own: credentials from cookies, its own timeouts, and a
close frame as the last word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from jetstream_py import limits
from jetstream_py.server import proto, ws_frames
from jetstream_py.server.connection import ClientConnection
from jetstream_py.server.layer import Layer
from jetstream_py.server.tracing import label
from jetstream_py.server.ws_frames import FrameReader, FrameWriter

if TYPE_CHECKING:
    from jetstream_py.config.account_options import WebSocket
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.ws_upgrade import Upgrade

# Frames of a stranger are looked at in portions, so that the bound of what it may send is met in time.
_SLICE: Final = 16 * 1024

# Why a session ended -> the code of the close frame; anything else is an internal error.
CLOSE_CODES: Final = {
    proto.CLIENT_CLOSED: ws_frames.NORMAL,
    **dict.fromkeys(
        (
            proto.AUTHENTICATION_TIMEOUT,
            proto.AUTHENTICATION_VIOLATION,
            proto.SLOW_CONSUMER_PENDING,
            proto.SLOW_CONSUMER_DEADLINE,
            proto.MAX_CONNECTIONS,
            proto.MAX_CONTROL_LINE,
            "Maximum Account Connections Exceeded",
            "Maximum Subscriptions Exceeded",
            "Missing Account",
            "Authentication Expired",
            "Credentials Revoked",
        ),
        ws_frames.POLICY,
    ),
    proto.TLS_HANDSHAKE: ws_frames.TLS_HANDSHAKE,
    proto.PARSE_ERROR: ws_frames.PROTOCOL_ERROR,
    proto.PROTOCOL_VIOLATION: ws_frames.PROTOCOL_ERROR,
    proto.BAD_CLIENT_PROTOCOL: ws_frames.PROTOCOL_ERROR,
    proto.MAX_PAYLOAD: ws_frames.TOO_BIG,
    proto.READ_ERROR: ws_frames.GOING_AWAY,
    proto.STALE_CONNECTION: ws_frames.GOING_AWAY,
    proto.SERVER_SHUTDOWN: ws_frames.GOING_AWAY,
}


class WebSocketConnection(ClientConnection):
    """A client that came by WebSocket."""

    __slots__ = ("_cookies", "_forwarded_for", "_layer", "_options")

    connection_type = "WEBSOCKET"

    def __init__(self, broker: Broker, upgrade: Upgrade, options: WebSocket) -> None:
        super().__init__(broker)
        self._cookies = upgrade.cookies
        self._options = options
        self._forwarded_for = upgrade.forwarded_for

    @property
    def forwarded_for(self) -> str:
        return self._forwarded_for

    @property
    def cookies(self) -> Mapping[str, str]:
        return self._cookies

    @property
    def auth_timeout(self) -> float:
        return self._options.auth_timeout or super().auth_timeout

    @property
    def ping_interval(self) -> float:
        return self._options.ping_interval or super().ping_interval

    def open(self, transport: asyncio.Transport) -> None:
        self._layer = cast(WebSocketLayer, transport)
        super().open(transport)

    def close(self, linger: bool) -> None:
        self._layer.say_why(self.session.reason)
        super().close(linger or self._layer.surprising)


class WebSocketLayer(Layer):
    """Frames between a transport and a connection."""

    def __init__(
        self, below: asyncio.Transport, above: WebSocketConnection, upgrade: Upgrade, broker: Broker
    ) -> None:
        super().__init__(below, above)
        limit = broker.options.max_payload
        self._broker = broker
        self._connection = above
        self._reader = FrameReader(
            upgrade.masked, upgrade.compress, limit if limit > 0 else limits.MAX_PAYLOAD
        )
        self._writer = FrameWriter(upgrade.compress, upgrade.browser, upgrade.whole)
        self._closed = False  # our close frame is written
        self.surprising = False  # it comes out of the blue: worth waiting until it is read

    def data_received(self, data: bytes) -> None:
        connection = self._connection
        if self._closed:
            connection.pass_over(len(data))
            return
        session = connection.session
        while session.awaiting_auth and len(data) > _SLICE:
            self._take(data[:_SLICE])
            data = data[_SLICE:]
            if session.closed or self._below.is_closing():
                return
        self._take(data)

    def _take(self, data: bytes) -> None:
        reader, connection = self._reader, self._connection
        session = connection.session
        for piece in reader.read(data):
            connection.data_received(piece)
            if session.closed:
                return
        if session.awaiting_auth:
            session.bound_early(len(data))  # control frames, too: each of them is answered
            if session.closed:
                return
        if reader.answers:
            self._below.write(b"".join(reader.answers))
            reader.answers.clear()
            connection.check_pending()
            if session.awaiting_auth and self._below.get_write_buffer_size():
                self._below.abort()  # a stranger that asks and does not listen
                return
        if reader.closing is not None:
            self._broker.flush()  # what the client asked before it said goodbye
            self._last(reader.closing)
            self._broker.close_session(connection.session, proto.CLIENT_CLOSED)
        elif reader.failure:
            self._fail(reader.failure)

    def _fail(self, text: str) -> None:
        session = self._connection.session
        self._broker.log.error(f"{label(session)} - read error: {text}")
        self._broker.flush()
        too_large = text == ws_frames.TOO_LARGE
        code = ws_frames.TOO_BIG if too_large else ws_frames.PROTOCOL_ERROR
        self._last(ws_frames.close_frame(code, text))
        self.surprising = True
        self._broker.close_session(session, proto.READ_ERROR)

    def eof_received(self) -> bool | None:
        return self._above.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        super().connection_lost(exc)
        del self._connection

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if not self._closed:
            self._below.write(self._writer.encode(bytes(data)))

    def say_why(self, reason: str) -> None:
        """End with a close frame, unless there was one."""
        if self._closed:
            return
        code = CLOSE_CODES.get(reason, ws_frames.INTERNAL)
        self._last(ws_frames.close_frame(code, reason))
        self.surprising = code != ws_frames.NORMAL

    def _last(self, close: bytes) -> None:
        self._closed = True
        if not self._below.is_closing():
            self._below.write(close)
