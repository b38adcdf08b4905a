"""The core NATS server: its connections, accounts and counters.

Everything here runs in the loop's thread. Sessions hand in decisions (this client is refused, that one
must go), links carry bytes; the broker is where both meet. Output is not written when it is produced:
a session with something to send is in `dirty`, and one flush per loop tick, or at the end of a large
read, writes each of them once.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import deque
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

import msgspec

from jetstream_py import nkey
from jetstream_py.clock import Clock
from jetstream_py.config.account_options import (
    GLOBAL_ACCOUNT,
    AccountOptions,
    User,
)
from jetstream_py.config.options import Options
from jetstream_py.log import Log
from jetstream_py.nuid import Nuid
from jetstream_py.server import info, proto
from jetstream_py.server.accounts import Account, Accounts
from jetstream_py.server.auth import (
    Operator,
)
from jetstream_py.server.closed import ClosedSession, ClosedSub
from jetstream_py.server.collect import Collectors
from jetstream_py.server.link import Link
from jetstream_py.server.reception import Reception
from jetstream_py.server.services import WaysBack
from jetstream_py.server.session import Session
from jetstream_py.server.tracing import Tracer, label
from jetstream_py.timers import Timers

if TYPE_CHECKING:
    from jetstream_py.server.monitor.view import JetStreamView

_FIRST_CLIENT_ID = 5  # as a fresh nats-server, which uses the ids before for itself
_NONCE_BYTES = 11
_LETTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TOKEN_LENGTH = 6


if TYPE_CHECKING:
    from jetstream_py.jwt.xkey import XKey
    from jetstream_py.nkey import KeyPair


class Events(Protocol):
    """Who is told of clients that come and go."""

    def connected(self, session: Session) -> None: ...

    def disconnected(self, session: Session, counted: bool) -> None:
        """`counted`: it had become a connection of its account."""
        ...

    def auth_error(self, session: Session, reason: str) -> None: ...


class Broker:
    """One server's state, from the first connection to the last."""

    def __init__(
        self,
        options: Options,
        clock: Clock,
        log: Log,
        loop: asyncio.AbstractEventLoop,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.options = options
        self.clock = clock
        self.log = log
        self.loop = loop
        self.chance = chance
        self.timers = Timers(clock)
        self._keys: tuple[KeyPair, XKey] | None = None
        if options.authorization.callout is not None or options.authorization.operator is not None:
            from jetstream_py.jwt.xkey import XKey

            seeds = [nkey.encode_seed(kind, os.urandom(32)) for kind in (nkey.SERVER, nkey.CURVE)]
            self._keys = nkey.KeyPair(seeds[0]), XKey(seeds[1])
            self.server_id, self._xkey = self.keys.public, self.curve.public
        else:  # then nobody asks for a proof
            self.server_id = nkey.encode(nkey.SERVER, os.urandom(32))
            self._xkey = nkey.encode(nkey.CURVE, os.urandom(32))
        self.server_name = options.server_name or self.server_id
        self.started_ns = self.config_loaded_ns = clock.now_ns()
        self.host = options.host
        self.port = options.port
        self.events: Events | None = None
        self.ways_back = WaysBack(self)
        self._accounts = Accounts(self)
        self.accounts = self._accounts.by_name
        self.operator: Operator | None = None
        # The parts that live in accounts say what they need when there are others.
        self.accounts_changed: Callable[[], None] = _nothing
        self.server_block: Callable[[], msgspec.Raw] = _unknown_server  # who answers
        self.new_id = Nuid(os.urandom).next
        self.sessions: dict[int, Session] = {}
        self.closed: deque[ClosedSession] = deque(maxlen=options.max_closed_clients)
        self.dirty: list[Session] = []
        self.collectors = Collectors()
        self.total_connections = 0
        self.slow_consumers = 0
        self.stale_connections = 0
        self.stalled_clients = 0
        self.lame_duck_mode = False
        self.jetstream = False  # told in INFO once streams are served
        self.jetstream_domain = ""
        self.jetstream_failure = ""  # why they are not served any more
        self.jetstream_view: JetStreamView | None = None  # what monitoring shows of it
        # Sockets that no session speaks for: closed and waiting for their peer, or not upgraded yet.
        self.lingering: set[asyncio.Transport] = set()
        self.arriving: set[asyncio.Transport] = set()
        self.congested = False  # a receiver came near max_pending since somebody last looked
        self._gone = [0, 0, 0, 0]  # traffic of closed connections
        self._websocket = ("", 0, False)
        self._next_cid = _FIRST_CLIENT_ID
        self._flush_scheduled = False
        self.reception = Reception(self)
        self._use(options)

    @property
    def keys(self) -> KeyPair:
        """What the server signs with."""
        assert self._keys is not None
        return self._keys[0]

    @property
    def curve(self) -> XKey:
        """What it opens sealed messages with."""
        assert self._keys is not None
        return self._keys[1]

    def _use(self, options: Options) -> None:
        """Derive everything that depends on options a reload may change."""
        self.options = options
        self.reception.use(options)
        self.tracing = options.trace
        self.tracer = Tracer(self.log, options.max_traced_msg_len, options.trace_headers)
        self._describe(options)
        self._accounts.configure(options)
        self.default_account = self.accounts[GLOBAL_ACCOUNT]
        self.system_account = self.accounts[options.system_account]

    def _describe(self, options: Options) -> None:
        """What all clients are told of the server."""
        host, port = info.advertised(options.client_advertise, self.host, self.port)
        self._info = info.template(
            server_id=self.server_id,
            server_name=self.server_name,
            host=host,
            port=port,
            headers=not options.no_header_support,
            max_payload=options.max_payload,
            xkey=self._xkey,
            tls=options.tls,
            allow_non_tls=options.allow_non_tls,
        )
        host, port, secure = self._websocket
        self._websocket_info = msgspec.structs.replace(
            self._info, host=host, port=port, tls_required=secure, tls_available=secure
        )

    def bound_websocket(self, host: str, port: int, secure: bool) -> None:
        """As `bound`, for clients that come by WebSocket."""
        self._websocket = (host, port, secure)
        self._describe(self.options)

    def use_operator(self, operator: Operator, system_account: str) -> None:
        """Clients are judged by their JWTs from now on."""
        self.operator = operator
        if system_account:
            self.options.system_account = system_account
            self._accounts.load(system_account, operator.account)
        self._use(self.options)
        self.accounts_changed()

    def bound(self, host: str, port: int) -> None:
        """The listener tells where clients reach us."""
        self.host, self.port = host, port
        self._describe(self.options)

    # -- connections come and go ------------------------------------------------------------------

    def open_session(self, link: Link, ip: str, port: int) -> Session:
        """A client connected. The link greets it once it knows its session."""
        session = Session(self, self.default_account, link, self._next_cid, ip, port)
        self._next_cid += 1
        self.reception.welcome(session)
        self.total_connections += 1
        self.sessions[session.cid] = session
        if self.log.debugging:
            self.log.debug(f"{label(session)} - Client connection created")
        return session

    def greet(self, session: Session) -> None:
        """The first INFO; the last, too, when there are too many clients."""
        self.introduce(session)
        self.check_room(session)

    def introduce(self, session: Session) -> None:
        """The first INFO."""
        session.send(self.info_line(session))

    def check_room(self, session: Session) -> None:
        """Close if there are too many clients."""
        if len(self.sessions) > self.options.max_connections:  # 0 or less: nobody
            error = "maximum connections exceeded"
            self.violation(session, error)
            self.close_session(session, proto.MAX_CONNECTIONS, error)

    def close_session(self, session: Session, reason: str, error: str = "") -> None:
        """End a connection, with an `-ERR` as the last word if there is one: subscriptions go now,
        what is queued is still written."""
        if session.closed:
            return
        if error:
            session.send_error(error)
        session.closed = True
        session.reason = reason
        session.stop_ns = self.clock.now_ns()
        if self.log.debugging:
            self.log.debug(f"{label(session)} - Client connection closed: {reason}")
        subs = tuple(
            ClosedSub(sub.subject, sub.queue, sub.sid, sub.msgs, sub.max)
            for sub in session.subs.values()
        )
        session.drop_all()
        session.link.flush()
        session.link.close(linger=bool(error))
        session.unlink()
        del self.sessions[session.cid]
        counted = session.account.sessions.pop(session.cid, None) is not None
        self._remember(session, subs)
        if self.events is not None:
            self.events.disconnected(session, counted)

    def _remember(self, session: Session, subs: tuple[ClosedSub, ...]) -> None:
        for i, count in enumerate(_traffic(session)):
            self._gone[i] += count
            session.account.gone[i] += count
        fields = {
            name: getattr(session, name)
            for name in ClosedSession.__struct_fields__
            if name not in ("subs", "connect")
        }
        closed = ClosedSession(subs=subs, connect=session.connect.without_secrets(), **fields)
        self.closed.append(closed)

    def shutdown(self) -> None:
        for session in list(self.sessions.values()):
            self.close_session(session, proto.SERVER_SHUTDOWN)

    def drop_strangers(self) -> None:
        """The end: nobody waits for sockets that no session speaks for."""
        for transport in (*self.lingering, *self.arriving):
            transport.abort()

    def kill(self) -> None:
        """Clients lose their connections as when the process dies: nothing queued is written."""
        for session in list(self.sessions.values()):
            session.link.abort()
        self.drop_strangers()

    def lame_duck(self) -> None:
        """Tell clients that understand it to move on."""
        self.lame_duck_mode = True
        for session in self.sessions.values():
            self.send_away(session)
        self.flush()

    def send_away(self, session: Session) -> None:
        """Ask a client to find another server, if it understands that."""
        if session.connected and session.connect.protocol >= 1:
            session.send(self.info_line(session, ldm=True))

    def apply(self, options: Options) -> None:
        """Take reloaded options; clients that would no longer get in have to go."""
        if self.operator is not None:  # its token names the system account
            options.system_account = self.options.system_account
        self._use(options)
        self.config_loaded_ns = self.clock.now_ns()
        for session in list(self.sessions.values()):
            session.apply_options()
            if not session.connected:
                continue
            self.reception.review(session)
        for account in list(self.accounts.values()):
            self.reception.trim(account)
        self.flush()

    # -- decisions that sessions ask for ----------------------------------------------------------

    def account_of(self, user: User) -> Account:
        return self.find_account(user.account) or self.default_account

    def find_account(self, name: str) -> Account | None:
        """With an operator accounts come when they are first asked for."""
        account = self.accounts.get(name)
        if account is None and self.operator is not None:
            account = self._accounts.load(name, self.operator.account)
            self.accounts_changed()
        return account

    def use_account(self, options: AccountOptions) -> None:
        """An account is like this from now on."""
        assert self.operator is not None
        self._accounts.change(options, self.operator.account)
        self.accounts_changed()

    def moved(self, session: Session, before: Account) -> None:
        """A session is a connection of its account now, and was one of another before, or of none."""
        account = session.account
        if account is not before:
            before.sessions.pop(session.cid, None)
        if session.cid in account.sessions:
            return
        account.sessions[session.cid] = session
        account.total_connections += 1
        if self.events is not None:
            self.events.connected(session)

    @property
    def short_name(self) -> bytes:
        """The server in eight letters."""
        digest = sha256(self.server_name.encode()).digest()
        return bytes([_LETTERS[byte % len(_LETTERS)] for byte in digest[:8]])

    def new_token(self) -> bytes:
        """A word that nobody can guess."""
        return bytes([_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(_TOKEN_LENGTH)])

    def violation(self, session: Session, text: str) -> None:
        self.log.error(f"{label(session)} - {text}")

    def info_line(self, session: Session, connected: bool = False, ldm: bool = False) -> bytes:
        websocket = session.client_type == "websocket"
        template = self._websocket_info if websocket else self._info
        hidden = not connected and bool(self.options.no_auth_user) and not websocket
        # A client that started with the handshake was never free to stay without.
        secured = not connected and session.link.tls_info() is not None
        limit = {"max_payload": session.max_payload} if connected else {}
        return info.render(
            msgspec.structs.replace(
                template,
                tls_required=template.tls_required or secured,
                client_id=session.cid,
                client_ip=session.ip,
                auth_required=self.reception.guard_of(session).required and not hidden,
                nonce="" if connected else session.nonce,
                jetstream=self.jetstream,
                domain=self.jetstream_domain,
                ldm=ldm or self.lame_duck_mode,
                connect_info=connected,
                remote_account=session.account.name if connected else "",
                acc_is_sys=connected and session.account is self.system_account,
                **limit,
            )
        )

    # -- output -----------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what is queued, each connection once."""
        dirty = self.dirty
        for session in dirty:
            session.link.flush()
        dirty.clear()

    def flush_soon(self) -> None:
        """Flush at the end of this loop tick, together with what other reads of it produce."""
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self.loop.call_soon(self._flush_tick)

    @property
    def idle(self) -> bool:
        """Everything queued was written."""
        return not (self.dirty or self._flush_scheduled or self.collectors.filled)

    def _flush_tick(self) -> None:
        self._flush_scheduled = False
        self.flush()

    def totals(self) -> tuple[int, int, int, int]:
        """in_msgs, in_bytes, out_msgs, out_bytes since the start."""
        sums = list(self._gone)
        for session in self.sessions.values():
            for i, count in enumerate(_traffic(session)):
                sums[i] += count
        return sums[0], sums[1], sums[2], sums[3]


def _nothing() -> None:
    return None


def _unknown_server() -> msgspec.Raw:
    return msgspec.Raw(b"{}")


def _traffic(session: Session) -> tuple[int, int, int, int]:
    return session.in_msgs, session.in_bytes, session.out_msgs, session.out_bytes
