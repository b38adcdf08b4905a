"""The comparison behind `make interop`."""

from __future__ import annotations

import sys

import pytest

from tests.interop.cli import Step, run
from tests.interop.outcome import LATER, Outcome, Verdict, compare, table, unequal

FINE = Outcome("", ["a", "b"])


@pytest.mark.parametrize(
    ("theirs", "ours", "verdict", "counts"),
    [
        (FINE, Outcome("", ["a", "b"]), Verdict.SAME, 0),
        (FINE, Outcome("", ["a", "c"]), Verdict.DIFFERENT, 1),
        (FINE, Outcome("timeout"), Verdict.FAILS, 1),
        (FINE, Outcome(f"a feature {LATER}"), Verdict.LATER, 0),
        (Outcome("wrong flag"), Outcome("wrong flag"), Verdict.WRONG, 1),
    ],
)
def test_verdicts(theirs: Outcome, ours: Outcome, verdict: Verdict, counts: int) -> None:
    rows = compare("tool", {"case": theirs}, {"case": ours})
    assert [row.verdict for row in rows] == [verdict]
    assert unequal(rows) == counts
    assert verdict.value in table(rows)


def test_a_case_that_never_ran_is_a_failure() -> None:
    assert unequal(compare("tool", {"case": FINE}, {})) == 1


def test_a_difference_is_shown() -> None:
    rows = compare("tool", {"case": FINE}, {"case": Outcome("", ["a", "c"])})
    assert {"-b", "+c"} <= set(rows[0].detail)


def python(step: Step, code: str) -> Outcome:
    return run(step, [sys.executable, "-c", code], {})


def test_a_step_is_held_to_its_exit_code() -> None:
    assert python(Step("s", ""), "").failed == ""
    assert python(Step("s", ""), "exit(1)").failed
    assert python(Step("s", "", refused=True), "exit(1)").failed == ""
    assert python(Step("s", "", refused=True), "").failed


def test_a_step_is_held_to_its_words_and_json() -> None:
    assert python(Step("s", "", ("word",)), "print('a word')").failed == ""
    assert python(Step("s", "", ("word",)), "print('nothing')").failed
    json = Step("s", "", json=True)
    first = python(json, """print('{"n": 1, "created": "now"}')""")
    assert first == python(json, """print('{"n": 1, "created": "then"}')""")
    assert first != python(json, """print('{"n": 2, "created": "now"}')""")
    assert python(json, "print('no json')").failed
