"""Mirrors and sources under `kill -9`, in short; `make crash` is the long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.api import ask, connect
from tests.crash.copies import STREAMS, Tally, audit, publish, run
from tests.crash.model import Broken
from tests.support.server import OURS, Servers


@pytest.mark.behaviour("MIR-001", "MIR-012", "MIR-014")
def test_copies_survive_kills(tmp_path: Path) -> None:
    tally = run(messages=10_000, kills=3, seed=1, directory=tmp_path)
    assert tally.kills == 3
    assert tally.sent == 10_000
    assert tally.kept > 1_000


def test_a_copy_that_lacks_something_is_noticed(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        server = servers.start(OURS, flags=["-js", "-sd", str(tmp_path / "store")])
        with connect(server.port, "audit") as client:
            for name, config in STREAMS.items():
                ask(client, f"STREAM.CREATE.{name}", {"name": name, **config})
            tally = Tally()
            publish(client, tally, 10)
            audit(client, tally)
            assert tally.kept == 20
            for name in ("O", "S"):
                ask(client, f"STREAM.MSG.DELETE.{name}", {"seq": 3})
            ask(client, "STREAM.MSG.DELETE.M", {"seq": 4})
            with pytest.raises(Broken, match="not its origin"):
                audit(client, tally)
