"""`Type=notify`: systemd hears when the server is ready, reloads and ends."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

from tests.process.launch import READY, Launched
from tests.support.server import OURS


def test_systemd_is_told(tmp_path: Path) -> None:
    config = tmp_path / "server.conf"
    config.write_text('listen: "127.0.0.1:-1"')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(10)
        environ = {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        with Launched(OURS, ["-c", str(config)], tmp_path, environ=environ) as server:
            assert systemd.recv(200) == b"READY=1\nMAINPID=%d" % server.pid
            server.process.send_signal(signal.SIGHUP)
            assert systemd.recv(200).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
            assert systemd.recv(200).startswith(b"READY=1\n")
            server.process.send_signal(signal.SIGTERM)
            assert systemd.recv(200) == b"STOPPING=1"


def test_a_supervisor_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    environ = {"NOTIFY_SOCKET": "@nobody-listens-here"}
    with Launched(OURS, ["-a", "127.0.0.1", "-p", "-1"], tmp_path, environ=environ) as server:
        server.read_until(READY)
