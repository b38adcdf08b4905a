"""Histories of messages with a TTL against a model: markers, deletes, restarts, crashes, time away.

What is past its time is gone within half a second, or when the server is back; what is not stays. Where the
last message of a subject went there is a marker, if the stream has them, which goes in its own time.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from jetstream_py import headers as hdr
from jetstream_py.store import Message
from tests.engine.histories import FAILURES, CrashingMachine, HistoryMachine, quick
from tests.engine.world import SECOND

SUBJECTS = st.sampled_from(["s.a", "s.b", "s.c"])
TTLS = st.sampled_from(["", "1", "2s", "6", "9s", "1h", "never"])
SECONDS: Final = {"": 0, "1": 1, "2s": 2, "6": 6, "9s": 9, "1h": 3_600, "never": 0}
MARKER: Final = 5  # seconds that a marker lives; a TTL is not shorter
LATE: Final = SECOND // 2


class Held(NamedTuple):
    """A message; without an `end` it stays."""

    subject: bytes
    end: int
    marker: bool = False


class TtlMachine(HistoryMachine):
    """Rules for streams with and without markers."""

    markers = False

    def begin(self) -> None:
        self.held: dict[int, Held] = {}
        self.seq = 0
        config: dict[str, object] = {"allow_msg_ttl": True, "allow_rollup_hdrs": True}
        if self.markers:
            config["subject_delete_marker_ttl"] = MARKER * SECOND
        assert "error" not in self.world.create(storage=self.storage, **config)

    @property
    def now(self) -> int:
        return self.world.bench.clock.now_ns()

    def of(self, subject: bytes) -> list[int]:
        return [seq for seq, held in self.held.items() if held.subject == subject]

    # -- publishers --------------------------------------------------------------------------------

    def stored(self, subject: str, ttl: str) -> int:
        seconds = SECONDS[ttl]
        if self.markers and seconds:
            seconds = max(seconds, MARKER)
        self.seq += 1
        self.held[self.seq] = Held(subject.encode(), self.now + seconds * SECOND if seconds else 0)
        return self.seq

    @rule(steps=st.lists(st.tuples(SUBJECTS, TTLS), min_size=1, max_size=8))
    def publish(self, steps: list[tuple[str, str]]) -> None:
        """In one read: with and without a TTL, from publishers that do not wait for each other."""
        for subject, ttl in steps:
            self.world.send(subject, b"x", f"Nats-TTL: {ttl}" if ttl else "")
        self.world.settle()
        expected = [self.stored(subject, ttl) for subject, ttl in steps]
        assert [answer["seq"] for answer in self.world.answers()] == expected

    @rule(subject=SUBJECTS, ttl=TTLS)
    def roll_up(self, subject: str, ttl: str) -> None:
        wishes = f"Nats-Rollup: sub\r\nNats-TTL: {ttl}" if ttl else "Nats-Rollup: sub"
        for seq in self.of(subject.encode()):
            del self.held[seq]
        assert self.world.ask(subject, b"x", wishes)["seq"] == self.stored(subject, ttl)

    @precondition(lambda self: self.held)
    @rule(pick=st.integers(0, 1 << 20))
    def delete(self, pick: int) -> None:
        seq = sorted(self.held)[pick % len(self.held)]
        del self.held[seq]
        assert self.world.ask("$JS.API.STREAM.MSG.DELETE.S", b'{"seq":%d}' % seq)["success"]

    # -- time --------------------------------------------------------------------------------------

    @rule(seconds=st.integers(1, MARKER - 1))
    def pass_time(self, seconds: int) -> None:
        """Less than a marker lives, so that none is missed."""
        self.world.pass_time(seconds)
        self.check()

    def recovered(self) -> None:
        self.world.settle()
        self.check()

    def check(self) -> None:
        rows = {message.seq: message for message in self.world.rows("S")}
        gone: dict[bytes, list[Held]] = {}
        for seq, held in list(self.held.items()):
            if seq in rows:
                assert not held.end or held.end > self.now - LATE, "it should be gone"
            else:
                assert held.end, "it has no end"
                assert held.end <= self.now, "it went too soon"
                gone.setdefault(held.subject, []).append(self.held.pop(seq))
        for subject, lost in gone.items():
            if self.markers and not self.of(subject):
                self._find_marker(rows, subject, lost)
        assert rows.keys() == self.held.keys()
        last = self.world.js.streams["S"].store.last_seq
        assert last == self.seq

    def _find_marker(self, rows: dict[int, Message], subject: bytes, lost: list[Held]) -> None:
        """The last of a subject has left one. (Whether that was a marker itself, the order tells.)"""
        found = [
            row for seq, row in rows.items() if row.subject == subject and seq not in self.held
        ]
        kinds = {held.marker for held in lost}
        assert len(found) == 1 if kinds == {False} else not found if kinds == {True} else True
        for row in found:
            assert hdr.get(row.headers, hdr.MARKER_REASON) == b"MaxAge"
            assert min(held.end for held in lost) <= row.ts <= self.now
            self.held[row.seq] = Held(subject, row.ts + MARKER * SECOND, marker=True)
            self.seq = max(self.seq, row.seq)


class MarkersInMemory(TtlMachine):
    storage = "memory"
    markers = True


class FileMachine(CrashingMachine, TtlMachine):
    @rule(away=st.sampled_from([0.5, 3.0, 60.0]))
    def stay_away(self, away: float) -> None:
        """What is due while there is no server goes when it is back."""
        self.world.crash()
        self.start_again(away)

    @rule(point=st.sampled_from(sorted(FAILURES)), seconds=st.integers(1, MARKER - 1))
    def fail(self, point: str, seconds: int) -> None:
        """The commit of what time does fails: it is done again after the next start."""
        with self.failing(point):
            self.world.pass_time(seconds)
        self.world.crash()
        self.start_again()


class MarkersOnDisk(FileMachine):
    markers = True


for machine in (MarkersInMemory, FileMachine, MarkersOnDisk):
    machine.TestCase.settings = quick(12, 20)
TestMarkersInMemory: type = MarkersInMemory.TestCase
TestFile: type = FileMachine.TestCase
TestMarkersOnDisk: type = MarkersOnDisk.TestCase
