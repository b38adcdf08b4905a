"""Where the messages of a pull consumer go: to the requests that wait for them.

A run of messages is handed out to the requests in turn. What goes to the same inbox in a row leaves as one
delivery, and everything leaves in the order of the stream: a client that has two requests open must not see
its messages out of order. Usually all requests are of one client and without a budget of bytes; then the
run leaves as a whole, and only the books are kept per request. A request is asked for its inbox's interest
when a run begins: within a run nothing can change.

With a priority group not everybody may have the next message, and who may depends on what the last one
changed; then runs have one message and `_choose` looks at the requests anew for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py.api.next_request import BadRequest, NextRequest, parse_next
from jetstream_py.engine import statuses
from jetstream_py.engine.express import CONGESTION, Express
from jetstream_py.engine.pinned import Pinned
from jetstream_py.engine.waiting import PullRequest, Waiting
from jetstream_py.gotext import duration

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer
    from jetstream_py.engine.run import Run

RUN = 500  # messages handed out between two looks at the requests


class Pull:
    """The requests of one consumer."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._bus = consumer.shared.bus
        self.pinned = Pinned(consumer)
        self.waiting = Waiting(False)
        self.express = Express(consumer)
        self._chosen: PullRequest | None = None
        self._run: Run | None = None  # the run that is being handed out ...
        self._from = self._to = 0  # ... and which part of it ...
        self._inbox = b""  # ... is for which inbox
        self.active = consumer.shared.now()  # when somebody last showed up
        self.configure()

    def configure(self) -> None:
        """The consumer has another configuration."""
        config = self._consumer.config
        self._policy = config.priority_policy
        # What was asked when nothing spoke against it: the same request needs no second look.
        self._accepted: NextRequest | None = None
        self.express.configure()
        waiting = Waiting(self._policy == "prioritized")
        for request in self.waiting:
            waiting.add(request)
        self.waiting = waiting

    # -- requests ----------------------------------------------------------------------------------

    def request(self, inbox: bytes, body: bytes) -> None:
        """A MSG.NEXT. It is answered with messages, a status, or both."""
        now = self._consumer.shared.now()
        self.active = now
        try:
            ask = parse_next(body)
        except BadRequest as bad:
            self._status(inbox, statuses.bad_request(str(bad)))
            return
        if self.waiting or ask is not self._accepted:
            refusal = self._refusal(ask)
            if refusal is not None:
                if refusal:
                    self._status(inbox, refusal)
                return
        if not self.waiting and self.express.serve(inbox, ask, now):
            return
        if self._policy == "pinned_client":
            self.pinned.seen(ask.id, now)
        request = PullRequest(inbox, ask, now)
        self.waiting.add(request)
        if request.expires and request.expires <= now:
            self.finish(request, statuses.REQUEST_TIMEOUT)
            return
        self._consumer.serve()

    def _refusal(self, ask: NextRequest) -> bytes | None:
        """Why the request cannot wait here: a status, empty for silence."""
        config = self._consumer.config
        if 0 < config.max_batch < ask.batch:
            return statuses.exceeded("MaxRequestBatch", config.max_batch)
        if 0 < config.max_expires < ask.expires:
            return statuses.exceeded("MaxRequestExpires", duration(config.max_expires))
        if 0 < config.max_bytes < ask.max_bytes:
            return statuses.exceeded("MaxRequestMaxBytes", config.max_bytes)
        if ask.idle_heartbeat > 0 and ask.expires < 2 * ask.idle_heartbeat:
            return statuses.bad_request("heartbeat value too large")
        refusal = self._group_refusal(ask)
        if refusal is None and ask.no_wait:
            refusal = self._nothing_there(ask)
        if refusal is None and len(self.waiting) >= config.max_waiting:
            self._drop_deserted()  # there may be room for the next one
            return b"" if ask.idle_heartbeat > 0 else statuses.EXCEEDED_MAX_WAITING
        if refusal is None and self._policy == "none" and not ask.no_wait:
            # Only the number of those who wait could speak against the same request the next time.
            self._accepted = ask
        return refusal

    def _group_refusal(self, ask: NextRequest) -> bytes | None:
        policy = self._policy
        if not 0 <= ask.priority <= 9:
            return statuses.bad_request("Priority must be between 0 and 9")
        if policy != "overflow" and (ask.min_pending or ask.min_ack_pending):
            return statuses.bad_request("Not a Overflow Priority consumer")
        if policy != "pinned_client" and ask.id:
            return statuses.bad_request("Not a Pinned Client Priority consumer")
        if policy == "none" or not ask.json:
            return None
        if not ask.group:
            return statuses.bad_request("Priority Group missing")
        if ask.group not in self._consumer.config.priority_groups:
            return statuses.bad_request("Invalid Priority Group")
        if policy == "pinned_client" and ask.id and self.pinned.id not in ("", ask.id):
            return statuses.PIN_ID_MISMATCH
        return None

    def _nothing_there(self, ask: NextRequest) -> bytes | None:
        """What a request that does not want to wait hears at once."""
        consumer = self._consumer
        there = consumer.num_pending() + consumer.unacked.queued
        if not there:
            return None if ask.expires else statuses.NO_MESSAGES
        self._drop_deserted()
        return statuses.REQUESTS_PENDING if there < self.waiting.wanted() else None

    # -- deliveries --------------------------------------------------------------------------------

    def wants(self) -> int:
        """How many messages may be handed out now."""
        if not self.waiting:
            return 0
        if self._policy in ("overflow", "pinned_client"):
            self._chosen = self._choose()
            if self._chosen is None:
                self.at_end()
            return 1 if self._chosen else 0
        self._chosen = None
        self._drop_deserted()
        return min(RUN, self.waiting.wanted())

    def _choose(self) -> PullRequest | None:
        self._drop_deserted()
        consumer = self._consumer
        if not consumer.num_pending() and not consumer.unacked.waiting:
            return None
        if self._policy == "pinned_client":
            return self.pinned.choose(self.waiting)
        for request in list(self.waiting):
            ask = request.ask
            if (
                not (ask.min_pending or ask.min_ack_pending)
                or 0 < ask.min_pending <= consumer.num_pending()
                or 0 < ask.min_ack_pending <= len(consumer.unacked)
            ):
                return request
        return None

    def send(self, run: Run) -> int:
        """Hand the messages out. Returns how many somebody took."""
        if self._policy == "pinned_client":
            run.pin(self.pinned.id)
        now = self._consumer.shared.now()
        inbox = self.waiting.common_inbox() if self._chosen is None else b""
        if inbox:
            sent = min(len(run), self.waiting.wanted())
            self._deliver(inbox, run, 0, sent)
            self.waiting.share_out(sent, now)
            return sent
        return self._send_each(run, now)

    def _send_each(self, run: Run, now: int) -> int:
        sizes = run.sizes()
        self._run, self._from, self._to = run, 0, 0
        for size in sizes:
            request = self._taker(size)
            if request is None:
                break
            if request.inbox != self._inbox:
                self._flush()
                self._inbox = request.inbox
            self._to += 1
            if request.beat:
                request.beat = now + request.ask.idle_heartbeat
            self._took(request)
        self._flush()
        return self._to

    def _taker(self, size: int) -> PullRequest | None:
        """The request whose turn it is; those that have no bytes left for it end here."""
        while self.waiting:
            request = self._chosen or self.waiting[0]
            if not request.ask.max_bytes:
                return request
            if size <= request.budget:
                request.budget -= size
                return request
            self.finish(request, statuses.MAX_BYTES)
            if self._chosen is not None:
                return None
        return None

    def _took(self, request: PullRequest) -> None:
        request.delivered += 1
        request.left -= 1
        if request.left > 0:
            if self._chosen is None:
                self.waiting.turn()
        elif request.ask.max_bytes and request.budget > 0:
            self.finish(request, statuses.BATCH_COMPLETED)
        else:
            self.waiting.remove(request)

    def _flush(self) -> None:
        """What was handed out in a row for one inbox leaves."""
        if self._run is not None and self._from < self._to:
            self._deliver(self._inbox, self._run, self._from, self._to)
            self._from = self._to

    def _deliver(self, inbox: bytes, run: Run, start: int, end: int) -> None:
        heard = self._bus.deliver(inbox, *run.part(start, end))
        if heard < end - start:
            self._consumer.dispatcher.unheard(run.seqs[start + heard : end])

    def congested(self) -> bool:
        return self._bus.backlog(self.waiting[0].inbox) > CONGESTION

    def at_limit(self) -> None:
        """Requests wait until acks come."""

    def at_end(self) -> None:
        """No more messages: those who did not want to wait hear so."""
        for request in list(self.waiting):
            if request.ask.no_wait and (request.delivered or not request.ask.expires):
                self.waiting.remove(request)
                self._status(request.inbox, statuses.NO_MESSAGES)

    # -- time --------------------------------------------------------------------------------------

    def tick(self, now: int) -> None:
        """End what has waited too long; tell the others that the consumer is alive."""
        for request in list(self.waiting):
            if request.expires and request.expires <= now:
                self.finish(request, statuses.REQUEST_TIMEOUT)
            elif request.beat and request.beat <= now:
                if self._bus.has_interest(request.inbox):
                    request.beat = now + request.ask.idle_heartbeat
                    consumer = self._consumer
                    last = consumer.next_dseq - 1, consumer.position.looked_at
                    self._status(request.inbox, statuses.heartbeat(*last))
                else:
                    self.waiting.remove(request)
        if self._policy == "pinned_client":
            self.pinned.tick(now)

    def next_due(self) -> int:
        """When something happens by itself, 0 for never."""
        due = self.waiting.next_due() if self.waiting else 0
        pin = self.pinned.due
        return min(due, pin) if due and pin else due or pin

    def is_active(self) -> bool:
        """Does anybody wait?"""
        if self.waiting:
            self._drop_deserted()
        return len(self.waiting) > 0

    # -- ends --------------------------------------------------------------------------------------

    def finish(self, request: PullRequest, why: tuple[int, str]) -> None:
        """A request ends before it got everything; what it did get leaves first."""
        self.waiting.remove(request)
        self._flush()
        self._status(request.inbox, statuses.ended(why, request.left, request.budget))

    def _drop_deserted(self) -> None:
        """Requests whose inbox nobody listens to any more vanish."""
        for request in list(self.waiting):
            if not self._bus.has_interest(request.inbox):
                self.waiting.remove(request)

    def _status(self, inbox: bytes, block: bytes) -> None:
        self._bus.publish(inbox, b"", b"", block)

    def close(self, deleted: bool) -> None:
        for request in list(self.waiting):
            if deleted:
                self._status(request.inbox, statuses.CONSUMER_DELETED)
            else:
                self.finish(request, statuses.SERVER_SHUTDOWN)
        self.waiting.clear()
