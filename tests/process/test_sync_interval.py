"""A server that was told to ack before it syncs: it says so loudly, and a kill shows what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.jetstream.support import JetStream
from tests.process.test_startup import verify
from tests.support.server import ORACLE, OURS, Kind, Server, StartServer


def start(start_server: StartServer, kind: Kind, store: Path, interval: str) -> Server:
    config = f'jetstream {{ store_dir: "{store}", sync_interval: {interval} }}'
    return start_server(kind, config, ["-m", "-1"])


@pytest.mark.parametrize("interval", ['"2m"', '"1h30m"', "always"])
def test_varz_tells_the_interval(start_server: StartServer, tmp_path: Path, interval: str) -> None:
    def told(kind: Kind) -> dict[str, Any]:
        config = start(start_server, kind, tmp_path / kind, interval).monitor("/varz")["jetstream"][
            "config"
        ]
        return {key: value for key, value in config.items() if key.startswith("sync")}

    assert told(OURS) == told(ORACLE)


def test_the_log_says_it_loudly(start_server: StartServer, tmp_path: Path) -> None:
    log = start(start_server, OURS, tmp_path / "store", '"2m"').log()
    assert "Durability:      acks leave BEFORE the sync, which comes every 2m0s" in log
    warnings = [line for line in log.splitlines() if "[WRN]" in line]
    assert any("AN ACK DOES NOT MEAN THAT THE MESSAGE IS ON DISK" in line for line in warnings)
    assert any("loses up to 2m0s of acknowledged messages" in line for line in warnings)


def test_always_is_quiet(start_server: StartServer, tmp_path: Path) -> None:
    log = start(start_server, OURS, tmp_path / "store", "always").log()
    assert "Durability:      every ack is synced to disk first" in log
    assert "[WRN]" not in log


def test_a_kill_takes_back_what_the_interval_held(
    start_server: StartServer, tmp_path: Path
) -> None:
    """An hour, so that the interval never passes here; a change of the stream syncs what was before."""
    store = tmp_path / "store"
    server = start(start_server, OURS, store, '"1h"')
    js = JetStream(server, store)
    js.create("S", subjects=["s"])
    for _ in range(20):
        js.publish("s", b"kept")
    js.update("S", subjects=["s"], description="synced")
    assert [js.publish("s", b"taken back")["seq"] for _ in range(5)] == [21, 22, 23, 24, 25]
    server.kill()
    js.close()
    assert verify([str(store)], tmp_path) == 0
    again = JetStream(start(start_server, OURS, store, "always"), store)
    assert again.state("S")["last_seq"] == 20
    assert again.publish("s")["seq"] == 21
    again.close()


def test_the_sync_comes_when_the_interval_has_passed(
    start_server: StartServer, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    server = start(start_server, OURS, store, '"50ms"')
    js = JetStream(server, store)
    js.create("S", subjects=["s"])
    file = store / "jetstream" / "data.mdb"
    js.publish("s", b"SYNCED BY ITSELF")
    js.until(lambda: b"SYNCED BY ITSELF" in file.read_bytes())
    server.kill()
    js.close()
    again = JetStream(start(start_server, OURS, store, "always"), store)
    assert again.state("S")["messages"] == 1
    again.close()
