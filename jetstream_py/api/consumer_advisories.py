"""What the server tells those who listen about consumers: advisories and ack samples.

An advisory that nobody listens to costs one look at the routes. Like answers they go through the
outbox, so nobody hears of what a power cut could take back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jetstream_py.api.fields import Wire, always
from jetstream_py.api.responses import encode
from jetstream_py.api.times import ZERO_TIME, time_text

if TYPE_CHECKING:
    from jetstream_py.engine.jetstream import JetStream

_ADVISORY: Final = b"$JS.EVENT.ADVISORY.CONSUMER."
_ACK: Final = b"$JS.EVENT.METRIC.CONSUMER.ACK"
_TYPE: Final = "io.nats.jetstream.advisory.v1."
_ACK_TYPE: Final = "io.nats.jetstream.metric.v1.consumer_ack"
_ACCOUNT: Final = "$G"


class _Event(Wire):
    type: str
    id: str
    timestamp: str


class _Action(_Event):
    stream: str
    consumer: str
    action: str
    domain: str = ""


class _Pause(_Event):
    stream: str
    consumer: str
    paused: bool
    pause_until: str = always(ZERO_TIME)
    domain: str = ""


class _MaxDeliver(_Event):
    stream: str
    consumer: str
    stream_seq: int
    deliveries: int
    domain: str = ""


class _Refused(_Event):
    """A message that the client did not take: for now, or (with a reason, if it has one) for good."""

    stream: str
    consumer: str
    consumer_seq: int
    stream_seq: int
    deliveries: int
    reason: str = ""
    domain: str = ""


class _Pinned(_Event, kw_only=True):
    account: str
    stream: str
    consumer: str
    domain: str = ""
    group: str
    pinned_id: str


class _Unpinned(_Event, kw_only=True):
    account: str
    stream: str
    consumer: str
    domain: str = ""
    group: str
    reason: str


class _AckSample(_Event):
    stream: str
    consumer: str
    consumer_seq: int
    stream_seq: int
    ack_time: int
    deliveries: int
    domain: str = ""


_Told = _Action | _Pause | _MaxDeliver | _Refused | _Pinned | _Unpinned | _AckSample


class ConsumerEvents:
    """The advisories of one account. Each is about a consumer of a stream, by their names."""

    def __init__(self, js: JetStream) -> None:
        self._js = js

    def created(self, stream: str, consumer: str) -> None:
        self._action(b"CREATED", stream, consumer, "create")

    def deleted(self, stream: str, consumer: str) -> None:
        self._action(b"DELETED", stream, consumer, "delete")

    def _action(self, event: bytes, stream: str, consumer: str, action: str) -> None:
        if subject := self._heard(_ADVISORY + event, stream, consumer):
            head = self._head(_TYPE + "consumer_action")
            self._send(subject, _Action(*head, stream, consumer, action))

    def paused(self, stream: str, consumer: str, paused: bool, until_ns: int) -> None:
        """A pause begins, changes, or is over; `until_ns` is 0 if it was taken back."""
        self.paused_until(stream, consumer, paused, time_text(until_ns or None))

    def paused_until(self, stream: str, consumer: str, paused: bool, until: str) -> None:
        """As `paused`, with the time as the client wrote it."""
        if subject := self._heard(_ADVISORY + b"PAUSE", stream, consumer):
            head = self._head(_TYPE + "consumer_pause")
            self._send(subject, _Pause(*head, stream, consumer, paused, until))

    def max_deliver(self, stream: str, consumer: str, seq: int, deliveries: int) -> None:
        if subject := self._heard(_ADVISORY + b"MAX_DELIVERIES", stream, consumer):
            head = self._head(_TYPE + "max_deliver")
            self._send(subject, _MaxDeliver(*head, stream, consumer, seq, deliveries))

    def nak(self, stream: str, consumer: str, dseq: int, seq: int, deliveries: int) -> None:
        if subject := self._heard(_ADVISORY + b"MSG_NAKED", stream, consumer):
            head = self._head(_TYPE + "nak")
            self._send(subject, _Refused(*head, stream, consumer, dseq, seq, deliveries))

    def terminated(
        self, stream: str, consumer: str, dseq: int, seq: int, deliveries: int, reason: str
    ) -> None:
        if subject := self._heard(_ADVISORY + b"MSG_TERMINATED", stream, consumer):
            head = self._head(_TYPE + "terminated")
            self._send(subject, _Refused(*head, stream, consumer, dseq, seq, deliveries, reason))

    def pinned(self, stream: str, consumer: str, group: str, pin_id: str) -> None:
        if subject := self._heard(_ADVISORY + b"PINNED", stream, consumer):
            head = self._head(_TYPE + "consumer_group_pinned")
            named = {"account": _ACCOUNT, "stream": stream, "consumer": consumer, "group": group}
            self._send(subject, _Pinned(*head, **named, pinned_id=pin_id))

    def unpinned(self, stream: str, consumer: str, group: str, reason: str) -> None:
        if subject := self._heard(_ADVISORY + b"UNPINNED", stream, consumer):
            head = self._head(_TYPE + "consumer_group_unpinned")
            named = {"account": _ACCOUNT, "stream": stream, "consumer": consumer, "group": group}
            self._send(subject, _Unpinned(*head, **named, reason=reason))

    def ack_sample(
        self, stream: str, consumer: str, dseq: int, seq: int, took_ns: int, deliveries: int
    ) -> None:
        """How long the client took from the delivery to its ack."""
        if subject := self._heard(_ACK, stream, consumer):
            head = self._head(_ACK_TYPE)
            self._send(subject, _AckSample(*head, stream, consumer, dseq, seq, took_ns, deliveries))

    def _heard(self, prefix: bytes, stream: str, consumer: str) -> bytes:
        """The subject, if somebody listens to it."""
        subject = b"%b.%b.%b" % (prefix, stream.encode(), consumer.encode())
        return subject if self._js.bus.has_interest(subject) else b""

    def _head(self, kind: str) -> tuple[str, str, str]:
        return kind, self._js.new_id(), time_text(self._js.clock.now_ns())

    def _send(self, subject: bytes, event: _Told) -> None:
        event.domain = self._js.settings.domain
        self._js.outbox.send(self._js.bus, subject, encode(event))
