"""Whole histories of a stream and its consumers through the wire protocol, against a model that judges every
delivery and every number (see `consumer_model`): pulls, acks, time, purges, restarts, crashes.

A crash loses what was not committed. The consumer's state is then one that it had since it was last
written: at the last confirmed ack, or a moment ago. So what was confirmed never comes back, and what was
not acked comes again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jetstream_py import limits
from tests.engine.consumer_bench import PUSH, ConsumerBench
from tests.engine.consumer_model import Config, ConsumerModel
from tests.engine.model import Limits
from tests.store.support import TINY

SMALL: Final = {**TINY, "JOURNAL_WEIGHT": 200, "JOURNAL_CHANGES": 6}
SUBJECTS = st.lists(st.sampled_from(["s.a", "s.b", "s.c.1", "s.c.2"]), min_size=1, max_size=8)
PATTERNS = st.sampled_from(["", "", ">", "s.a", "s.*", "s.c.>", "s.nobody"])
PICK = st.integers(0, 1 << 16)
RECENT = st.sampled_from([-1, -1, -1, -2, -2, -3, -5, -9])
FILTERS: Final = ((), ("s.a",), ("s.a", "s.b"), ("s.c.>",), ("s.*", "s.c.1"), ("s.>",))
# Consumers of a work queue must not overlap.
QUEUE_FILTERS: Final = {"A": ("s.a", "s.b"), "B": ("s.c.1",), PUSH: ("s.c.2",)}
NAMES = st.sampled_from(["A", "B", PUSH])
LIMITS = st.builds(
    Limits,
    max_msgs=st.sampled_from([-1, -1, 3, 12]),
    max_bytes=st.just(-1),
    max_msgs_per_subject=st.sampled_from([-1, -1, 2]),
    discard=st.just("old"),
)
CONFIGS = st.builds(
    Config,
    ack=st.sampled_from(["explicit", "explicit", "explicit", "all", "none"]),
    filters=st.sampled_from(FILTERS),
    wait=st.sampled_from([0.5, 1.0, 3.0]),
    backoff=st.sampled_from([(), (), (0.5, 1.5)]),
    max_deliver=st.sampled_from([-1, -1, 1, 2, 3]),
    max_pending=st.sampled_from([1000, 1000, 1, 3]),
    start=st.sampled_from(["all", "all", "new", "last", "by_start_sequence", "last_per_subject"]),
    start_seq=st.integers(1, 20),
    push=st.just(False),
)


class ConsumerMachine(RuleBasedStateMachine):
    """Rules for any stream; storage and retention are the subclass's."""

    storage = ""
    retention = ""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="consumers-"))
        self.saved = {name: getattr(limits, name) for name in SMALL}
        for name, value in SMALL.items():
            setattr(limits, name, value)
        self.bench = ConsumerBench(self.path, self.storage, self.retention)

    @property
    def consumers(self) -> dict[str, ConsumerModel]:
        return self.bench.model.consumers

    def one(self, pick: int, suits: Callable[[str], bool] = lambda name: True) -> str:
        """The name of a consumer that suits, if there is one."""
        names = [name for name in sorted(self.consumers) if suits(name)]
        return names[pick % len(names)] if names else ""

    @initialize(config=CONFIGS, subjects=SUBJECTS)
    def first(self, config: Config, subjects: list[str]) -> None:
        self.create("A", config._replace(start="all"))
        self.bench.publish(*subjects)

    # -- what makes work ---------------------------------------------------------------------------

    @rule(subjects=SUBJECTS, size=st.sampled_from([1, 40, 300]))
    def publish(self, subjects: list[str], size: int) -> None:
        self.bench.publish(*subjects, size=size)

    @rule(name=NAMES, config=CONFIGS)
    def create(self, name: str, config: Config) -> None:
        if name in self.consumers:
            return
        if self.retention == "workqueue":
            config = config._replace(filters=QUEUE_FILTERS[name], ack="explicit", start="all")
        if config.start == "last_per_subject" and not config.filters:
            config = config._replace(filters=("s.>",))
        if config.start != "by_start_sequence":
            config = config._replace(start_seq=0)
        if 0 < config.max_deliver < len(config.backoff):
            config = config._replace(backoff=())
        if config.ack == "none":
            config = config._replace(backoff=(), max_deliver=-1)
        if name == PUSH:
            config = config._replace(push=True)
        self.bench.create(name, config)
        if name == PUSH:
            self.bench.listen()

    @rule(pick=PICK, batch=st.sampled_from([1, 2, 3, 30]))
    def pull(self, pick: int, batch: int) -> None:
        """Get what is there."""
        name = self.one(pick, lambda name: name != PUSH)
        if name:
            self.bench.pull(name, batch, no_wait=True)

    @rule(
        pick=PICK,
        batch=st.sampled_from([1, 1, 2, 5, 30]),
        no_wait=st.booleans(),
        expires=st.sampled_from([0, 1, 4]),
        max_bytes=st.sampled_from([0, 0, 150, 600]),
    )
    def wait(self, pick: int, batch: int, no_wait: bool, expires: int, max_bytes: int) -> None:
        """Pull in any way, also when nothing is there."""
        name = self.one(pick, lambda name: name != PUSH)
        if name:
            self.bench.pull(name, batch, no_wait, expires, max_bytes)

    @rule(pick=PICK)
    def turn_away(self, pick: int) -> None:
        """Somebody stops listening to a request's inbox, or (to and fro) to the push consumer."""
        name = self.one(pick, lambda name: name == PUSH or bool(self.consumers[name].requests))
        if name == PUSH:
            self.bench.listen()
        elif name:
            self.bench.desert(name, next(iter(self.consumers[name].requests)))

    # -- what clients say of deliveries ------------------------------------------------------------

    def talks(self, name: str) -> bool:
        return bool(self.bench.old.get(name)) and self.consumers[name].config.ack != "none"

    def delivery(self, name: str, recent: int) -> int:
        return max(recent, -len(self.bench.old[name]))

    @precondition(lambda self: self.one(0, self.talks))
    @rule(
        pick=PICK,
        recent=RECENT,
        word=st.sampled_from([b"", b"+ACK", b"+TERM"]),
        confirmed=st.booleans(),
    )
    def ack(self, pick: int, recent: int, word: bytes, confirmed: bool) -> None:
        name = self.one(pick, self.talks)
        self.bench.ack(name, self.delivery(name, recent), word, confirmed)

    @precondition(lambda self: self.one(0, self.talks))
    @rule(pick=PICK, recent=RECENT, delay=st.sampled_from([0, 0, 1, 4]), confirmed=st.booleans())
    def nak(self, pick: int, recent: int, delay: int, confirmed: bool) -> None:
        name = self.one(pick, self.talks)
        self.bench.nak(name, self.delivery(name, recent), delay, confirmed)

    @precondition(lambda self: self.one(0, self.talks))
    @rule(pick=PICK, recent=RECENT, how=st.sampled_from(["run", "run", "progress", "confirmed"]))
    def other_words(self, pick: int, recent: int, how: str) -> None:
        name = self.one(pick, self.talks)
        if how == "run":
            self.bench.ack_run(name, self.delivery(name, recent * 2))
        else:
            self.bench.progress(name, self.delivery(name, recent), how == "confirmed")

    # -- what happens to everything ----------------------------------------------------------------

    @rule(ticks=st.sampled_from([1, 2, 4, 9]))
    def pass_time(self, ticks: int) -> None:
        self.bench.pass_time(ticks)

    @rule(how=st.sampled_from(["delete", "purge", "filters", "consumer"]), pick=PICK, data=PATTERNS)
    def remove(self, how: str, pick: int, data: str) -> None:
        bench = self.bench
        seq = pick % (bench.model.last_seq + 3)
        match how:
            case "delete":
                bench.delete(seq)
            case "purge":
                which = ({}, {"seq": seq}, {"keep": pick % 5})[pick % 3]
                bench.purge(data, **which)
            case "consumer" if pick % 3 == 0 and self.consumers:
                bench.delete_consumer(self.one(pick))
            case "filters" if self.retention == "limits":
                name = self.one(
                    pick, lambda name: "subject" not in self.consumers[name].config.start
                )
                if name:
                    bench.change_filters(name, FILTERS[pick % len(FILTERS)])

    @rule(new=LIMITS)
    def change_limits(self, new: Limits) -> None:
        self.bench.change_limits(new)

    @rule(how=st.sampled_from(["crash", "crash", "restart", "no", "no", "no"]))
    def end(self, how: str) -> None:
        if how == "crash":
            self.bench.crash()
        elif how == "restart":
            self.bench.restart()

    @invariant()
    def check(self) -> None:
        self.bench.check()

    def teardown(self) -> None:
        try:
            self.bench.close()
        finally:
            for name, value in self.saved.items():
                setattr(limits, name, value)
            shutil.rmtree(self.path)


class FileLimits(ConsumerMachine):
    storage, retention = "file", "limits"


class FileInterest(ConsumerMachine):
    storage, retention = "file", "interest"


class FileQueue(ConsumerMachine):
    storage, retention = "file", "workqueue"


class MemoryLimits(ConsumerMachine):
    storage, retention = "memory", "limits"


class MemoryInterest(ConsumerMachine):
    storage, retention = "memory", "interest"


QUICK = settings(
    max_examples=30,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
MACHINES: Final = (FileLimits, FileInterest, FileQueue, MemoryLimits, MemoryInterest)
for machine in MACHINES:
    machine.TestCase.settings = QUICK
TestFileLimits: type = FileLimits.TestCase
TestFileInterest: type = FileInterest.TestCase
TestFileQueue: type = FileQueue.TestCase
TestMemoryLimits: type = MemoryLimits.TestCase
TestMemoryInterest: type = MemoryInterest.TestCase
