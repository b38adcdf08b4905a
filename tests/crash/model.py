"""What a store may look like after a crash, given what was asked of it and what it answered.

The model knows every request that was sent and every answer that was received. An answer is a promise:
what it says must be there, with the same content, at the same sequence. A publish without an answer may
have happened or not, but only once, whole, and in its connection's order; a purge without an answer may
have happened in part. Everything else about a recovered stream follows from its messages, so the
counters must equal what a full scan finds.

After an audit the doubts are settled: what was not found did not happen, and must not appear later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

FILLER = bytes(range(256)) * 512
RECORD = 30  # what a stored message adds to `bytes` besides its parts ...
HEADERS = 4  # ... and a block of headers besides its length
ZERO_TIME = "0001-01-01T00:00:00Z"


class Broken(AssertionError):
    """The store does not keep what the server promised."""


@dataclass(frozen=True, slots=True)
class Rules:
    """A stream and what may remove its messages by itself."""

    name: str
    subjects: str
    per_subject: int = 0
    most: int = 0
    ids: bool = False

    @property
    def config(self) -> dict[str, Any]:
        limits = {"max_msgs_per_subject": self.per_subject, "max_msgs": self.most}
        return {
            "name": self.name,
            "subjects": [self.subjects],
            "storage": "file",
            **{key: value for key, value in limits.items() if value},
        }


PLAIN = Rules("PLAIN", "plain.>")
KEYS = Rules("KEYS", "keys.*", per_subject=1)
CAP = Rules("CAP", "cap.*", most=300)
IDS = Rules("IDS", "ids.*", ids=True)
STREAMS = (PLAIN, KEYS, CAP, IDS)


@dataclass(frozen=True, slots=True)
class Publish:
    """A message to store. `token` numbers all requests; it is also what the payload begins with."""

    token: int
    stream: str
    subject: bytes
    size: int
    connection: int
    headers: bytes = b""
    repeats: int = 0  # the token of the publish whose message id this one has again

    @property
    def payload(self) -> bytes:
        start = b"%d:" % self.token
        return start + FILLER[self.token % 251 :][: max(0, self.size - len(start))]

    @property
    def bytes(self) -> int:
        head = HEADERS + len(self.headers) if self.headers else 0
        return RECORD + len(self.subject) + len(self.payload) + head


@dataclass(frozen=True, slots=True)
class Removal:
    """A delete or a purge, of which it is known in advance what it takes."""

    token: int
    stream: str
    verb: str
    body: bytes
    seqs: frozenset[int]


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as the server gives it back."""

    seq: int
    subject: bytes
    headers: bytes
    payload: bytes
    time: str

    @property
    def token(self) -> int:
        number, _, _ = self.payload.partition(b":")
        return int(number) if number.isdigit() else -1


@dataclass(slots=True)
class Snapshot:
    """A recovered stream: its state as told, and the messages as found one by one."""

    state: Mapping[str, Any]
    found: dict[int, Stored]


@dataclass(slots=True)
class StreamModel:
    """One stream's promises and doubts."""

    rules: Rules
    created: bool = False
    published: dict[int, Publish] = field(default_factory=dict)
    doubtful: dict[int, Publish] = field(default_factory=dict)  # sent, without an answer
    seq_of: dict[int, int] = field(default_factory=dict)  # by token
    token_at: dict[int, int] = field(default_factory=dict)  # by sequence
    gone: set[int] = field(default_factory=set)  # removed, as answered or as seen
    removing: dict[int, Removal] = field(default_factory=dict)  # sent, without an answer
    removed: int = 0  # how many messages removals took below a limit, at most
    lost: set[int] = field(default_factory=set)  # tokens that did not make it
    settled: int = 0  # last_seq of the last audit: new messages come after it
    floor: int = 0  # every sequence up to here is known

    # -- what was said -----------------------------------------------------------------------------

    def send(self, publish: Publish) -> None:
        self.doubtful[publish.token] = publish
        if not publish.repeats:
            self.published[publish.token] = publish

    def acked(self, token: int, seq: int, duplicate: bool) -> None:
        publish = self.doubtful.pop(token)
        if publish.repeats:
            self._must(duplicate, f"{publish} was stored again at {seq}")
            expected = self.seq_of.get(publish.repeats, seq)
            self._must(seq == expected, f"{publish} is said to be at {seq}, not {expected}")
            return
        self._must(not duplicate, f"{publish} is called a duplicate of {seq}")
        self._learn(token, seq)

    def send_removal(self, removal: Removal) -> None:
        self.removing[removal.token] = removal
        self.removed += len(removal.seqs)

    def removal_answered(self, token: int, purged: int | None) -> None:
        removal = self.removing.pop(token)
        if purged is not None:
            self._must(purged == len(removal.seqs), f"{purged} purged by {removal}")
        self.gone |= removal.seqs

    def live(self) -> Iterator[int]:
        """Sequences that are known and that no removal took, oldest first."""
        taken = self.gone.union(*(removal.seqs for removal in self.removing.values()))
        return (seq for seq in sorted(self.token_at) if seq not in taken)

    def advance(self) -> int:
        """Move the floor up over what is known by now."""
        while self.floor + 1 in self.token_at:
            self.floor += 1
        return self.floor

    def _learn(self, token: int, seq: int) -> None:
        known = self.token_at.get(seq, token)
        self._must(known == token, f"sequence {seq} is used for {known} and {token}")
        place = self.seq_of.get(token, seq)
        self._must(place == seq, f"{token} is stored at {place} and at {seq}")
        if token not in self.seq_of:
            self._must(
                seq > self.settled, f"sequence {seq} is used again, {self.settled} was the last"
            )
        self.token_at[seq] = token
        self.seq_of[token] = seq

    # -- what is there -----------------------------------------------------------------------------

    def audit(self, snapshot: Snapshot) -> None:
        """Raise Broken unless the stream is one that the conversation allows."""
        for stored in snapshot.found.values():
            self._content(stored)
        self._absent(snapshot)
        self._limits(snapshot)
        self._order()
        self._counters(snapshot)

    def settle(self, snapshot: Snapshot) -> None:
        """What is not there now did not happen, or is over."""
        last = int(snapshot.state["last_seq"])
        self.gone.update(seq for seq in self.token_at if seq not in snapshot.found)
        self.lost.update(token for token in self.doubtful if token not in self.seq_of)
        self.doubtful.clear()
        self.removing.clear()
        self.removed = max(0, self.rules.most - len(snapshot.found))
        self.settled = last
        self.floor = last

    def _content(self, stored: Stored) -> None:
        publish = self.published.get(stored.token)
        if publish is None:
            raise Broken(f"{self.rules.name}: nobody published {_short(stored)}")
        self._must(stored.token not in self.lost, f"{_short(stored)} was missing and came back")
        self._must(stored.seq not in self.gone, f"{_short(stored)} was removed and came back")
        same = (stored.subject, stored.headers, stored.payload) == (
            publish.subject,
            publish.headers,
            publish.payload,
        )
        self._must(same, f"{_short(stored)} is not what was published: {publish}")
        self._learn(stored.token, stored.seq)

    def _absent(self, snapshot: Snapshot) -> None:
        """Everything that was acked is there, or something that may remove it did."""
        state, found = snapshot.state, snapshot.found
        first, last = int(state["first_seq"]), int(state["last_seq"])
        known = max(self.token_at, default=0)
        self._must(last >= max(known, self.settled), f"last_seq fell to {last}, {known} is known")
        maybe = self.gone.union(*(removal.seqs for removal in self.removing.values()))
        newest: dict[bytes, int] = {}
        for seq, token in self.token_at.items():
            subject = self.published[token].subject
            newest[subject] = max(seq, newest.get(subject, 0))
        for seq, token in self.token_at.items():
            if seq in found or seq in maybe:
                continue
            publish = self.published[token]
            if self.rules.per_subject and seq < newest[publish.subject]:
                continue
            if self.rules.most and seq < first:
                continue
            raise Broken(f"{self.rules.name}: sequence {seq} is lost: {publish}, state {state}")
        nameless = sum(seq not in self.token_at for seq in range(self.settled + 1, last + 1))
        unseen = sum(token not in self.seq_of for token in self.doubtful)
        allowed = unseen if self.rules.per_subject or self.rules.most else 0
        self._must(
            nameless <= allowed, f"{nameless} sequences without a message, {unseen} in doubt"
        )

    def _limits(self, snapshot: Snapshot) -> None:
        rules, found = self.rules, snapshot.found
        if rules.per_subject:
            counts = Counter(stored.subject for stored in found.values())
            crowded = [subject for subject, n in counts.items() if n > rules.per_subject]
            self._must(not crowded, f"more than {rules.per_subject} messages on {crowded[:5]}")
        if rules.most:
            self._must(
                len(found) <= rules.most, f"{len(found)} messages, at most {rules.most} allowed"
            )
            first = int(snapshot.state["first_seq"])
            trimmed = any(seq < first and seq not in self.gone for seq in self.token_at)
            if trimmed and not self.removing:
                least = rules.most - self.removed
                self._must(len(found) >= least, f"only {len(found)} of {least} messages are left")

    def _order(self) -> None:
        """Each connection's messages lie in the order it sent them, without a hole."""
        limited = self.rules.per_subject or self.rules.most
        last_of: dict[int, int] = {}
        hole: dict[int, int] = {}
        for token, publish in self.published.items():
            seq = self.seq_of.get(token)
            if token in self.lost:
                continue
            if seq is None:
                hole.setdefault(publish.connection, token)
                continue
            before = last_of.get(publish.connection, 0)
            self._must(seq > before, f"{publish} is at {seq}, an earlier one is at {before}")
            last_of[publish.connection] = seq
            missed = None if limited else hole.get(publish.connection)
            self._must(missed is None, f"{publish} was stored, but {missed} before it was not")

    def _counters(self, snapshot: Snapshot) -> None:
        state, found = snapshot.state, snapshot.found
        first, last = int(state["first_seq"]), int(state["last_seq"])
        counts = Counter(stored.subject.decode() for stored in found.values())
        seqs = sorted(found)
        told = {
            "messages": state["messages"],
            "bytes": state["bytes"],
            "first_seq": first,
            "num_subjects": state.get("num_subjects", 0),
            "subjects": state.get("subjects") or {},
            "first_ts": state["first_ts"],
        }
        if found:  # about an empty stream the real server says odd things
            told["num_deleted"] = state.get("num_deleted", 0)
            told["deleted"] = sorted(state.get("deleted") or [])
        empty = last + 1 if last else 0
        holes = [seq for seq in range(first, last + 1) if seq not in found] if seqs else []
        scanned = {
            "messages": len(found),
            "bytes": sum(self.published[stored.token].bytes for stored in found.values()),
            "first_seq": seqs[0] if seqs else empty,
            "num_subjects": len(counts),
            "subjects": dict(counts),
            "num_deleted": len(holes),
            "deleted": holes,
            "first_ts": found[seqs[0]].time if seqs else ZERO_TIME,
        }
        wrong = {key: (told[key], scanned[key]) for key in told if told[key] != scanned[key]}
        self._must(not wrong, f"the state tells another story than the messages: {wrong}")

    def _must(self, holds: bool, text: str) -> None:
        if not holds:
            raise Broken(f"{self.rules.name}: {text}")


def _short(stored: Stored) -> str:
    return f"({stored.seq}, {stored.subject!r}, {stored.headers!r}, {stored.payload[:40]!r})"


class Model:
    """All streams of a server."""

    def __init__(self, streams: Iterable[Rules] = STREAMS) -> None:
        self.streams = {rules.name: StreamModel(rules) for rules in streams}

    def answered(self, token: int, answer: Mapping[str, Any]) -> None:
        """The answer to a publish or a removal."""
        for stream in self.streams.values():
            if token in stream.doubtful:
                if "error" in answer:
                    raise Broken(f"{stream.doubtful[token]} was refused: {answer}")
                stream.acked(token, answer["seq"], answer.get("duplicate", False))
                return
            if token in stream.removing:
                _check_removal(stream.removing[token], answer)
                stream.removal_answered(token, answer.get("purged"))
                return
        raise Broken(f"an answer to no request: {token} {answer}")


def _check_removal(removal: Removal, answer: Mapping[str, Any]) -> None:
    """A delete may come too late for a message that a limit removed, nothing else may fail."""
    text = answer.get("error", {}).get("description", "")
    late = removal.verb == "MSG.DELETE" and text.endswith((" not found", "no message found"))
    if "error" in answer and not late:
        raise Broken(f"{removal} was refused: {answer}")
