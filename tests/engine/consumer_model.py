"""A consumer as a few dicts: what it may deliver, what it owes, what its numbers must be.

The model does not foretell deliveries, it judges them. Every message that a client receives is told to the
model, which refuses what the rules do not allow: a message out of order, a skipped one, a wrong count, one
that is not due. After each step `idle` refuses what was not done: a message that could have been delivered,
a request that should have ended. Everything is computed from the messages of the stream, slowly.

Times are seconds of the test's clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jetstream_py.subject import matches
from tests.engine.model import StreamModel

SECOND = 1_000_000_000


class Config(NamedTuple):
    """The part of a consumer's configuration that histories choose."""

    ack: str = "explicit"
    filters: tuple[str, ...] = ()
    wait: float = 2.0
    backoff: tuple[float, ...] = ()
    max_deliver: int = -1
    max_pending: int = 1000
    start: str = "all"
    start_seq: int = 0
    push: bool = False

    def body(self, name: str) -> dict[str, object]:
        body: dict[str, object] = {
            "durable_name": name,
            "ack_policy": self.ack,
            "deliver_policy": self.start,
            "max_deliver": self.max_deliver,
        }
        if self.filters:
            body["filter_subjects"] = self.filters
        if self.start_seq:
            body["opt_start_seq"] = self.start_seq
        if self.ack != "none":
            body["max_ack_pending"] = self.max_pending
            if self.backoff:
                body["backoff"] = [round(each * SECOND) for each in self.backoff]
            else:
                body["ack_wait"] = round(self.wait * SECOND)
        if self.push:
            body["deliver_subject"] = f"deliver.{name}"
        return body

    def covers(self, subject: str) -> bool:
        return not self.filters or any(
            matches(subject.encode(), name.encode()) for name in self.filters
        )

    def patience(self, deliveries: int) -> float:
        """How long an ack may take for the n-th delivery."""
        if self.backoff:
            return self.backoff[min(deliveries, len(self.backoff)) - 1]
        return self.wait


@dataclass(slots=True)
class Debt:
    """A delivery that was not acked."""

    dseq: int  # of the first delivery
    deliveries: int
    since: float
    again: bool = False  # to be delivered again as soon as somebody wants it


@dataclass(slots=True)
class Request:
    """A pull that waits."""

    left: int
    budget: int = 0  # bytes, 0 for any number
    no_wait: bool = False
    expires: float = 0.0  # a time, 0 for never
    got: int = 0
    kept: bool = False  # it met the limit of open acks: from then on it waits


@dataclass(slots=True)
class State:
    """What a journal must bring back."""

    next_seq: int = 1
    next_dseq: int = 1
    owed: dict[int, Debt] = field(default_factory=dict)
    given_up: dict[int, int] = field(default_factory=dict)  # deliveries of what came too often
    chosen: list[int] = field(default_factory=list)  # last_per_subject: what comes first ...
    resume: int = 0  # ... and the sequence behind which everything follows


class Delivery(NamedTuple):
    """What the ack subject of a message says."""

    deliveries: int
    seq: int
    dseq: int
    pending: int


class RetainedModel(StreamModel):
    """A stream whose consumers may decide what stays."""

    def __init__(self, storage: str, retention: str) -> None:
        super().__init__(storage)
        self.retention = retention
        self.consumers: dict[str, ConsumerModel] = {}

    def publish(self, subject: str, data: bytes, msg_id: str = "") -> dict[str, Any]:
        interest = any(each.config.covers(subject) for each in self.consumers.values())
        if self.retention == "interest" and not interest:
            self.last_seq += 1
            self.begun = True
            return {"seq": self.last_seq}
        return super().publish(subject, data, msg_id)

    def settled(self, seqs: Iterable[int]) -> None:
        """A consumer is done with these."""
        for seq in seqs:
            needed = any(each.needs(seq) for each in self.consumers.values())
            if self.retention == "workqueue" or (self.retention == "interest" and not needed):
                self.all.pop(seq, None)

    def release(self) -> None:
        """A consumer is gone, or wants less."""
        if self.retention == "interest":
            self.settled(list(self.all))


class ConsumerModel:
    """One consumer of the stream, with those who pull from it."""

    def __init__(self, stream: RetainedModel, config: Config) -> None:
        self.stream = stream
        self.config = config
        self.state = State()
        self.searched = 0  # how far somebody has looked in vain ...
        self.skipped = 0  # ... for another filter: what was there then is not looked at again
        self.bound = False
        self.requests: dict[int, Request] = {}
        self.since_write: list[State] = []  # states that a crash may bring back, oldest first
        self.floor = (0, 0)
        self.expected_start = self._begin()

    # -- positions ---------------------------------------------------------------------------------

    def matches(self, since: int = 0) -> list[int]:
        stored = self.stream.all
        return [
            seq
            for seq in sorted(stored)
            if seq >= since and self.config.covers(stored[seq].subject)
        ]

    def _begin(self) -> list[int]:
        """What a new consumer has before it."""
        everything = self.matches()
        match self.config.start:
            case "new":
                return []
            case "last":
                return everything[-1:]
            case "by_start_sequence":
                return self.matches(self.config.start_seq)
            case "last_per_subject":
                newest = {self.stream.all[seq].subject: seq for seq in everything}
                self.state.chosen = sorted(newest.values())
                self.state.resume = self.stream.last_seq
                return self.state.chosen
        return everything

    def ahead(self) -> list[int]:
        """What was not delivered yet, in order."""
        chosen = [seq for seq in self.state.chosen if seq in self.stream.all]
        if chosen:
            return chosen + self.matches(self.state.resume + 1)
        resume = self.state.resume + 1 if self.state.chosen else 0
        return self.matches(max(self.state.next_seq, self.skipped, resume))

    def change(self, filters: tuple[str, ...]) -> None:
        """Look for other subjects from here on."""
        self.config = self.config._replace(filters=filters)
        self.skipped = self.searched

    def moved_to(self, next_seq: int) -> None:
        """The consumer says that it stands elsewhere: it may have skipped nothing."""
        before = self.ahead()
        assert next_seq >= self.state.next_seq, "it went back"
        self.state.next_seq = next_seq
        assert self.ahead() == before, f"it moved to {next_seq}"

    # -- what clients receive ----------------------------------------------------------------------

    def delivered(self, named: Delivery, size: int, sid: int, now: float) -> None:
        """A message came: may it?"""
        state, seq = self.state, named.seq
        assert seq in self.stream.all, f"{seq} is not in the stream"
        assert named.dseq == state.next_dseq, "consumer sequences rise by one"
        state.next_dseq += 1
        if named.deliveries == 1:
            self._first_time(seq, now)
        else:
            debt = state.owed[seq]
            assert debt.again, f"{seq} came again before its time"
            assert named.deliveries == debt.deliveries + 1
            most = self.config.max_deliver
            assert most < 0 or named.deliveries <= most, "delivered too often"
            state.owed[seq] = Debt(debt.dseq, named.deliveries, now)
        assert named.pending == len(self.ahead()), "pending in the ack subject"
        if not self.config.push:
            self._taken(self.requests[sid], size, sid)
        self.note()

    def _first_time(self, seq: int, now: float) -> None:
        state, ahead = self.state, self.ahead()
        assert ahead[:1] == [seq], f"{seq} came first, {ahead[:3]} was next"
        assert not self._due(), f"{seq} is new, {self._due()} had to come again before"
        self._give_up_all()
        if self.state.chosen and seq <= self.state.resume:
            self.state.chosen = [each for each in self.state.chosen if each > seq]
            if not self.state.chosen:
                self.state.resume = 0
        state.next_seq = seq + 1
        if self.config.ack == "none":
            self.stream.settled([seq])
            return
        state.owed[seq] = Debt(state.next_dseq - 1, 1, now)
        assert len(state.owed) <= self.config.max_pending, "more are owed than may be"

    def may_again(self, debt: Debt) -> bool:
        return self.config.max_deliver < 0 or debt.deliveries < self.config.max_deliver

    def _taken(self, request: Request, size: int, sid: int) -> None:
        request.got += 1
        request.left -= 1
        if request.budget:
            assert size <= request.budget, "more bytes than asked for"
            request.budget -= size
            if request.left == 0 and request.budget > 0:
                return  # a status follows
        if request.left == 0:
            del self.requests[sid]

    def ended(self, sid: int, status: str, now: float) -> None:
        """A status ended a request: is it true?"""
        request = self.requests.pop(sid)
        nothing = not self.ahead() and not self._due()
        wanted = sum(each.left for each in self.requests.values())
        match status:
            case "404 No Messages":
                assert request.no_wait
                assert nothing
                if self._give_up_all() or request.got:  # otherwise nobody had to look
                    self.searched = self.stream.last_seq + 1
            case "408 Requests Pending":
                assert request.no_wait
                assert not request.got
                again = sum(debt.again for debt in self.state.owed.values())
                assert 0 < len(self.ahead()) + again < wanted
            case "408 Request Timeout":
                assert 0 < request.expires <= now
            case "409 Batch Completed":
                assert request.left == 0
                assert request.budget > 0
            case "409 Message Size Exceeds MaxBytes":
                assert request.left > 0
                assert request.budget > 0
            case _:
                raise AssertionError(f"an unexpected status: {status}")

    # -- what clients say --------------------------------------------------------------------------

    def acked(self, named: Delivery) -> bool:
        """An ack, or the end of a message. False: nothing was named, so nothing is confirmed."""
        state, seq = self.state, named.seq
        if seq >= state.next_seq:
            return False
        if self.config.ack == "all":
            floor_dseq, floor_seq = self.floor
            if named.dseq > floor_dseq and seq > floor_seq:
                self.floor = (min(named.dseq, state.next_dseq - 1), seq)  # a crash may undo dseqs
                self._settle([each for each in state.owed if each <= seq])
        else:
            state.given_up.pop(seq, None)
            self._settle([seq])
        self.note()
        return True

    def _settle(self, seqs: list[int]) -> None:
        for seq in seqs:
            self.state.owed.pop(seq, None)
        self.stream.settled(seqs)

    def naked(self, named: Delivery, delay: float, now: float) -> bool:
        debt = self.state.owed.get(named.seq)
        if debt is not None:
            debt.again = not delay
            if delay:
                debt.since = now + delay - self.config.patience(debt.deliveries)
        return named.seq < self.state.next_seq

    def progressed(self, named: Delivery, now: float) -> bool:
        debt = self.state.owed.get(named.seq)
        if debt is not None:
            debt.since = now
        return named.seq < self.state.next_seq

    # -- what happens by itself --------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Acks that are late: the message is to come again, or is given up."""
        for seq, debt in list(self.state.owed.items()):
            if not debt.again and debt.since + self.config.patience(debt.deliveries) <= now:
                if self.may_again(debt):
                    debt.again = True
                else:
                    self._give_up(seq)

    def _give_up(self, seq: int) -> None:
        debt = self.state.owed.pop(seq)
        self.state.given_up[seq] = debt.deliveries

    def _due(self) -> list[int]:
        """What is to come again as soon as somebody wants it."""
        owed = self.state.owed.items()
        return [seq for seq, debt in owed if debt.again and self.may_again(debt)]

    def _give_up_all(self) -> bool:
        """Somebody wanted messages: those that were asked for again too often are over now."""
        owed = self.state.owed.items()
        over = [seq for seq, debt in owed if debt.again and not self.may_again(debt)]
        for seq in over:
            self._give_up(seq)
        return bool(over)

    def gone(self, purged: bool = False) -> None:
        """Messages have left the stream: nobody owes them."""
        stored, state = self.stream.all, self.state
        lost = [seq for seq in state.owed if seq not in stored]
        if lost and self.config.ack == "all" and not purged:  # an end counts as an ack there
            newest = max(lost)
            lost = [seq for seq in state.owed if seq <= newest]
        self._settle(lost)
        state.given_up = {seq: n for seq, n in state.given_up.items() if seq in stored}

    def idle(self, now: float) -> None:
        """Nothing is left to do."""
        if self.bound if self.config.push else self.requests:
            assert not self._due(), f"{self._due()} should have come again"
            self._give_up_all()
            if self._room():
                assert not self.ahead(), f"{self.ahead()[:5]} should have come"
                self.searched = self.stream.last_seq + 1
        for request in self.requests.values():
            assert not 0 < request.expires <= now, "a request should have expired"
            assert request.left > 0, "a request should have ended"
            request.kept |= not self._room()
            if request.no_wait and not request.kept and not self.ahead():
                assert request.expires, "a request that does not wait waits"
                assert not request.got, "a request that got something goes on"

    def _room(self) -> bool:
        return self.config.ack == "none" or len(self.state.owed) < self.config.max_pending

    def needs(self, seq: int) -> bool:
        """Is this consumer a reason to keep a message?"""
        stored = self.stream.all.get(seq)
        state = self.state
        wanted = seq in state.owed or seq in state.given_up or seq in self.ahead()
        return stored is not None and wanted and self.config.covers(stored.subject)

    # -- numbers -----------------------------------------------------------------------------------

    def info(self) -> dict[str, int]:
        state = self.state
        again = [debt for debt in state.owed.values() if debt.deliveries > 1]
        return {
            "num_pending": len(self.ahead()),
            "num_ack_pending": len(state.owed),
            "num_redelivered": 0
            if self.config.max_deliver == 1
            else len(again) + len(state.given_up),
            "num_waiting": len(self.requests),
            "delivered": state.next_dseq - 1,
            "delivered_stream": state.next_seq - 1,
        }

    def check_floor(self, floor: tuple[int, int]) -> None:
        """It moves forward only, and never over what is not settled."""
        assert floor[0] >= self.floor[0], f"the floor fell from {self.floor} to {floor}"
        assert floor[1] >= self.floor[1], f"the floor fell from {self.floor} to {floor}"
        assert all(floor[1] < seq for seq in self.state.owed)
        assert all(floor[1] < seq for seq in self.ahead())
        assert floor[0] < self.state.next_dseq
        self.floor = floor

    # -- crashes -----------------------------------------------------------------------------------

    def written(self) -> None:
        """What is the case now will be found after a crash, or something newer."""
        self.since_write = [deepcopy(self.state)]

    def note(self) -> None:
        if not self.since_write or self.since_write[-1] != self.state:
            self.since_write.append(deepcopy(self.state))

    def restarted(self, found: State) -> None:
        """The server is up again: the state must be one of those that were since the last write."""
        possible = [self._after(state) for state in self.since_write]
        for state in reversed(possible):
            if _shape(state) == _shape(found):
                self.state = state
                break
        else:
            raise AssertionError(f"found {_shape(found)}, not one of {list(map(_shape, possible))}")
        self.bound = False
        self.searched = self.skipped = 0
        self.requests.clear()
        self.floor = (0, 0)
        self.written()

    def _after(self, state: State) -> State:
        """What is gone from the stream is owed no more, and nobody remembers who asked for it again."""
        stored = self.stream.all
        state = deepcopy(state)
        state.owed = {seq: debt for seq, debt in state.owed.items() if seq in stored}
        for debt in state.owed.values():
            debt.again = False
        state.given_up = {seq: n for seq, n in state.given_up.items() if seq in stored}
        return state


def _shape(state: State) -> tuple[object, ...]:
    """Without times."""
    owed = {seq: (debt.dseq, debt.deliveries) for seq, debt in sorted(state.owed.items())}
    return state.next_seq, state.next_dseq, owed, sorted(state.given_up)
