"""Random walks with one pull consumer: the same steps on both servers, the same answers.

The dice are the same for both servers, so the walks go the same way as long as the answers agree.
nats-server takes note of publishes and deletions a moment after it has answered; the walk knows how
many messages must be ahead and how many unacked, and waits for that before it compares the info.
"""

from __future__ import annotations

import random

import pytest

from tests.jetstream.pulling import ACK, LONG, MS, NAK, TERM, WPI, ack_parts, consumer
from tests.jetstream.support import JetStream, Json, Message, scenario

STEPS = 60
SUBJECTS = ["s.a", "s.b", "s.c.d", "s.c.e"]
# A filter, and the subjects that it lets through.
FILTERS: list[tuple[Json, list[str]]] = [
    ({}, SUBJECTS),
    ({"filter_subject": "s.a"}, ["s.a"]),
    ({"filter_subject": "s.c.*"}, ["s.c.d", "s.c.e"]),
    ({"filter_subjects": ["s.b", "s.c.>"]}, ["s.b", "s.c.d", "s.c.e"]),
    ({"filter_subject": "s.>"}, SUBJECTS),
]
POLICIES: list[Json] = [
    {"ack_policy": "explicit"},
    {"ack_policy": "explicit", "max_ack_pending": 4},
    {"ack_policy": "explicit", "max_deliver": 3},
    {"ack_policy": "all"},
    {"ack_policy": "none"},
]


class Walk:
    """One consumer, what is stored, and what was delivered."""

    def __init__(self, js: JetStream, seed: int) -> None:
        self.js = js
        self.dice = random.Random(seed)
        filter_, self.subjects = self.dice.choice(FILTERS)
        self.policy = self.dice.choice(POLICIES)
        self.acks = self.policy["ack_policy"] != "none"
        # Only with these is it clear without looking what is unacked.
        self.plain = self.policy["ack_policy"] == "explicit" and "max_deliver" not in self.policy
        self.stored: dict[int, str] = {}
        self.delivered: list[Message] = []
        self.unacked: set[int] = set()
        self.last = 0
        self.limited = "max_ack_pending" in self.policy
        # A waiting request scans to the end; for memory nats-server shows that as delivered.
        storage = "file" if self.limited else self.dice.choice(["file", "memory"])
        js.create("S", subjects=["s.>"], storage=storage)
        self.publish()
        self.consumer = consumer(js, ack_wait=LONG, **filter_, **self.policy)

    def step(self) -> None:
        steps = 2 * [self.publish, self.fetch, self.fetch, self.delete] + [self.purge]
        self.dice.choice(steps + 6 * [self.settle] if self.acks else steps)()
        self.compare()

    def publish(self) -> None:
        for _ in range(self.dice.randint(1, 4)):
            subject = self.dice.choice(SUBJECTS)
            answer = self.js.publish(subject, b"x" * self.dice.randint(0, 9))
            self.stored[answer["seq"]] = subject

    def fetch(self) -> None:
        batch = self.dice.randint(1, 5)
        # A request that finds no room for unacked messages would wait, no_wait or not.
        patience: Json = {"expires": 30 * MS} if self.limited else {"no_wait": True}
        pull = self.consumer.pull({"batch": batch, **patience})
        for _ in range(batch):
            message = pull.next()
            if message.status:
                break
            self.delivered.append(message)
            sequence = ack_parts(message)[3]
            self.unacked.add(sequence)
            self.last = max(self.last, sequence)

    def settle(self) -> None:
        """Any of the last messages, whether it has been settled before or not."""
        if self.delivered:
            message = self.dice.choice(self.delivered[-8:])
            payload = self.dice.choice([ACK, ACK, ACK, NAK, TERM, WPI, b""])
            self.consumer.ack(message, payload)
            if payload in (ACK, TERM, b""):
                self.unacked.discard(ack_parts(message)[3])

    def delete(self) -> None:
        first = 1 if self.plain else self.last + 1
        sequence = self.dice.choice([*range(first, max(self.stored, default=0) + 1), 10_000])
        self.js.api("STREAM.MSG.DELETE.S", {"seq": sequence})
        self.stored.pop(sequence, None)
        self.unacked.discard(sequence)

    def purge(self) -> None:
        if self.stored:
            self.js.ok("STREAM.PURGE.S")
            self.stored.clear()
            self.unacked.clear()

    def compare(self) -> None:
        ahead = [sequence for sequence in self.stored if sequence > self.last]
        rest: Json = {"num_pending": len([it for it in ahead if self.stored[it] in self.subjects])}
        if self.plain:
            rest["num_ack_pending"] = len(self.unacked)
        self.consumer.settled(**rest)


@pytest.mark.parametrize("seed", range(16))
@scenario("PULL-024", "PULL-026", "PULL-028", "PULL-065", "PULL-067")
def test_walk(js: JetStream, seed: int) -> None:
    walk = Walk(js, seed)
    for _ in range(STEPS):
        walk.step()
