"""Dead letters: what a consumer gives up is copied to another stream, with the reason.

A delivery ends in two ways that are no success: it came as often as it may (`max_deliver`), or the client
terminated it. With an address in the consumer's metadata the message is first stored there, as a publish
would be, and the end of the delivery is journalled in the same tick. Both are in the same group, so a power
cut leaves both or none: no letter is lost and none is written twice. The message id, made from stream,
sequence and consumer, guards against the rest: a consumer that was reset, or made again under its name.

If the copy is refused (there is no room, the stream is gone) the delivery has not ended. One that came too
often is tried again after its ack wait; one that was terminated is delivered again as if nobody had said so,
and the client gets no confirmation.

A million deliveries may end at once, and their payloads are read and staged; so they wait here and go in
slices, one per commit. Whatever waits is owed as before: after a crash it is late again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from jetstream_py import headers as hdr
from jetstream_py import limits
from jetstream_py.api.errors import ApiError, E, error
from jetstream_py.api.extensions import DeadLetterAddress, dead_letter_address, template_rule
from jetstream_py.api.times import time_text
from jetstream_py.subject import matches

if TYPE_CHECKING:
    from jetstream_py.engine.acks import Delivery
    from jetstream_py.engine.consumer import Consumer
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Message

_START: Final = b"Dead-Letter-"
# What a header of NATS asked for was asked of the original; what is said of an earlier death is history.
_DROPPED: Final = re.compile(rb"\r\n(?:Nats|Dead-Letter)-[^\r\n]*(?=\r\n)")
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]+")


class _Death(NamedTuple):
    """Why a delivery ends. `named` is what the client terminated; None: it came too often."""

    named: Delivery | None = None
    text: str = ""
    reply: bytes = b""


class DeadLetters:
    """Deliveries of one consumer that are about to end."""

    def __init__(self, consumer: Consumer, address: DeadLetterAddress) -> None:
        self._consumer = consumer
        self._shared = consumer.shared
        self.address = address
        self._waiting: dict[int, _Death] = {}
        self._scheduled = False
        self._warned = False  # until a copy is stored again

    def exhausted(self, seq: int) -> None:
        """It was delivered as often as it may be."""
        self._add(seq, _Death())

    def terminated(self, named: Delivery, text: str, reply: bytes) -> None:
        """The client gives it up, and may want to hear when that is on disk."""
        self._add(named.seq, _Death(named, text, reply))

    def abandon(self) -> None:
        """There is no address any more: what waits ends without a copy."""
        waiting, self._waiting = self._waiting, {}
        for seq, death in waiting.items():
            if seq in self._consumer.unacked:
                self._end(seq, death)

    def _add(self, seq: int, death: _Death) -> None:
        self._waiting[seq] = death
        if not self._scheduled:
            self._scheduled = True
            self._shared.soon(self._work)

    def _work(self) -> None:
        """Copy a slice of what waits, and end those deliveries."""
        self._scheduled = False
        consumer, waiting = self._consumer, self._waiting
        if consumer.closed:
            return
        left, room = limits.DEAD_LETTERS, limits.DEAD_LETTER_BYTES
        replies: list[bytes] = []
        while waiting and left and room > 0:
            seq = next(iter(waiting))
            death = waiting.pop(seq)
            left -= 1
            if seq in consumer.unacked:  # unless it was acked meanwhile
                message = consumer.stream.store.get(seq)
                if message is not None and not self._copy(message, death):
                    self._keep(seq, death)
                    continue
                room -= len(message.data) if message is not None else 0
                self._end(seq, death)
            if death.reply:
                replies.append(death.reply)
        if consumer.journal is not None:
            consumer.journal.write(consumer)
        for reply in replies:
            self._shared.outbox.send(self._shared.bus, reply, b"")
        if waiting:
            self._scheduled = True
            self._shared.after_commit(self._work)
        consumer.serve()  # those who owed too much may go on

    def _keep(self, seq: int, death: _Death) -> None:
        """There is no copy, so the delivery has not ended."""
        if death.named is None:
            self._consumer.unacked.extend(seq, self._shared.now())

    def _end(self, seq: int, death: _Death) -> None:
        if death.named is None:
            self._consumer.dispatcher.give_up(seq)
        else:
            self._consumer.desk.terminate(death.named, death.text)

    def _copy(self, message: Message, death: _Death) -> bool:
        """Stage the dead letter."""
        try:
            target = _target(self._consumer.stream, self.address)
            subject = target.renamed(self.address.subject.encode() or message.subject)
            target.store_message(subject, self._headers(message, death), message.data, own=True)
        except ApiError as refusal:
            if not self._warned:
                self._warned = True
                stream, name = self._consumer.names
                self._shared.warn(
                    f"Dead letters of consumer '{self._shared.account} > {stream} > {name}' wait: "
                    f"{refusal.description}"
                )
            return False
        self._warned = False
        target.consumers.announce()
        return True

    def _headers(self, message: Message, death: _Death) -> bytes:
        stream, name = self._consumer.tokens
        deliveries = self._consumer.unacked.redeliveries.get(message.seq, 0) + 1
        identity = self._consumer.stream.identity.encode()
        told = [
            (b"Reason", b"term" if death.named is not None else b"max_deliver"),
            (b"Text", _line(death.text)),
            (b"Stream", stream),
            (b"Sequence", b"%d" % message.seq),
            (b"Subject", message.subject),
            (b"Consumer", name),
            (b"Deliveries", b"%d" % deliveries),
            (b"Time", time_text(self._shared.clock.now_ns()).encode()),
        ]
        msg_id = b"%b.%d.%b.%b" % (stream, message.seq, name, identity)
        kept = _DROPPED.sub(b"", message.headers)
        pairs = [(_START + key, value) for key, value in told if value]
        return hdr.extend(kept, (hdr.MSG_ID, msg_id), *pairs)


def _line(text: str) -> bytes:
    """A client's words, as a header can carry them."""
    return _CONTROL.sub(b" ", text.encode())[: limits.DEAD_LETTER_TEXT].strip()


# -- the address -----------------------------------------------------------------------------------


def check_address(stream: Stream, metadata: Mapping[str, str]) -> None:
    """Is there somebody to take the dead letters of a new consumer?"""
    address = dead_letter_address(metadata)
    if address is not None:
        _target(stream, address)


def _target(stream: Stream, address: DeadLetterAddress) -> Stream:
    """The stream that takes the dead letters of a consumer of `stream`."""
    streams = stream.shared.streams
    if address.stream:
        target = streams.get(address.stream)
        if target is None:
            raise _refused(f"there is no stream '{address.stream}' for dead letters")
    else:
        name = address.subject.encode()
        found = (
            each
            for each in streams.values()
            if any(matches(name, own) for own in each.subjects)
            and template_rule(each.config.metadata) is None
        )
        target = next(found, None)
        if target is None:
            raise _refused(f"no stream listens to '{address.subject}' for dead letters")
    if template_rule(target.config.metadata) is not None:
        raise _refused("dead letters can not go to a template")
    if target is stream:
        raise _refused("dead letters go to another stream")
    if target.config.mirror is not None:
        raise _refused("dead letters can not go to a mirror")
    if target.config.storage == "memory" and stream.config.storage == "file":
        raise _refused("dead letters of a stream on disk go to a stream on disk")
    return target


def _refused(text: str) -> ApiError:
    return error(E.CONSUMER_CREATE, err=text)
