"""Message tracing: a message tells where it went.

Whoever publishes with the header `Nats-Trace-Dest` gets a report on that subject: what became of the message
on its way in, and every subscriber, stream and account it reached. With `Nats-Trace-Only` it is reported and
not delivered. An account may have a destination of its own, for messages whose `traceparent` says that they
are sampled.

A report crosses into another account only where that account's export or import allows it; otherwise the
message goes on with its trace switched off.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from jetstream_py import headers as header
from jetstream_py.gotext import escape_json, rfc3339_nano, utf8
from jetstream_py.subject import is_literal, is_valid

if TYPE_CHECKING:
    from jetstream_py.server.collect import Outcome
    from jetstream_py.server.router import Pub
    from jetstream_py.server.session import Session
    from jetstream_py.server.sublist import Sub

MARK: Final = b"race"  # in a block that may ask for it
DEST: Final = b"Nats-Trace-Dest"
_ONLY: Final = b"Nats-Trace-Only"
_PARENT: Final = b"traceparent"
_SAMPLED: Final = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f][13579bdf]\Z")
_OFF: Final = b"trace disabled"
_TRUE: Final = (b"1", b"true", b"on")

_SERVED: Final = (b"$JS.API.", b"$SYS.")
_TAKEN: Final = (b"$JS.API.CONSUMER.MSG.NEXT.", b"$JS.API.DIRECT.GET.")
_USER_INFO: Final = b"$SYS.REQ.USER.INFO"

NO_ECHO: Final = "Not delivered because of no echo"
ENOUGH: Final = "Not delivered because auto-unsubscribe exceeded"
DENIED: Final = "Not delivered because subscription denies this subject"


class MsgTrace:
    """The report on one message."""

    def __init__(self, session: Session, dest: bytes, block: bytes, pub: Pub) -> None:
        self._session = session
        self.dest = dest
        self._block = block
        self._size = pub.size
        self._events: list[dict[str, object]] = []
        self._silent = False
        self.only = (header.get(block, _ONLY) or b"").lower() in _TRUE
        self._entry = self._event(
            "in",
            **_who(session),
            acc=session.account.name,
            subj=utf8(pub.origin or pub.subject),
        )
        if pub.origin:
            self._event("sm", to=utf8(pub.subject))

    def _event(self, type_: str, **fields: object) -> dict[str, object]:
        now = self._session.broker.clock.now_ns()
        event = {"type": type_, "ts": rfc3339_nano(now), **fields}
        self._events.append(event)
        return event

    # -- what happens to it -----------------------------------------------------------------------

    def refused(self, error: str) -> None:
        self._entry["error"] = error

    def delivered(self, sub: Sub, error: str = "") -> None:
        """A subscriber gets it, or not."""
        receiver = sub.session
        fields: dict[str, object] = _who(receiver)
        if receiver.account is not self._session.account:
            fields["acc"] = receiver.account.name
        fields["sub"] = utf8(sub.subject)
        if sub.queue:
            fields["queue"] = utf8(sub.queue)
        if error:
            fields["error"] = error
        self._event("eg", **fields)

    def exported(self, account: str, subject: bytes) -> None:
        self._event("se", acc=account, to=utf8(subject))

    def served(self, account: str, subject: bytes, target: bytes) -> None:
        self._event("si", acc=account, **{"from": utf8(subject)}, to=utf8(target))

    def served_here(self, subject: bytes) -> bool:
        """A request to the server, which is a service of the system account, unless a stream or a consumer
        takes it."""
        if not subject.startswith(_SERVED) or subject.startswith(_TAKEN):
            return False
        target = subject
        if subject == _USER_INFO:
            target = b"$SYS.REQ.USER.%b.INFO" % self._session.account.name.encode()
        self.served("$SYS", subject, target)
        return True

    def collected(self, outcome: Outcome | None) -> None:
        """A stream took it, or not. Of a message that waits for others nothing is told, nor reported."""
        if outcome is None:
            self._silent = True
            return
        stream, subject, no_interest, error = outcome
        fields: dict[str, object] = {"stream": stream}
        if subject:
            fields["subject"] = utf8(subject)
        if no_interest:
            fields["nointerest"] = True
        if error:
            fields["error"] = error
        self._event("js", **fields)

    # -- the report -------------------------------------------------------------------------------

    def send(self) -> None:
        if self._silent:
            return
        session = self._session
        names: dict[str, list[str]] = {}
        for line in self._block.split(b"\r\n")[1:]:
            name, colon, value = line.partition(b":")
            if colon:
                names.setdefault(utf8(name), []).append(utf8(value.strip()))
        report = {
            "server": session.broker.server_block(),
            "request": {"header": dict(sorted(names.items())), "msgsize": self._size},
            "events": self._events,
        }
        body, block = escape_json(msgspec.json.encode(report)), b""
        if b"gzip" in (header.get(self._block, b"Accept-Encoding") or b""):
            import gzip

            body = gzip.compress(body, mtime=0)
            block = header.extend(b"", (b"Content-Encoding", b"gzip"))
        session.account.internal.announce(self.dest, body, block)


def begin(session: Session, pub: Pub, block: bytes) -> MsgTrace | None:
    """A trace for this message, if somebody wants one."""
    dest = header.get(block, DEST)
    if dest is None:
        dest = _account_dest(session, block)
    if not dest or not is_valid(dest) or not is_literal(dest):
        return None
    return MsgTrace(session, dest, block, pub)


def may_trace(session: Session, blocks: bytes) -> bool:
    """May somebody want a trace of a message with one of these blocks?"""
    return DEST in blocks or (MARK in blocks and bool(session.account.options.trace_dest))


def switched_off(block: bytes) -> bytes:
    """A block whose trace ends here."""
    return redirected(block, _OFF)


def redirected(block: bytes, dest: bytes) -> bytes:
    """A block whose trace, if there is one, goes elsewhere."""
    if header.get(block, DEST) is None:
        return block
    return header.extend(header.without(block, DEST), (DEST, dest))


def for_a_stream(block: bytes) -> bytes:
    """The same as `switched_off`, for what is stored: there the header keeps its place."""
    return block if header.get(block, DEST) is None else header.replaced(block, DEST, _OFF)


def _account_dest(session: Session, block: bytes) -> bytes | None:
    options = session.account.options
    parent = header.get(block, _PARENT) if options.trace_dest else None
    if parent is None or not _SAMPLED.match(parent):
        return None
    drawn = session.broker.chance() * 100 < options.trace_sampling
    return options.trace_dest.encode() if drawn else None


def _who(session: Session) -> dict[str, object]:
    known: dict[str, object] = {"kind": 0, "cid": session.cid}
    if session.connect.name:
        known["name"] = session.connect.name
    return known
