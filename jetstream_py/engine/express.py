"""The straight way of the commonest request: one message, and there is one to be had.

A client that fetches message by message sends a request, gets its message, acks it and asks again.
Nobody else waits, nothing is due again, and one plain subscription listens. Then what `pull`, `dispatch`
and `run` do with queues, runs and columns comes down to the few steps that are here. `serve` takes them
only if each of their loops would go round once and do nothing else; otherwise nothing has changed, and the
request takes the general way. The bytes are the same either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jetstream_py.api.next_request import NextRequest
    from jetstream_py.engine.consumer import Consumer

CONGESTION = 8 * 1024 * 1024  # bytes on their way to one client, beyond which the others come first


class Express:
    """Serves single requests of one consumer."""

    __slots__ = ("_consumer", "_deliver", "_open")

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._deliver = consumer.shared.bus.deliver_one
        self.configure()

    def configure(self) -> None:
        """The consumer has another configuration."""
        config = self._consumer.config
        self._open = (
            not config.deliver_subject
            and config.priority_policy == "none"
            and config.replay_policy != "original"
            and not config.headers_only
        )

    def serve(self, inbox: bytes, ask: NextRequest, now: int) -> bool:
        """Was the request, which nothing speaks against, answered with its message?"""
        consumer = self._consumer
        unacked = consumer.unacked
        if (
            not self._open
            or ask.batch > 1
            or ask.max_bytes
            or ask.expires < 0
            or unacked.waiting
            or consumer.dispatcher.serving
            or 0 < consumer.max_pending <= len(unacked.dseq)
            or (consumer.paused_until_ns and consumer.paused)
        ):
            return False
        message = consumer.position.first(consumer.stream.visible_seq)
        if message is None:
            return False
        seq, ts, subject, headers, data = message
        pending = consumer.num_pending() - 1
        reply = b"%b1.%d.%d.%d.%d" % (consumer.ack_start, seq, consumer.next_dseq, ts, pending)
        if not self._deliver(inbox, subject, reply, headers, data, CONGESTION):
            return False
        consumer.dispatcher.delivered((seq,), now)
        consumer.alarm.arm()
        return True
