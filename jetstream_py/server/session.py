"""One client: bytes in, deliveries and decisions out. Sans-IO.

Theory of operation. `receive(data)` walks the read buffer once. For each control line it asks the
router's line cache; a hit is a publish that was parsed, routed and rendered before, so the message
costs one lookup, one slice for payload + CRLF and two appends for each receiver. Everything else
goes through `_control`, which parses the line and either acts (SUB, PING, ...) or returns the `Pub`
whose payload follows. The loop never copies a payload a second time: the slice taken from the read
buffer is what `b"".join` writes to the receivers' sockets.

`out` is a list of pairs: start of a message and its payload with CRLF, or a control line and `b""`.
That shape is a contract: counts of messages and bytes sent are computed from it once per write instead
of once per message. A session is in `broker.dirty` exactly when its `out` is not empty.

Unfinished input waits in `_rest`. `_want` is how long it must be before another look can find something
new, so a large payload that arrives in pieces is joined once. What may wait is bounded by the control
line and payload limits, which are checked before waiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from jetstream_py.server import proto
from jetstream_py.server.connect import ConnectOptions, decode
from jetstream_py.server.proto import CRLF, Fault
from jetstream_py.server.router import Lines, Pub
from jetstream_py.server.sublist import Sub
from jetstream_py.subject import is_valid, is_valid_literal

if TYPE_CHECKING:
    from jetstream_py.server.broker import Account, Broker

_NO_LINES: Lines = {}  # for sessions that must see every line (verbose, pedantic, traced): never filled


class Link(Protocol):
    """What a session needs from its transport."""

    def flush(self) -> None: ...
    def close(self) -> None: ...
    def pending_bytes(self) -> int: ...


class Session:
    """The state of one client connection."""

    __slots__ = (
        "_chunks",
        "_greeted",
        "_have",
        "_want",
        "account",
        "awaiting_auth",
        "broker",
        "cid",
        "closed",
        "connect",
        "connected",
        "control_items",
        "echo",
        "headers",
        "in_bytes",
        "in_msgs",
        "ip",
        "last_activity_ns",
        "lines",
        "link",
        "out",
        "out_bytes",
        "out_msgs",
        "pings_out",
        "plain_delivery",
        "port",
        "reason",
        "rtt",
        "rtt_start",
        "stalls",
        "start_ns",
        "stop_ns",
        "subs",
        "trace",
        "user",
    )

    kind = "Client"

    def __init__(self, broker: Broker, link: Link, cid: int, ip: str, port: int) -> None:
        self.broker = broker
        self.link = link
        self.cid = cid
        self.ip = ip
        self.port = port
        self.account: Account = broker.default_account
        self.user = ""
        self.connect = ConnectOptions()
        self.awaiting_auth = broker.auth_required
        self.connected = False  # a CONNECT was accepted
        self.closed = False
        self.reason = ""
        self.start_ns = self.last_activity_ns = broker.clock.now_ns()
        self.stop_ns = 0
        self.rtt: float | None = None
        self.rtt_start = 0.0
        self.pings_out = 0
        self.in_msgs = self.in_bytes = self.out_msgs = self.out_bytes = self.stalls = 0
        self.out: list[bytes] = []
        self.control_items = 0  # pairs in `out` that are no messages
        self.subs: dict[bytes, Sub] = {}
        self.lines = _NO_LINES  # nothing is fast before CONNECT
        self.trace = broker.tracing
        self.headers = False
        self.echo = True
        self.plain_delivery = not self.trace
        self._greeted = False  # the second INFO was decided on
        self._chunks: list[bytes] = []
        self._have = 0
        self._want = 0

    # -- input ------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take bytes from the client. May close the session; never raises for bad input."""
        self.last_activity_ns = self.broker.clock.now_ns()
        if self._chunks:
            self._chunks.append(data)
            self._have += len(data)
            if self._have < self._want:
                return
            data = b"".join(self._chunks)
            self._chunks.clear()
        try:
            self._consume(data)
        except Fault as fault:
            self._fail(fault)

    def _wait(self, rest: bytes, want: int) -> None:
        self._chunks.append(rest)
        self._have = len(rest)
        self._want = want

    def _consume(self, data: bytes) -> None:
        """The hot loop. Longer than our other functions because a call per message costs a tenth of
        the whole; the order of the tests is the order of frequency."""
        pos = msgs = size_sum = 0
        end = len(data)
        find = data.find
        lines = self.lines
        dirty = self.broker.dirty
        try:
            while pos < end:
                eol = find(b"\n", pos)
                if eol < 0:
                    rest = proto.unfinished(data[pos:], self.broker.options.max_control_line)
                    return self._wait(rest, len(rest) + 1)
                line = data[pos:eol]
                pub = lines.get(line)
                if pub is None:
                    pub = self._control(line)
                    if pub is None:
                        if self.closed:
                            return None
                        lines = self.lines
                        pos = eol + 1
                        continue
                size = pub.size
                start = eol + 1
                stop = start + size + 2
                if stop > end:
                    if end == stop - 1 and data[end - 1] != 13:
                        raise proto.unknown_operation(data[stop - 2 :])
                    return self._wait(data[pos:], stop - pos)
                body = data[start:stop]
                if body[-2:] != CRLF:
                    raise proto.unknown_operation(body[-2:])
                msgs += 1
                size_sum += size
                fan = pub.fan
                if fan is None:
                    self._publish(pub, body)
                else:
                    for sub, head in fan:
                        sub.msgs += 1
                        out = sub.out
                        if not out:
                            dirty.append(sub.session)
                        out.append(head)
                        out.append(body)
                pos = stop
        finally:
            self.in_msgs += msgs
            self.in_bytes += size_sum

    def _control(self, line: bytes) -> Pub | None:
        """One control line that no cache knows (with its CR, without LF)."""
        if self.awaiting_auth and line[:1] not in (b"C", b"c"):
            self.broker.auth_violation(self)
            return None
        raw = line[:-1] if line[-1:] == b"\r" else line
        verb, text = proto.split_verb(raw)
        if len(text) > self.broker.options.max_control_line:
            raise proto.control_line_exceeded()
        if verb == b"PUB":
            return self._parse_pub(line, text)
        if verb == b"HPUB":
            return self._parse_hpub(line, text)
        if self.trace:
            self.broker.tracer.incoming(self, verb, text)
        _HANDLERS[verb](self, text)
        return None

    # -- PUB, HPUB --------------------------------------------------------------------------------

    def _parse_pub(self, line: bytes, text: bytes) -> Pub:
        args = proto.arguments(text)
        if len(args) == 2:
            subject, size_text = args
            reply = b""
        elif len(args) == 3:
            subject, reply, size_text = args
        else:
            raise proto.malformed("processPub", text)
        size = proto.parse_size(size_text)
        if size < 0:
            raise proto.malformed("processPub", text)
        return self._prepare(line, Pub(subject, reply, -1, size, size_text))

    def _parse_hpub(self, line: bytes, text: bytes) -> Pub:
        if not self.headers:
            log = "message headers not supported"
            answer = log if self.broker.options.no_header_support else ""
            raise Fault(proto.HEADER_VIOLATION, answer, log)
        args = proto.arguments(text)
        if len(args) == 3:
            subject, hdr_text, size_text = args
            reply = b""
        elif len(args) == 4:
            subject, reply, hdr_text, size_text = args
        else:
            raise proto.malformed("processHeaderPub", text)
        hdr = proto.parse_size(hdr_text)
        size = proto.parse_size(size_text)
        if hdr < 0 or size < hdr:
            raise proto.malformed("processHeaderPub", text)
        if hdr == 0:  # no headers after all: receivers get a plain message
            return self._prepare(line, Pub(subject, reply, -1, size, size_text))
        return self._prepare(line, Pub(subject, reply, hdr, size, hdr_text + b" " + size_text))

    def _prepare(self, line: bytes, pub: Pub) -> Pub:
        """Checks that come before the payload; then the way the message will take."""
        limit = self.broker.options.max_payload
        if pub.size > limit:
            log = f"maximum payload exceeded: {pub.size} vs {limit}"
            raise Fault(proto.MAX_PAYLOAD, "Maximum Payload Violation", log)
        router = self.account.router
        pub.route = router.route(pub.subject)
        if self.lines is not _NO_LINES and not pub.subject.startswith(proto.RESERVED_SUBJECTS):
            router.remember(line, pub)
        return pub

    def _publish(self, pub: Pub, body: bytes) -> None:
        """Deliver one message with everything that the ready-made way leaves out."""
        client = self.connect
        if self.trace:
            self.broker.tracer.publish(self, pub, body)
        if client.pedantic and not is_valid_literal(pub.subject):
            self.send_error("Invalid Publish Subject")
        if not self._may_publish(pub):
            return
        if client.verbose:
            self.send(proto.OK)
        delivered = False
        for sub in pub.route.plain:
            delivered |= self._deliver(sub, pub, body)
        for members in pub.route.groups:
            # A random member; if it cannot take the message, the one before it, and so on.
            at = int(self.broker.chance() * len(members))
            for i in range(len(members)):
                if self._deliver(members[at - i], pub, body):
                    delivered = True
                    break
        if not delivered and pub.reply and client.no_responders:
            self._no_responders(pub)

    def _may_publish(self, pub: Pub) -> bool:
        if pub.subject.startswith(proto.RESERVED_SUBJECTS):
            what = f'to "{proto.shown(pub.subject)}"'
        elif pub.reply.startswith(proto.RESERVED_REPLIES):
            what = f'with Reply of "{proto.shown(pub.reply)}"'
        else:
            return True
        self.send_error(f"Permissions Violation for Publish {what}")
        self.broker.violation(self, f"Publish Violation - {what}")
        return False

    def _deliver(self, sub: Sub, pub: Pub, body: bytes) -> bool:
        receiver = sub.session
        if receiver is self and not self.echo:
            return False
        if sub.max and sub.msgs >= sub.max:
            return False
        sub.msgs += 1
        if pub.hdr > 0 and not receiver.headers:
            body = body[pub.hdr :]
        head = pub.head(sub)
        out = receiver.out
        if not out:
            self.broker.dirty.append(receiver)
        out.append(head)
        out.append(body)
        if receiver.trace:
            self.broker.tracer.delivery(receiver, head, body)
        if sub.max and sub.msgs >= sub.max:
            receiver.drop(sub)
        return True

    def _no_responders(self, pub: Pub) -> None:
        """Tell the requester at once, on its own subscription to the reply subject."""
        for sub in self.account.router.route(pub.reply).plain:
            if sub.session is self:
                return self.send(proto.no_responders(pub.reply, sub.sid, pub.subject))
        return None

    # -- the other verbs --------------------------------------------------------------------------

    def _sub(self, text: bytes) -> None:
        args = proto.loose_arguments(text)
        if len(args) == 2:
            subject, sid = args
            queue = b""
        elif len(args) == 3:
            subject, queue, sid = args
        else:
            raise proto.malformed("processSub", text)
        if not self._may_subscribe(subject, queue, sid):
            return
        if sid not in self.subs:
            sub = self.subs[sid] = Sub(self, subject, queue, sid)
            self.account.router.subscribe(sub)
        self._ok()

    def _may_subscribe(self, subject: bytes, queue: bytes, sid: bytes) -> bool:
        options = self.broker.options
        if queue == proto.SYSTEM_QUEUE:
            what = f'"{proto.shown(subject)}" using queue "{proto.shown(queue)}"'
        elif options.max_sub_tokens and subject.count(b".") >= options.max_sub_tokens:
            what = f'"{proto.shown(subject)}", too many tokens'
        elif options.max_subscriptions and len(self.subs) >= options.max_subscriptions:
            self.send_error("maximum subscriptions exceeded")
            return False
        elif not is_valid(subject):
            self.send_error("Invalid Subject")
            return False
        else:
            return True
        self.send_error(f"Permissions Violation for Subscription to {what}")
        self.broker.violation(self, f"Subscription Violation - {what}, SID {proto.shown(sid)}")
        return False

    def _unsub(self, text: bytes) -> None:
        args = proto.loose_arguments(text)
        if not 1 <= len(args) <= 2:
            raise proto.malformed("processUnsub", text)
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
        self.account.router.unsubscribe(sub)
        self.subs.pop(sub.sid, None)
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
        self.connect = options = self.connect.overlay(text)
        if not self.broker.authenticate(self, options):
            return
        if options.protocol not in (0, 1):
            raise Fault(proto.BAD_CLIENT_PROTOCOL, "invalid client protocol")
        supported = not self.broker.options.no_header_support
        if options.no_responders and not (options.headers and supported):
            raise Fault(proto.NO_RESPONDERS_HEADERS, "no responders requires headers support")
        self.drop_all()
        self.headers = options.headers and supported
        self.echo = options.echo
        self.connected = True
        self.apply_options()
        self._ok()

    def apply_options(self) -> None:
        """Choose between the ready-made way and the one that looks at every message."""
        self.trace = self.broker.tracing
        self.plain_delivery = self.echo and not self.trace
        fast = self.connected and not (self.connect.verbose or self.connect.pedantic or self.trace)
        self.lines = self.account.router.lines if fast else _NO_LINES

    def _info(self, text: bytes) -> None:
        """Only servers have something to say with it; a client's is checked and passed over."""
        decode(text)

    def _error(self, text: bytes) -> None:
        raise Fault(proto.PARSE_ERROR, log=f"Client Error {text[:128]!r}")

    def _nothing(self, text: bytes) -> None:
        return None

    # -- output -----------------------------------------------------------------------------------

    def send(self, line: bytes) -> None:
        """Queue a control line (or several) for this client."""
        if not self.out:
            self.broker.dirty.append(self)
        self.out.append(line)
        self.out.append(b"")
        self.control_items += 1
        if self.trace:
            self.broker.tracer.outgoing(self, line)

    def send_error(self, text: str) -> None:
        self.send(proto.error(text))

    def _ok(self) -> None:
        if self.connect.verbose:
            self.send(proto.OK)

    def _fail(self, fault: Fault) -> None:
        if fault.text:
            self.send_error(fault.text)
        self.broker.violation(self, str(fault))
        self.broker.close_session(self, fault.reason)

    def take_output(self) -> bytes:
        """Everything queued, as one piece, and count it."""
        out = self.out
        msgs = (len(out) >> 1) - self.control_items
        if msgs:
            self.out_msgs += msgs
            self.out_bytes += sum(map(len, out[1::2])) - 2 * msgs
        self.control_items = 0
        data = b"".join(out)
        out.clear()
        return data

    def pending_bytes(self) -> int:
        return self.link.pending_bytes()


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
