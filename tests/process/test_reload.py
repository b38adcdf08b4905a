"""SIGHUP: the log of a reload, and what changes without a restart."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.process.launch import READY, Launched
from tests.support.raw import RawClient
from tests.support.server import OURS, Kind
from tests.support.wire import UNAUTHORIZED, connect

LOCAL = ("-a", "127.0.0.1", "-p", "-1", "-c", "server.conf")
ONE = "authorization { users: [{user: a, password: a}] }\n"
TWO = "authorization { users: [{user: a, password: a}, {user: b, password: b}] }\n"
DONE = "Reloaded server configuration (sha256:"
FAILED = "Failed to reload server configuration: "


def login(server: Launched, name: str) -> bytes:
    with RawClient(server.port) as client:
        client.read_info()
        return client.exchange(connect(user=name, **{"pass": name}))


def reload(server: Launched, directory: Path, config: str, until: str) -> list[tuple[str, str]]:
    """The lines of the reload, from the signal to the one that begins with `until`."""
    start = len(server.output)
    (directory / "server.conf").write_text(config)
    server.signal(signal.SIGHUP)
    server.read_until(until, start)
    server.read_until("\n", server.output.index(until, start))
    return server.lines(start)


@pytest.mark.behaviour("CORE-067")
def test_a_new_user_gets_in(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "server.conf").write_text(ONE)
    with Launched(kind, LOCAL, tmp_path) as server:
        server.read_until(READY)
        assert login(server, "b") == UNAUTHORIZED
        server.read_until("authentication error")
        lines = reload(server, tmp_path, TWO + "max_payload: 100000\ndebug: true\n", DONE)
        assert lines[0] == ("INF", 'Trapped "hangup" signal')
        for text in ("debug = true", "authorization users", "max_payload = 100000"):
            assert ("INF", f"Reloaded: {text}") in lines
        assert login(server, "b") == login(server, "a") == b""
        with RawClient(server.port) as client:
            assert client.read_info()["max_payload"] == 100_000


@pytest.mark.behaviour("CORE-067")
@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ("foo: bar\n", 'server.conf:1:0: unknown field "foo"'),
        ("http: 1\n" + TWO, "config reload not supported for HTTPPort: old=0, new=1"),
    ],
)
def test_a_refused_file_changes_nothing(
    kind: Kind, tmp_path: Path, config: str, complaint: str
) -> None:
    (tmp_path / "server.conf").write_text(ONE)
    with Launched(kind, LOCAL, tmp_path) as server:
        server.read_until(READY)
        lines = reload(server, tmp_path, config, FAILED)
        assert lines[-1] == ("ERR", FAILED + complaint)
        assert login(server, "a") == b""
        assert login(server, "b") == UNAUTHORIZED


def test_a_log_that_cannot_be_opened_changes_nothing(tmp_path: Path) -> None:
    # nats-server exits here, with status 1.
    (tmp_path / "server.conf").write_text(ONE)
    with Launched(OURS, LOCAL, tmp_path) as server:
        server.read_until(READY)
        lines = reload(server, tmp_path, TWO + "logfile: no/log\n", FAILED)
        complaint = "error opening file: open no/log: no such file or directory"
        assert lines[-1] == ("ERR", FAILED + complaint)
        assert login(server, "b") == UNAUTHORIZED


def test_log_pid_and_ports_files_move(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "server.conf").write_text("max_payload: 1MB\n")
    moved = f'logfile: "log"\npid_file: "pid"\nports_file_dir: "{tmp_path}"\n'
    with Launched(kind, LOCAL, tmp_path) as server:
        server.read_until(READY)
        (tmp_path / "server.conf").write_text(moved)
        server.signal(signal.SIGHUP)
        server.wait_for_file(tmp_path / "log", DONE)
        assert (tmp_path / "pid").read_text() == str(server.pid)
        ports = tmp_path / f"nats-server_{server.pid}.ports"
        assert f":{server.port}" in ports.read_text()
        server.signal(signal.SIGTERM)
        assert server.end() == 0
        assert not ports.exists()
        assert os.stat(tmp_path / "log").st_mode & 0o777 == 0o640
