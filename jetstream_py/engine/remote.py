"""The long way from an origin to its copy: a consumer of the origin, made through the API.

The origin may be in another account or domain, so all that is known of it is the prefix under which its API
is reached. The consumer is a push consumer with flow control and heartbeats. Messages are taken if they
follow each other: a gap in the consumer's count, or no sign of life for a while, and the feed begins anew
after the last message that was taken.

An origin with interest or work-queue retention makes the consumer one that lasts (so it is asked for as it
was at first, and what it delivers once more is known), and that takes the
answers to its flow control as acks. They go through the outbox: a message leaves its origin when its copy
is on disk.

Somebody may have made the consumer beforehand, for those who may not make one (`consumer` in the
configuration). Then it is not asked for but reset: it goes back to what was last acked, and says so. Nothing
but such acks will do for it. It is left as it is when the feed ends.

What arrives is put aside and worked on in the next tick, as the consumer that sends it may be in this
process, in the middle of its loop; flow control bounds how much that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.api.consumer_types import ConsumerConfig, DeliverPolicy
from jetstream_py.api.errors import E, error
from jetstream_py.api.types import ErrorBody, SequencePair
from jetstream_py.engine.naming import short_hash
from jetstream_py.store import Columns
from jetstream_py.version import API_LEVEL

if TYPE_CHECKING:
    from jetstream_py.engine.link import Link
    from jetstream_py.engine.shared import Item
    from jetstream_py.timers import Timer

API: Final = "$JS.API"
SECOND: Final = 1_000_000_000
STALLED: Final = b"Nats-Consumer-Stalled"
DIFFERS: Final = E.CONSUMER_CREATE.value[0]  # from one of the name that is there
REPLACED: Final = E.CONSUMER_STREAM_IDENTITY_MISMATCH.value[0]


class _Acks(msgspec.Struct):
    ack_policy: str = ""


class _Created(msgspec.Struct):
    """What matters in the answer to a request for a consumer."""

    error: ErrorBody | None = None
    name: str = ""
    delivered: SequencePair = msgspec.field(default_factory=SequencePair)
    ack_floor: SequencePair = msgspec.field(default_factory=SequencePair)
    config: _Acks = msgspec.field(default_factory=_Acks)


class Delivery(NamedTuple):
    """What the reply subject of a delivered message tells."""

    seq: int
    dseq: int
    ts: int
    pending: int


_decode: Final = msgspec.json.Decoder(_Created).decode
_encode: Final = msgspec.json.Encoder().encode


def parse_reply(reply: bytes) -> Delivery | None:
    """Both forms: the later one names domain and account before the stream."""
    tokens = reply.split(b".")
    at = 5 if len(tokens) == 9 else 7
    numbers = tokens[at : at + 4]
    if len(numbers) < 4 or not all(number.isdigit() for number in numbers):
        return None
    return Delivery(*map(int, numbers))


class RemoteFeed:
    """Brings the messages of one origin to one mirror or source."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._shared = shared = link.shared
        self._bus = shared.bus
        external = link.config.external
        self._api = external.api if external is not None and external.api else API
        deliver = external.deliver if external is not None and external.deliver else "$JS"
        kind = "M" if link.is_mirror else "S"
        self._given = link.config.consumer
        self._deliver = f"{deliver}.{kind}.{short_hash(shared.new_id())}"
        if self._given is not None:
            self._deliver = self._given.deliver_subject
        self._inbox = f"$JS.R.{short_hash(shared.new_id())}".encode()
        self._subs: list[Any] = [
            self._bus.subscribe(self._inbox, self._answered),
            self._bus.collect(self._deliver.encode(), self._arrived),
        ]
        self._items: list[Item] = []
        self._consumer = ""
        self._acks = False  # answers to flow control are acks
        self._dseq = 0  # the last delivery, in the consumer's count ...
        self._seq = 0  # ... and in the stream's
        self.lag = 0
        self.heard = 0
        self._closed = False
        self._watch: Timer = shared.timers.call_later(limits.FEED_SILENCE, self._silent)

    # -- the consumer ------------------------------------------------------------------------------

    def begin(self) -> None:
        """Ask for the consumer. Without an answer `_silent` asks again."""
        link = self._link
        if self._given is not None:
            self._reset(self._given.name)
            return
        config = self._config()
        subject = f"{self._api}.CONSUMER.CREATE.{link.origin.name}.{config.name}"
        if config.filter_subject:
            subject += f".{config.filter_subject}"
        body = _encode({"stream_name": link.origin.name, "config": config, "action": ""})
        known = link.intake.identity.encode()
        headers = hdr.extend(b"", (hdr.STREAM_IDENTITY, known)) if known else b""
        self._bus.publish(subject.encode(), body, self._inbox, headers)

    def _reset(self, consumer: str) -> None:
        headers = b""
        if not self._link.is_mirror:
            known = self._link.intake.identity.encode()
            level = (hdr.REQUIRED_API_LEVEL, b"%d" % API_LEVEL)
            headers = hdr.extend(b"", level, (hdr.STREAM_IDENTITY, known))
        subject = f"{self._api}.CONSUMER.RESET.{self._link.origin.name}.{consumer}"
        self._bus.publish(subject.encode(), b"", self._inbox, headers)

    def _config(self) -> ConsumerConfig:
        link = self._link
        filters = link.origin.filters
        known = 0 if link.lasting else link.intake.position
        start = known + 1 if known else link.config.opt_start_seq
        time = None if start else link.config.opt_start_time
        policy: DeliverPolicy = "by_start_time" if time else "all"
        return ConsumerConfig(
            name=self._name(),
            deliver_policy="by_start_sequence" if start else policy,
            opt_start_seq=start,
            opt_start_time=time,
            ack_policy="none",
            max_deliver=-1,
            filter_subject=filters[0] if len(filters) == 1 else "",
            filter_subjects=filters if len(filters) > 1 else (),
            flow_control=True,
            deliver_subject=self._deliver,
            idle_heartbeat=SECOND,
            direct=True,
            sourcing=True,
            metadata=self._metadata(),
        )

    def _name(self) -> str:
        """The same after a restart, and no other's."""
        link, shared = self._link, self._shared
        words = [link.stream.config.name, shared.account]
        if shared.domain:
            words.append(shared.domain)
        if link.is_mirror:
            return "JS_MIRROR_" + short_hash(" ".join(words))
        return "JS_SRC_" + short_hash(" ".join([*words, link.origin.key]))

    def _metadata(self) -> dict[str, str]:
        """For people who wonder whose consumer it is."""
        kind = "_nats.mirror" if self._link.is_mirror else "_nats.src"
        found = {
            f"{kind}.acc": self._shared.account,
            f"{kind}.stream": self._link.stream.config.name,
        }
        if self._shared.domain:
            found[f"{kind}.domain"] = self._shared.domain
        return found

    def _answered(
        self, subject: bytes, reply: bytes, headers: bytes, data: bytes, client: object
    ) -> None:
        link = self._link
        try:
            answer = _decode(data)
        except msgspec.DecodeError:
            return  # nobody there, or nobody who knows JetStream
        if self._closed or self._consumer:
            return
        if answer.error is not None:
            if answer.error.err_code == REPLACED:
                link.intake.meet("")
                link.lost()
                return
            if answer.error.err_code == DIFFERS and not link.lasting:
                link.lasting = True
                link.lost()
                return
            link.error = answer.error
            link.lost(limits.FEED_SILENCE)
            return
        self._acks = answer.config.ack_policy == "flow_control"
        if self._given is not None and not self._acks:
            fault = E.MIRROR_CONSUMER_REQUIRES_ACK_FC
            link.error = error(fault if link.is_mirror else E.SOURCE_CONSUMER_REQUIRES_ACK_FC).body
            link.lost(limits.FEED_SILENCE)
            return
        link.error = None
        self._consumer = answer.name
        self._dseq, self._seq = answer.delivered.consumer_seq, answer.delivered.stream_seq
        self.heard = self._shared.now()
        link.intake.meet((hdr.get(headers, hdr.STREAM_IDENTITY) or b"").decode())
        link.intake.begin_after(answer.ack_floor.stream_seq)  # the rest comes again
        if self._given is not None:
            self._forget_older()
        self._process()

    def _forget_older(self) -> None:
        """What the consumer had delivered before it was reset is not what it counts now."""
        first = self._dseq + 1
        for i in range(len(self._items) - 1, -1, -1):
            delivery = parse_reply(self._items[i][1])
            if delivery is not None and delivery.dseq == first:
                del self._items[:i]
                return
        self._items.clear()

    # -- messages ----------------------------------------------------------------------------------

    def _arrived(self, items: list[Item]) -> None:
        if not self._items:
            self._shared.soon(self._process)
        self._items += items

    def _process(self) -> None:
        if self._closed or not self._consumer:
            return
        items, self._items = self._items, []
        run = Columns()
        for subject, reply, headers, data in items:
            self.heard = self._shared.now()
            if headers.startswith(b"NATS/1.0 "):
                if not self._take(run) or not self._control(reply, headers):
                    return
                run = Columns()
                continue
            delivery = parse_reply(reply)
            if delivery is None or delivery.dseq != self._dseq + 1:
                self._again()
                return
            self._seq, self._dseq = delivery.seq, delivery.dseq
            self.lag = max(0, delivery.pending - 1)
            run.append(delivery.seq, delivery.ts, subject, headers, data)
        self._take(run)

    def _take(self, run: Columns) -> bool:
        """Did the stream take all of it?"""
        if run and self._link.intake.take(run) < len(run):
            self._again()
            return False
        return True

    def _control(self, reply: bytes, headers: bytes) -> bool:
        """A heartbeat, or a question whether we keep up. False: it cannot go on like this."""
        if not headers.startswith(b"NATS/1.0 100"):
            self._again()
            return False
        last = hdr.get(headers, hdr.LAST_CONSUMER)
        if last is not None and last != b"%d" % self._dseq:
            self._again()
            return False
        asked = reply or hdr.get(headers, STALLED)
        if asked:
            pairs = (hdr.LAST_CONSUMER, b"%d" % self._dseq), (hdr.LAST_STREAM, b"%d" % self._seq)
            block = hdr.extend(b"", *pairs) if self._acks else b""
            self._shared.outbox.send(self._bus, asked, b"", headers=block)
        return True

    def _again(self) -> None:
        self._link.lost(limits.FEED_RETRY)

    def _silent(self) -> None:
        """Time for a look whether the origin is still there."""
        silence = (self._shared.now() - self.heard) / SECOND
        if not self.heard or silence >= limits.FEED_SILENCE:
            self._link.lost()
        else:
            left = limits.FEED_SILENCE - silence
            self._watch = self._shared.timers.call_later(left, self._silent)

    def close(self, deleted: bool) -> None:
        """A consumer that lasts stays for the next feed, unless there will be none."""
        self._closed = True
        self._watch.cancel()
        for sub in self._subs:
            self._bus.unsubscribe(sub)
        if self._consumer and self._given is None and (deleted or not self._acks):
            subject = f"{self._api}.CONSUMER.DELETE.{self._link.origin.name}.{self._consumer}"
            self._bus.publish(subject.encode(), b"")
