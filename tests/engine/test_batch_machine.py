"""Histories of atomic batches against a model: publishers in turns, gaps, restarts, crashes, failing disks.

A batch is there as a whole or not at all, whatever happens; what was answered is there. What is refused is
what the model refuses, which takes one message after the other and everything back at the first fault.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from jetstream_py import limits
from tests.engine.batch_model import BatchModel, Part
from tests.engine.histories import FAILURES, WINDOW, CrashingMachine, HistoryMachine, quick
from tests.engine.test_machine import DATA

BATCHES = st.sampled_from(["x", "y", "z"])
PARTS = st.builds(
    Part,
    st.sampled_from(["s.a", "s.b", "s.c"]),
    DATA,
    st.sampled_from(["", "", "", "last", "own", "id", "sub", "all"]),
    st.sampled_from(["1", "2", "3"]),
)
EMPTY_ACK = b"MSG _INBOX.a 1 0\r\n\r\n"


class BatchMachine(HistoryMachine):
    def begin(self) -> None:
        self.model = BatchModel()
        config = {"allow_atomic": True, "allow_rollup_hdrs": True, "duplicate_window": WINDOW}
        assert "error" not in self.world.create(storage=self.storage, **config)

    # -- publishers --------------------------------------------------------------------------------

    def exact(self, part: Part, exact: bool) -> Part:
        """Let an expectation be right; about the stream as it is now."""
        if not exact or part.wish not in ("last", "own"):
            return part
        last = self.model.last_seq if part.wish == "last" else self.model.last(part.subject)
        return part._replace(about=str(last))

    def send(self, batch: str, seq: int, part: Part, commit: str = "") -> None:
        headers = f"Nats-Batch-Id: {batch}\r\nNats-Batch-Sequence: {seq}"
        if commit:
            headers += f"\r\nNats-Batch-Commit: {commit}"
        if part.header:
            headers += f"\r\n{part.header}"
        self.world.send(part.subject, part.data, headers)

    def answered(self) -> dict[str, Any]:
        self.world.settle()
        [answer] = self.world.answers()
        found: dict[str, Any] = answer.get("error") or answer
        return found

    @rule(batch=BATCHES, part=PARTS, exact=st.booleans())
    def add(self, batch: str, part: Part, exact: bool) -> None:
        part = self.exact(part, exact)
        parts = self.model.open.setdefault(batch, [])
        parts.append(part)
        self.send(batch, len(parts), part)
        self.world.settle()
        assert self.world.client.read() == EMPTY_ACK

    @rule(batch=BATCHES, part=PARTS, exact=st.booleans())
    def commit(self, batch: str, part: Part, exact: bool) -> None:
        part = self.exact(part, exact)
        parts = [*self.model.open.get(batch, []), part]
        self.send(batch, len(parts), part, "1")
        self.compare(self.model.commit(batch, parts))

    @precondition(lambda self: self.model.open)
    @rule(pick=st.integers(0, 2), part=PARTS)
    def end(self, pick: int, part: Part) -> None:
        batch = sorted(self.model.open)[pick % len(self.model.open)]
        parts = self.model.open[batch]
        self.send(batch, len(parts) + 1, part, "eob")
        self.compare(self.model.commit(batch, parts))

    def compare(self, expected: dict[str, Any]) -> None:
        answer = self.answered()
        assert {name: answer.get(name) for name in expected} == expected

    @rule(batch=BATCHES, part=PARTS, off=st.sampled_from([-1, 1, 5]))
    def lose(self, batch: str, part: Part, off: int) -> None:
        """A message is missing, or comes again."""
        seq = len(self.model.open.pop(batch, ())) + 1 + off
        self.send(batch, seq, part)
        assert self.answered()["err_code"] == 10176

    @rule(parts=st.lists(PARTS, min_size=2, max_size=12))
    def at_once(self, parts: list[Part]) -> None:
        """All in one read, with a plain message in the middle."""
        self.model.open.pop("w", None)
        middle = len(parts) // 2
        for seq, part in enumerate(parts, 1):
            self.send("w", seq, part, "1" if seq == len(parts) else "")
            if seq == middle:
                self.world.send("s.d", b"plain")
        self.model.last_seq += 1
        self.model.all[self.model.last_seq] = "s.d", b"plain"
        expected = self.model.commit("w", parts)
        self.world.settle()
        plain, answer = self.world.answers()
        answer = answer.get("error") or answer
        assert "batch" not in plain
        assert {name: answer.get(name) for name in expected} == expected

    @rule(subject=st.sampled_from(["s.a", "s.b", "s.d"]), data=DATA)
    def publish(self, subject: str, data: bytes) -> None:
        self.model.last_seq += 1
        self.model.all[self.model.last_seq] = subject, data
        assert self.world.ask(subject, data)["seq"] == self.model.last_seq

    @rule(seconds=st.sampled_from([9.0, 11.0]))
    def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)
        if seconds > limits.BATCH_TIMEOUT:
            self.model.open.clear()
        else:  # they are heard of, so that none of them is dropped by the next step
            for batch, parts in self.model.open.items():
                parts.append(Part("s.a", b""))
                self.send(batch, len(parts), parts[-1])
            self.world.settle()
            assert self.world.answers() == []

    def recovered(self) -> None:
        self.model.restart()

    @invariant()
    def stored(self) -> None:
        store = self.world.js.streams["S"].store
        assert store.last_seq == self.model.last_seq
        found = {seq: store.get(seq) for seq in range(1, store.last_seq + 1)}
        kept = {seq: (it.subject.decode(), it.data) for seq, it in found.items() if it}
        assert kept == self.model.all

    @invariant()
    def counted(self) -> None:
        atomic = self.world.engine.atomic
        assert atomic.count == len(self.model.open)
        assert (atomic.bytes == 0) is (not self.model.open)


class MemoryMachine(BatchMachine):
    storage = "memory"


class FileMachine(CrashingMachine, BatchMachine):
    @rule(
        point=st.sampled_from(sorted(FAILURES)),
        parts=st.lists(PARTS, min_size=2, max_size=12),
        exact=st.booleans(),
    )
    def fail(self, point: str, parts: list[Part], exact: bool) -> None:
        """The group commit of a batch fails, then the process dies."""
        for seq, part in enumerate(parts[:-1], 1):
            self.send("f", seq, part)
        self.world.settle()
        self.world.client.read()
        with self.failing(point):
            self.send("f", len(parts), parts[-1], "1")
        if self.world.failure:
            assert self.world.answers() == []
            if FAILURES[point]:
                self.model.commit("f", parts)
        else:  # refused, or without need of that place
            [answer] = self.world.answers()
            assert ("error" in answer) is ("err_code" in self.model.commit("f", parts))
        self.world.crash()
        self.start_again()


MemoryMachine.TestCase.settings = quick(25, 30)
FileMachine.TestCase.settings = quick(25, 30)
TestMemory: type = MemoryMachine.TestCase
TestFile: type = FileMachine.TestCase
