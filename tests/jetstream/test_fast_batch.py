"""Fast batches: acks now and then, gaps, errors, pings, and how they end."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.jetstream.batches import LARGE, Fast, hear
from tests.jetstream.support import STORAGES, JetStream, OwnServer, frame_of, own_server, scenario

START, APPEND, COMMIT, END, PING = range(5)
BAD = {"Nats-Expected-Stream": "Q"}
HIGH = {"Nats-Required-Api-Level": "99"}
GAPS = pytest.mark.parametrize("gap", ["ok", "fail"])


def begin(js: JetStream, **config: object) -> None:
    js.listen("_F.>")
    js.create("S", subjects=["s.>"], allow_batched=True, **config)


def last(heard: list[Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(heard[-1].data)
    return answer


@STORAGES
@scenario("PUB-069", "PUB-070", "PUB-071", "PUB-072")
def test_flow(js: JetStream, storage: str) -> None:
    begin(js, storage=storage)
    batch = Fast(js, gap="fail")
    assert last(batch.say(1, START)) == {"type": "ack", "seq": 0, "msgs": 3}
    assert batch.say(2, APPEND) == []
    assert last(batch.say(3, APPEND)) == {"type": "ack", "seq": 3, "msgs": 3}
    for seq in range(4, 9):
        batch.say(seq, APPEND)
    for seq in (8, 7, 1):
        assert last(batch.say(seq, PING)) == {"type": "ack", "seq": 6, "msgs": 3}
    final = {"stream": "S", "seq": 9, "batch": "b", "count": 9}
    assert last(batch.say(9, COMMIT)) == final
    assert last(batch.say(10, APPEND))["error"]["err_code"] == 10208
    js.message("S", seq=1)
    assert js.state("S")["messages"] == 9


@scenario("PUB-072", "PUB-076")
def test_short_ones(js: JetStream) -> None:
    begin(js)
    batch = Fast(js)
    assert last(batch.say(1, COMMIT)) == {"stream": "S", "seq": 1, "batch": "b", "count": 1}
    assert last(batch.say(1, END))["error"]["err_code"] == 10206
    batch.say(1, START)
    js.publish("s.b")
    assert last(batch.say(2, END, BAD)) == {"stream": "S", "seq": 2, "batch": "b", "count": 1}
    js.state("S")


@pytest.mark.parametrize(
    "flow", ["0", "-1", "1", "600", "65535", "65536", "x", "+2", "02", "2x", "9" * 20]
)
@scenario("PUB-069")
def test_wanted_interval(js: JetStream, flow: str) -> None:
    begin(js)
    batch = Fast(js, flow=flow)
    batch.say(1, START)
    batch.say(2, APPEND)
    batch.say(3, COMMIT)


@scenario("PUB-078", "PUB-079")
def test_malformed(js: JetStream) -> None:
    begin(js)
    assert last(Fast(js).say(1, 9))["error"]["err_code"] == 10206
    assert last(Fast(js, batch="b" * 65).say(1, START))["error"]["err_code"] == 10207
    Fast(js, batch="b" * 65).say(1, 9)
    Fast(js, batch="b" * 64).say(1, COMMIT)
    for gap in ("x", "FAIL", "OK"):
        Fast(js, gap=gap).say(1, START)
    for seq, op in (("x", 0), (0, 0), (2, 0), (1, 1), (1, "x"), (1, "+2"), (0, 4), (2**64 - 1, 1)):
        Fast(js).say(seq, op)
    Fast(js).say(1, "02")
    Fast(js).say("01", START)
    Fast(js).say("+2", APPEND)
    Fast(js).say("02", COMMIT)
    js.listen("b.>", "x.>", "$FI", "3.>")
    for reply in ("b.3.ok.1.0.$FI", "x.$FI", "$FI", "3.ok.1.0.$FI", "_F.p.b.3.ok.1.2.$fi"):
        js.client.send(frame_of("s.a", b"", None, reply.encode()))
        hear(js)
    Fast(js, prefix="_F.a.b.c.d.e").say(1, COMMIT)
    Fast(js, prefix="_F").say(1, COMMIT)
    js.state("S")


@scenario("PUB-077")
def test_unknown(js: JetStream) -> None:
    begin(js)
    for seq, op in ((3, APPEND), (3, COMMIT), (3, END), (3, PING), (1, PING)):
        assert last(Fast(js).say(seq, op))["error"]["err_code"] == 10208


@scenario("PUB-080")
def test_disabled(js: JetStream) -> None:
    js.listen("_F.>")
    js.create("S", subjects=["s.>"], max_msg_size=200)
    assert last(Fast(js).say(1, START))["error"]["err_code"] == 10205
    Fast(js, batch="b" * 65).say(1, 9)
    assert last(Fast(js).say(1, START, data=LARGE))["error"]["err_code"] == 10054
    js.update("S", subjects=["s.>"], allow_batched=True)
    Fast(js).say(1, START)
    js.update("S", subjects=["s.>"])
    Fast(js).say(2, APPEND)
    js.update("S", subjects=["s.>"], allow_batched=True)
    assert last(Fast(js).say(2, APPEND))["error"]["err_code"] == 10208
    assert js.state("S")["messages"] == 1


@GAPS
@pytest.mark.parametrize("op", [APPEND, COMMIT, END, PING])
@pytest.mark.parametrize("seq", [2, 3, 11])
@scenario("PUB-073", "PUB-074")
def test_gaps(js: JetStream, gap: str, op: int, seq: int) -> None:
    begin(js)
    batch = Fast(js, gap=gap)
    batch.say(1, START)
    batch.say(seq, op)
    batch.say(seq + 1, APPEND)
    batch.say(seq + 1, PING)
    batch.say(seq + 2, COMMIT)
    js.state("S")


@GAPS
@pytest.mark.parametrize("op", [START, APPEND, COMMIT, END])
@scenario("PUB-073", "PUB-074")
def test_numbers_again(js: JetStream, gap: str, op: int) -> None:
    begin(js)
    batch = Fast(js, gap=gap)
    batch.say(1, START)
    batch.say(2, APPEND)
    batch.say(1 if op == START else 2, op)
    batch.say(3, COMMIT)
    js.state("S")


@scenario("PUB-074")
def test_huge_gap(js: JetStream) -> None:
    begin(js)
    batch = Fast(js, flow=2)
    batch.say(1, START)
    batch.say(2**63, APPEND)
    batch.say(2**63 + 1, COMMIT)


@GAPS
@pytest.mark.parametrize("op", [APPEND, COMMIT])
@scenario("PUB-075")
def test_errors(js: JetStream, gap: str, op: int) -> None:
    begin(js)
    batch = Fast(js, gap=gap)
    batch.say(1, START)
    batch.say(2, APPEND)
    batch.say(3, op, BAD)
    batch.say(3, PING)
    batch.say(4, APPEND)
    batch.say(5, COMMIT)
    js.state("S")


@GAPS
@pytest.mark.parametrize("op", [START, COMMIT])
@scenario("PUB-075")
def test_error_of_the_first(js: JetStream, gap: str, op: int) -> None:
    begin(js)
    batch = Fast(js, gap=gap)
    batch.say(1, op, BAD)
    batch.say(2, APPEND)
    batch.say(3, APPEND)
    batch.say(4, COMMIT)
    js.state("S")


@GAPS
@scenario("PUB-019", "PUB-021", "PUB-075")
def test_other_errors(js: JetStream, gap: str) -> None:
    begin(js, discard="new", max_msgs=2)
    batch = Fast(js, gap=gap)
    for seq in range(1, 5):
        batch.say(seq, START if seq == 1 else APPEND)
    batch.say(5, COMMIT)
    js.ok("STREAM.PURGE.S")
    batch.say(1, START, {"X": "y" * 65_600})
    batch.say(2, COMMIT)
    batch.say(1, START, {"Nats-Expected-Last-Sequence": str(js.state("S")["last_seq"])})
    batch.say(2, COMMIT, {"Nats-Expected-Last-Sequence": "1"})
    js.state("S")


@scenario("PUB-018", "PUB-020")
def test_refused_before_they_are_looked_at(js: JetStream) -> None:
    begin(js, max_msg_size=200)
    batch = Fast(js)
    batch.say(1, START)
    for seq, op in ((2, APPEND), (2, END), (2, PING), (9, 9)):
        assert last(batch.say(seq, op, data=LARGE))["error"]["err_code"] == 10054
    batch.say(2, APPEND)
    js.update("S", subjects=["s.>"], allow_batched=True, max_msg_size=200, sealed=True)
    for seq, op in ((3, APPEND), (3, PING), (9, 9), (3, COMMIT)):
        assert last(batch.say(seq, op, data=LARGE))["error"]["err_code"] == 10109


@GAPS
@scenario("PUB-061")
def test_level(js: JetStream, gap: str) -> None:
    begin(js)
    batch = Fast(js, gap=gap)
    for seq, op in ((1, START), (1, COMMIT), (1, 9), (5, APPEND)):
        batch.say(seq, op, HIGH)
    for seq, op in ((2, APPEND), (5, APPEND), (1, PING), (2, COMMIT)):
        batch.say(1, START, {"Nats-Required-Api-Level": "1", "X": "y"})
        assert last(batch.say(seq, op, HIGH))["error"]["err_code"] == 10185
        batch.say(2, APPEND)
    js.message("S", seq=1)


@GAPS
@scenario("PUB-002", "PUB-072")
def test_duplicates(js: JetStream, gap: str) -> None:
    begin(js)
    js.publish("s.a", b"", {"Nats-Msg-Id": "1"})
    js.publish("s.a", b"", {"Nats-Msg-Id": "2"})
    one, two = {"Nats-Msg-Id": "1"}, {"Nats-Msg-Id": "2"}
    batch = Fast(js, flow=2, gap=gap)
    for steps in (
        [(1, START, None), (2, APPEND, one), (3, APPEND, None), (4, COMMIT, two)],
        [(1, START, one), (2, END, None)],
        [(1, START, one), (2, COMMIT, two)],
        [(1, COMMIT, one)],
        [(1, START, two), (2, APPEND, two), (3, COMMIT, None)],
    ):
        for step in steps:
            batch.say(*step)
    js.state("S")


@scenario("PUB-027")
def test_no_ack(js: JetStream) -> None:
    begin(js, no_ack=True, max_msg_size=200)
    batch = Fast(js)
    assert batch.say(1, START) == []
    batch.say(2, APPEND)
    batch.say(2, PING)
    batch.say(3, APPEND)
    batch.say(4, APPEND, BAD)
    batch.say(6, COMMIT)
    for seq, op in ((1, COMMIT), (9, APPEND), (9, 9)):
        batch.say(seq, op)
    batch.say(1, COMMIT, {"Nats-Msg-Id": "1"})
    batch.say(1, COMMIT, {"Nats-Msg-Id": "1"})
    batch.say(1, START, HIGH)
    batch.say(1, START, data=LARGE)
    Fast(js, gap="fail").say(1, START, BAD)
    js.state("S")


@scenario("PUB-069", "PUB-070", "PUB-101")
def test_who_says_what(js: JetStream) -> None:
    """Only the first message says how; each is answered where it wants to be."""
    begin(js, allow_atomic=True, subject_transform={"src": "s.*", "dest": "t.{{wildcard(1)}}"})
    Fast(js).say(1, START, {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1"})
    Fast(js, prefix="_F.other").say(2, APPEND)
    Fast(js, prefix="_F.other", flow=6).say(3, APPEND, subject="s.b")
    Fast(js, prefix="_F.other", flow=6, gap="fail").say(5, APPEND)
    Fast(js, prefix="_F.third").say(6, COMMIT)
    js.subjects("S")
    js.message("S", seq=1)


@scenario("PUB-070")
def test_nobody_is_interested(js: JetStream) -> None:
    begin(js, retention="interest")
    batch = Fast(js, flow=2)
    for seq in (1, 2, 3):
        batch.say(seq, START if seq == 1 else APPEND)
    batch.say(4, COMMIT)
    js.state("S")


def run(js: JetStream, batch: Fast, first: int, end: int) -> None:
    """Many messages as one write."""
    frames = []
    for seq in range(first, end):
        reply = f"_F.p.{batch.batch}.{batch.flow}.{batch.gap}.{seq}.{0 if seq == 1 else 1}.$FI"
        frames.append(frame_of("s.a", b"x", None, reply.encode()))
    js.client.send(b"".join(frames))
    hear(js)


@scenario("PUB-069", "PUB-070")
def test_intervals(js: JetStream) -> None:
    """The 500 of a stream are shared; an interval doubles or halves until it is what it should be."""
    begin(js)
    first = Fast(js, "first", 1000)
    run(js, first, 1, 1101)
    for name in "abcd":
        Fast(js, name, 500).say(1, START)
    last_one = Fast(js, "last", 70)
    run(js, last_one, 1, 400)
    run(js, first, 1101, 3000)
    for name in "abcd":
        Fast(js, name, 500).say(2, COMMIT)
    run(js, last_one, 400, 600)
    last_one.say(600, COMMIT)
    run(js, first, 3000, 5000)
    first.say(5000, COMMIT)


@scenario("PUB-074")
def test_gaps_and_intervals(js: JetStream) -> None:
    begin(js)
    Fast(js, "other").say(1, START)
    batch = Fast(js, flow=100)
    batch.say(1, START)
    batch.say(10, PING)
    batch.say(30, APPEND)
    batch.say(30, PING)
    batch.say(99, PING)
    batch.say(100, APPEND)
    batch.say(101, COMMIT)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@own_server("PUB-077")
def test_restart(js: OwnServer, how: signal.Signals) -> None:
    begin(js)
    batch = Fast(js, flow=2)
    batch.say(1, START)
    batch.say(2, APPEND)
    js.restart(how)
    js.listen("_F.>")
    batch.say(3, APPEND)
    js.state("S")


@GAPS
@scenario("PUB-037", "PUB-072")
def test_counters(js: JetStream, gap: str) -> None:
    begin(js, allow_msg_counter=True)
    batch, one = Fast(js, flow=2, gap=gap), {"Nats-Incr": "1"}
    for seq, op in ((1, COMMIT), (1, START), (2, APPEND), (3, COMMIT)):
        batch.say(seq, op, one, data=b"")
    batch.say(1, START, one, data=b"x")
    batch.say(2, END)
    js.message("S", last_by_subj="s.a")
