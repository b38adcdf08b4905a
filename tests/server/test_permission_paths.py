"""The short form; `python -m tests.fuzz --permissions N` plays more."""

from __future__ import annotations

from hypothesis import given, settings

from tests.server.permission_paths import Case, cases, check


@settings(max_examples=400, derandomize=True, deadline=None)
@given(cases)
def test_permissions_hold_on_every_way(case: Case) -> None:
    check(case)
