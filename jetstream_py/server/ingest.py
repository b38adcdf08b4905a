"""From the read buffer to the receivers' output: the hot path of core NATS.

Theory of operation. `consume(session, data)` walks a read buffer once, in gears that give the same
result:

* pairs: a bulk publisher sends control line, payload, control line, payload, ... One `split` at LF
  yields exactly that alternation as long as the payloads hold no LF. A control line that the router's
  cache knows is a publish that was parsed, routed and rendered before, so a message costs one lookup
  and two appends for each receiver. The gear stops at the first pair that is anything else.
* runs: the same for publishes that go to a stream, see `runs`.
* lines: find the end of the line, look it up or parse it, jump over the payload. Everything works here.

A session whose traffic does not suit the first two skips them for the next reads.

Items of a session's `out` are lines without their LF: a message is two items (head, payload + CR), a
control line is one, and `b"\\n".join` makes the bytes for the socket. So the payload that `split` cut
out of the read buffer is written without ever being copied alone. Counters are computed once per read
and once per write from the lengths of lists, not once per message.
"""

from __future__ import annotations

from operator import length_hint
from typing import TYPE_CHECKING

from jetstream_py import limits
from jetstream_py.server import msgtrace, proto, runs
from jetstream_py.server.delivery import publish
from jetstream_py.server.proto import ACK, INBOX, RESERVED_STARTS, USED_ONCE, Fault
from jetstream_py.server.router import Pub

if TYPE_CHECKING:
    from jetstream_py.server.session import Session

# Reads below this are a few messages: splitting them all would gain nothing over going line by line.
_PAIRS_MIN = 1024
_ACKS_MIN = 256  # acks and requests are taken apart together from there on
_TO_JETSTREAM = b"PUB $JS."
_PAIRS_PAYLOAD = 512  # average bytes between LFs above which finding beats splitting
_TRACE = msgtrace.MARK
_UNTIL_RELEASED = 1 << 62  # more bytes than there will be
_PAIRS_PAUSE = 16  # reads to pass in the second gear after the first one did not suit


def consume(session: Session, data: bytes) -> None:
    """Act on everything complete in `data`; what is not waits in the session. Raises Fault."""
    pos = 0
    collectors = session.broker.collectors
    try:
        if session.fast and len(data) >= (_ACKS_MIN if data[:8] == _TO_JETSTREAM else _PAIRS_MIN):
            if session.pause:
                session.pause -= 1
            else:
                pos = (runs.consume if runs.suits(session, data) else _pairs)(session, data)
                if pos * 2 < len(data):
                    session.pause = _PAIRS_PAUSE
        if pos < len(data):
            _lines(session, data, pos)
    finally:
        # Also when the rest of the read is no protocol: what came before it counts.
        if collectors.filled:
            collectors.drain()


def _pairs(session: Session, data: bytes) -> int:
    """First gear. Returns how far it came."""
    parts = data.split(b"\n")
    parts.pop()  # what follows the last LF is no complete line
    bodies = parts[1::2]
    if len(data) > len(parts) * _PAIRS_PAYLOAD:
        return 0
    known = session.lines
    dirty = session.broker.dirty
    rest = iter(bodies)
    done = len(bodies)
    for line, body in zip(parts[::2], rest, strict=False):
        pub = known.get(line)
        if pub is None or len(body) != pub.cut or body[-1] != 13 or pub.fan is None:
            # Rather than counting every message, ask the iterator how many are left.
            done -= length_hint(rest) + 1
            break
        for sub, head in pub.fan:
            sub.msgs += 1
            out = sub.out
            if not out:
                dirty.append(sub.session)
            out.append(head)
            out.append(body)
    if done:
        session.in_msgs += done
        session.in_bytes += sum(map(len, bodies[:done])) - done
        session.touch()
    return sum(map(len, parts[: 2 * done])) + 2 * done


def _lines(session: Session, data: bytes, pos: int) -> None:
    """Second gear. Longer than our other functions because a call per message costs a tenth of the
    whole; the order of the tests is the order of frequency."""
    msgs = size_sum = 0
    end = len(data)
    find = data.find
    known = session.lines
    dirty = session.broker.dirty
    try:
        while pos < end:
            eol = find(b"\n", pos)
            if eol < 0:
                return session.unfinished(data[pos:])
            line = data[pos:eol]
            pub = known.get(line)
            if pub is None:
                pub = _usual(session, line) or session.control(line)
                if pub is None:
                    if session.closed:
                        return None
                    known = session.lines
                    pos = eol + 1
                    if session.held:
                        return session.wait(data[pos:], _UNTIL_RELEASED)
                    continue
            size = pub.size
            stop = eol + size + 2  # of payload and CR
            if stop >= end:
                if stop == end and data[end - 1] != 13:
                    raise proto.unknown_operation(data[stop - 1 :])
                # Look again when the CR is there, and once more for the LF.
                return session.wait(data[pos:], stop - pos + (stop == end))
            body = data[eol + 1 : stop]
            if body[-1] != 13 or data[stop] != 10:
                raise proto.unknown_operation(data[stop - 1 : stop + 1])
            msgs += 1
            size_sum += size
            fan = pub.fan
            if fan is None or (pub.hdr > 0 and body.find(_TRACE, 0, pub.hdr) > 0):
                publish(session, pub, body)
            else:
                for sub, head in fan:
                    sub.msgs += 1
                    out = sub.out
                    if not out:
                        dirty.append(sub.session)
                    out.append(head)
                    out.append(body)
            pos = stop + 1
    finally:
        if msgs:
            session.in_msgs += msgs
            session.in_bytes += size_sum
            session.touch()
    return None


# -- parsing a publish that no cache knows ----------------------------------------------------------


def _usual(session: Session, line: bytes) -> Pub | None:
    """A PUB spelled as client libraries do: upper case, single blanks, CR. Requests and replies are
    never in the cache, so this is the parser that they meet; anything else is left to the full one."""
    args = line.split(b" ")
    if (
        args[0] != b"PUB"
        or not session.fast
        or b"\t" in line
        or len(line) > session.max_control_line
    ):
        return None
    if not 3 <= len(args) <= 4 or (session.checked and not _unchecked(session, args[1])):
        return None
    router = session.account.router
    if len(args) == 4:
        _, subject, reply, size_text = args
        if not subject or not reply or reply[:2] in RESERVED_STARTS:
            return None
        route = router.ack_route(subject) if subject[:8] == ACK else router.route(subject)
    else:
        _, subject, size_text = args
        reply = b""
        if subject[:7] == INBOX:
            route = router.inbox_route(subject)
        elif subject[:8] == ACK:
            route = router.ack_route(subject)
        else:
            return _cacheable(session, line, subject, size_text)
    size = _SIZES.get(size_text, -1)
    if not 0 <= size <= session.max_payload:
        return None
    pub = _ONCE
    pub.subject = subject
    pub.reply = reply
    pub.size = size
    pub.route = route
    if route.collector is None and route.handler is None:  # a head is needed
        pub.lead = b"MSG " + subject + b" "
        pub.tail = line[4 + len(subject) :]
    return pub


def _unchecked(session: Session, subject: bytes) -> bool:
    """Is there nothing to do about this subject, for a session of which some are looked at?"""
    rule = session.publish_rule
    if rule is not None and not rule.allows(subject):
        return False
    return session.mapper is None or session.mapper.find(subject) is None


def _cacheable(session: Session, line: bytes, subject: bytes, size_text: bytes) -> Pub | None:
    size = _SIZES.get(size_text, -1)
    if size < 0 or not subject:
        return None
    return _prepare(session, line, Pub(subject, b"", -1, size, size_text[:-1]))


# A publish that is used once need not be an object of its own: it is done with before the next line.
_ONCE = Pub(b"", b"", -1, 0, b"")
_SIZES: dict[bytes, int] = {}  # size field with its CR -> number: cheaper than to parse it again


def _size(text: bytes) -> int:
    """A size field as the full parser reads it, learnt for the next time."""
    size = proto.parse_size(text)
    if size >= 0:
        if len(_SIZES) >= limits.SIZE_CACHE:
            _SIZES.clear()
        _SIZES[text + b"\r"] = size
    return size


def parse_pub(session: Session, line: bytes, text: bytes) -> Pub:
    """`PUB <subject> [reply] <size>`"""
    args = proto.arguments(text)
    if len(args) == 2:
        subject, size_text = args
        reply = b""
    elif len(args) == 3:
        subject, reply, size_text = args
    else:
        raise proto.malformed("processPub", text)
    size = _size(size_text)
    if size < 0:
        raise proto.malformed("processPub", text)
    return _prepare(session, line, Pub(subject, reply, -1, size, size_text))


def parse_hpub(session: Session, line: bytes, text: bytes) -> Pub:
    """`HPUB <subject> [reply] <header size> <total size>`"""
    if not session.headers:
        raise Fault(proto.PROTOCOL_VIOLATION, log="message headers not supported")
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
        return _prepare(session, line, Pub(subject, reply, -1, size, size_text))
    return _prepare(session, line, Pub(subject, reply, hdr, size, hdr_text + b" " + size_text))


def _prepare(session: Session, line: bytes, pub: Pub) -> Pub:
    """Checks that come before the payload; then the way the message will take."""
    if pub.size > session.max_payload:
        log = f"maximum payload exceeded: {pub.size} vs {session.max_payload}"
        raise Fault(proto.MAX_PAYLOAD, "Maximum Payload Violation", log)
    steady = True  # the same line will go the same way again
    if session.mapper is not None:
        choice = session.mapper.find(pub.subject)
        if choice is not None:
            steady = choice.steady
            origin = pub.subject
            pub = pub.renamed(session.mapper.map(choice, origin))
            pub.origin = origin
    router = session.account.router
    pub.route = router.route(pub.subject)
    rule = session.publish_rule
    pub.guarded = (
        pub.route.guarded
        or pub.reply[:2] in RESERVED_STARTS
        or (rule is not None and not rule.allows(pub.subject))
    )
    once = pub.reply or pub.subject.startswith(USED_ONCE)
    steady = steady and session.mapper is session.account.mapper
    if steady and session.fast and not once and not pub.guarded:
        router.remember(line, pub, session.lines)
    return pub
