"""The bytes of a load add up."""

from __future__ import annotations

import re

import pytest

from benchmarks import wire
from benchmarks.roles.bulk import FrameCounter
from benchmarks.roles.request import Requests
from benchmarks.tally import reply_length

LOADS = [
    wire.Load(size, subjects, binary)
    for size in (128, 1024)
    for subjects in (1, 200, 3000)
    for binary in (False, True)
]
PUB = re.compile(rb"(?s)PUB (\S+) (\d+)\r\n")


def frames(data: bytes) -> list[tuple[bytes, bytes]]:
    """Subject and payload of every PUB frame, by the protocol's own rules."""
    found = []
    at = 0
    while at < len(data):
        line = PUB.match(data, at)
        assert line
        end = line.end() + int(line[2])
        found.append((line[1], data[line.end() : end]))
        assert data[end : end + 2] == b"\r\n"
        at = end + 2
    return found


@pytest.mark.parametrize("load", LOADS, ids=str)
def test_a_cycle_holds_every_subject_equally_often(load: wire.Load) -> None:
    cycle = wire.cycle(load)
    sent = frames(cycle.data)
    assert len(sent) == cycle.messages == wire.cycle_messages(load)
    assert {len(payload) for _, payload in sent} == {load.size}
    counts = dict.fromkeys(wire.subjects(load.subjects), 0)
    for subject, _ in sent:
        counts[subject] += 1
    assert len(counts) == load.subjects
    assert set(counts.values()) == {cycle.messages // load.subjects}


@pytest.mark.parametrize("load", LOADS, ids=str)
def test_what_is_delivered_is_what_was_sent(load: wire.Load) -> None:
    cycle = wire.cycle(load)
    expected = b"".join(
        wire.msg(subject, wire.SUB_SID, payload) for subject, payload in frames(cycle.data)
    )
    assert cycle.delivered == expected


@pytest.mark.parametrize("load", LOADS, ids=str)
def test_payloads_never_look_like_the_protocol(load: wire.Load) -> None:
    for payload in wire.payloads(load):
        assert not re.search(rb"MSG|PUB|PING|_INBOX|\r\n|=end", payload)


def test_text_payloads_have_no_line_breaks_and_binary_ones_do() -> None:
    assert b"\n" not in b"".join(wire.payloads(wire.Load(1024, 1)))
    assert b"\n" in b"".join(wire.payloads(wire.Load(1024, 1, binary=True)))


def test_tokens_are_distinct_and_of_one_length() -> None:
    made = wire.tokens(10_000)
    assert len(set(made)) == 10_000
    assert {len(token) for token in made} == {wire.TOKEN_LENGTH}


def test_requests_have_distinct_reply_subjects_under_the_inbox() -> None:
    load = wire.Load(16, 200)
    requests = Requests(load, 1000)
    lines = re.findall(
        rb"PUB (\S+) (\S+) 16\r\n", requests.render(0, 400) + requests.render(400, 1000)
    )
    assert len({reply for _, reply in lines}) == 1000
    assert all(reply.startswith(wire.INBOX + b".") for _, reply in lines)
    assert {subject for subject, _ in lines} == set(wire.subjects(200))
    reply = wire.msg(lines[0][1], wire.SUB_SID, wire.payloads(load)[0])
    assert len(reply) == reply_length(load.size)


def test_only_whole_pings_explain_extra_bytes() -> None:
    assert wire.stray_pings(100, 100) == 0
    assert wire.stray_pings(112, 100) == 2
    for received in (99, 94, 101, 100 + 6 * 1000):
        with pytest.raises(ValueError, match="were due"):
            wire.stray_pings(received, 100)


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100_000])
def test_frames_are_counted_however_the_reads_are_cut(step: int) -> None:
    cycle = wire.cycle(wire.Load(128, 200))
    data = cycle.delivered[:20_000]
    counter = FrameCounter()
    for at in range(0, len(data), step):
        counter.feed(data[at : at + step])
    assert counter.frames == data.count(b"MSG ")


def test_an_incomplete_frame_is_kept_at_every_cut() -> None:
    frame = re.compile(rb"(?s)PUB [^ ]+ 4\r\n.{6}")
    data = wire.pub(b"a", b"1\n34") + wire.pub(b"bcd", b"5678")
    first = len(wire.pub(b"a", b"1\n34"))
    for cut in range(len(data) + 1):
        rest = wire.incomplete(frame, b"PUB ", data[:cut])
        start = 0 if cut < first else first if cut < len(data) else len(data)
        assert rest == data[start:cut]
