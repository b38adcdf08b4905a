"""One message to its receivers, when there is no ready-made way.

`publish` chooses the shortest way that does it: a collector, a handler, plain receivers that take everything,
or a look at each receiver (`_deliver`): limits, permissions, imports, no echo, no headers, traces. All
ways give the same result; what they cost differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py.server import msgtrace, proto
from jetstream_py.server.router import Pub
from jetstream_py.server.sublist import Handler, Sub
from jetstream_py.subject import is_valid_literal

if TYPE_CHECKING:
    from jetstream_py.server.collect import Collector
    from jetstream_py.server.msgtrace import MsgTrace
    from jetstream_py.server.session import Session

_TRACE = msgtrace.MARK


def publish(session: Session, pub: Pub, body: bytes) -> bool:
    """Deliver one message that has no ready-made heads. Did anybody get it?"""
    route = pub.route
    if pub.hdr > 0 and body.find(_TRACE, 0, pub.hdr) > 0 and not session.internal:
        traced = msgtrace.begin(session, pub, body[: pub.hdr])
        if traced is not None:
            return _publish_traced(session, pub, body, traced)
    if (pub.guarded or route.guarded or not session.fast) and not _admit(session, pub, body):
        return False
    if session.traced is not None:
        return deliver_each(session, pub, body)
    if route.collector is not None:
        _gather(session, route.plain[0], route.collector, pub, body)
        return True
    if route.handler is not None:
        if _hand(session, route.plain[0], route.handler, pub, body):
            return True
    elif route.simple and (pub.hdr < 0 or route.headers):
        broker = session.broker
        receivers = route.plain
        for members in route.groups:
            receivers = (*receivers, members[int(broker.chance() * len(members))])
        for sub in receivers:
            sub.msgs += 1
            out = sub.out
            if not out:
                broker.dirty.append(sub.session)
            out.append(pub.lead + sub.sid + pub.tail)
            out.append(body)
        if receivers:
            return True
    elif deliver_each(session, pub, body):
        return True
    if pub.reply and session.connect.no_responders:
        _no_responders(session, pub)
    return False


def _publish_traced(session: Session, pub: Pub, body: bytes, traced: MsgTrace) -> bool:
    """The long way, with somebody who takes notes. The report is a publish, too: who may not make it may
    not have it made."""
    rule = session.publish_rule
    if traced.dest.startswith(proto.RESERVED_SUBJECTS) or (
        rule is not None and not rule.allows(traced.dest)
    ):
        _refuse(session, traced.dest)
        return False
    session.traced = traced
    try:
        if not _admit(session, pub, body):
            return False
        heard = deliver_each(session, pub, body)
        if not heard and pub.reply and session.connect.no_responders:
            _no_responders(session, pub)
        return heard
    finally:
        session.traced = None
        session.broker.collectors.drain()
        traced.send()


def _gather(session: Session, sub: Sub, collector: Collector, pub: Pub, body: bytes) -> None:
    """One more item for a collector."""
    sub.msgs += 1
    items = collector.items
    if not items:
        session.broker.collectors.filled.append(collector)
    hdr = pub.hdr
    if hdr < 0:
        items.append((pub.subject, pub.reply, b"", body[:-1]))
    else:
        items.append((pub.subject, pub.reply, body[:hdr], body[hdr:-1]))


def _hand(session: Session, sub: Sub, handler: Handler, pub: Pub, body: bytes) -> bool:
    """One message for a handler. It sees what was published before. Did it reach anybody?"""
    sub.msgs += 1
    collectors = session.broker.collectors
    if collectors.filled:
        collectors.drain()
    client = session.behalf if session.internal else session
    traced = session.traced
    if traced is not None and traced.served_here(pub.subject) and traced.only:
        return False
    hdr = pub.hdr
    block, payload = (b"", body[:-1]) if hdr < 0 else (body[:hdr], body[hdr:-1])
    return handler(pub.subject, pub.reply, block, payload, client) is not False


def _admit(session: Session, pub: Pub, body: bytes) -> bool:
    """What watched sessions and reserved subjects get before the message is routed."""
    if session.trace:
        session.broker.tracer.publish(session, pub, body)
    if session.connect.pedantic and not is_valid_literal(pub.subject):
        session.send_error("Invalid Publish Subject")
    if not _may_publish(session, pub):
        return False
    if session.connect.verbose:
        session.send(proto.OK)
    return True


def deliver_each(session: Session, pub: Pub, body: bytes) -> bool:
    """Receivers that need a look each: limits, no echo, no headers, traces."""
    delivered = False
    for sub in pub.route.plain:
        delivered |= _deliver(session, sub, pub, body)
    for members in pub.route.groups:
        # A random member; if it cannot take the message, the one before it, and so on.
        at = int(session.broker.chance() * len(members))
        for i in range(len(members)):
            if _deliver(session, members[at - i], pub, body):
                delivered = True
                break
    return delivered


def _may_publish(session: Session, pub: Pub) -> bool:
    reserved = pub.subject.startswith(proto.RESERVED_SUBJECTS)
    if not reserved and pub.reply.startswith(proto.RESERVED_REPLIES):
        reply = proto.shown(pub.reply)
        session.send_error(f"Permissions Violation for Publish with Reply of {reply}")
        session.broker.violation(session, f"Publish Violation - Reply {reply}")
    elif reserved or not session.may_publish(pub.subject):
        error = _refuse(session, pub.subject)
        if session.traced is not None:
            session.traced.refused(error)
    else:
        return True
    return False


def _refuse(session: Session, subject: bytes) -> str:
    """Tell a client that it may not publish there."""
    name = proto.shown(subject)
    error = f"Permissions Violation for Publish to {name}"
    session.send_error(error)
    session.broker.violation(session, f"Publish Violation - Subject {name}")
    return error


def _deliver(session: Session, sub: Sub, pub: Pub, body: bytes) -> bool:
    receiver, matched = sub.session, sub
    if sub.via is not None:
        if not pub.kept:
            pub = pub.renamed(sub.via.rename.to_local(pub.subject))
        sub = sub.via.sub
    refused = _held_back(session, sub, pub)
    if session.traced is not None and not _note(session.traced, matched, pub, refused):
        return not refused
    if refused:
        return False
    if sub.collector is not None:
        if session.traced is not None:
            _collect_traced(session, session.traced, matched, sub.collector, pub, body)
        else:
            _gather(session, sub, sub.collector, pub, body)
        return True
    if sub.handler is not None:
        return _hand(session, sub, sub.handler, pub, body)
    sub.msgs += 1
    if receiver.grants is not None and pub.reply:
        receiver.grant(pub.reply)
    hdr = pub.hdr
    if hdr > 0 and not receiver.headers:
        body = body[hdr:]
        hdr = -1
    head = pub.head(sub)
    out = receiver.out
    if not out:
        session.broker.dirty.append(receiver)
    out.append(head)
    out.append(body)
    if receiver.trace:
        session.broker.tracer.delivery(receiver, head, body, hdr)
    if sub.max and sub.msgs >= sub.max:
        if session.broker.log.debugging:
            session.broker.tracer.exhausted(receiver, sub)
        receiver.drop(sub)
    return True


def _held_back(session: Session, sub: Sub, pub: Pub) -> str:
    """Why a subscription does not get a message that it matches, or nothing."""
    if sub.session is session and not session.echo:
        return msgtrace.NO_ECHO
    if sub.filter is not None and sub.filter(pub.subject):
        return msgtrace.DENIED
    if pub.kept:
        hidden = sub.session.hidden
        if hidden is not None and hidden.denies(pub.subject, sub.queue):
            return msgtrace.DENIED
    if sub.max and sub.msgs >= sub.max:
        return msgtrace.ENOUGH
    return ""


def _untraced(pub: Pub, body: bytes) -> tuple[Pub, bytes]:
    """A message for a stream, which is not traced again whenever it is read."""
    block = msgtrace.for_a_stream(body[: pub.hdr])
    stored = Pub(pub.subject, pub.reply, len(block), len(block) + pub.size - pub.hdr, b"")
    return stored, block + body[pub.hdr :]


def _collect_traced(
    session: Session, traced: MsgTrace, sub: Sub, collector: Collector, pub: Pub, body: bytes
) -> None:
    """One item for a collector that tells what became of it, unless the trace has ended before."""
    pub, body = _untraced(pub, body)
    if collector.teller is None or not (sub.via is None or sub.via.traced):
        _gather(session, sub, collector, pub, body)
        return
    sub.msgs += 1
    session.broker.collectors.drain()  # what came before it
    item = pub.subject, pub.reply, body[: pub.hdr], body[pub.hdr : -1]
    traced.collected(collector.teller(item, traced.only))


def _note(traced: MsgTrace, sub: Sub, pub: Pub, refused: str) -> bool:
    """Tell a trace about a receiver; `pub` has the receiver's subject. Services and collectors speak for
    themselves. Does the receiver get the message, if nothing holds it back?"""
    if sub.via is not None:
        traced.exported(sub.via.account, pub.subject)
        if not sub.via.traced:
            return not traced.only
    if sub.collector is not None or sub.handler is not None:
        return True
    traced.delivered(sub, refused)
    return not traced.only


def _no_responders(session: Session, pub: Pub) -> None:
    """Tell the requester at once, on its own subscription to the reply subject."""
    for sub in session.account.router.route(pub.reply).plain:
        if sub.session is session:
            return session.send(proto.no_responders(pub.reply, sub.sid, pub.subject))
    return None
