"""The short form; `python -m tests.fuzz --permissions N` plays more."""

from __future__ import annotations

from hypothesis import given, settings

from tests.security.stream_paths import Case, cases, check, house


def test_permissions_hold_on_the_ways_of_streams() -> None:
    with house() as found:

        @settings(max_examples=350, derandomize=True, deadline=None)
        @given(cases)
        def play(case: Case) -> None:
            check(found, case)

        play()
