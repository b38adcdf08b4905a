"""Whole histories through the wire protocol, against a model: publishes, deletes, purges, changed limits,
restarts, crashes between commits and failures in the middle of one.

What was answered is durable and what the model says. A request whose commit fails gets no answer; what is
found after the next start is the state before it or behind it, as far as the commit got, never between.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from tests.engine.histories import FAILURES, WINDOW, CrashingMachine, HistoryMachine, quick
from tests.engine.model import Limits, StreamModel

SUBJECTS = st.sampled_from(["s.a", "s.b", "s.a.x", "s.c.1", "s.c.2", "s.c.3"])
PATTERNS = st.sampled_from(["", ">", "s.a", "s.*", "s.c.>", "s.nobody", "*.c.*"])
DATA = st.sampled_from([b"", b"x", b"y" * 100, b"z" * 900, b"w" * 2_500])
IDS = st.sampled_from(["", "", "1", "2", "3"])
PICK = st.integers(0, 1 << 20)
LIMITS = st.builds(
    Limits,
    max_msgs=st.sampled_from([-1, -1, 1, 7, 20]),
    max_bytes=st.sampled_from([-1, -1, 500, 4_000]),
    max_msgs_per_subject=st.sampled_from([-1, -1, 1, 3]),
    discard=st.sampled_from(["old", "old", "new"]),
)


class StreamMachine(HistoryMachine):
    """Rules for any stream."""

    def begin(self) -> None:
        self.model = StreamModel(self.storage)
        assert "error" not in self.world.create(**self.config())

    def config(self) -> dict[str, object]:
        return {"storage": self.storage, "duplicate_window": WINDOW, **self.model.limits._asdict()}

    def seq(self, pick: int) -> int:
        return pick % (self.model.last_seq + 3)

    # -- requests ----------------------------------------------------------------------------------

    @rule(subject=SUBJECTS, data=DATA, msg_id=IDS)
    def publish(self, subject: str, data: bytes, msg_id: str) -> None:
        expected = self.model.publish(subject, data, msg_id)
        answer = self.world.ask(subject, data, f"Nats-Msg-Id: {msg_id}" if msg_id else "")
        found = {**answer, "error": answer["error"]["description"]} if "error" in answer else answer
        assert found == {"stream": "S", **expected}

    @rule(subjects=st.lists(SUBJECTS, min_size=2, max_size=30), data=DATA)
    def publish_many(self, subjects: list[str], data: bytes) -> None:
        """In one tick: one group."""
        for subject in subjects:
            self.world.send(subject, data)
        self.world.settle()
        expected = [self.model.publish(subject, data, "") for subject in subjects]
        assert [answer["seq"] for answer in self.world.answers()] == [e["seq"] for e in expected]

    @rule(pick=PICK, no_erase=st.booleans())
    def delete(self, pick: int, no_erase: bool) -> None:
        seq = self.seq(pick)
        body = json.dumps({"seq": seq, "no_erase": no_erase}).encode()
        answer = self.world.ask("$JS.API.STREAM.MSG.DELETE.S", body)
        assert answer.get("success", False) is self.model.delete(seq)

    @rule(pattern=PATTERNS, pick=PICK, how=st.sampled_from(["", "seq", "keep"]))
    def purge(self, pattern: str, pick: int, how: str) -> None:
        number = {"seq": self.seq(pick), "keep": pick % 5}.get(how, 0)
        expected = self.model.purge(pattern, **({how: number} if how else {}))
        body = {"filter": pattern, how: number} if how else {"filter": pattern}
        self.world.send("$JS.API.STREAM.PURGE.S", json.dumps(body).encode())
        while not (answers := self.world.answers()):
            self.world.turn(0.0005)
        assert answers[0]["purged"] == expected

    @rule(new=LIMITS)
    def update(self, new: Limits) -> None:
        self.model.change(new)
        body = {"name": "S", "subjects": ["s.>"], **self.config()}
        answer = self.world.ask("$JS.API.STREAM.UPDATE.S", json.dumps(body).encode())
        assert "error" not in answer

    @rule(pick=PICK)
    def get(self, pick: int) -> None:
        seq = self.seq(pick)
        body = json.dumps({"seq": seq}).encode()
        answer = self.world.ask("$JS.API.STREAM.MSG.GET.S", body)
        known = self.model.all.get(seq)
        if known is None:
            assert answer["error"]
        else:
            found = answer["message"]
            data = base64.b64decode(found.get("data", ""))
            assert (found["subject"], data) == (known.subject, known.data)

    def recovered(self) -> None:
        self.model.restart()

    @invariant()
    def state(self) -> None:
        body = json.dumps({"subjects_filter": ">", "deleted_details": True}).encode()
        state: dict[str, Any] = self.world.ask("$JS.API.STREAM.INFO.S", body)["state"]
        model = self.model
        assert (state["messages"], state["bytes"]) == (len(model.all), model.total)
        assert (state["first_seq"], state["last_seq"]) == (model.first_seq, model.last_seq)
        assert state.get("subjects", {}) == Counter(m.subject for m in model.all.values())
        assert state.get("deleted", []) == model.deleted()


class MemoryMachine(StreamMachine):
    storage = "memory"


class FileMachine(CrashingMachine, StreamMachine):
    @precondition(lambda self: self.model.all)
    @rule(point=st.sampled_from(sorted(FAILURES)), subject=SUBJECTS, data=DATA)
    def fail(self, point: str, subject: str, data: bytes) -> None:
        """The commit of a publish fails, then the process dies."""
        with self.failing(point):
            self.world.send(subject, data)
        if self.world.failure:
            assert self.world.answers() == []
            if FAILURES[point]:
                self.model.publish(subject, data, "")
        else:  # refused at once, or accepted and without need of that place
            [answer] = self.world.answers()
            expected = self.model.publish(subject, data, "")
            assert answer["seq"] == expected["seq"]
        self.world.crash()
        self.start_again()


MemoryMachine.TestCase.settings = quick(25, 30)
FileMachine.TestCase.settings = quick(25, 30)
TestMemory: type = MemoryMachine.TestCase
TestFile: type = FileMachine.TestCase
