"""Direct get of many: batches, the last of each subject, and their end markers."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.support import API, STORAGES, JetStream, Json, Message, encode_body, scenario


def fill(js: JetStream, storage: str) -> None:
    """s.a at 1 4 7, s.b at 2 5, s.c at 3 6 8; 5 is deleted; each payload is 10 bytes."""
    js.create("S", subjects=["s.*"], storage=storage, allow_direct=True)
    for subject in ("s.a", "s.b", "s.c", "s.a", "s.b", "s.c", "s.a"):
        js.publish(subject, b"0123456789")
    js.publish("s.c", b"0123456789", {"A": "b"})
    js.ok("STREAM.MSG.DELETE.S", {"seq": 5})


def sequences(answers: list[Message]) -> list[int]:
    return [int(answer.header("Nats-Sequence") or 0) for answer in answers[:-1]]


# The request, the sequences it gives, Nats-Num-Pending at the end.
BATCHES: list[tuple[str, Json, list[int], int]] = [
    ("MSG-029", {"batch": 3, "seq": 1}, [1, 2, 3], 4),
    ("MSG-029", {"batch": 1, "seq": 1}, [1], 6),
    ("MSG-029", {"batch": 3, "seq": 4}, [4, 6, 7], 1),
    ("MSG-029", {"batch": 3, "seq": 5}, [6, 7, 8], 0),
    ("MSG-029", {"batch": 100, "seq": 1}, [1, 2, 3, 4, 6, 7, 8], 0),
    ("MSG-029", {"batch": 2, "seq": 1, "next_by_subj": "s.a"}, [1, 4], 1),
    ("MSG-029", {"batch": 9, "seq": 2, "next_by_subj": "s.a"}, [4, 7], 0),
    ("MSG-029", {"batch": 9, "next_by_subj": "s.b"}, [2], 0),
    ("MSG-029", {"batch": 9, "next_by_subj": "s.*", "seq": 7}, [7, 8], 0),
    ("MSG-029", {"batch": 2, "start_time": "2000-01-01T00:00:00Z"}, [1, 2], 5),
]


def batch_cases() -> list[object]:
    return [
        pytest.param(body, found, pending, marks=pytest.mark.behaviour(row), id=json.dumps(body))
        for row, body, found, pending in BATCHES
    ]


@STORAGES
@pytest.mark.parametrize(("body", "found", "pending"), batch_cases())
@scenario()
def test_batch(js: JetStream, storage: str, body: Json, found: list[int], pending: int) -> None:
    fill(js, storage)
    answers = js.direct_all("S", **body)
    assert sequences(answers) == found
    assert answers[-1].headers == (
        b"NATS/1.0 204 EOB\r\nNats-Num-Pending: %d\r\nNats-Last-Sequence: %d\r\n\r\n"
        % (pending, found[-1])
    )
    assert answers[-1].data == b""


@STORAGES
@scenario("MSG-029")
def test_batch_headers(js: JetStream, storage: str) -> None:
    fill(js, storage)
    first, second, _end = js.direct_all("S", batch=2, seq=6)
    time = js.message("S", seq=6)["time"].encode()
    assert first.headers == (
        b"NATS/1.0\r\nNats-Stream: S\r\nNats-Subject: s.c\r\nNats-Sequence: 6\r\n"
        b"Nats-Time-Stamp: %b\r\nNats-Num-Pending: 2\r\nNats-Last-Sequence: 0\r\n\r\n" % time
    )
    assert second.header("Nats-Num-Pending") == "1"
    assert second.header("Nats-Last-Sequence") == "6"
    (headed, _end) = js.direct_all("S", batch=2, seq=8)
    assert headed.headers.startswith(b"NATS/1.0\r\nA: b\r\nNats-Stream: S\r\n")


@STORAGES
@scenario("MSG-037")
def test_bytes_stop_a_batch(js: JetStream, storage: str) -> None:
    fill(js, storage)
    for limit in (1, 12, 13, 14, 26, 27, 40, 1000):
        js.direct_all("S", batch=5, seq=1, max_bytes=limit)
    assert sequences(js.direct_all("S", batch=5, seq=1, max_bytes=1)) == [1]
    for limit in (1, 14, 40):
        js.direct_all("S", multi_last=["s.*"], max_bytes=limit)


@STORAGES
@scenario("MSG-024")
def test_batch_without_a_match(js: JetStream, storage: str) -> None:
    fill(js, storage)
    bodies: list[Json] = [
        {"batch": 3, "seq": 9},
        {"batch": 3, "seq": 100},
        {"batch": 3, "next_by_subj": "s.x"},
        {"batch": 3, "start_time": "2200-01-01T00:00:00Z"},
    ]
    for body in bodies:
        (answer,) = js.direct_all("S", **body)
        assert answer.headers == b"NATS/1.0 404 Message Not Found\r\n\r\n"


# The request, the sequences it gives, Nats-Num-Pending and Nats-UpTo-Sequence at the end.
MULTI: list[tuple[str, Json, list[int], int, int]] = [
    ("MSG-030", {"multi_last": ["s.*"]}, [2, 7, 8], 0, 8),
    ("MSG-030", {"multi_last": ["s.a", "s.b"]}, [2, 7], 0, 8),
    ("MSG-030", {"multi_last": ["s.a", "s.*", "s.a"]}, [2, 7, 8], 0, 8),
    ("MSG-030", {"multi_last": ["s.a", "x"]}, [7], 0, 8),
    ("MSG-032", {"multi_last": ["s.*"], "batch": 1}, [2], 2, 8),
    ("MSG-032", {"multi_last": ["s.*"], "batch": 2}, [2, 7], 1, 8),
    ("MSG-032", {"multi_last": ["s.*"], "seq": 3}, [7, 8], 0, 8),
    ("MSG-032", {"multi_last": ["s.*"], "seq": 3, "batch": 1}, [7], 1, 8),
    ("MSG-033", {"multi_last": ["s.*"], "up_to_seq": 6}, [2, 4, 6], 0, 6),
    ("MSG-033", {"multi_last": ["s.*"], "up_to_seq": 3}, [1, 2, 3], 0, 3),
    ("MSG-033", {"multi_last": ["s.*"], "up_to_seq": 5}, [2, 3, 4], 0, 5),
    ("MSG-033", {"multi_last": ["s.*"], "up_to_seq": 8}, [2, 7, 8], 0, 8),
    ("MSG-036", {"multi_last": ["s.*"], "up_to_time": "2200-01-01T00:00:00Z"}, [2, 7, 8], 0, 8),
]


def multi_cases() -> list[object]:
    return [
        pytest.param(*row[1:], marks=pytest.mark.behaviour(row[0]), id=json.dumps(row[1]))
        for row in MULTI
    ]


@STORAGES
@pytest.mark.parametrize(("body", "found", "pending", "up_to"), multi_cases())
@scenario()
def test_last_of_each(
    js: JetStream, storage: str, body: Json, found: list[int], pending: int, up_to: int
) -> None:
    fill(js, storage)
    answers = js.direct_all("S", **body)
    assert sequences(answers) == found
    assert answers[-1].headers == (
        b"NATS/1.0 204 EOB\r\nNats-Num-Pending: %d\r\nNats-Last-Sequence: %d\r\n"
        b"Nats-UpTo-Sequence: %d\r\n\r\n" % (pending, found[-1], up_to)
    )


@STORAGES
@scenario("MSG-036")
def test_up_to_the_time_of_a_message(js: JetStream, storage: str) -> None:
    fill(js, storage)
    for sequence in (1, 4, 6, 8):
        time = js.message("S", seq=sequence)["time"]
        js.direct_all("S", multi_last=["s.*"], up_to_time=time)


@STORAGES
@scenario("MSG-031")
def test_no_results(js: JetStream, storage: str) -> None:
    fill(js, storage)
    bodies: list[Json] = [
        {"multi_last": ["s.x"]},
        {"multi_last": ["x", "y.*"]},
        {"multi_last": ["s.x"], "batch": 2},
        {"multi_last": ["s.*"], "seq": 100},
    ]
    for body in bodies:
        assert len(js.direct_all("S", **body)) == 1
    assert js.direct_all("S", multi_last=["s.x"])[0].headers == b"NATS/1.0 404 No Results\r\n\r\n"


@scenario("MSG-031", "MSG-024")
def test_empty_stream(js: JetStream) -> None:
    js.create("S", allow_direct=True)
    js.direct_all("S", multi_last=["S"])
    js.direct_all("S", batch=2, seq=1)
    js.direct("S", last_by_subj="S")


@STORAGES
@scenario("MSG-035")
def test_too_many_results(js: JetStream, storage: str) -> None:
    js.create("S", subjects=["s.*"], storage=storage, allow_direct=True)
    for number in range(1025):
        js.cast(f"s.{number}", b"x")
    js.publish("s.0", b"last")
    js.settled("S", messages=1026)
    (answer,) = js.direct_all("S", multi_last=["s.*"])
    assert answer.headers == b"NATS/1.0 413 Too Many Results\r\n\r\n"
    assert len(js.direct_all("S", multi_last=["s.*"], up_to_seq=1024)) == 1025


@scenario("MSG-038", "MSG-029")
def test_no_headers_in_a_batch(js: JetStream) -> None:
    fill(js, "memory")
    for body in ({"batch": 2, "seq": 7}, {"multi_last": ["s.*"]}):
        js.direct_all("S", **body, no_hdr=True)


@scenario("MSG-022", "MSG-023")
def test_request_without_reply_is_ignored(js: JetStream) -> None:
    fill(js, "memory")
    js.cast(f"{API}DIRECT.GET.S", encode_body({"seq": 1}))
    js.cast(f"{API}DIRECT.GET.S.s.a")
    js.direct("S", seq=2)
