"""JetStream under `kill -9`, in short; `make crash` is the long form."""

from __future__ import annotations

from pathlib import Path

from tests.crash.kills import run
from tests.support.server import ORACLE, OURS


def test_what_was_acked_survives_kills(tmp_path: Path) -> None:
    tally = run(OURS, cycles=3, seed=1, directory=tmp_path)
    assert tally.cycles == 3
    assert tally.acked > 100
    assert tally.removals > 0
    assert tally.verified


def test_the_rules_hold_for_the_real_server(tmp_path: Path) -> None:
    """Without deletes: when a key's newest value was deleted, a kill brings its older one back there."""
    tally = run(ORACLE, cycles=3, seed=1, directory=tmp_path, churn=False)
    assert tally.acked > 100
