"""The last hour, for plots: a ring of samples, one every few seconds.

A sample is a row of counters as they stood; rates are for whoever draws them. The ring is the whole
cost in memory, one look at the broker's sums every few seconds the whole cost in time.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from jetstream_py import limits
from jetstream_py.server.monitor import usage
from jetstream_py.server.monitor.jsz import Stats

if TYPE_CHECKING:
    from jetstream_py.server.monitor.state import MonitorState
    from jetstream_py.server.monitor.view import BrokerView
    from jetstream_py.timers import Timer


class Sample(NamedTuple):
    time: int  # milliseconds since the epoch
    in_msgs: int
    in_bytes: int
    out_msgs: int
    out_bytes: int
    connections: int
    subscriptions: int
    slow_consumers: int
    cpu: float
    mem: int
    storage: int
    memory: int


class History:
    """The samples of the last hour, oldest first."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=limits.HISTORY_SAMPLES)

    def add(self, sample: Sample) -> None:
        self._samples.append(sample)

    def columns(self) -> dict[str, object]:
        """What /history answers: a list for each field, which is a third of the size of rows."""
        columns: list[list[float]] = [list(column) for column in zip(*self._samples, strict=True)]
        columns = columns or [[] for _ in Sample._fields]
        named = dict(zip(Sample._fields, columns, strict=True))
        return {"interval": limits.HISTORY_INTERVAL, "samples": named}


def sample(broker: BrokerView, state: MonitorState) -> Sample:
    in_msgs, in_bytes, out_msgs, out_bytes = broker.totals()
    storage, memory = _stored(broker)
    return Sample(
        time=broker.clock.now_ns() // 1_000_000,
        in_msgs=in_msgs,
        in_bytes=in_bytes,
        out_msgs=out_msgs,
        out_bytes=out_bytes,
        connections=len(broker.sessions),
        subscriptions=sum(account.router.sublist.count for account in broker.accounts.values()),
        slow_consumers=broker.slow_consumers,
        cpu=state.usage.cpu(),
        mem=usage.resident_bytes(),
        storage=storage,
        memory=memory,
    )


def _stored(broker: BrokerView) -> tuple[int, int]:
    """Bytes of all streams, on disk and in memory."""
    stats = broker.jetstream_view.varz()["stats"] if broker.jetstream_view is not None else Stats()
    assert isinstance(stats, Stats)
    return stats.storage, stats.memory


class Sampler:
    """Takes a sample now and then, until it is closed."""

    __slots__ = ("_broker", "_state", "_timer")

    def __init__(self, broker: BrokerView, state: MonitorState) -> None:
        self._broker = broker
        self._state = state
        self._timer: Timer | None = None
        self._take()

    def _take(self) -> None:
        self._state.history.add(sample(self._broker, self._state))
        self._timer = self._broker.timers.call_later(limits.HISTORY_INTERVAL, self._take)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
