"""A second, slow and obvious reading of the client protocol, to hold the real one against.

It sees the whole input at once, walks it byte by byte where the rules are about bytes, keeps the
subscriptions in a list and matches them one by one. It knows one publisher (with or without header
support) that receives its own messages, observers that receive everything, and collectors of parts of
the server that take messages under some patterns (`collected`).
"""

from __future__ import annotations

from jetstream_py.subject import is_literal, is_valid, matches

MAX_CONTROL = 4096
SKIPPED = (b"PING", b"PONG", b"+OK")
WITH_BLANK = (b"PUB", b"HPUB", b"SUB", b"UNSUB", b"-ERR")
WITHOUT_BLANK = (b"INFO", b"CONNECT", b"HMSG")
VERBS = (*SKIPPED, *WITH_BLANK, *WITHOUT_BLANK)

UNKNOWN = b"-ERR 'Unknown Protocol Operation'\r\n"
TOO_LONG = b"-ERR 'maximum control line exceeded'\r\n"


class Stop(Exception):
    """The connection ends, with these bytes as the last."""

    def __init__(self, last: bytes = b"") -> None:
        self.last = last


class Model:
    """What the publisher gets back (`own`) and what an observer of `>` sees (`seen`)."""

    def __init__(
        self, pedantic: bool = False, verbose: bool = False, collected: tuple[bytes, ...] = ()
    ) -> None:
        self.pedantic = pedantic
        self.verbose = verbose
        self.collected = collected
        self.items: list[tuple[bytes, bytes, bytes, bytes]] = []
        self.subs: dict[bytes, list[bytes]] = {}  # sid -> [subject]
        self.counts: dict[bytes, int] = {}
        self.limits: dict[bytes, int] = {}
        self.own = b""
        self.seen = b""
        self.msgs = 0
        self.closed = False

    def run(self, data: bytes) -> None:
        at = 0
        try:
            while at < len(data):
                at = self.step(data, at)
        except Stop as stop:
            self.own += stop.last
            self.closed = True

    def step(self, data: bytes, at: int) -> int:
        verb, after = self.verb(data, at)
        end = data.find(b"\n", after)
        if verb is None:
            return len(data)
        if verb in SKIPPED:
            if end < 0:
                return len(data)
            if verb == b"PING":
                self.own += b"PONG\r\n"
            return end + 1
        text = data[after:] if end < 0 else data[after:end]
        while text[:1] in (b" ", b"\t"):
            text = text[1:]
        if end >= 0 and text.endswith(b"\r"):
            text = text[:-1]
        if verb != b"HMSG" and len(text) > MAX_CONTROL:
            raise Stop(TOO_LONG)
        if end < 0:
            return len(data)
        if verb == b"HMSG":
            raise Stop(UNKNOWN)
        return self.act(verb, text, data, end + 1)

    def verb(self, data: bytes, at: int) -> tuple[bytes | None, int]:
        """Byte by byte: a verb is refused at its first wrong byte."""
        got = b""
        for i in range(at, len(data)):
            byte = data[i : i + 1]
            if got in SKIPPED or got in WITHOUT_BLANK:
                return got, i
            if got in WITH_BLANK:
                if byte in (b" ", b"\t"):
                    return got, i
                raise Stop(UNKNOWN)
            got += byte.upper()
            if not any(verb.startswith(got) for verb in VERBS):
                raise Stop(UNKNOWN)
        return (got, len(data)) if got in SKIPPED else (None, len(data))

    def act(self, verb: bytes, text: bytes, data: bytes, after: int) -> int:
        if verb in (b"PUB", b"HPUB"):
            return self.publish(verb, text, data, after)
        if verb in (b"SUB", b"UNSUB"):
            args = [
                arg for arg in text.replace(b"\t", b" ").replace(b"\r", b" ").split(b" ") if arg
            ]
            if verb == b"SUB":
                self.subscribe(args)
            else:
                self.unsubscribe(args)
            return after
        if verb == b"INFO" and text.translate(None, b" \t\r") == b"{}":
            return after
        raise Stop  # -ERR, INFO and CONNECT that the generator makes wrong on purpose

    def ok(self) -> None:
        if self.verbose:
            self.own += b"+OK\r\n"

    def subscribe(self, args: list[bytes]) -> None:
        if len(args) not in (2, 3):
            raise Stop
        subject, sid = args[0], args[-1]
        if sid not in self.subs:
            if not is_valid(subject):
                self.own += b"-ERR 'Invalid Subject'\r\n"
                return
            self.subs[sid] = [subject]
            self.counts[sid] = 0
            self.limits.pop(sid, None)
        self.ok()

    def unsubscribe(self, args: list[bytes]) -> None:
        if len(args) not in (1, 2):
            raise Stop
        sid = args[0]
        limit = number(args[1]) if len(args) == 2 else 0
        if sid in self.subs:
            if limit > self.counts[sid]:
                self.limits[sid] = limit
            else:
                del self.subs[sid]
        self.ok()

    def publish(self, verb: bytes, text: bytes, data: bytes, after: int) -> int:
        args = [arg for arg in text.replace(b"\t", b" ").split(b" ") if arg]
        extra = 1 if verb == b"HPUB" else 0
        if len(args) not in (2 + extra, 3 + extra):
            raise Stop
        subject = args[0]
        reply = args[1] if len(args) == 3 + extra else b""
        size = number(args[-1])
        hdr = number(args[-2]) if extra else 0
        if size < 0 or hdr < 0 or hdr > size:
            raise Stop
        if size > 1024 * 1024:
            raise Stop(b"-ERR 'Maximum Payload Violation'\r\n")
        payload = data[after : after + size]
        tail = data[after + size : after + size + 2]
        if not b"\r\n".startswith(tail[:2]):
            raise Stop(UNKNOWN)
        if len(payload) < size or len(tail) < 2:
            return len(data)
        self.msgs += 1
        sizes = b" ".join(args[-2:]) if hdr else args[-1]
        self.route(subject, reply, hdr, sizes, payload)
        return after + size + 2

    def route(self, subject: bytes, reply: bytes, hdr: int, sizes: bytes, payload: bytes) -> None:
        if self.pedantic and (b"" in subject.split(b".") or not is_literal(subject)):
            self.own += b"-ERR 'Invalid Publish Subject'\r\n"
        refused = b""
        if subject.startswith((b"$GR.", b"_GR_.")):
            refused = b'to "%b"' % subject
        elif reply.startswith((b"_R_.", b"_GR_.", b"$GR.", b"$JS.ACK.")):
            refused = b'with Reply of "%b"' % reply
        if refused:
            self.own += b"-ERR 'Permissions Violation for Publish %b'\r\n" % refused
            return
        self.ok()
        if b"" in subject.split(b"."):
            return
        middle = b" " + reply if reply else b""
        verb = b"HMSG " if hdr else b"MSG "
        for sid, (pattern,) in list(self.subs.items()):
            if matches(subject, pattern):
                self.own += (
                    verb
                    + subject
                    + b" "
                    + sid
                    + middle
                    + b" "
                    + sizes
                    + b"\r\n"
                    + payload
                    + b"\r\n"
                )
                self.counts[sid] += 1
                if self.limits.get(sid) == self.counts[sid]:
                    del self.subs[sid]
        if any(matches(subject, pattern) for pattern in self.collected):
            self.items.append((subject, reply, payload[:hdr], payload[hdr:]))
        plain = payload[hdr:]
        size = b"%d" % len(plain) if hdr else sizes  # the observer has no header support
        self.seen += b"MSG " + subject + b" 1" + middle + b" " + size + b"\r\n" + plain + b"\r\n"


def number(text: bytes) -> int:
    return int(text) if 1 <= len(text) <= 9 and all(48 <= c <= 57 for c in text) else -1
