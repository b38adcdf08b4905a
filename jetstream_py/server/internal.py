"""Clients of the server's own: they subscribe and publish without a connection.

JetStream is one. Its subscriptions stand in the same trie as everybody's, with a handler in place of
a socket; what it publishes takes the same way as a client's. So core NATS knows nothing of streams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jetstream_py.server import delivery, series
from jetstream_py.server.collect import Collector, Sink, Teller
from jetstream_py.server.link import NO_LINK
from jetstream_py.server.router import Kept, Pub, Route
from jetstream_py.server.session import Session
from jetstream_py.server.sublist import Handler, Series, Sub

if TYPE_CHECKING:
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.msgtrace import MsgTrace


MakeBus = Callable[["Broker", "Account"], "Internal"]


class Internal:
    """One part of the server in one account."""

    def __init__(self, broker: Broker, account: Account) -> None:
        self._broker = broker
        self._account = account
        self._session = session = Session(broker, account, NO_LINK, 0, "", 0)
        session.internal = True
        session.fast = session.headers = session.connected = True
        session.plain_delivery = False  # a handler is not a socket: no ready-made way ends here
        session.trace = False
        self._collectors: dict[Sink, Collector] = {}

    def subscribe(self, subject: bytes, handler: Handler, series: Series | None = None) -> Sub:
        sub = Sub(self._session, subject, b"", b"")
        sub.handler, sub.series = handler, series
        self._account.router.subscribe(sub)  # what is imported as a stream is no request
        return sub

    def collect(self, subject: bytes, handler: Sink, teller: Teller | None = None) -> Sub:
        """Like `subscribe`, but the handler gets everything that one read of a socket brought as one
        list (see `collect`). Subjects of the same handler come in one list, too, in order. What somebody
        traces goes to the `teller`."""
        sub = Sub(self._session, subject, b"", b"")
        collector = self._collectors.get(handler)
        if collector is None:
            collector = self._collectors[handler] = Collector(handler, teller)
        collector.users += 1
        sub.collector = collector
        self._account.subscribe(sub)
        return sub

    def unsubscribe(self, sub: Sub) -> None:
        collector = sub.collector
        if collector is None:
            self._account.router.unsubscribe(sub)
        else:
            self._account.unsubscribe(sub)
            collector.users -= 1
            if not collector.users:
                del self._collectors[collector.handler]

    def publish(
        self,
        subject: bytes,
        data: bytes,
        reply: bytes = b"",
        headers: bytes = b"",
        client: Session | None = None,
        traced: MsgTrace | None = None,
        gather: bool = False,
    ) -> bool:
        """Deliver to whoever listens, on behalf of a client if there is one; written at the end of the
        tick. Did anybody get it? What collectors are to `gather` waits for `hand_over`."""
        if not reply and traced is None and self._answer(subject, data, headers):
            return True
        pub = _pub(subject, reply, headers, data)
        pub.route = self._account.router.inbox_route(subject)
        session = self._session
        outer = session.behalf, session.traced
        session.behalf, session.traced = client, traced
        heard = delivery.publish(session, pub, b"%b%b\r" % (headers, data))
        session.behalf, session.traced = outer
        if not gather:
            self._broker.collectors.drain()
        if self._broker.dirty:
            self._broker.flush_soon()
        return heard

    def hand_over(self) -> None:
        """What was gathered."""
        self._broker.collectors.drain()

    def announce(self, subject: bytes, data: bytes, headers: bytes = b"") -> bool:
        """Something that the server has to say: nats-server writes these with an empty reply, that is
        with two blanks, and so do we."""
        pub = _pub(subject, b"", headers, data)
        pub.tail = b" " + pub.tail
        pub.route = self._account.router.route(subject)
        heard = delivery.publish(self._session, pub, b"%b%b\r" % (headers, data))
        self._broker.collectors.drain()
        if self._broker.dirty:
            self._broker.flush_soon()
        return heard

    def publish_series(
        self, subjects: Sequence[bytes], start: bytes, first: int, end: bytes
    ) -> None:
        """Messages whose payloads are `start`, a number that counts up from `first`, and `end`."""
        route = self._account.router.shared_route(subjects) if len(subjects) > 1 else None
        if route is None or not route.simple or route.groups:
            for number, subject in enumerate(subjects, first):
                self.publish(subject, b"%b%d%b" % (start, number, end))
            return
        for sub in route.plain:
            sub.msgs += len(subjects)
            messages, size = series.render(subjects, sub.sid, start, first, end)
            sub.session.send_series(messages, len(subjects), size)
        if self._broker.dirty:
            self._broker.flush_soon()

    def publish_all(
        self, subjects: Sequence[bytes], headers: Sequence[bytes], datas: Sequence[bytes]
    ) -> None:
        """Messages with headers, each to its own subject; written at the end of the tick."""
        route = self._account.router.shared_route(subjects) if len(subjects) > 1 else None
        if route is None or not (route.simple and route.headers) or route.groups:
            for subject, block, data in zip(subjects, headers, datas, strict=True):
                self.publish(subject, data, b"", block)
            return
        bodies = [b"%b%b\r" % both for both in zip(headers, datas, strict=True)]
        rows = list(zip(subjects, map(len, headers), map(len, bodies), strict=True))
        for sub in route.plain:
            sub.msgs += len(rows)
            if not sub.out:
                self._broker.dirty.append(sub.session)
            lines = [b""] * (2 * len(rows))
            sid = sub.sid
            lines[::2] = [b"HMSG %b %b %d %d\r" % (row[0], sid, row[1], row[2] - 1) for row in rows]
            lines[1::2] = bodies
            sub.out.extend(lines)
        if self._broker.dirty:
            self._broker.flush_soon()

    def flush(self) -> None:
        """Write now what was published, instead of at the end of the tick."""
        self._broker.flush()

    def _answer(self, subject: bytes, data: bytes, headers: bytes) -> bool:
        """The short way of an answer to an inbox. Most of them go to one plain subscription, so nothing
        is built but the two lines. False: take the long way."""
        route = self._account.router.inbox_route(subject)
        if not route.simple or not route.plain or route.groups or (headers and not route.headers):
            return False
        size = len(data)
        if headers:
            start, sizes = b"HMSG ", b" %d %d\r" % (len(headers), len(headers) + size)
            body = b"%b%b\r" % (headers, data)
        else:
            start, sizes, body = b"MSG ", b" %d\r" % size, data + b"\r"
        dirty = self._broker.dirty
        for sub in route.plain:
            sub.msgs += 1
            out = sub.out
            if not out:
                dirty.append(sub.session)
                self._broker.flush_soon()
            out.append(b"%b%b %b%b" % (start, subject, sub.sid, sizes))
            out.append(body)
        return True

    def deliver(
        self,
        inbox: bytes,
        subjects: list[bytes],
        replies: list[bytes],
        headers: list[bytes],
        datas: list[bytes],
    ) -> int:
        """Messages that keep their subjects, for the listeners of `inbox`. How many had one."""
        route = self._account.router.inbox_route(inbox)
        hidden = _hides_something(route)
        if not hidden and route.simple and route.headers and _one(route):
            self._deliver_run(route.plain[0], subjects, replies, headers, datas)
            return len(datas)
        send = delivery.deliver_each if hidden else delivery.publish
        heard = 0
        for message in zip(subjects, replies, headers, datas, strict=True):
            pub = _pub(*message, Kept)
            pub.route = route = self._account.router.inbox_route(inbox)
            reached = send(self._session, pub, b"%b%b\r" % message[2:])
            if not reached and not (route.plain or route.groups):  # else it may not see this one
                break
            heard += 1
        self._broker.collectors.drain()
        if self._broker.dirty:
            self._broker.flush_soon()
        return heard

    def deliver_one(
        self, inbox: bytes, subject: bytes, reply: bytes, headers: bytes, data: bytes, most: int
    ) -> bool:
        """`deliver` for one message, if `inbox` has just one plain listener, who has not more than `most`
        bytes to take. False: nothing was done."""
        route = self._account.router.inbox_route(inbox)
        if not (route.simple and route.headers and _one(route)):
            return False
        sub = route.plain[0]
        session = sub.session
        if session.hidden is not None or session.link.pending_bytes() > most:
            return False
        sub.msgs += 1
        out = sub.out
        if not out:
            self._broker.dirty.append(session)
            self._broker.flush_soon()
        if headers:
            out.append(_pub(subject, reply, headers, data).head(sub))
            out.append(b"%b%b\r" % (headers, data))
        else:
            out.append(b"MSG %b %b %b %d\r" % (subject, sub.sid, reply, len(data)))
            out.append(data + b"\r")
        return True

    def _deliver_run(
        self,
        sub: Sub,
        subjects: list[bytes],
        replies: list[bytes],
        headers: list[bytes],
        datas: list[bytes],
    ) -> None:
        """For one plain listener: starts and ends of lines are made once for each that differ."""
        out, sid, n = sub.out, sub.sid, len(datas)
        sub.msgs += n
        if not out:
            self._broker.dirty.append(sub.session)
            self._broker.flush_soon()
        if any(headers):
            for message in zip(subjects, replies, headers, datas, strict=True):
                out.append(_pub(*message).head(sub))
                out.append(b"%b%b\r" % message[2:])
            return
        starts = {subject: b"MSG %b %b " % (subject, sid) for subject in set(subjects)}
        ends = {size: b" %d\r" % size for size in set(map(len, datas))}
        lines = [b""] * (2 * n)
        sizes = map(len, datas)
        columns = map(starts.__getitem__, subjects), replies, map(ends.__getitem__, sizes)
        lines[::2] = map(b"".join, zip(*columns, strict=True))
        lines[1::2] = [data + b"\r" for data in datas]
        out += lines

    def backlog(self, inbox: bytes) -> int:
        """Bytes that the slowest listener has not taken yet."""
        route = self._account.router.inbox_route(inbox)
        return max([sub.session.pending_bytes() for sub in route.plain], default=0)

    def bound(self, subject: bytes, queue: bytes) -> bool:
        """Does anybody listen to exactly this subject, in this queue group (or in none)?"""
        route = self._account.router.route(subject)
        if not queue:
            return any(sub.subject == subject for sub in route.plain)
        return any(
            sub.subject == subject and sub.queue == queue
            for members in route.groups
            for sub in members
        )

    def watch(self, subject: bytes, changed: Callable[[], None]) -> None:
        """Call `changed` whenever a subscription to exactly this subject comes or goes."""
        self._account.router.watchers.setdefault(subject, []).append(changed)

    def unwatch(self, subject: bytes, changed: Callable[[], None]) -> None:
        watchers = self._account.router.watchers
        watchers[subject].remove(changed)
        if not watchers[subject]:
            del watchers[subject]

    def has_interest(self, subject: bytes) -> bool:
        route = self._account.router.route(subject)
        return bool(route.plain or route.groups)


def _one(route: Route) -> bool:
    return len(route.plain) == 1 and not route.groups


def _hides_something(route: Route) -> bool:
    """May some receiver not see all messages that keep their subjects?"""
    return any(
        sub.session.hidden is not None for subs in (route.plain, *route.groups) for sub in subs
    )


def _pub(subject: bytes, reply: bytes, headers: bytes, data: bytes, kind: type[Pub] = Pub) -> Pub:
    size = len(headers) + len(data)
    if headers:
        return kind(subject, reply, len(headers), size, b"%d %d" % (len(headers), size))
    return kind(subject, reply, -1, size, b"%d" % size)
