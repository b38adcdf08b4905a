"""The kill test in its short form."""

from __future__ import annotations

from tests.crash.cycles import BATCH, run


def test_a_killed_server_leaves_whole_messages_and_a_free_port() -> None:
    tally = run(cycles=3)
    assert tally.cycles == 3
    assert tally.received >= 3 * 2 * BATCH
