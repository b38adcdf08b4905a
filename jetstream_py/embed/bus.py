"""JetStream's way to core NATS in an embedded server: the usual one, with a place for faults and records.

Deliveries leave by `deliver`, acks arrive at what was subscribed by `collect`, answers to publishes leave by
`publish` and `publish_series`. Whoever is at work asks for rules about it first; without any, which is
the rule, everything takes its usual way at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from jetstream_py import limits
from jetstream_py.embed.records import Acked
from jetstream_py.server.collect import Item, Sink, Teller
from jetstream_py.server.internal import Internal
from jetstream_py.server.proto import ACK

if TYPE_CHECKING:
    from jetstream_py.embed.faults import Faults, Rule
    from jetstream_py.embed.records import Records
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.msgtrace import MsgTrace
    from jetstream_py.server.session import Session
    from jetstream_py.server.sublist import Sub

_PUB_ACK: Final = b'{"stream":'
_SHORT: Final = (
    9  # tokens of `$JS.ACK.<stream>.<consumer>.` and five numbers; else a domain is in it
)


class _PubAck(msgspec.Struct):
    stream: str = ""


class Delivery:
    """What an ack subject says."""

    __slots__ = ("consumer", "deliveries", "seq", "stream")

    def __init__(self, subject: bytes) -> None:
        tokens = subject.split(b".")
        start = 2 if len(tokens) <= _SHORT else 4
        found = [*tokens[start : start + 4], b"", b"", b"", b""]
        self.stream, self.consumer = found[0].decode(), found[1].decode()
        self.deliveries, self.seq = (int(token) if token.isdigit() else 0 for token in found[2:4])


class EmbeddedBus(Internal):
    """Of one account."""

    def __init__(
        self, broker: Broker, account: Account, faults: Faults, records: Records | None
    ) -> None:
        super().__init__(broker, account)
        self._faults = faults
        self._records = records
        self._held_back = 0

    # -- deliveries -------------------------------------------------------------------------------

    def deliver(
        self,
        inbox: bytes,
        subjects: list[bytes],
        replies: list[bytes],
        headers: list[bytes],
        datas: list[bytes],
    ) -> int:
        rules = self._faults.about("deliveries")
        if not rules:
            return super().deliver(inbox, subjects, replies, headers, datas)
        heard = 0
        for message in zip(subjects, replies, headers, datas, strict=True):
            found = Delivery(message[1])
            rule = _first(rules, found.stream, found.consumer, message[0])
            times = self._times(rule, partial(self._one, inbox, message))
            if times and sum(self._one(inbox, message) for _ in range(times)) < times:
                break
            heard += 1
        return heard

    def deliver_one(
        self, inbox: bytes, subject: bytes, reply: bytes, headers: bytes, data: bytes, most: int
    ) -> bool:
        if self._faults.about("deliveries"):
            return False  # then it comes by `deliver`
        return super().deliver_one(inbox, subject, reply, headers, data, most)

    def _one(self, inbox: bytes, message: tuple[bytes, bytes, bytes, bytes]) -> bool:
        subject, reply, block, data = message
        return super().deliver(inbox, [subject], [reply], [block], [data]) == 1

    # -- acks -------------------------------------------------------------------------------------

    def collect(self, subject: bytes, handler: Sink, teller: Teller | None = None) -> Sub:
        if subject.startswith(ACK):
            usual = handler

            def handler(items: list[Item]) -> None:
                if kept := self._acks(items, usual):
                    usual(kept)

        return super().collect(subject, handler, teller)

    def _acks(self, items: list[Item], handler: Sink) -> list[Item]:
        rules = self._faults.about("acks")
        if not rules and self._records is None:
            return items
        kept: list[Item] = []
        for item in items:
            found = Delivery(item[0])
            rule = _first(rules, found.stream, found.consumer, b"")
            kept += [item] * self._times(rule, partial(handler, [item]))
            if self._records is not None:
                self._records.ack(
                    Acked(found.stream, found.consumer, found.seq, found.deliveries, _word(item[3]))
                )
        return kept

    # -- answers to publishes ---------------------------------------------------------------------

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
        def send() -> bool:
            return Internal.publish(self, subject, data, reply, headers, client, traced, gather)

        rules = self._faults.about("pub_acks")
        if not rules or not data.startswith(_PUB_ACK):
            return send()
        stream = msgspec.json.decode(data, type=_PubAck).stream
        times = self._times(_first(rules, stream, "", b""), send)
        return sum(send() for _ in range(times)) > 0 if times else True

    def publish_series(
        self, subjects: Sequence[bytes], start: bytes, first: int, end: bytes
    ) -> None:
        if not self._faults.about("pub_acks"):
            super().publish_series(subjects, start, first, end)
            return
        for number, subject in enumerate(subjects, first):
            self.publish(subject, b"%b%d%b" % (start, number, end))

    # -- what becomes of one ----------------------------------------------------------------------

    def _times(self, rule: Rule | None, later: Callable[[], object]) -> int:
        """How often it goes its way now; `later` lets it go after a delay."""
        if rule is None:
            return 1
        if rule.deed == "duplicate":
            return 2
        if rule.deed == "delay" and self._held_back < limits.HELD_BACK:
            self._held_back += 1

            def release() -> None:
                self._held_back -= 1
                later()

            self._broker.timers.call_later(rule.seconds, release)
        return 0


def _first(rules: list[Rule], stream: str, consumer: str, subject: bytes) -> Rule | None:
    return next((rule for rule in rules if rule.takes(stream, consumer, subject)), None)


def _word(data: bytes) -> str:
    word = data.split(b" ", 1)[0].decode("utf-8", "replace")
    return "+ACK" if word in ("", "+OK") else word
