"""Service imports: requests that cross from one account to another, and the answers that come back.

The importer's account has a subscription of the server's own on the local name. A request is published
again in the exporter's account, with a reply subject made for it (`_R_....`), where another subscription of
the server's own waits for the answer and publishes it to the requester. So the two accounts never see each
other's subjects, and each request opens a way back for its own answer only:

* it is used once, or as often as the export's response type says;
* it closes when the export's threshold is over, counted from the last answer;
* there are at most so many of them, the oldest gives way.

Imports may form a circle that no check of a configuration sees, because names change on the way. So a request
passes each import once, and no more than `SERVICE_HOPS` in all: beyond that nobody serves it.

The exporter is told who asks by the header `Nats-Request-Info`: the account, and everything about the client
if the importer shares it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from jetstream_py import headers as header
from jetstream_py import limits
from jetstream_py.config.account_options import Export, Import
from jetstream_py.server.latency import Measurement
from jetstream_py.server.msgtrace import redirected, switched_off

if TYPE_CHECKING:
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.session import Session
    from jetstream_py.server.sublist import Sub
    from jetstream_py.timers import Timer
    from jetstream_py.transforms.rename import Rename


class ServiceImport:
    """One service that an account takes from another."""

    def __init__(
        self,
        broker: Broker,
        importer: Account,
        exporter: Account,
        export: Export,
        imported: Import,
        rename: Rename,
    ) -> None:
        self.broker = broker
        self.importer = importer
        self.exporter = exporter
        self.export = export
        self.imported = imported
        self._rename = rename
        self._busy = False  # with a request, which is still on its way
        exporter.hear_answers()
        self._sub: Sub = importer.internal.subscribe(rename.local, self.request)

    def close(self) -> None:
        self.importer.internal.unsubscribe(self._sub)

    def request(
        self, subject: bytes, reply: bytes, block: bytes, payload: bytes, client: Session | None
    ) -> bool:
        """Take a request over. False: nobody is there to serve it."""
        ways = self.broker.ways_back
        if self._busy or not ways.enter():
            return False
        self._busy = True
        try:
            return self._pass_on(subject, reply, block, payload, client)
        finally:
            self._busy = False
            ways.leave()

    def _pass_on(
        self, subject: bytes, reply: bytes, block: bytes, payload: bytes, client: Session | None
    ) -> bool:
        target = self._rename.to_exported(subject)
        mapper = self.exporter.mapper
        if mapper is not None and (choice := mapper.find(target)) is not None:
            target = mapper.map(choice, target)
        traced = client.traced if client is not None else None
        if traced is not None:
            traced.served(self.exporter.name, subject, target)
            if traced.only and not self.export.allow_trace:
                return False
        return self._publish(target, reply, self._introduce(block, client), payload, client)

    def _publish(
        self, target: bytes, reply: bytes, block: bytes, payload: bytes, client: Session | None
    ) -> bool:
        traced = client.traced if client is not None and self.export.allow_trace else None
        if traced is None:
            block = switched_off(block)
        else:
            way = self.broker.ways_back.open(self.exporter, self.importer, traced.dest)
            block = redirected(block, way.reply)
        if traced is not None and traced.only:  # nobody serves it: there is no way back
            return self.exporter.internal.publish(target, payload, b"", block, client, traced)
        measurement = Measurement.begin(self, block, client)
        if not reply:
            if measurement is not None:
                measurement.no_reply()
            return self.exporter.internal.publish(target, payload, b"", block, client, traced)
        ways = self.broker.ways_back
        way = ways.open(self.exporter, self.importer, reply, measured=measurement is not None)
        way.serve(self.export, measurement)
        ways.renew(way)
        if self.exporter.internal.publish(target, payload, way.reply, block, client, traced):
            return True
        if measurement is not None:
            measurement.unserved()
        ways.close(way)
        return False

    def _introduce(self, block: bytes, client: Session | None) -> bytes:
        """Say who asks; what a client says itself does not count."""
        if block:
            block = header.without(block, header.REQUEST_INFO)
        known: dict[str, object] = {"acc": self.importer.name}
        if client is not None:
            known = client.describe()
            known.pop("name", None)  # nats-server tells it in advisories only
            if client.account is not self.importer:
                known["svc"] = self.importer.name
            if not self.imported.share:
                known = {key: known[key] for key in ("acc", "svc", "rtt") if key in known}
        return header.extend(block, (header.REQUEST_INFO, msgspec.json.encode(known)))


class WayBack:
    """A reply subject in one account that leads to a subject in another."""

    __slots__ = (
        "_once",
        "_outside",
        "_sub",
        "_to",
        "_ways",
        "deadline",
        "inside",
        "measurement",
        "patience",
        "reply",
    )

    def __init__(
        self, ways: WaysBack, inside: Account, outside: Account, to: bytes, reply: bytes
    ) -> None:
        self._ways = ways
        self._outside = outside
        self._to = to
        self._once = True
        self.inside = inside
        self.reply = reply
        self.patience = limits.SERVICE_REPLY_TIME  # seconds that the next answer may take
        self.deadline = 0.0
        self.measurement: Measurement | None = None
        self._sub = inside.internal.subscribe(self.reply, self._answer)

    def serve(self, export: Export, measurement: Measurement | None) -> None:
        """It is for the answers of a service."""
        self._once = export.response_type == "singleton"
        self.patience = export.response_threshold or self.patience
        self.measurement = measurement

    def _answer(
        self, subject: bytes, reply: bytes, block: bytes, payload: bytes, client: Session | None
    ) -> None:
        if self.measurement is not None:
            self.measurement.answered(client)
            self.measurement = None
        if self._once or not payload:
            self._ways.close(self)
        else:
            self._ways.renew(self)
        outside = self._outside.internal
        if subject != self.reply:  # a message of a stream keeps its subject
            outside.deliver(self._to, [subject], [reply], [block], [payload])
            return
        if reply:  # whoever asked may answer in turn
            reply = self._ways.open(self._outside, self.inside, reply).reply
        outside.publish(self._to, payload, reply, block, client)

    def end(self) -> None:
        self.inside.internal.unsubscribe(self._sub)


class WaysBack:
    """All that are open, the oldest first."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._open: dict[bytes, WayBack] = {}
        self._timer: Timer | None = None
        self._depth = self._hops = 0  # of the message that is on its way

    def enter(self) -> bool:
        """A message comes to an import. False: it has passed enough of them."""
        if self._hops >= limits.SERVICE_HOPS:
            return False
        self._hops += 1
        self._depth += 1
        return True

    def leave(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._hops = 0

    def open(self, inside: Account, outside: Account, to: bytes, measured: bool = False) -> WayBack:
        broker = self._broker
        reply = b"%b.%b" % (inside.replies, broker.new_token())
        if measured:
            reply += b".%b.T" % broker.short_name
        if len(self._open) >= limits.SERVICE_REPLIES:
            self.close(next(iter(self._open.values())))
        way = WayBack(self, inside, outside, to, reply)
        self.renew(way)
        self._open[way.reply] = way
        if self._timer is None:
            self._timer = self._broker.timers.call_later(limits.SERVICE_SWEEP, self._sweep)
        return way

    def renew(self, way: WayBack) -> None:
        way.deadline = self._broker.clock.monotonic() + way.patience

    def close(self, way: WayBack) -> None:
        if self._open.pop(way.reply, None) is not None:
            way.end()

    def _sweep(self) -> None:
        """One timer for all: it looks around every so often, while there is anything to look at."""
        self._timer = None
        now = self._broker.clock.monotonic()
        for way in [way for way in self._open.values() if now >= way.deadline]:
            if way.measurement is not None:
                way.measurement.expired()
            self.close(way)
        if self._open:
            self._timer = self._broker.timers.call_later(limits.SERVICE_SWEEP, self._sweep)
