"""Everything that happens to a consumer by itself hangs on one alarm: the earliest of all.

Late acks, ends of requests, heartbeats, replays, the end of a pause, inactivity. It may ring too early,
never too late; whoever sets something earlier moves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jetstream_py.timers import Timer

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer

NEVER: Final = 1 << 100  # later than any clock will show


class Alarm:
    """The one timer of a consumer."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._timer: Timer | None = None
        self._at = NEVER

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._at = NEVER

    def arm(self) -> None:
        """Set it for the earliest thing that will happen."""
        consumer = self._consumer
        if consumer.closed:
            return
        outlet, threshold = consumer.outlet, consumer.config.inactive_threshold
        earliest = consumer.unacked.next_due() or NEVER
        earliest = min(earliest, outlet.next_due() or NEVER)
        earliest = min(earliest, consumer.dispatcher.replay_due or NEVER)
        if consumer.was_paused:
            shared = consumer.shared
            left = max(0, consumer.paused_until_ns - shared.clock.now_ns())
            earliest = min(earliest, shared.now() + left)
        if threshold > 0:
            # Whether anybody is there is asked when it rings, not with every delivery.
            earliest = min(earliest, outlet.active + threshold)
        if earliest < self._at:
            self.ring_at(earliest)

    def ring_at(self, at: int) -> None:
        """Not later than then."""
        if self._at <= at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._at = at
        shared = self._consumer.shared
        self._timer = shared.timers.call_later(max(0.0, (at - shared.now()) / 1e9), self._ring)

    def _ring(self) -> None:
        self._timer, self._at = None, NEVER
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
