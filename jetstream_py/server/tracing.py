"""Debug and trace lines about connections, in the form that people know from nats-server.

Secrets in CONNECT are blanked here, before any text reaches a log.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jetstream_py.gotext import join_host_port, quote, wire_text

if TYPE_CHECKING:
    from jetstream_py.log import Log
    from jetstream_py.server.router import Pub
    from jetstream_py.server.session import Session
    from jetstream_py.server.sublist import Sub

_SECRETS = re.compile(  # a value that is no text hides the rest of the line
    rb'("(?:pass|auth_token|sig|nkey|jwt|proxy_sig)"\s*:\s*)("(?:[^"\\]|\\.)*"?|[^"\s].*)',
    re.IGNORECASE | re.DOTALL,
)
_HIDDEN_NAME = re.compile(rb'\\[^"]*"\s*:')  # a key with an escape in it could be any of them


def redact(connect: bytes) -> bytes:
    """A CONNECT's JSON without its secrets."""
    if _HIDDEN_NAME.search(connect):
        return b"[REDACTED]"
    return _SECRETS.sub(rb'\1"[REDACTED]"', connect)


def label(session: Session) -> str:
    """`ip:port - cid:7 - "v1.2:python:worker" - "$G/user:bob"`; quoted, so that a client's name
    cannot forge a log line."""
    kind = "wid" if session.client_type == "websocket" else "cid"
    text = f"{join_host_port(session.ip, session.port)} - {kind}:{session.cid}"
    if session.forwarded_for:
        text = f"{session.forwarded_for}/{text}"
    if session.connected:
        client = session.connect
        version = f"v{client.version}" if client.version else ""
        who = ":".join(part for part in (version, client.lang, client.name) if part)
        if who:
            text += f" - {quote(who)}"
        if session.user:
            text += f" - {quote(session.account.name + '/user:' + session.user)}"
    return text


class Tracer:
    """Writes what passes over a connection."""

    def __init__(self, log: Log, max_payload_text: int, headers_only: bool) -> None:
        self._log = log
        self._max = max_payload_text
        self._headers_only = headers_only

    def line(self, session: Session, arrow: str, text: bytes) -> None:
        self._log.trace(f"{label(session)} - {arrow} [{_text(text)}]")

    def incoming(self, session: Session, verb: bytes, arguments: bytes) -> None:
        if verb == b"CONNECT":
            arguments = redact(arguments)
        self.line(session, "<<-", verb + b" " + arguments if arguments else verb)

    def outgoing(self, session: Session, control: bytes) -> None:
        if control.startswith((b"INFO", b"HMSG")):
            return
        text = control.strip()
        if text.startswith(b"-ERR"):
            text = b"-ERR " + text[4:].strip(b" '")
        self.line(session, "->>", b"OK" if text == b"+OK" else text)

    def publish(self, session: Session, pub: Pub, body: bytes) -> None:
        verb = b"PUB" if pub.hdr < 0 else b"HPUB"
        self.incoming(session, verb, pub.subject + pub.tail[:-1])
        self._payload(session, "<<-", body, pub.hdr)

    def delivery(self, session: Session, head: bytes, body: bytes, hdr: int) -> None:
        self.line(session, "->>", head.strip())
        self._payload(session, "->>", body, hdr)

    def _payload(self, session: Session, arrow: str, body: bytes, hdr: int) -> None:
        """`body` ends in CR, which is not shown. Nothing is not traced."""
        shown = body[: max(0, hdr)].rstrip() if self._headers_only else body[:-1]
        if not shown:
            return
        if self._max and len(shown) > self._max:
            text = quote(wire_text(shown[: self._max]))[:-1] + '..."'
        else:
            text = quote(wire_text(shown))
        self._log.trace(f"{label(session)} - {arrow} MSG_PAYLOAD: [{text}]")

    def exhausted(self, session: Session, sub: Sub) -> None:
        sid = wire_text(sub.sid)
        self._log.debug(
            f"{label(session)} - Auto-unsubscribe limit of {sub.max} reached for sid {sid!r}"
        )

    def dropped(self, session: Session, sid: bytes) -> None:
        self.line(session, "<->", b"DELSUB " + sid)


def _text(data: bytes) -> str:
    """A CR could write over the line's beginning on a terminal."""
    return data.decode("utf-8", "backslashreplace").replace("\r", "\\r")
