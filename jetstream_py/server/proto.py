"""The client protocol as bytes: verbs, arguments, wire texts. No state, no sockets.

The parser's contract is that of a byte-wise machine: a verb is refused at its first wrong byte, even
before the line is complete, and arguments are judged when their line is. `Fault` is the only thing that
comes out for bad input; it says which text the client gets (if any) and why the connection ends.
"""

from __future__ import annotations

import re
from typing import Final

from jetstream_py.gotext import quote, wire_text

# -- why a connection ended: the texts of /connz --------------------------------------------------
CLIENT_CLOSED: Final = "Client Closed"
AUTHENTICATION_TIMEOUT: Final = "Authentication Timeout"
AUTHENTICATION_VIOLATION: Final = "Authentication Failure"
SLOW_CONSUMER_PENDING: Final = "Slow Consumer (Pending Bytes)"
SLOW_CONSUMER_DEADLINE: Final = "Slow Consumer (Write Deadline)"
READ_ERROR: Final = "Read Error"
TLS_HANDSHAKE: Final = "TLS Handshake Failure"
PARSE_ERROR: Final = "Parse Error"
STALE_CONNECTION: Final = "Stale Connection"
PROTOCOL_VIOLATION: Final = "Protocol Violation"
BAD_CLIENT_PROTOCOL: Final = "Bad Client Protocol Version"
MAX_CONNECTIONS: Final = "Maximum Connections Exceeded"
MAX_ACCOUNT_CONNECTIONS: Final = "Maximum Account Connections Exceeded"
AUTHENTICATION_EXPIRED: Final = "Authentication Expired"
REVOKED: Final = "Credentials Revoked"
MAX_PAYLOAD: Final = "Maximum Message Payload Exceeded"
MAX_CONTROL_LINE: Final = "Maximum Control Line Exceeded"
SERVER_SHUTDOWN: Final = "Server Shutdown"
KICKED: Final = "Kicked"
NO_RESPONDERS_HEADERS: Final = "No Responders Requires Headers"

# Control lines as a session queues them: without their LF (see `ingest`).
OK: Final = b"+OK\r"
PING: Final = b"PING\r"
PONG: Final = b"PONG\r"

SIZE_DIGITS: Final = 9  # longer size fields are malformed, whatever their value
MAX_SIZE: Final = 10**SIZE_DIGITS - 1  # what "no limit" comes to


class Fault(Exception):
    """The client broke the protocol: send `text` (if any), log `log`, close for `reason`."""

    def __init__(self, reason: str, text: str = "", log: str = "") -> None:
        super().__init__(log or text or reason)
        self.reason = reason
        self.text = text


def unknown_operation(near: bytes = b"") -> Fault:
    log = f"Client parser ERROR near {shown(near[:32])}"
    return Fault(PROTOCOL_VIOLATION, "Unknown Protocol Operation", log)


def malformed(verb: str, text: bytes) -> Fault:
    return Fault(PROTOCOL_VIOLATION, log=f"{verb} Parse Error: {shown(text[:128])}")


# -- verbs ------------------------------------------------------------------------------------------
# What stands between a verb and the rest: a blank, because arguments follow; or nothing at all, because
# everything up to the end of the line is skipped (PINGxyz is a PING) or because JSON needs none (CONNECT{}).
_WITH_ARGUMENTS: Final = (b"PUB", b"HPUB", b"SUB", b"UNSUB", b"-ERR")
_WITHOUT: Final = (b"PING", b"PONG", b"+OK")
_WITH_JSON: Final = (b"CONNECT", b"INFO")
_BLANKS: Final = b" \t"


def split_verb(line: bytes) -> tuple[bytes, bytes]:
    """A control line without its line end -> canonical verb, argument text from its first non-blank."""
    head = line[:8].upper()
    for verb in _WITHOUT:
        if head.startswith(verb):
            return verb, b""
    for verb in _WITH_JSON:
        if head.startswith(verb):
            return verb, line[len(verb) :].lstrip(_BLANKS)
    for verb in _WITH_ARGUMENTS:
        n = len(verb)
        if head.startswith(verb) and line[n : n + 1] in (b" ", b"\t"):
            return verb, line[n:].lstrip(_BLANKS)
    raise unknown_operation(line)


def unfinished(fragment: bytes, limit: int) -> bytes:
    """What to keep of a control line that has no end yet: as much as its meaning needs, so that
    endless blanks or an endless tail after PING cannot fill the memory. Refuses what no line can
    start with, and arguments above `limit`."""
    head = fragment[:8].upper()
    for verb in (*_WITHOUT, b"HMSG"):
        if verb.startswith(head[: len(verb)]):
            return fragment[: len(verb)]
    for verb in (*_WITH_ARGUMENTS, *_WITH_JSON):
        n = len(verb)
        if not verb.startswith(head[:n]):
            continue
        if len(head) <= n:
            return fragment
        if verb in _WITH_ARGUMENTS and head[n] not in _BLANKS:
            break
        arguments = fragment[n:].lstrip(_BLANKS)
        if len(arguments) > limit:
            raise control_line_exceeded()
        return fragment[: n + 1] + arguments if head[n] in _BLANKS else fragment
    raise unknown_operation(fragment)


def control_line_exceeded() -> Fault:
    return Fault(MAX_CONTROL_LINE, "maximum control line exceeded")


# Subjects and replies that belong to the server itself: publishing there could answer, acknowledge or
# reroute in another's name.
RESERVED_SUBJECTS: Final = (b"$GR.", b"_GR_.")
RESERVED_REPLIES: Final = (b"_R_.", b"_GR_.", b"$GR.", b"$JS.ACK.")
# Quick tests that may say yes too often.
RESERVED_TOKENS: Final = tuple(name[:-1] for name in RESERVED_SUBJECTS)
RESERVED_STARTS: Final = {name[:2] for name in RESERVED_REPLIES}
SYSTEM_QUEUE: Final = b"_sys_"
INBOX: Final = b"_INBOX."  # where replies go: each subject is used once
ACK: Final = b"$JS.ACK."  # where consumers get their acks: the same
USED_ONCE: Final = (INBOX, ACK)


# -- arguments --------------------------------------------------------------------------------------
_SEPARATORS = re.compile(rb"[ \t]+")
_SEPARATORS_CR = re.compile(rb"[ \t\r]+")


def arguments(text: bytes) -> list[bytes]:
    """Split at blanks and tabs (a CR is an ordinary byte of a PUB argument)."""
    return _SEPARATORS.split(text.strip(_BLANKS))


def loose_arguments(text: bytes) -> list[bytes]:
    """Split as SUB and UNSUB do: a CR separates, too."""
    text = text.strip(b" \t\r")
    return _SEPARATORS_CR.split(text) if text else []


def parse_size(digits: bytes) -> int:
    """A size field, or -1 when it is not one to nine ASCII digits."""
    if digits.isdigit() and len(digits) <= SIZE_DIGITS:
        return int(digits)
    return -1


def error(text: str) -> bytes:
    """`-ERR` as queued. Client data in `text` came from one line, so it holds no line end."""
    return b"-ERR '%b'\r" % text.encode()


def shown(data: bytes) -> str:
    """Client bytes as an error text quotes them."""
    return quote(wire_text(data))


def no_responders(reply: bytes, sid: bytes, subject: bytes) -> bytes:
    """The status that a request with no receiver gets, up to its final LF."""
    block = b"NATS/1.0 503\r\nNats-Subject: %b\r\n\r\n" % subject
    return b"HMSG %b %b %d %d\r\n%b\r" % (reply, sid, len(block), len(block), block)
