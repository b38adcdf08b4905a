"""Everything that happens to a consumer by itself hangs on one alarm: the earliest of all.

Late acks, ends of requests, heartbeats, replays, the end of a pause, inactivity. It may ring too early,
never too late; whoever sets something earlier moves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer


class Alarm:
    """The one timer of a consumer."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._timer: Timer | None = None
        self._at = 0

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def arm(self) -> None:
        """Set it for the earliest thing that will happen."""
        consumer = self._consumer
        if consumer.closed:
            return
        outlet, shared, config = consumer.outlet, consumer.shared, consumer.config
        now = shared.now()
        due = [consumer.unacked.next_due(), outlet.next_due(), consumer.dispatcher.replay_due]
        if consumer.was_paused:
            due.append(now + max(0, consumer.paused_until_ns - shared.clock.now_ns()))
        if config.inactive_threshold > 0:
            # Whether anybody is there is asked when it rings, not with every delivery.
            due.append(outlet.active + config.inactive_threshold)
        earliest = min([at for at in due if at], default=0)
        if earliest:
            self.ring_at(earliest)

    def ring_at(self, at: int) -> None:
        """Not later than then."""
        if self._timer is not None:
            if self._at <= at:
                return
            self._timer.cancel()
        self._at = at
        shared = self._consumer.shared
        self._timer = shared.timers.call_later(max(0.0, (at - shared.now()) / 1e9), self._ring)

    def _ring(self) -> None:
        self._timer = None
        consumer = self._consumer
        outlet = consumer.outlet
        now = consumer.shared.now() + 1  # the clock counts in floats: do not miss by a rounding
        consumer.dispatcher.replay_due = 0
        consumer.dispatcher.redeliver_late(now)
        outlet.tick(now)
        if consumer.was_paused and not consumer.paused:
            consumer.was_paused = False
            consumer.shared.events.paused(*consumer.names, False, consumer.paused_until_ns)
        threshold = consumer.config.inactive_threshold
        if threshold > 0:
            if outlet.is_active():
                outlet.active = now
            elif outlet.active + threshold <= now:
                consumer.stream.consumers.delete(consumer.name)
                return
        consumer.serve()
