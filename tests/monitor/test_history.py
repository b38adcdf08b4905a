"""The last hour in samples."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jetstream_py import limits
from jetstream_py.server.monitor.endpoints import answer
from jetstream_py.server.monitor.history import Sampler
from jetstream_py.server.monitor.jsz import JszOptions, Stats
from jetstream_py.server.monitor.state import MonitorState
from tests.monitor.fakes import FakeBroker


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


@pytest.fixture
def state() -> MonitorState:
    return MonitorState("0.0.0.0", 8222)


class Streams:
    """As much of JetStream as a sample needs."""

    def varz(self) -> dict[str, object]:
        return {"stats": Stats(storage=7, memory=8)}

    def dropped(self) -> tuple[int, int]:
        raise NotImplementedError

    def jsz(self, options: JszOptions) -> object:
        raise NotImplementedError

    def account_jsz(self, account: str, options: JszOptions) -> object:
        raise NotImplementedError

    def missing(self, account: str, stream: str, consumer: str) -> str:
        raise NotImplementedError


def history(broker: FakeBroker, state: MonitorState) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer(broker, state, "/history").body)
    return found


def pass_time(broker: FakeBroker, seconds: float) -> None:
    broker.clock.advance(seconds)
    broker.timers.run_due()


def test_there_is_a_sample_at_once_and_then_one_each_interval(
    broker: FakeBroker, state: MonitorState
) -> None:
    Sampler(broker, state)
    broker.connect(5)
    broker.traffic = (10, 100, 20, 200)
    broker.slow_consumers = 1
    broker.jetstream_view = Streams()
    pass_time(broker, limits.HISTORY_INTERVAL - 1)
    pass_time(broker, 1)
    found = history(broker, state)
    assert found["interval"] == limits.HISTORY_INTERVAL
    samples = found["samples"]
    first, second = samples.pop("time")
    assert second - first == limits.HISTORY_INTERVAL * 1000
    assert all(value > 0 for value in samples.pop("mem"))
    assert len(samples.pop("cpu")) == 2
    assert samples == {
        "in_msgs": [0, 10],
        "in_bytes": [0, 100],
        "out_msgs": [0, 20],
        "out_bytes": [0, 200],
        "connections": [0, 1],
        "subscriptions": [0, 0],
        "slow_consumers": [0, 1],
        "storage": [0, 7],
        "memory": [0, 8],
    }


def test_an_hour_is_kept_and_no_more(broker: FakeBroker, state: MonitorState) -> None:
    Sampler(broker, state)
    for _ in range(limits.HISTORY_SAMPLES + 10):
        pass_time(broker, limits.HISTORY_INTERVAL)
    samples = history(broker, state)["samples"]
    assert {len(column) for column in samples.values()} == {limits.HISTORY_SAMPLES}
    assert samples["time"][-1] == broker.clock.now_ns() // 1_000_000
    assert samples["time"][-1] - samples["time"][0] == pytest.approx(3_600_000, abs=5_000)


def test_a_closed_sampler_leaves_no_timer(broker: FakeBroker, state: MonitorState) -> None:
    Sampler(broker, state).close()
    assert broker.timers.next_due() is None


def test_before_the_first_sample_there_are_empty_columns(
    broker: FakeBroker, state: MonitorState
) -> None:
    assert set(map(len, history(broker, state)["samples"].values())) == {0}
