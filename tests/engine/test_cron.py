"""Cron expressions against a walk through every second, and what clocks that are changed do to them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetstream_py.engine.cron import PREDEFINED, Cron

SECOND = 1_000_000_000
BERLIN = ZoneInfo("Europe/Berlin")


def following(text: str, after: str, zone: str = "UTC", count: int = 1) -> list[str]:
    place = ZoneInfo(zone)
    at = round(datetime.fromisoformat(after).replace(tzinfo=place).timestamp() * SECOND)
    found = []
    for _ in range(count):
        upcoming = Cron(text).next(at, place)
        assert upcoming is not None
        at = upcoming
        found.append(datetime.fromtimestamp(at // SECOND, place).isoformat())
    return found


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("@hourly", "2026-01-01T00:00:00", "2026-01-01T01:00:00+00:00"),
        ("@daily", "2026-01-01T00:00:00", "2026-01-02T00:00:00+00:00"),
        ("@midnight", "2026-12-31T23:59:59.5", "2027-01-01T00:00:00+00:00"),
        ("@weekly", "2026-11-16T12:00:00", "2026-11-22T00:00:00+00:00"),
        ("@monthly", "2026-01-31T00:00:00", "2026-02-01T00:00:00+00:00"),
        ("@yearly", "2026-01-01T00:00:00", "2027-01-01T00:00:00+00:00"),
        ("@annually", "2026-01-01T00:00:00", "2027-01-01T00:00:00+00:00"),
        ("0 0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00+00:00"),
        ("59 59 23 31 12 *", "2026-01-01T00:00:00", "2026-12-31T23:59:59+00:00"),
        ("0 0 12 13 * FRI", "2026-11-14T00:00:00", "2026-11-20T12:00:00+00:00"),
        ("0 0 12 13 * *", "2026-11-14T00:00:00", "2026-12-13T12:00:00+00:00"),
        ("0 0 12 1 * */2", "2026-11-15T13:00:00", "2026-11-17T12:00:00+00:00"),
        ("7/20 5-6 */23 * Mar ?", "2026-01-01T00:00:00", "2026-03-01T00:05:07+00:00"),
    ],
)
def test_the_next_time(text: str, after: str, expected: str) -> None:
    assert following(PREDEFINED.get(text, text), after) == [expected]


def test_clocks_that_go_forward_leave_times_out() -> None:
    assert following("0 30 2 * * *", "2026-03-28T12:00:00", "Europe/Berlin") == [
        "2026-03-30T02:30:00+02:00"
    ]
    assert following("0 0 * * * *", "2026-03-29T00:30:00", "Europe/Berlin", 3) == [
        "2026-03-29T01:00:00+01:00",
        "2026-03-29T03:00:00+02:00",
        "2026-03-29T04:00:00+02:00",
    ]


def test_clocks_that_go_back_repeat_times() -> None:
    assert following("0 30 2 * * *", "2026-10-24T12:00:00", "Europe/Berlin", 3) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-26T02:30:00+01:00",
    ]


def test_a_day_without_midnight() -> None:
    assert following("0 0 * 4 11 *", "2018-11-03T12:00:00", "America/Sao_Paulo") == [
        "2018-11-04T01:00:00-02:00"
    ]
    assert following(PREDEFINED["@daily"], "2018-11-03T12:00:00", "America/Sao_Paulo") == [
        "2018-11-05T00:00:00-02:00"
    ]


def test_nothing_in_five_years() -> None:
    assert Cron("0 0 0 30 2 *").next(0, UTC) is None
    late = datetime(2096, 3, 1, tzinfo=UTC)  # 2100 is no leap year
    assert Cron("0 0 0 29 2 *").next(int(late.timestamp()) * SECOND, UTC) is None


FIELDS = ((60, 0), (60, 0), (24, 0), (31, 1), (12, 1), (7, 0))  # how many, from where


@st.composite
def parts(draw: st.DrawFn, size: int, low: int) -> tuple[str, set[int]]:
    """A part of a field, and what it allows."""
    high = low + size - 1
    form = draw(st.sampled_from(["*", "number", "range", "step", "open"]))
    first = draw(st.integers(low, high))
    last = draw(st.integers(first, high))
    step = draw(st.integers(1, size))
    return {
        "*": ("*", set(range(low, high + 1))),
        "number": (str(first), {first}),
        "range": (f"{first}-{last}", set(range(first, last + 1))),
        "step": (f"{first}-{last}/{step}", set(range(first, last + 1, step))),
        "open": (f"{first}/{step}", set(range(first, high + 1, step))),
    }[form]


@st.composite
def expressions(draw: st.DrawFn) -> tuple[str, list[set[int]], list[bool]]:
    texts, allowed, stars = [], [], []
    for size, low in FIELDS:
        chosen = draw(st.lists(parts(size, low), min_size=1, max_size=2))
        texts.append(",".join(text for text, _ in chosen))
        allowed.append(set().union(*(numbers for _, numbers in chosen)))
        stars.append(any(text == "*" for text, _ in chosen))
    return " ".join(texts), allowed, stars


def fits(moment: datetime, allowed: list[set[int]], stars: list[bool]) -> bool:
    of_month, of_week = moment.day in allowed[3], moment.isoweekday() % 7 in allowed[5]
    day = of_month and of_week if stars[3] or stars[5] else of_month or of_week
    return (
        day
        and moment.month in allowed[4]
        and moment.hour in allowed[2]
        and moment.minute in allowed[1]
        and moment.second in allowed[0]
    )


@given(expressions(), st.integers(0, 4 * 366 * 86_400))
def test_nothing_is_passed_over(
    expression: tuple[str, list[set[int]], list[bool]], offset: int
) -> None:
    """What is found fits, and of what was passed over no minute around it and no hour before it does."""
    text, allowed, stars = expression
    start = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) + offset
    found = Cron(text).next(start * SECOND, UTC)
    end = start + 3_700 if found is None else found // SECOND
    if found is not None:
        assert found > start * SECOND
        assert fits(datetime.fromtimestamp(end, UTC), allowed, stars)
    near = [*range(start + 1, min(start + 3_700, end)), *range(max(start + 1, end - 120), end)]
    for second in near:
        assert not fits(datetime.fromtimestamp(second, UTC), allowed, stars)


@given(st.integers(0, 366 * 86_400), st.sampled_from(["0 */7 * * * *", "13 5 2,3 * * *"]))
def test_zones_are_walls(offset: int, text: str) -> None:
    """In a zone with changes of its clocks, step by step through absolute time."""
    start = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) + offset
    found = Cron(text).next(start * SECOND, BERLIN)
    assert found is not None
    moment = datetime.fromtimestamp(start, UTC) + timedelta(seconds=1)
    minutes = set(range(0, 60, 7)) if text.startswith("0") else {5}
    hours = set(range(24)) if text.startswith("0") else {2, 3}
    second = 0 if text.startswith("0") else 13
    while True:
        wall = moment.astimezone(BERLIN)
        if wall.second == second and wall.minute in minutes and wall.hour in hours:
            break
        moment += timedelta(seconds=1 if wall.second != second else 60)
    assert int(moment.timestamp()) * SECOND == found


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "six fields"),
        ("0 0 0 1 1", "six fields"),
        ("0 0 0 1 1 * *", "six fields"),
        ("0," * 1_000 + "0 0 0 1 1 *", "six fields"),
        ("x 0 0 1 1 *", "no number"),
        ("60 0 0 1 1 *", "out of range"),
        ("1-2-3 0 0 1 1 *", "two ends"),
        ("1/2/3 0 0 1 1 *", "one step"),
    ],
)
def test_what_is_none(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Cron(text)
