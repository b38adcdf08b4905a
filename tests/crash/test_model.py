"""The tools must not lie: each kind of damage is noticed, and an honest stream is not accused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.crash.model import (
    CAP,
    KEYS,
    PLAIN,
    Broken,
    Publish,
    Removal,
    Rules,
    Snapshot,
    Stored,
    StreamModel,
)

TIME = "2026-01-01T00:00:00Z"


def publish(token: int, rules: Rules = PLAIN, subject: bytes = b"plain.0.0") -> Publish:
    return Publish(token, rules.name, subject, 10, connection=1)


def stored(message: Publish, seq: int) -> Stored:
    return Stored(seq, message.subject, message.headers, message.payload, TIME)


def snapshot(*found: Stored, last: int = 0, first: int = 0) -> Snapshot:
    """What an honest server would say about these messages."""
    seqs = [item.seq for item in found]
    counts = Counter(item.subject.decode() for item in found)
    last = last or max(seqs)
    start = first or min(seqs, default=last + 1)
    holes = [seq for seq in range(start, last + 1) if seq not in seqs] if seqs else []
    state: dict[str, Any] = {
        "messages": len(found),
        "bytes": sum(30 + len(item.subject) + len(item.payload) for item in found),
        "first_seq": start,
        "last_seq": last,
        "first_ts": TIME,
        "num_subjects": len(counts),
        "subjects": dict(counts),
        "num_deleted": len(holes),
        "deleted": holes,
    }
    return Snapshot(state, {item.seq: item for item in found})


MESSAGES = [publish(token) for token in (1, 2, 3, 4)]
STORED = [stored(message, message.token) for message in MESSAGES]


@pytest.fixture
def plain() -> StreamModel:
    """Three were acked, the fourth is in doubt."""
    stream = StreamModel(PLAIN)
    for message in MESSAGES:
        stream.send(message)
    for token in (1, 2, 3):
        stream.acked(token, token, False)
    return stream


@pytest.mark.parametrize("count", [3, 4])
def test_what_is_in_doubt_may_be_there_or_not(plain: StreamModel, count: int) -> None:
    plain.audit(snapshot(*STORED[:count]))


Damage = Callable[[Snapshot], Snapshot | None]


def _state(**changes: object) -> Damage:
    return lambda good: Snapshot({**good.state, **changes}, good.found)


DAMAGE: dict[str, Damage] = {
    "is lost": lambda good: snapshot(STORED[0], STORED[2]),
    "last_seq fell": lambda good: snapshot(*STORED[:2]),
    "is not what was published": lambda good: snapshot(
        *STORED[:2], replace(STORED[2], payload=STORED[2].payload[:-1] + b"!")
    ),
    "nobody published": lambda good: snapshot(*STORED[:3], replace(STORED[3], payload=b"77:x")),
    "is used for": lambda good: snapshot(*STORED[:2], replace(STORED[3], seq=3)),
    "is stored at": lambda good: snapshot(*STORED[:3], replace(STORED[2], seq=4)),
    "without a message": lambda good: snapshot(*STORED[:3], last=4),
    "another story.*messages": _state(messages=4),
    "another story.*bytes": _state(bytes=1),
    "another story.*first_seq": _state(first_seq=2, num_deleted=0, deleted=[]),
    "another story.*num_subjects": _state(num_subjects=2),
    "another story.*subjects": _state(subjects={"plain.0.0": 2}),
    "another story.*num_deleted": _state(num_deleted=1),
}


@pytest.mark.parametrize("text", DAMAGE)
def test_damage_is_noticed(plain: StreamModel, text: str) -> None:
    damaged = DAMAGE[text](snapshot(*STORED[:3]))
    assert damaged is not None
    with pytest.raises(Broken, match=text):
        plain.audit(damaged)


def test_a_hole_in_a_connections_order_is_noticed(plain: StreamModel) -> None:
    fifth = publish(5)
    plain.send(fifth)
    with pytest.raises(Broken, match="but 4 before it was not"):
        plain.audit(snapshot(*STORED[:3], stored(fifth, 4)))


def test_messages_that_changed_places_are_noticed() -> None:
    stream = StreamModel(PLAIN)
    for message in MESSAGES[:2]:
        stream.send(message)
    with pytest.raises(Broken, match="an earlier one is at 2"):
        stream.audit(snapshot(replace(STORED[0], seq=2), replace(STORED[1], seq=1)))


def test_a_removal_that_was_answered_is_final(plain: StreamModel) -> None:
    plain.send_removal(Removal(9, PLAIN.name, "MSG.DELETE", b"", frozenset({2})))
    plain.audit(snapshot(*STORED[:3]))
    plain.audit(snapshot(STORED[0], STORED[2]))
    plain.removal_answered(9, None)
    plain.audit(snapshot(STORED[0], STORED[2]))
    with pytest.raises(Broken, match="was removed and came back"):
        plain.audit(snapshot(*STORED[:3]))


def test_what_was_missing_must_not_come_back(plain: StreamModel) -> None:
    plain.settle(snapshot(*STORED[:3]))
    with pytest.raises(Broken, match="was missing and came back"):
        plain.audit(snapshot(*STORED))


def test_a_sequence_is_not_used_again(plain: StreamModel) -> None:
    plain.settle(snapshot(*STORED))
    late = publish(5)
    plain.send(late)
    with pytest.raises(Broken, match="is used again"):
        StreamModel.acked(replace_settled(plain, 9), 5, 6, False)


def replace_settled(stream: StreamModel, settled: int) -> StreamModel:
    stream.settled = settled
    return stream


def test_a_key_keeps_its_newest_value() -> None:
    stream = StreamModel(KEYS)
    old, new = (publish(token, KEYS, b"keys.1") for token in (1, 2))
    for message in (old, new):
        stream.send(message)
    stream.acked(1, 1, False)
    stream.audit(snapshot(stored(old, 1)))
    stream.audit(snapshot(stored(new, 2)))
    with pytest.raises(Broken, match="more than 1"):
        stream.audit(snapshot(stored(old, 1), stored(new, 2)))
    with pytest.raises(Broken, match="is lost"):
        stream.audit(snapshot(stored(old, 1), last=2))


def test_a_limit_takes_the_oldest_and_no_more_than_it_must() -> None:
    rules = replace(CAP, most=2)
    stream = StreamModel(rules)
    sent = [publish(token, rules, b"cap.1") for token in (1, 2, 3)]
    for message in sent:
        stream.send(message)
        stream.acked(message.token, message.token, False)
    stream.audit(snapshot(stored(sent[1], 2), stored(sent[2], 3)))
    with pytest.raises(Broken, match="at most 2 allowed"):
        stream.audit(snapshot(*(stored(message, message.token) for message in sent)))
    with pytest.raises(Broken, match="only 1 of 2"):
        stream.audit(snapshot(stored(sent[2], 3)))
