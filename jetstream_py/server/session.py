"""One client: bytes in, deliveries and decisions out. Sans-IO.

A session is the state of a connection and the verbs that change it; publishing, the hot path, is in
`ingest`. `out` holds what the client is to receive, as lines without their LF (see `ingest`); whoever
puts the first item there adds the session to `broker.dirty`, and the broker writes each dirty session
once per loop tick.

Unfinished input waits in `_chunks`. `_want` is how long it must be before another look can find
something new, so a large payload that arrives in pieces is joined once. What may wait is bounded by the
control line and payload limits, which are checked before waiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py import limits
from jetstream_py.config.account_options import User
from jetstream_py.gotext import rfc3339_nano, wire_text
from jetstream_py.server import ingest, proto
from jetstream_py.server.auth import NOBODY
from jetstream_py.server.connect import ConnectOptions, decode
from jetstream_py.server.link import NO_LINK, Link
from jetstream_py.server.permissions import Grants, PublishRule, Rights, SubscribeRule
from jetstream_py.server.proto import Fault
from jetstream_py.server.router import Lines, Pub
from jetstream_py.server.sublist import Sub
from jetstream_py.subject import is_valid

if TYPE_CHECKING:
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.mapping import Mapper
    from jetstream_py.server.msgtrace import MsgTrace
    from jetstream_py.server.tls_info import TlsInfo


class Session:
    """The state of one client connection."""

    __slots__ = (
        "_chunks",
        "_control_at",
        "_early",
        "_greeted",
        "_have",
        "_tls",
        "_want",
        "account",
        "awaiting_auth",
        "behalf",
        "broker",
        "checked",
        "cid",
        "client_type",
        "closed",
        "connect",
        "connected",
        "echo",
        "fast",
        "forwarded_for",
        "grants",
        "headers",
        "held",
        "hidden",
        "identity",
        "implicit_connect",
        "in_bytes",
        "in_msgs",
        "internal",
        "ip",
        "last_activity_ns",
        "lines",
        "link",
        "mapper",
        "max_control_line",
        "max_payload",
        "nonce",
        "out",
        "out_bytes",
        "out_msgs",
        "pause",
        "pings_out",
        "plain_delivery",
        "port",
        "publish_rule",
        "reason",
        "rights",
        "rtt",
        "rtt_start",
        "stalls",
        "start_ns",
        "stop_ns",
        "subs",
        "trace",
        "traced",
    )

    kind = "Client"

    def __init__(
        self, broker: Broker, account: Account, link: Link, cid: int, ip: str, port: int
    ) -> None:
        self.broker = broker
        self.link = link
        self.client_type = "websocket" if link.connection_type == "WEBSOCKET" else "nats"
        self.forwarded_for = link.forwarded_for
        self._tls: TlsInfo | None = None  # of a closed connection
        self.cid = cid
        self.ip = ip
        self.port = port
        self.identity: User = NOBODY
        self.account = account
        self.rights: Rights | None = None
        self.publish_rule: PublishRule | None = None
        self.grants: Grants | None = None  # answers that it may give
        self.hidden: SubscribeRule | None = None  # for messages that keep their subjects
        self.mapper: Mapper | None = account.mapper
        self.checked = self.mapper is not None  # there is a rule or a mapping for what it publishes
        self.traced: MsgTrace | None = None  # the message that is being delivered, see `msgtrace`
        self.behalf: Session | None = None  # the client that a part of the server acts for
        self.nonce = ""
        self.connect = ConnectOptions()
        self.implicit_connect = False
        self.awaiting_auth = False
        self.held = False  # credentials are being checked: input waits
        self.connected = False  # a CONNECT was accepted
        self.closed = False
        self.reason = ""
        self.start_ns = self.last_activity_ns = broker.clock.now_ns()
        self.stop_ns = 0
        self.rtt: float | None = None
        self.rtt_start = 0.0
        self.pings_out = 0
        self.in_msgs = self.in_bytes = self.out_msgs = self.out_bytes = self.stalls = 0
        self.subs: dict[bytes, Sub] = {}
        self.out: list[bytes] = []
        self._control_at: list[int] = []  # which items of `out` are no messages
        self._chunks: list[bytes] = []
        self._have = 0
        self._want = 0
        self._early = 0  # bytes that came before the login
        self._greeted = False  # the second INFO was decided on
        self.headers = False
        self.echo = True
        self.fast = False  # may take the ready-made ways; nothing is fast before CONNECT
        self.lines: Lines = {}
        self.pause = 0  # see ingest
        self.internal = False  # a part of the server, not a connection
        self.apply_options()

    @property
    def user(self) -> str:
        return self.identity.name or self.identity.nkey

    @property
    def tls(self) -> TlsInfo | None:
        """How the connection is, or was, protected."""
        return self._tls or self.link.tls_info()

    def unlink(self) -> None:
        """The connection is gone. Without this each closed one would be a cycle for the collector."""
        self._tls = self.link.tls_info()
        self.link = NO_LINK
        self._chunks.clear()  # the socket may linger

    # -- input ------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take bytes from the client. May close the session; never raises for bad input."""
        size = len(data)
        if self._chunks:
            self._chunks.append(data)
            self._have += len(data)
            if self._have < self._want:
                if self.awaiting_auth:
                    self.bound_early(len(data))
                return
            data = b"".join(self._chunks)
            self._chunks.clear()
        try:
            ingest.consume(self, data)
        except Fault as fault:
            self.fail(fault)
        if self.awaiting_auth:
            self.bound_early(size)
        elif self.mapper is not self.account.mapper:
            self.map_by_account()

    def bound_early(self, size: int) -> None:
        """A client that is not logged in has sent so much more: neither memory nor time for endless
        blanks or what waits behind the login."""
        self._early += size
        waiting = self._have if self.held else 0
        most = max(limits.EARLY_INPUT, 2 * self.max_control_line)
        too_much = waiting > limits.HELD_INPUT or (not self.held and self._early > most)
        if too_much and not self.closed:
            self.broker.reception.refuse(self)

    def map_by_account(self) -> None:
        """Whether there are mappings is looked up once for each read, as nats-server does: in the read
        with CONNECT those of the account only count if there were any before it."""
        self.mapper = self.account.mapper
        self.checked = self.mapper is not None or self.publish_rule is not None

    def release(self) -> None:
        """The credentials were checked: go on with what has come meanwhile."""
        self.held = False
        self.link.release()
        data = b"".join(self._chunks)
        self._chunks.clear()
        if data and not self.closed:
            self.receive(data)

    def touch(self) -> None:
        """The client did something (a ping or its answer is not that), or got a message."""
        self.last_activity_ns = self.broker.clock.now_ns()

    def wait(self, rest: bytes, want: int) -> None:
        """Keep `rest` until there are `want` bytes of it."""
        self._chunks.append(rest)
        self._have = len(rest)
        self._want = want

    def unfinished(self, fragment: bytes) -> None:
        """The start of a control line: keep it if it can become one."""
        if self._admits(fragment):
            rest = proto.unfinished(fragment, self.max_control_line)
            self.wait(rest, len(rest) + 1)

    def _admits(self, line: bytes) -> bool:
        """Before authentication a first byte that is not CONNECT's ends the session."""
        if not self.awaiting_auth or line[:1] in (b"C", b"c"):
            return True
        self.broker.reception.refuse(self)
        return False

    def control(self, line: bytes) -> Pub | None:
        """One control line that no cache knows (with its CR, without LF). A publish is returned, its
        payload follows; everything else is done."""
        if not self._admits(line):
            return None
        raw = line[:-1] if line[-1:] == b"\r" else line
        verb, text = proto.split_verb(raw)
        if len(text) > self.max_control_line:
            raise proto.control_line_exceeded()
        if self.implicit_connect:
            # With no_auth_user any verb opens the session; then there is no greeting to come.
            self.implicit_connect = False
            self.connected = self._greeted = verb != b"CONNECT"
            if self.connected:
                self.broker.moved(self, self.account)
        if verb == b"PUB":
            return ingest.parse_pub(self, line, text)
        if verb == b"HPUB":
            return ingest.parse_hpub(self, line, text)
        if self.trace:
            self.broker.tracer.incoming(self, verb, text)
        _HANDLERS[verb](self, text)
        return None

    # -- verbs ------------------------------------------------------------------------------------

    def _sub(self, text: bytes) -> None:
        args = proto.loose_arguments(text)
        if len(args) == 2:
            subject, sid = args
            queue = b""
        elif len(args) == 3:
            subject, queue, sid = args
        else:
            raise proto.malformed("processSub", text)
        self.touch()
        if not self._may_subscribe(subject, queue, sid):
            return
        if sid not in self.subs:
            if not is_valid(subject):
                self.send_error("Invalid Subject")
                return
            sub = self.subs[sid] = Sub(self, subject, queue, sid)
            if self.rights is not None and self.rights.subscribe is not None:
                self._restrict(sub, self.rights.subscribe)
            self.account.subscriptions += 1
            self.account.subscribe(sub)
        self._ok()

    def _may_subscribe(self, subject: bytes, queue: bytes, sid: bytes) -> bool:
        most = self.broker.options.max_sub_tokens
        name = proto.shown(subject)
        if queue == proto.SYSTEM_QUEUE or not self._has_right_to(subject, queue):
            self._refuse_sub(name, queue, sid)
        elif most and subject.count(b".") >= most:
            self._refuse_sub(f"{name}, too many tokens", b"", sid)
        elif self._has_most_subs(len(self.subs)):
            self.send_error("maximum subscriptions exceeded")
        else:
            return True
        return False

    def _has_right_to(self, subject: bytes, queue: bytes) -> bool:
        rights = self.rights
        return rights is None or rights.subscribe is None or rights.subscribe.allows(subject, queue)

    def _restrict(self, sub: Sub, rule: SubscribeRule) -> None:
        """Hold back what a subscription may contain and not give. From then on messages of streams are
        looked at as well, on all subscriptions, as nats-server does."""
        sub.filter = rule.filter(sub.subject, sub.queue)
        if self.hidden is None and rule.touches(sub.subject):
            self.hidden = rule

    def _has_most_subs(self, count: int) -> bool:
        most = self.broker.options.max_subscriptions
        limits_of_subs = [self.account.options.max_subscriptions, self.identity.max_subscriptions]
        if most > 0:
            limits_of_subs.append(most)
        return any(0 <= limit <= count for limit in limits_of_subs)

    def count_subs(self) -> None:
        """After a change of limits: tell a client that it is above them. It keeps what it has."""
        if self.subs and self._has_most_subs(len(self.subs) - 1):
            self.send_error("maximum subscriptions exceeded")

    def _refuse_sub(self, name: str, queue: bytes, sid: bytes, suffix: str = "") -> None:
        using = f" using queue {proto.shown(queue)}" if queue else ""
        self.send_error(f"Permissions Violation for Subscription to {name}{using}{suffix}")
        group = f", Queue: {proto.shown(queue)}" if queue else ""
        self.broker.violation(
            self, f"Subscription Violation - Subject {name}{group}, SID {wire_text(sid)}"
        )

    def grant(self, reply: bytes) -> None:
        """It was asked something, so it may answer."""
        rule = self.publish_rule
        if self.grants is not None and rule is not None and not rule.allows(reply):
            self.grants.give(reply, self.broker.clock.monotonic())

    def may_publish(self, subject: bytes) -> bool:
        rule = self.publish_rule
        if rule is None or rule.allows(subject):
            return True
        return self.grants is not None and self.grants.use(subject, self.broker.clock.monotonic())

    def _unsub(self, text: bytes) -> None:
        args = proto.loose_arguments(text)
        if not 1 <= len(args) <= 2:
            raise proto.malformed("processUnsub", text)
        self.touch()
        limit = proto.parse_size(args[1]) if len(args) == 2 else 0
        sub = self.subs.get(args[0])
        if sub is not None:
            if limit > sub.msgs:
                sub.max = limit
                self.account.router.invalidate(sub.subject)
            else:
                self.drop(sub)
        self._ok()

    def drop(self, sub: Sub) -> None:
        """End one subscription."""
        if self.subs.pop(sub.sid, None) is not None:
            self.account.subscriptions -= 1
        self.account.unsubscribe(sub)
        if self.trace:
            self.broker.tracer.dropped(self, sub.sid)

    def drop_all(self) -> None:
        for sub in list(self.subs.values()):
            self.drop(sub)

    def _ping(self, text: bytes) -> None:
        self.send(proto.PONG)
        if self.connected and not self._greeted:
            self._greeted = True
            if self.connect.protocol >= 1:
                self.send(self.broker.info_line(self, connected=True))

    def _pong(self, text: bytes) -> None:
        if self.pings_out and self.rtt_start:
            self.rtt = max(self.broker.clock.monotonic() - self.rtt_start, 1e-9)
            self.rtt_start = 0.0
        self.pings_out = 0

    def _connect(self, text: bytes) -> None:
        self.connect = self.connect.overlay(text).fill(self.link.cookies)
        self.touch()
        if self.rtt is None:  # a first guess, until a ping tells
            self.rtt = (self.last_activity_ns - self.start_ns) / 1e9
        self.broker.reception.authenticate(self)

    def admit(self, user: User) -> None:
        """The credentials are those of this user."""
        client = self.connect
        if client.protocol not in (0, 1):
            raise Fault(proto.BAD_CLIENT_PROTOCOL, "invalid client protocol")
        supported = not self.broker.options.no_header_support
        if client.no_responders and not (client.headers and supported):
            raise Fault(proto.NO_RESPONDERS_HEADERS, "no responders requires headers support")
        if self.connected:
            self.drop_all()  # a second CONNECT starts anew
        self.headers = client.headers and supported
        self.echo = client.echo
        self.connected = True
        self.become(user)
        for sub in self.subs.values():
            self.account.router.invalidate(sub.subject)
        self.link.connected()
        self._ok()

    def become(self, user: User) -> None:
        """Act as this user from now on, in its account."""
        broker = self.broker
        account = broker.account_of(user)
        if account is not self.account:
            self.drop_all()
            if self.mapper is not None:  # else they wait, see `map_by_account`
                self.mapper = account.mapper
        before = self.account
        self.identity, self.account = user, account
        self.rights = rights = broker.reception.rights_of(user)
        self.publish_rule = rights.publish if rights is not None else None
        responses = rights.responses if rights is not None else None
        self.grants = Grants(responses) if responses is not None else None
        self.hidden = None
        self.checked = self.mapper is not None or self.publish_rule is not None
        self.awaiting_auth = False
        self.apply_options()
        if self.connected:
            broker.moved(self, before)

    def review_subs(self) -> None:
        """The user's permissions have changed: what it may not have any more goes."""
        for sub in list(self.subs.values()):
            if not self._has_right_to(sub.subject, sub.queue):
                self.drop(sub)
                suffix = f" (sid {proto.shown(sub.sid)})"
                self._refuse_sub(proto.shown(sub.subject), sub.queue, sub.sid, suffix)
            elif self.rights is not None and self.rights.subscribe is not None:
                self._restrict(sub, self.rights.subscribe)
            else:
                sub.filter = None

    def apply_options(self) -> None:
        """Take over what the server's options say; choose between the ready-made ways and the one
        that looks at every message."""
        limits_of_payload = (
            self.broker.options.max_payload,
            self.account.options.max_payload,
            self.identity.max_payload,
        )
        self.max_payload = min(
            (limit for limit in limits_of_payload if limit >= 0), default=proto.MAX_SIZE
        )
        self.max_control_line = self.broker.options.max_control_line
        self.trace = self.broker.tracing
        self.plain_delivery = self.echo and not self.trace and self.grants is None
        watched = self.connect.verbose or self.connect.pedantic or self.trace
        self.fast = self.connected and not watched
        self.lines = self.account.router.lines_for(self.rights) if self.fast else {}

    def _info(self, text: bytes) -> None:
        """Only servers have something to say with it; a client's is checked and passed over."""
        decode(text)

    def _error(self, text: bytes) -> None:
        raise Fault(proto.PARSE_ERROR, log=f"Client Error {proto.shown(text[:128])}")

    def _nothing(self, text: bytes) -> None:
        return None

    # -- output -----------------------------------------------------------------------------------

    def send(self, line: bytes) -> None:
        """Queue a control line, given without its LF."""
        if not self.out:
            self.broker.dirty.append(self)
        self._control_at.append(len(self.out))
        self.out.append(line)
        if self.trace:
            self.broker.tracer.outgoing(self, line)

    def send_series(self, messages: bytes, count: int, size: int) -> None:
        """Queue so many messages, rendered as one piece without its last LF, and count them."""
        if not self.out:
            self.broker.dirty.append(self)
        self._control_at.append(len(self.out))  # the one item is not to be counted again
        self.out.append(messages)
        self.out_msgs += count
        self.out_bytes += size
        self.touch()

    def send_error(self, text: str) -> None:
        self.send(proto.error(text))

    def _ok(self) -> None:
        if self.connect.verbose:
            self.send(proto.OK)

    def fail(self, fault: Fault) -> None:
        self.broker.violation(self, str(fault))
        self.broker.close_session(self, fault.reason, fault.text)

    def take_output(self) -> bytes:
        """Everything queued, as one piece, and count it."""
        out = self.out
        messages = out
        if self._control_at:
            marks = set(self._control_at)
            messages = [item for i, item in enumerate(out) if i not in marks]
            self._control_at.clear()
        if messages:
            self.touch()
            count = len(messages) >> 1
            self.out_msgs += count
            self.out_bytes += sum(map(len, messages[1::2])) - count  # less the CRs
        out.append(b"")  # so that the last line gets its LF, too
        data = b"\n".join(out)
        out.clear()
        return data

    def pending_bytes(self) -> int:
        return self.link.pending_bytes()

    # -- what the parts of the server may ask -----------------------------------------------------

    @property
    def wants_no_responders(self) -> bool:
        return self.connect.no_responders

    def describe(self) -> dict[str, object]:
        """The client as advisories name it."""
        client = self.connect
        known: dict[str, object] = {
            "start": rfc3339_nano(self.start_ns),
            "host": self.ip,
            "id": self.cid,
            "acc": self.account.name,
            "user": self.user,
            "name": client.name,
            "lang": client.lang,
            "ver": client.version,
            "rtt": round((self.rtt or 0.0) * 1e9),
            "server": self.broker.server_name,
            "kind": "Client",
            "client_type": self.client_type,
        }
        return {key: value for key, value in known.items() if value}


_HANDLERS = {
    b"SUB": Session._sub,
    b"UNSUB": Session._unsub,
    b"PING": Session._ping,
    b"PONG": Session._pong,
    b"CONNECT": Session._connect,
    b"INFO": Session._info,
    b"-ERR": Session._error,
    b"+OK": Session._nothing,
}
