"""Log files, syslog, and a log that nobody reads."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from jetstream_py.log.syslog import LOCAL_SOCKETS
from tests.process.launch import READY, Launched
from tests.support.raw import RawClient
from tests.support.server import ORACLE, OURS, Kind, executable

LOCAL = ("-a", "127.0.0.1", "-p", "-1")
BACKUP = r"log\.\d{4}(\.\d\d){5}\.\d{9}"


def make_noise(port: int, connections: int) -> None:
    """Each connection is two lines in a debug log."""
    for _ in range(connections):
        with RawClient(port) as client:
            client.read_info()
            client.exchange()


def test_a_log_file_is_reopened(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, [*LOCAL, "-l", "log"], tmp_path) as server:
        log, old = tmp_path / "log", tmp_path / "old"
        server.wait_for_file(log, READY)
        assert log.stat().st_mode & 0o777 == 0o640
        log.rename(old)
        server.signal(signal.SIGUSR1)
        assert server.wait_for_file(log, "re-opened").endswith("[INF] File log re-opened\n")
        assert old.read_text().endswith('[INF] Trapped "user defined signal 1" signal\n')
        server.signal(signal.SIGTERM)
        assert server.end() == 0
        assert log.read_text().endswith("[INF] Server Exiting..\n")
        assert server.output == ""


def test_a_log_file_is_continued(kind: Kind, tmp_path: Path) -> None:
    for starts in (1, 2):
        with Launched(kind, [*LOCAL, "-l", "log"], tmp_path) as server:
            server.wait_for_file(tmp_path / "log", f"[{server.pid}]")
            server.signal(signal.SIGTERM)
            assert server.end() == 0
        assert (tmp_path / "log").read_text().count("Server Exiting..") == starts


def test_a_log_file_is_rotated(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "server.conf").write_text(
        "debug: true\nlogfile: log\nlogfile_size_limit: 2000\nlogfile_max_num: 3\n"
        'ports_file_dir: "."\n'
    )
    with Launched(kind, [*LOCAL, "-c", "server.conf"], tmp_path) as server:
        ports = tmp_path / f"nats-server_{server.pid}.ports"
        found = re.search(r":(\d+)\"", server.wait_for_file(ports, "}"))
        assert found
        make_noise(int(found[1]), 60)
        server.signal(signal.SIGTERM)
        assert server.end() == 0
    logs = sorted(path.name for path in tmp_path.glob("log*"))
    assert len(logs) == 3
    assert all(re.fullmatch(BACKUP, name) for name in logs[1:])
    text = (tmp_path / logs[2]).read_text()
    first, second = text.splitlines()[:2]
    assert re.search(rf'\[INF\] Rotated log, backup saved as "{BACKUP}"$', first)
    assert re.search(rf'\[INF\] Purged log file "{BACKUP}"$', second)
    assert 2000 < len(text) < 2300


def test_a_remote_syslog(kind: Kind, tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as syslog:
        syslog.bind(("127.0.0.1", 0))
        syslog.settimeout(10)
        where = f"udp://127.0.0.1:{syslog.getsockname()[1]}"
        with Launched(kind, [*LOCAL, "-D", "-r", where], tmp_path) as server:
            found: list[str] = []
            while not found or READY not in found[-1]:
                found.append(syslog.recv(65536).decode())
            head = rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d) \S+ nats-server\[{server.pid}\]: "
            assert all(re.fullmatch(rf"<[57]>{head}.*\n", line) for line in found), found
            assert re.fullmatch(rf"<5>{head}Starting nats-server\n", found[0])
            server.signal(signal.SIGTERM)
            assert server.end() == 0
            assert server.output == ""


def test_a_syslog_that_cannot_be_named(kind: Kind, tmp_path: Path) -> None:
    with Launched(kind, [*LOCAL, "-r", "here"], tmp_path) as server:
        assert server.end() == 1
        assert server.output.endswith(' error invalid network type: ""\n')


def test_a_machine_without_syslog(kind: Kind, tmp_path: Path) -> None:
    if any(Path(path).is_socket() for path in LOCAL_SOCKETS):
        pytest.skip("this machine has a syslog, which is not ours to write to")
    with Launched(kind, [*LOCAL, "-s"], tmp_path) as server:
        assert server.end() == 1
        text = ' error connecting to syslog: "Unix syslog delivery error"\n'
        assert server.output.endswith(text)


def test_a_closed_pipe_does_not_end_the_server(tmp_path: Path) -> None:
    # nats-server dies of SIGPIPE here.
    with Launched(OURS, [*LOCAL, "-DV"], tmp_path) as server:
        server.read_until(READY)
        server.close_pipe()
        make_noise(server.port, 3)
        server.signal(signal.SIGTERM)
        assert server.process.wait(5) == 0


def test_closed_standard_streams_are_not_taken_by_sockets(kind: Kind, tmp_path: Path) -> None:
    """Else the log would be written to the first client."""
    script = 'exec "$0" "$@" <&- >&- 2>&-'
    arguments = [executable(kind), *LOCAL, "-DV", "--ports_file_dir", "."]
    process = subprocess.Popen(["sh", "-c", script, *arguments], cwd=tmp_path)
    try:
        with Launched(ORACLE, ["-v"], tmp_path) as clock:  # lends its patience
            ports = clock.wait_for_file(tmp_path / f"nats-server_{process.pid}.ports", "}")
        found = re.search(r":(\d+)\"", ports)
        assert found
        for _ in range(3):
            with RawClient(int(found[1])) as client:
                client.read_info()
                assert client.exchange(b"CONNECT {}\r\n") == b"+OK\r\n"
        open_files = os.listdir(f"/proc/{process.pid}/fd")
        assert {"0", "1", "2"} <= set(open_files)
        for fd in "012":
            assert os.readlink(f"/proc/{process.pid}/fd/{fd}") == os.devnull
        process.terminate()
        assert process.wait(5) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_a_full_pipe_costs_lines_and_not_the_server(tmp_path: Path) -> None:
    """A harness reads until the server is ready and then forgets the pipe."""
    with Launched(OURS, [*LOCAL], tmp_path) as server:
        server.read_until(READY)
        fcntl.fcntl(server.reader, fcntl.F_SETPIPE_SZ, 4096)
        port = server.port
        for _ in range(100):
            with RawClient(port) as client:
                client.read_info()
                assert client.talk(b"FOO\r\n").startswith(b"-ERR")
        server.signal(signal.SIGTERM)
        assert server.process.wait(5) == 0
