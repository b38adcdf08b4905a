"""A client's TCP connection: the thin layer between asyncio and a `Session`.

It moves bytes and keeps the connection's timers: authentication, pings, write deadline. Three rules
bound what a client can cost:

* reading: the session holds at most one control line or payload; nothing else is buffered.
* writing: after each write the transport's buffer is compared with `max_pending`; above it, or when
  the socket takes nothing for `write_deadline`, the client is a slow consumer and is dropped at once.
* a publisher that fills somebody's buffer faster than it drains is paused for a few milliseconds once
  that buffer is three quarters full (unless `no_fast_producer_stall`), so a burst gets a chance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from jetstream_py import limits
from jetstream_py.gotext import duration
from jetstream_py.server import proto
from jetstream_py.server.certificates import Peer
from jetstream_py.server.sockets import peer
from jetstream_py.server.tracing import label
from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.session import Session
    from jetstream_py.server.tls_info import TlsInfo

# A read this large is written out at once: waiting for others to add to it would gain nothing.
LARGE_READ = 16 * 1024
FIRST_PING = 2.0  # seconds after CONNECT, to learn the round trip time
RTT_EVERY = 3600.0  # measure it again, even on a busy connection
STALL = 0.005


class ClientConnection(asyncio.Protocol):
    """One accepted socket."""

    connection_type = "STANDARD"

    __slots__ = (
        "_auth",
        "_broker",
        "_deadline",
        "_linger",
        "_passed",
        "_ping",
        "_rtt_at",
        "_transport",
        "session",
        "tls",
    )

    session: Session
    _transport: asyncio.Transport

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._auth: Timer | None = None
        self._ping: Timer | None = None
        self._deadline: Timer | None = None
        self._linger: Timer | None = None
        self._rtt_at = 0.0
        self._passed = 0
        self.tls: TlsInfo | None = None

    # -- asyncio's side ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.open(cast(asyncio.Transport, transport))
        self._broker.greet(self.session)
        self.start()
        # All of them, not just ours: a session that stays in `dirty` after its bytes have left would
        # be written too early the next time, before those whose messages came first.
        self._broker.flush()

    def open(self, transport: asyncio.Transport) -> None:
        """Have a session on this transport."""
        self._transport = transport
        # No water marks: a write that the socket does not take at once starts the deadline.
        transport.set_write_buffer_limits(high=0)
        ip, port = peer(transport.get_extra_info("peername"))
        self.session = self._broker.open_session(self, ip, port)

    def secure(self, transport: asyncio.Transport) -> None:
        """Go on over another transport, which lies on the first."""
        self._transport = transport

    def start(self) -> None:
        """The client may speak: from now on time counts."""
        broker = self._broker
        if self.session.closed:
            return
        if self.session.awaiting_auth:
            self._auth = broker.timers.call_later(self.auth_timeout, self._auth_timeout)
        self._ping = broker.timers.call_later(self.ping_interval, self._ping_due)

    def data_received(self, data: bytes) -> None:
        session = self.session
        if session.closed:
            self.pass_over(len(data))
            return
        session.receive(data)
        broker = self._broker
        if len(data) < LARGE_READ:
            if broker.dirty:
                broker.flush_soon()
            return
        broker.flush()
        if broker.congested:
            broker.congested = False
            if not session.closed and not broker.options.no_fast_producer_stall:
                self._stall()

    def pass_over(self, size: int) -> None:
        """More of a client that is to read why it was closed. A stranger that goes on talking does not
        read; its bytes would cost time until the moment is over."""
        self._passed += size
        if self._passed > limits.EARLY_INPUT and self.session.awaiting_auth:
            self._transport.abort()

    def eof_received(self) -> None:
        # The client only said that it will send no more: it still gets what was queued for it.
        self._broker.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        reason = proto.CLIENT_CLOSED if exc is None else proto.READ_ERROR
        self._broker.close_session(self.session, reason)
        if self._deadline is not None:
            self._deadline.cancel()
        if self._linger is not None:
            self._linger.cancel()
            self._broker.lingering.discard(self._transport)

    def pause_writing(self) -> None:
        """The socket did not take everything."""
        delay = self._broker.options.write_deadline
        self._deadline = self._broker.timers.call_later(delay, self._write_deadline)

    def resume_writing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    # -- the session's side (Link) ----------------------------------------------------------------

    def flush(self) -> None:
        session = self.session
        if not session.out:
            return
        data = session.take_output()
        transport = self._transport
        if transport.is_closing():
            return
        transport.write(data)
        if transport.get_write_buffer_size():
            self.check_pending()

    def check_pending(self) -> None:
        """A client that does not take what it is sent has to go."""
        pending = self._transport.get_write_buffer_size()
        if pending:
            limit = self._broker.options.max_pending
            if pending > limit:
                self._slow(proto.SLOW_CONSUMER_PENDING, f"MaxPending of {limit} Exceeded")
            elif pending * 4 > limit * 3:
                self._broker.congested = True

    @property
    def auth_timeout(self) -> float:
        return self._broker.options.authorization.timeout

    @property
    def ping_interval(self) -> float:
        return self._broker.options.ping_interval

    def connected(self) -> None:
        self._cancel_timers()
        first = min(FIRST_PING, self.ping_interval)
        self._ping = self._broker.timers.call_later(first, self._ping_due)

    def close(self, linger: bool) -> None:
        """Close once everything queued is written, or the write deadline is over.

        A socket that is closed with unread input makes the kernel send a reset, and a reset can
        overtake the error text on its way. So that the client gets to read it, we only end our side
        and pass over what still comes, until the client closes or a moment has gone by.
        """
        self._cancel_timers()
        transport = self._transport
        if transport.is_closing():
            return
        if linger and len(self._broker.lingering) < limits.LINGERING:
            self._broker.lingering.add(transport)
            self._linger = self._broker.timers.call_later(limits.LINGER, transport.close)
            transport.write_eof()
        else:
            transport.close()
        if transport.get_write_buffer_size() and self._deadline is None:
            self.pause_writing()

    def abort(self) -> None:
        self._cancel_timers()
        self._transport.abort()

    def pending_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    @property
    def forwarded_for(self) -> str:
        return ""

    @property
    def cookies(self) -> Mapping[str, str]:
        return {}

    def tls_info(self) -> TlsInfo | None:
        return self.tls

    def peer(self) -> Peer | None:
        return Peer(self.tls.chain[0]) if self.tls is not None and self.tls.chain else None

    def hold(self) -> None:
        self._transport.pause_reading()

    def release(self) -> None:
        self._resume()

    def _cancel_timers(self) -> None:
        for timer in (self._auth, self._ping):
            if timer is not None:
                timer.cancel()

    # -- timers -----------------------------------------------------------------------------------

    def _auth_timeout(self) -> None:
        session = self.session
        if session.awaiting_auth:
            reason = proto.AUTHENTICATION_TIMEOUT
            self._broker.close_session(session, reason, "Authentication Timeout")

    def _ping_due(self) -> None:
        broker, session = self._broker, self.session
        interval = self.ping_interval
        now = broker.clock.monotonic()
        idle = (broker.clock.now_ns() - session.last_activity_ns) / 1e9
        if not self._rtt_at or idle >= interval or now - self._rtt_at > RTT_EVERY:
            if session.pings_out + 1 > broker.options.ping_max:
                broker.stale_connections += 1
                broker.close_session(session, proto.STALE_CONNECTION, "Stale Connection")
                return
            session.pings_out += 1
            session.rtt_start = self._rtt_at = now
            session.send(proto.PING)
            broker.flush_soon()
        self._ping = broker.timers.call_later(interval, self._ping_due)

    def _write_deadline(self) -> None:
        self._deadline = None
        pending = self.pending_bytes()
        if not pending:
            return
        if self._broker.options.write_timeout == "retry" and not self.session.closed:
            self.pause_writing()  # the client is slow, and wanted to be waited for
            return
        deadline = duration(round(self._broker.options.write_deadline * 1e9))
        text = f"WriteDeadline of {deadline} exceeded with 1 chunks of {pending} total bytes."
        self._slow(proto.SLOW_CONSUMER_DEADLINE, text)

    def _slow(self, reason: str, text: str) -> None:
        broker, session = self._broker, self.session
        if not session.closed:
            broker.slow_consumers += 1
            session.account.slow_consumers += 1
            broker.log.info(f"{label(session)} - Slow Consumer Detected: {text}")
            broker.close_session(session, reason)
        self._transport.abort()  # the peer does not read: there is nobody to flush to

    def _stall(self) -> None:
        self.session.stalls += 1
        self._broker.stalled_clients += 1
        self._transport.pause_reading()
        self._broker.timers.call_later(STALL, self._resume)

    def _resume(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()
