"""Pid file, ports file, and a port that is free again at once."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path

import pytest

from tests.process.launch import READY, Launched
from tests.support.raw import RawClient
from tests.support.server import ORACLE, OURS, Kind, Start
from tests.support.wire import QUIET

LOCAL = ("-a", "127.0.0.1", "-p", "-1")
RESTARTS = 20


def test_the_pid_file_holds_the_pid_and_stays(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, [*LOCAL, "-P", "pid"], tmp_path) as server:
        server.read_until(READY)
        path = tmp_path / "pid"
        assert path.read_bytes() == b"%d" % server.pid
        assert path.stat().st_mode & 0o777 == 0o600
        server.signal(signal.SIGTERM)
        assert server.end() == 0
        assert path.exists()


@pytest.mark.behaviour("CONF-014")
@pytest.mark.parametrize("host", [None, "127.0.0.1", "localhost", "::1", "::"])
def test_the_ports_file_is_that_of_nats_server(tmp_path: Path, host: str | None) -> None:
    def content(kind: Kind) -> str:
        flags = ["-p", "-1", "-m", "-1", "--ports_file_dir", str(tmp_path)]
        with Launched(kind, flags if host is None else [*flags, "-a", host], tmp_path) as server:
            path = tmp_path / f"nats-server_{server.pid}.ports"
            server.wait_for_file(path, "}")
            assert path.stat().st_mode & 0o777 == 0o644
            text = path.read_text()
            server.signal(signal.SIGTERM)
            assert server.end() == 0
            assert not path.exists()
        return re.sub(r":\d+\"", ':<port>"', text)

    assert content(OURS) == content(ORACLE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.behaviour("CONF-014")
def test_the_ports_file_stays_after_a_kill(start: Start) -> None:
    server = start()
    path = server.directory / f"nats-server_{server.process.pid}.ports"
    server.kill()
    assert json.loads(path.read_text()) == server.ports


def test_all_interfaces_are_all_of_both_families(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, ["-p", "-1"], tmp_path) as server:
        server.read_until(READY)
        for host in ("127.0.0.1", "::1") if socket.has_dualstack_ipv6() else ("127.0.0.1",):
            with RawClient(server.port, host) as client:
                assert client.read_info()["host"] == "0.0.0.0"
                assert client.info["client_ip"] == host


@pytest.mark.behaviour("CONF-013")
def test_flags_beat_the_file(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "server.conf").write_text("port: 1\nhost: 192.0.2.77\nserver_name: file\n")
    flags = ["-c", "server.conf", *LOCAL, "-n", "flag"]
    with Launched(kind, flags, tmp_path) as server:
        assert "  Name:     flag\n" in server.read_until(READY)
        assert server.port > 1


def test_a_killed_server_can_start_again_on_its_port(kind: Kind, start: Start) -> None:
    server = start()
    port = server.port
    for _ in range(RESTARTS):
        with server.client(QUIET) as client:
            client.exchange()
            server.kill()
            assert client.closed()
        server = start(port=port)
    assert server.port == port
