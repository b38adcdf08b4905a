"""Copies through whatever happens to them and their origins: deletes, purges, restarts, crashes.

Whatever the origin has, a mirror has at the same place, and nothing that the origin never had. A source has
each message of its origins once, in order. What an origin gives away is in the copy, in the end only there.
"""

from __future__ import annotations

from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.engine.histories import CrashingMachine, HistoryMachine, quick
from tests.store.support import TINY

PICK = st.integers(0, 1 << 20)
ORIGINS = {"O": "limits", "P": "limits", "Q": "workqueue", "R": "interest"}
SOURCES = [{"name": "O", "filter_subject": "O.1"}, {"name": "P"}]


class CopyMachine(HistoryMachine):
    """Rules for copies of one kind of storage."""

    tiny: ClassVar[dict[str, int]] = TINY | {"FEED_RUN": 7}

    def begin(self) -> None:
        self.count = 0
        self.at_once: dict[int, tuple[int, bytes]] = {}  # what O had: times and payloads
        for name, retention in ORIGINS.items():
            self._make(name, subjects=[f"{name}.>"], retention=retention)
        self._make("M", mirror={"name": "O"})
        self._make("S", sources=SOURCES)
        self._make("T", sources=[{"name": "Q"}])
        self._make("N", mirror={"name": "R"})
        self.world.settle()

    def _make(self, name: str, **config: object) -> None:
        assert "error" not in self.world.make(name, storage=self.storage, **config)

    def teardown(self) -> None:
        try:
            self.settled()
        finally:
            super().teardown()

    # -- what happens ------------------------------------------------------------------------------

    @rule(name=st.sampled_from(sorted(ORIGINS)), count=st.integers(1, 30), settle=st.booleans())
    def publish(self, name: str, count: int, settle: bool) -> None:
        for _ in range(count):
            self.count += 1
            self.world.send(f"{name}.{self.count % 2}", b"%d" % self.count)
        if settle:
            self.world.settle()
            self.world.answers()

    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        store = self.world.js.streams["O"].store
        self.note()
        if store.last_seq:
            self.world.send(
                "$JS.API.STREAM.MSG.DELETE.O", b'{"seq":%d}' % (1 + pick % store.last_seq)
            )

    @rule(pick=PICK)
    def purge(self, pick: int) -> None:
        self.note()
        self.world.send("$JS.API.STREAM.PURGE.P", b'{"keep":%d}' % (pick % 5 + 1))

    @rule()
    def tick(self) -> None:
        self.world.turn()

    @rule()
    def second(self) -> None:
        self.world.pass_time(1)
        self.world.answers()

    # -- what must hold ----------------------------------------------------------------------------

    def note(self) -> None:
        """Messages are in O before anything removes them."""
        for message in self.world.rows("O"):
            self.at_once[message.seq] = (message.ts, message.data)

    @rule()
    def settled(self) -> None:
        world = self.world
        for _ in range(3):
            world.settle()
            world.pass_time(2)
        world.answers()
        self.note()
        mirrored = {message.seq: (message.ts, message.data) for message in world.rows("M")}
        origin = {message.seq: (message.ts, message.data) for message in world.rows("O")}
        assert mirrored.items() >= origin.items()
        assert mirrored.items() <= self.at_once.items()
        sourced = world.rows("S")
        for start, wanted in ((b"O", b"O.1"), (b"P", b"")):
            own = [int(message.data) for message in sourced if message.subject.startswith(start)]
            assert own == sorted(set(own))
            held = world.rows(start.decode())
            assert {int(m.data) for m in held if not wanted or m.subject == wanted} <= set(own)
        for queue, copy in (("Q", "T"), ("R", "N")):
            work = [int(message.data) for message in world.rows(copy)]
            assert work == sorted(set(work))
            assert world.rows(queue) == []
            assert len(work) == world.js.streams[queue].store.last_seq


class FileCopies(CrashingMachine, CopyMachine):
    @rule()
    def crash(self) -> None:
        """What no commit has taken is gone: its sequences will be used again."""
        while self.world.store.busy:
            self.world.turn(0.0005)
        self.note()
        self.world.crash()
        self.start_again(away=1)
        last = self.world.js.streams["O"].store.last_seq
        self.at_once = {seq: what for seq, what in self.at_once.items() if seq <= last}

    @rule()
    def restart(self) -> None:
        self.world.settle()
        self.note()
        self.world.close()
        self.start_again(away=1)


class MemoryCopies(CopyMachine):
    storage = "memory"


FileCopies.TestCase.settings = quick(10, 20)
MemoryCopies.TestCase.settings = quick(10, 20)
TestFile: type = FileCopies.TestCase
TestMemory: type = MemoryCopies.TestCase
