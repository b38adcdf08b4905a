"""Ranges, offsets, subjects and filters: pure functions."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringEndsWith,
    StringStartsWith,
)

from pyspark_jetstream import plan
from pyspark_jetstream.api import StreamInfo
from pyspark_jetstream.errors import DataLossError
from pyspark_jetstream.options import parse
from pyspark_jetstream.predicates import Wanted, wanted
from pyspark_jetstream.subjects import common, intersection, matcher, without_overlap

INFO = StreamInfo("S", "then", 11, 101, 90, True, "limits", 120.0)


def at(ns: int) -> int:
    return ns


@given(st.integers(1, 10**12), st.integers(0, 10**7), st.integers(0, 200))
def test_ranges_follow_each_other(start: int, size: int, least: int) -> None:
    ranges = plan.split(start, start + size, least)
    edges = list(chain.from_iterable(ranges))
    assert edges == sorted(edges)
    assert edges[1:-1:2] == edges[2::2]
    if size:
        assert (edges[0], edges[-1]) == (start, start + size)
        assert len(ranges) >= min(least, size)
        assert all(0 < end - begin <= 100_000 for begin, end in ranges)
    else:
        assert ranges == []


@pytest.mark.parametrize(
    ("options", "bounds"),
    [
        ({}, (11, 101)),
        ({"startingOffsets": "earliest", "endingOffsets": "latest"}, (11, 101)),
        ({"startingOffsets": "latest"}, (101, 101)),
        ({"startingOffsets": "20", "endingOffsets": "30"}, (20, 30)),
        ({"startingTimestamp": "0", "failOnDataLoss": "false"}, (0, 101)),
        ({"endingOffsets": "500", "failOnDataLoss": "false"}, (11, 101)),
        ({"startingOffsets": "5", "failOnDataLoss": "false"}, (5, 101)),
    ],
)
def test_bounds(options: dict[str, str], bounds: tuple[int, int]) -> None:
    assert plan.bounds(parse(options), INFO, at) == bounds


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"startingOffsets": "5"}, "stream S begins at 11: messages from 5 are gone"),
        ({"endingOffsets": "102"}, "endingOffsets 102 is beyond stream S"),
    ],
)
def test_bounds_beyond_the_stream(options: dict[str, str], text: str) -> None:
    with pytest.raises(DataLossError, match=text):
        plan.bounds(parse(options), INFO, at)


def offset(seq: int, created: str = "then", stream: str = "S") -> dict[str, Any]:
    return {"stream": stream, "created": created, "seq": seq}


@pytest.mark.parametrize(
    ("start", "most", "target", "end"),
    [
        (11, 0, 0, 101),
        (11, 30, 0, 41),
        (90, 30, 0, 101),
        (11, 0, 50, 50),
        (50, 30, 50, 50),
        (101, 0, 0, 101),
    ],
)
def test_the_next_batch(start: int, most: int, target: int, end: int) -> None:
    assert plan.next_end(parse({}), INFO, offset(start), most, target) == offset(end)


LOSSES = [
    (offset(5), "messages from 5 are gone", 11),
    (offset(50, created="before"), "was deleted and made again", 11),
    (offset(200), "ends before 101, the checkpoint says 200", 101),
]


@pytest.mark.parametrize(("start", "text", "instead"), LOSSES)
def test_lost_messages(start: dict[str, Any], text: str, instead: int) -> None:
    with pytest.raises(DataLossError, match=text):
        plan.resume(parse({}), INFO, start)
    assert plan.resume(parse({"failOnDataLoss": "false"}), INFO, start) == instead


def test_a_checkpoint_of_another_stream_is_never_used() -> None:
    with pytest.raises(DataLossError, match="belongs to stream T"):
        plan.resume(parse({"failOnDataLoss": "false"}), INFO, offset(50, stream="T"))


# -- subjects --------------------------------------------------------------------------------------

TOKENS = st.sampled_from(["a", "b", "*"])
PATTERNS = st.lists(TOKENS, min_size=1, max_size=4).map(".".join) | st.lists(
    TOKENS, max_size=3
).map(lambda tokens: ".".join([*tokens, ">"]))
LITERALS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5).map(".".join)


@given(PATTERNS, PATTERNS, LITERALS)
def test_an_intersection_matches_what_both_match(one: str, other: str, subject: str) -> None:
    both = intersection(one, other)
    literal = subject.encode()
    expected = matcher([one])(literal) and matcher([other])(literal)
    assert (both is not None and matcher([both])(literal)) == expected


@given(st.lists(PATTERNS, min_size=1, max_size=5), LITERALS)
def test_fewer_patterns_match_the_same(patterns: list[str], subject: str) -> None:
    fewer = without_overlap(patterns)
    assert matcher(fewer)(subject.encode()) == matcher(patterns)(subject.encode())


def test_common() -> None:
    assert common((), ()) == ()
    assert common(("a.>",), ()) == ("a.>",)
    assert common(("a.*", "b"), ("a.x", "c")) == ("a.x",)
    assert common(("a",), ("b",)) is None


# -- filters ---------------------------------------------------------------------------------------

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_NS = 1_767_268_800_000_000_000


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([EqualTo(("seq",), 5)], Wanted(seq_start=5, seq_end=6)),
        (
            [GreaterThan(("seq",), 5), LessThanOrEqual(("seq",), 9)],
            Wanted(seq_start=6, seq_end=10),
        ),
        (
            [GreaterThanOrEqual(("seq",), 5), LessThan(("seq",), 9), IsNotNull(("seq",))],
            Wanted(seq_start=5, seq_end=9),
        ),
        ([In(("seq",), (7, 3, 5))], Wanted(seq_start=3, seq_end=8)),
        ([GreaterThanOrEqual(("time",), NOON)], Wanted(ns_start=NOON_NS)),
        ([LessThanOrEqual(("time",), NOON)], Wanted(ns_end=NOON_NS + 1000)),
        ([GreaterThan(("time",), NOON.replace(tzinfo=None))], Wanted()),
        ([EqualTo(("subject",), "a.b")], Wanted(subjects=("a.b",))),
        ([In(("subject",), ("a", "b"))], Wanted(subjects=("a", "b"))),
        ([StringStartsWith(("subject",), "a.b.")], Wanted(subjects=("a.b.>",))),
        ([StringStartsWith(("subject",), "a.bc")], Wanted(subjects=("a.>",))),
        ([StringStartsWith(("subject",), "a")], Wanted()),
        ([StringEndsWith(("subject",), ".a")], Wanted()),
        ([EqualTo(("subject",), "a b")], Wanted()),
        ([EqualTo(("subject",), "a.*")], Wanted()),
        ([EqualTo(("data",), b"x"), EqualTo(("headers", "key"), "x")], Wanted()),
    ],
)
def test_filters(filters: list[Filter], expected: Wanted) -> None:
    assert wanted(filters) == expected


def test_filters_that_exclude_each_other() -> None:
    found = wanted([EqualTo(("subject",), "a"), EqualTo(("subject",), "b")])
    assert found.narrow(1, 100, at) == (1, 1)


def test_a_range_gets_narrower() -> None:
    assert Wanted().narrow(5, 50, at) == (5, 50)
    assert Wanted(seq_start=10, ns_end=20).narrow(5, 50, at) == (10, 20)
    assert Wanted(seq_start=60).narrow(5, 50, at) == (60, 60)
