"""Histories of schedules: replaced, ended, with restarts, crashes, disks that fail and time without a server.

What is planned for a time happens once, then or when the server is back. What is planned again and again
happens not sooner than it should, and is not forgotten.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import rule

from jetstream_py.api.times import time_text
from tests.engine.histories import FAILURES, CrashingMachine, HistoryMachine, quick
from tests.engine.world import SECOND

NAMES = st.sampled_from(["a", "b", "c"])
LATE = SECOND  # ns that a schedule may be late while there is a server


class Plan(NamedTuple):
    """The next time; with an interval there will be others."""

    due: int
    interval: int = 0


class ScheduleMachine(HistoryMachine):
    def begin(self) -> None:
        self.plans: dict[str, Plan] = {}
        self.done: dict[str, int] = dict.fromkeys("abc", 0)  # how often each has happened
        config = {"allow_msg_schedules": True, "allow_rollup_hdrs": True, "allow_msg_ttl": True}
        assert "error" not in self.world.create(storage=self.storage, **config)

    @property
    def now(self) -> int:
        return self.world.bench.clock.now_ns()

    def plan(self, name: str, pattern: str) -> None:
        headers = f"Nats-Schedule: {pattern}\r\nNats-Schedule-Target: s.t.{name}"
        assert "error" not in self.world.ask(f"s.{name}", b"body", headers)

    @rule(name=NAMES, seconds=st.integers(1, 8))
    def at(self, name: str, seconds: int) -> None:
        due = self.now + seconds * SECOND
        self.plan(name, f"@at {time_text(due)}")
        self.plans[name] = Plan(due)

    @rule(name=NAMES, seconds=st.integers(1, 4))
    def every(self, name: str, seconds: int) -> None:
        self.plan(name, f"@every {seconds}s")
        self.plans[name] = Plan(self.now + seconds * SECOND, seconds * SECOND)

    @rule(name=NAMES)
    def end(self, name: str) -> None:
        self.plans.pop(name, None)
        self.world.ask("$JS.API.STREAM.PURGE.S", b'{"filter":"s.%b"}' % name.encode())

    @rule(seconds=st.integers(1, 6))
    def pass_time(self, seconds: int) -> None:
        self.world.pass_time(seconds)
        self.check()

    def recovered(self) -> None:
        """What is due happens soon."""
        self.world.pass_time(1)
        self.check()

    def check(self) -> None:
        rows = self.world.rows("S")
        for name, done in self.done.items():
            times = [row.ts for row in rows if row.subject == b"s.t.%b" % name.encode()]
            fresh = times[done:]
            self.done[name] = len(times)
            plan = self.plans.get(name)
            if plan is None:
                assert not fresh, "nobody asked for it"
            elif plan.due <= self.now - LATE:
                assert fresh, "it did not happen"
            if plan is not None and fresh:
                self.happened(name, plan, fresh)
        plans = {row.subject[2:].decode() for row in rows if len(row.subject) == 3}
        assert plans == self.plans.keys()

    def happened(self, name: str, plan: Plan, times: list[int]) -> None:
        for ts in times:
            assert ts >= plan.due, "it happened too soon, or twice"
            assert plan.interval or len(times) == 1, "it happened twice"
            plan = Plan(ts + plan.interval - LATE, plan.interval)
        if plan.interval:
            self.plans[name] = Plan(times[-1] + plan.interval - LATE, plan.interval)
        else:
            del self.plans[name]


class MemoryMachine(ScheduleMachine):
    storage = "memory"


class FileMachine(CrashingMachine, ScheduleMachine):
    @rule(away=st.sampled_from([0.5, 3.0, 60.0]))
    def stay_away(self, away: float) -> None:
        self.world.crash()
        self.start_again(away)

    @rule(point=st.sampled_from(sorted(FAILURES)), seconds=st.integers(1, 6))
    def fail(self, point: str, seconds: int) -> None:
        """The commit of what was due fails: it happens after the next start, or has happened."""
        with self.failing(point):
            self.world.pass_time(seconds)
        self.world.crash()
        self.start_again()


MemoryMachine.TestCase.settings = quick(10, 20)
FileMachine.TestCase.settings = quick(12, 20)
TestMemory: type = MemoryMachine.TestCase
TestFile: type = FileMachine.TestCase
