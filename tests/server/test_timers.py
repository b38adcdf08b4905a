"""Timers on a clock that is moved by hand."""

from __future__ import annotations

import asyncio

import pytest

from jetstream_py.clock import ManualClock, SystemClock
from jetstream_py.timers import Timers, drive


def test_timers_fire_in_order_when_their_time_has_come() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    fired: list[str] = []
    timers.call_later(2, lambda: fired.append("b"))
    timers.call_later(1, lambda: fired.append("a"))
    timers.call_later(2, lambda: fired.append("c"))
    timers.call_later(5, lambda: fired.append("never")).cancel()
    assert timers.run_due() == 0
    clock.advance(2)
    assert timers.run_due() == 3
    assert fired == ["a", "b", "c"]
    assert timers.next_due() is None


def test_a_timer_set_by_a_timer_waits_for_its_own_time() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    fired: list[float] = []

    def again() -> None:
        fired.append(clock.monotonic())
        timers.call_later(1, again)

    timers.call_later(1, again)
    for _ in range(5):
        clock.advance(1)
        timers.run_due()
    assert fired == [1001.0, 1002.0, 1003.0, 1004.0, 1005.0]


def test_cancelled_timers_are_swept() -> None:
    timers = Timers(ManualClock())
    keep = timers.call_later(1, lambda: None)
    for _ in range(10_000):
        timers.call_later(100, lambda: None).cancel()
        assert len(timers._heap) <= 200
    assert timers.next_due() == keep.due


def test_time_does_not_run_backwards() -> None:
    with pytest.raises(ValueError, match="backwards"):
        ManualClock().advance(-1)


def test_the_loop_runs_timers_and_stops() -> None:
    async def main() -> list[str]:
        timers = Timers(SystemClock())
        fired: list[str] = []
        done = asyncio.Event()
        stop = drive(timers, asyncio.get_running_loop())
        timers.call_later(60, lambda: fired.append("late"))
        timers.call_later(0.001, lambda: fired.append("soon"))
        timers.call_later(0.002, done.set)
        await done.wait()
        stop()
        return fired

    assert asyncio.run(main()) == ["soon"]
