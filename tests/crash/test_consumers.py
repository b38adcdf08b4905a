"""Consumers under `kill -9`, in short, with controls that show that a loss would be noticed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.crash.api import connect
from tests.crash.consumers import Books, Tally, Traffic, audit, create, run
from tests.crash.model import Broken
from tests.support.server import OURS, Servers


def test_what_was_confirmed_does_not_come_back_and_nothing_is_skipped(tmp_path: Path) -> None:
    tally = run(OURS, cycles=3, seed=1, directory=tmp_path)
    assert tally.cycles == 3
    assert tally.published > 100
    assert tally.confirmed > 50
    assert tally.again > 0


@pytest.mark.parametrize("lie", ["never stored", "never confirmed", "never acked"])
def test_a_broken_promise_is_noticed(tmp_path: Path, lie: str) -> None:
    """The books promise more than the server did."""
    books, tally = Books(), Tally()
    with Servers(tmp_path) as servers:
        server = servers.start(OURS, flags=["-js", "-sd", str(tmp_path / "store")])
        with connect(server.port, "audit") as client:
            create(client)
        traffic = Traffic(server.port, books, tally, random.Random(1))
        traffic.run(400)
        server.kill()
        traffic.drain()
        consumer = books.consumers["QUE", "one"]
        last = max(books.stored["QUE"])
        if lie == "never stored":
            books.stored["QUE"][last + 1_000] = "QUE.1"
        elif lie == "never confirmed":
            waits = [s for s, name in books.stored["LIM"].items() if name == "LIM.1"]
            books.consumers["LIM", "some"].confirmed.update(waits)
        else:
            consumer.acked.clear()
        server = servers.start(OURS, flags=["-js", "-sd", str(tmp_path / "store")])
        with pytest.raises(Broken):
            audit(server.port, books, tally, settle=False)
