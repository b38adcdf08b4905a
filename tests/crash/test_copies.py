"""Mirrors and sources under `kill -9`, in short; `make crash` is the long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.copies import Cycles, audit, run
from tests.crash.model import Broken
from tests.support.server import Servers


@pytest.mark.behaviour("MIR-001", "MIR-012", "MIR-014")
def test_copies_survive_kills(tmp_path: Path) -> None:
    tally = run(messages=24_000, kills=3, seed=1, directory=tmp_path)
    assert tally.kills == 3
    assert tally.under_way
    assert tally.sent == 24_000
    assert tally.kept > 24_000


def test_a_copy_that_lacks_something_is_noticed(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        cycles = Cycles(servers, tmp_path, seed=1)
        cycles.publish(20)
        cycles.create_copies()
        cycles.wait()
        cycles.delete("M", 4)
        cycles.kill()
    with pytest.raises(Broken, match="M: "):
        audit(cycles.store)
